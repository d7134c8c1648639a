#include "cli/price_book.h"

#include "agent/absence.h"
#include "agent/duration.h"
#include "cli/user_folders.h"
#include "config/yaml/source.h"
#include "providers/prices/known_windows.h"

#include <fmt/format.h>

#include <memory>
#include <system_error>
#include <utility>

namespace cli {
namespace {

agent::Tariff always(agent::Price price) {
  return {.periods = {agent::PricePeriod{.price = std::move(price)}}};
}

agent::Result<std::unique_ptr<OpenTable>> open_built_in() {
  auto open = std::make_unique<OpenTable>();
  TRY_ASSIGN(open->table, providers::PriceTable::open(providers::built_in_prices(), "built in"));
  return open;
}

agent::Result<std::unique_ptr<OpenTable>> open_imported(const std::filesystem::path& file) {
  auto open = std::make_unique<OpenTable>();
  open->is_imported = true;
  TRY_ASSIGN(open->text, config::read_text_file(file, k_largest_price_file));
  TRY_ASSIGN(open->table, providers::PriceTable::open(open->text, file.string()));
  return open;
}

}  // namespace

std::filesystem::path imported_prices_file(const agent::Environment& environment) {
  const auto folder = data_folder(environment);
  return folder.empty() ? folder : folder / "prices.txt";
}

std::string OpenTable::name() const {
  const auto day = agent::format_day(table->date());
  return is_imported ? fmt::format("{} of {}", table->file(), day)
                     : fmt::format("the built-in table of {}", day);
}

agent::Result<std::unique_ptr<OpenTable>> open_table(const std::filesystem::path& imported) {
  TRY_ASSIGN(auto built_in, open_built_in());
  if (imported.empty() || agent::is_absent(imported)) {
    return built_in;
  }
  TRY_ASSIGN(auto own, open_imported(imported));
  return own->table->date() >= built_in->table->date() ? std::move(own) : std::move(built_in);
}

PriceBook::PriceBook(const UserSettings& user, const agent::Environment& environment)
    : config_file_(user.file),
      own_prices_(user.config.prices),
      imported_file_(imported_prices_file(environment)) {}

agent::Result<std::optional<providers::FoundPrice>> PriceBook::row_of(
    const providers::Resolved& resolved) {
  if (table_ == nullptr) {
    TRY_ASSIGN(table_, open_table(imported_file_));
  }
  const std::string provider = resolved.is_custom ? std::string() : resolved.provider;
  if (!last_ || last_->provider != provider || last_->base_url != resolved.base_url ||
      last_->model != resolved.model) {
    TRY_ASSIGN(auto row,
               table_->table->find(
                   {.provider = provider, .base_url = resolved.base_url, .model = resolved.model}));
    last_ = Asked{.provider = provider,
                  .base_url = resolved.base_url,
                  .model = resolved.model,
                  .row = std::move(row)};
  }
  return last_->row;
}

// A local server has the window that it was started with.
agent::Result<std::int64_t> PriceBook::window(const agent::ModelSpec& spec,
                                              const providers::Resolved& resolved) {
  if (spec.context_window || providers::is_free(resolved)) {
    return spec.context_window.value_or(0);
  }
  TRY_ASSIGN(auto row, row_of(resolved));
  if (row && row->window == 0 && table_->is_imported) {  // perhaps one from before it had any
    TRY_ASSIGN(const auto built_in, open_built_in());
    TRY_ASSIGN(row,
               built_in->table->find(
                   {.provider = row->provider, .base_url = {}, .model = resolved.model}));
  }
  const bool is_makers_own = row.has_value() || !resolved.is_custom;
  return is_makers_own ? providers::window_of_model(resolved.model, row ? row->window : 0) : 0;
}

agent::Result<std::optional<ModelPrice>> PriceBook::find(const agent::ModelSpec& spec,
                                                         const providers::Resolved& resolved) {
  if (spec.cost) {
    return ModelPrice{.tariff = always(*spec.cost), .source = "the agent file"};
  }
  const auto own = own_prices_.find(fmt::format("{}/{}", resolved.provider, resolved.model));
  if (own != own_prices_.end()) {
    return ModelPrice{.tariff = always(own->second), .source = config_file_.string()};
  }
  if (providers::is_free(resolved)) {
    return ModelPrice{.tariff = always({}), .source = "a provider that charges nothing"};
  }
  TRY_ASSIGN(auto row, row_of(resolved));
  if (!row) {
    return std::optional<ModelPrice>{};
  }
  return ModelPrice{.tariff = row->tariff, .source = table_->name(), .row = std::move(row)};
}

agent::Result<void> check_cost_limit(const agent::AgentSpec& agent,
                                     const std::string& model,
                                     const std::optional<ModelPrice>& price,
                                     const PriceBook& book,
                                     std::chrono::system_clock::time_point now) {
  const bool is_known = price && price->tariff.at(now) != nullptr;
  if (!agent.limits.max_cost_usd || is_known) {
    return {};
  }
  agent::Error error{
      .code = agent::Code::config_invalid,
      .message = fmt::format(
          "the cost limit cannot be enforced: the price of the model `{}` is not known", model),
      .help =
          fmt::format("give its price in US dollars per million tokens beside its name, as in "
                      "`{{name: {0}, cost: {{input: 3, output: 15}}}}`, or for all agents in "
                      "{1}: `prices: {{{0}: {{input: 3, output: 15}}}}`",
                      model,
                      book.config_file().empty() ? "config.yaml" : book.config_file().string())};
  error.where = agent.limits.max_cost_where;
  return agent::fail(std::move(error));
}

}  // namespace cli
