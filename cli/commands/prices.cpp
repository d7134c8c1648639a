// `errand prices`: what models cost, who says so, and newer prices.
#include "agent/duration.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "cli/commands/commands.h"
#include "cli/output.h"
#include "cli/price_book.h"
#include "cli/terminal/render_error.h"
#include "config/yaml/source.h"
#include "providers/prices/price_import.h"
#include "providers/prices/price_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;
using Wall = std::chrono::system_clock::time_point;

// ---- show ----

std::string line(std::string_view label, std::string_view value) {
  return fmt::format("{:<18}{}\n", label, value);
}

std::string rate_text(const agent::Rate& rate) {
  std::string text = "$" + rate.base.text();
  for (const agent::Tier& tier : rate.tiers) {
    text += fmt::format(", ${} above {} input tokens", tier.price.text(), tier.start);
  }
  return text;
}

std::string price_text(const agent::Price& price) {
  std::string text;
  for (const agent::RateField& field : agent::rate_fields()) {
    if (const agent::Rate* rate = field.find(price)) {
      text += line(field.label, rate_text(*rate));
    }
  }
  if (price.per_thousand_requests != agent::Money{}) {
    text += line("1000 requests", "$" + price.per_thousand_requests.text());
  }
  return text;
}

Json price_json(const agent::Price& price) {
  Json json = Json::object();
  for (const agent::RateField& field : agent::rate_fields()) {
    const agent::Rate* rate = field.find(price);
    if (rate == nullptr) {
      json[std::string(field.key)] = nullptr;
      continue;
    }
    Json tiers = Json::array();
    for (const agent::Tier& tier : rate->tiers) {
      tiers.push_back({{"above_input_tokens", tier.start}, {"usd", agent::to_json(tier.price)}});
    }
    json[std::string(field.key)] = {{"usd", agent::to_json(rate->base)},
                                    {"tiers", std::move(tiers)}};
  }
  json["per_thousand_requests"] = {{"usd", agent::to_json(price.per_thousand_requests)}};
  return json;
}

// The words of the table's rule, as they stand in the table.
std::string rule(const providers::FoundPrice& row) {
  return row.match.empty() ? "=" + row.model : row.match;
}

void show_text(const std::string& model,
               const ModelPrice& found,
               std::int64_t window,
               Wall now,
               std::ostream& out) {
  out << line("model", model) << line("price from", found.source);
  if (found.row) {
    out << line("row", fmt::format("{}/{}", found.row->provider, found.row->model))
        << line("matched by", rule(*found.row));
  }
  if (window > 0) {
    out << line("context window", fmt::format("{} tokens", window));
  }
  const agent::Price* price = found.tariff.at(now);
  if (price != nullptr) {
    out << "\nUS dollars per million tokens"
        << (found.tariff.periods.size() > 1 ? ", now:\n" : ":\n") << price_text(*price);
  }
  if (found.tariff.periods.size() > 1) {
    out << "\n" << line("all periods", providers::write_tariff(found.tariff));
  }
}

void show_json(const std::string& model,
               const ModelPrice& found,
               std::int64_t window,
               Wall now,
               std::ostream& out) {
  const agent::Price* price = found.tariff.at(now);
  const auto& row = found.row;
  const Json json = {
      {"schema", "errand.price/1"},
      {"model", model},
      {"source", found.source},
      {"row", row ? Json(fmt::format("{}/{}", row->provider, row->model)) : Json(nullptr)},
      {"matched_by", row ? Json(rule(*row)) : Json(nullptr)},
      {"usd_per_million_tokens", price != nullptr ? price_json(*price) : Json(nullptr)},
      {"periods", providers::write_tariff(found.tariff)},
      {"context_window", window > 0 ? Json(window) : Json(nullptr)},
  };
  out << agent::dump(json) << "\n";
}

std::unexpected<agent::Error> unknown(const std::string& model, const PriceBook& book) {
  return agent::fail(
      Code::config_invalid,
      fmt::format("the price of the model `{}` is not known", model),
      fmt::format("give its price in {}: `prices: {{{}: {{input: 3, output: 15}}}}`",
                  book.config_file().empty() ? "config.yaml" : book.config_file().string(),
                  model));
}

// Every mistake of config.yaml but the last goes to stderr at once; the last one is the ending.
Result<PriceBook> open_book(Context& context) {
  auto user = load_user_settings(context.environment);
  if (user) {
    return PriceBook(*user, context.environment);
  }
  for (std::size_t at = 0; at + 1 < user.error().size(); ++at) {
    context.err << render(user.error()[at], context.color_err, context.redactor) << "\n\n";
  }
  return agent::fail(std::move(user.error().back()));
}

// A provider without a preset is looked for in the table, by its id there.
providers::Resolved resolved(const std::string& model) {
  const auto slash = model.find('/');
  return {.provider = model.substr(0, slash),
          .model = slash == std::string::npos ? "" : model.substr(slash + 1)};
}

Result<int> show_model(const std::string& model, const Parsed& parsed, Context& context) {
  if (resolved(model).model.empty()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`{}` is not a model", model),
                       "write it as PROVIDER/NAME: anthropic/claude-sonnet-4-5");
  }
  TRY_ASSIGN(PriceBook book, open_book(context));
  TRY_ASSIGN(const auto found, book.find({.name = model}, resolved(model)));
  if (!found) {
    return unknown(model, book);
  }
  TRY_ASSIGN(const std::int64_t window, book.window({.name = model}, resolved(model)));
  const auto show = parsed.value("--output") == "json" ? show_json : show_text;
  show(model, *found, window, std::chrono::system_clock::now(), context.out);
  return 0;
}

Result<int> show_table(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto open, open_table(imported_prices_file(context.environment)));
  const auto size = open->table->size();
  if (parsed.value("--output") == "json") {
    const Json json = {{"schema", "errand.prices/1"},
                       {"date", agent::format_day(open->table->date())},
                       {"file", open->is_imported ? Json(open->table->file()) : Json(nullptr)},
                       {"providers", size.providers},
                       {"models", size.models}};
    context.out << agent::dump(json) << "\n";
    return 0;
  }
  context.out << fmt::format(
      "{}; providers: {}, models: {}\n"
      "The prices are indicative; the provider's bill is what counts.\n",
      open->name(),
      size.providers,
      size.models);
  return 0;
}

// ---- import ----

// Of the file's last change, in UTC.
std::chrono::sys_days day_of(const std::filesystem::path& file) {
  std::error_code failure;
  const auto changed = std::filesystem::last_write_time(file, failure);
  const auto time =
      failure ? std::chrono::system_clock::now() : std::chrono::file_clock::to_sys(changed);
  return std::chrono::floor<std::chrono::days>(time);
}

Result<std::chrono::sys_days> date_of(const Parsed& parsed, const std::filesystem::path& file) {
  const auto text = parsed.value("--date");
  if (!text) {
    return day_of(file);
  }
  const auto day = agent::parse_day(*text);
  if (!day) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`--date {}` is not a date", *text),
                       "year, month and day: 2026-11-21");
  }
  return *day;
}

Result<std::filesystem::path> target_of(const Parsed& parsed, const Context& context) {
  if (const auto file = parsed.value("--to")) {
    return std::filesystem::path(*file);
  }
  auto file = imported_prices_file(context.environment);
  if (file.empty()) {
    return agent::fail(Code::cli_cannot_create,
                       "there is no place for the prices: neither XDG_DATA_HOME nor HOME is set",
                       "set one of them, or name a file with --to");
  }
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  if (failure) {
    return agent::fail(
        Code::cli_cannot_create,
        fmt::format(
            "cannot create the folder `{}`: {}", file.parent_path().string(), failure.message()));
  }
  return file;
}

}  // namespace

Result<int> command_prices_show(const Parsed& parsed, Context& context) {
  return parsed.positionals.empty() ? show_table(parsed, context)
                                    : show_model(parsed.positionals.front(), parsed, context);
}

Result<int> command_prices_import(const Parsed& parsed, Context& context) {
  const std::string& file = parsed.positionals.front();
  TRY_ASSIGN(const auto date, date_of(parsed, file));
  TRY_ASSIGN(const std::string json, config::read_text_file(file, k_largest_price_file));
  TRY_ASSIGN(const std::string text, providers::import_prices(json, file, date));
  TRY_ASSIGN(const auto table, providers::PriceTable::open(text, file));
  TRY_ASSIGN(const auto target, target_of(parsed, context));
  TRY_ASSIGN(const auto output, Output::to_file(target.string()));
  output->write(text);
  output->commit();
  if (output->failure() != nullptr) {
    return agent::fail(*output->failure());
  }
  const auto size = table.size();
  context.out << fmt::format("{}: prices of {}; providers: {}, models: {}\n",
                             target.string(),
                             agent::format_day(date),
                             size.providers,
                             size.models);
  if (!parsed.has("--to")) {
    TRY_ASSIGN(const auto in_force, open_table(target));
    context.out << "in force: " << in_force->name() << "\n";
  }
  return 0;
}

}  // namespace cli
