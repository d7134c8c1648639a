#include "cli/health.h"

#include "agent/clock.h"
#include "agent/duration.h"
#include "agent/store/sqlite_journal.h"
#include "agent/text.h"
#include "cli/agent_choice.h"
#include "cli/known_names.h"
#include "cli/price_book.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/user_folders.h"
#include "config/load.h"
#include "config/project_config.h"
#include "providers/http/http_client.h"
#include "providers/model_list.h"
#include "providers/registry.h"
#include "tools/sandbox/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cli {
namespace {

using agent::Error;
using agent::Json;
namespace fs = std::filesystem;

constexpr int k_old_prices = 90;  // days

void look_at_keys(const Context& context, Health& health) {
  Json keys = Json::array();
  std::vector<std::string> set;
  for (const providers::Preset& preset : providers::presets()) {
    if (preset.key_variable.empty()) {
      continue;
    }
    const bool is_set = !agent::trimmed_value_of(context.environment, preset.key_variable).empty();
    keys.push_back(
        {{"provider", preset.name}, {"variable", preset.key_variable}, {"is_set", is_set}});
    if (is_set) {
      set.push_back(fmt::format("{} ({})", preset.key_variable, preset.name));
    }
  }
  health.report["keys"] = std::move(keys);
  health.lines.push_back({"keys",
                          set.empty() ? "none is set; `errand models` names their variables"
                                      : fmt::format("{}: set", fmt::join(set, ", "))});
}

// What loading a file of settings came to.
void add_settings(std::string_view whose,
                  const fs::path& file,
                  const std::vector<Error>& mistakes,
                  Health& health) {
  std::error_code error;
  const bool is_there = !file.empty() && fs::exists(file, error);
  const std::string shown = agent::one_line(file.string());
  Json errors = Json::array();
  for (const Error& mistake : mistakes) {
    errors.push_back(agent::to_json(mistake));
    health.errors.push_back(mistake);
  }
  health.report["settings"][std::string(whose)] = {{"file", file.empty() ? Json() : Json(shown)},
                                                   {"exists", is_there},
                                                   {"errors", std::move(errors)}};
  health.lines.push_back(
      {"settings",
       fmt::format(
           "{}: {}",
           file.empty() ? std::string("neither XDG_CONFIG_HOME nor HOME is set") : shown,
           !mistakes.empty()
               ? fmt::format("{} mistake{}", mistakes.size(), mistakes.size() == 1 ? "" : "s")
           : is_there ? "read"
                      : "does not exist (optional)")});
}

void look_at_settings(const Context& context, Health& health) {
  const auto user = load_user_settings(context.environment);
  const fs::path folder = config_folder(context.environment);
  add_settings("user",
               folder.empty() ? fs::path() : folder / "config.yaml",
               user ? std::vector<Error>() : user.error(),
               health);
  const auto project = config::load_project_config(context.cwd, known_names());
  add_settings("project",
               context.cwd / ".errand" / "config.yaml",
               project ? std::vector<Error>() : project.error(),
               health);
}

std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

void look_at_journal(const Context& context, Health& health) {
  const fs::path folder = state_folder(context.environment);
  const fs::path file = folder.empty() ? fs::path() : folder / "journal.db";
  if (file.is_relative()) {
    health.report["journal"] = {{"file", nullptr}, {"exists", false}, {"usable", false}};
    health.lines.push_back(
        {"journal", "no session is kept: neither XDG_STATE_HOME nor HOME is set"});
    return;
  }
  std::error_code error;
  const bool exists = fs::exists(file, error);
  std::optional<Error> failure;
  if (exists) {
    auto journal = agent::store::SqliteJournal::open(
        file, agent::SessionSpec::Durability::process, context.redactor);
    failure = journal ? std::nullopt : std::optional(std::move(journal).error());
  } else if (const fs::path there = tools::sandbox::nearest_there(folder);
             ::access(there.c_str(), W_OK | X_OK) != 0) {
    failure =
        Error{.code = agent::Code::storage_io,
              .message = fmt::format("the journal `{}` cannot be created: `{}` cannot be written",
                                     agent::one_line(file.string()),
                                     agent::one_line(there.string())),
              .help = "set XDG_STATE_HOME to a folder of yours, or run with --no-session"};
  }
  const std::uintmax_t bytes = size_of(file) + size_of(fs::path(file) += "-wal");
  const std::string shown = agent::one_line(file.string());
  health.report["journal"] = {{"file", shown},
                              {"exists", exists},
                              {"bytes", bytes},
                              {"usable", !failure},
                              {"error", failure ? agent::to_json(*failure) : Json()}};
  health.lines.push_back({"journal",
                          failure  ? agent::one_line(failure->message)
                          : exists ? fmt::format("{}: {} kB, opens", shown, (bytes + 999) / 1000)
                                   : fmt::format("{}: does not exist yet, can be created", shown)});
  if (failure) {
    health.errors.push_back(*std::move(failure));
  }
}

void look_at_prices(const Context& context, Health& health) {
  const auto table = open_table(imported_prices_file(context.environment));
  if (!table) {
    health.report["prices"] = {{"error", agent::to_json(table.error())}};
    health.lines.push_back({"prices", agent::one_line(table.error().message)});
    health.errors.push_back(table.error());
    return;
  }
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const auto date = (*table)->table->date();
  const auto age = (today - date).count();
  health.report["prices"] = {{"from", (*table)->name()},
                             {"date", agent::format_day(date)},
                             {"age_days", age},
                             {"is_old", age > k_old_prices}};
  health.lines.push_back(
      {"prices",
       fmt::format("{}, {} days old{}",
                   agent::one_line((*table)->name()),
                   age,
                   age > k_old_prices ? ": `errand prices import` takes newer ones" : "")});
}

// Each server once: those whose key is set, and the models of the folder's agent, where it has one.
std::vector<providers::Resolved> configured(const Context& context) {
  std::vector<providers::Resolved> found;
  const auto add = [&](agent::Result<providers::Resolved> resolved) {
    if (resolved && resolved->protocol != providers::k_replay &&
        std::ranges::find(found, resolved->base_url, &providers::Resolved::base_url) ==
            found.end()) {
      found.push_back(*std::move(resolved));
    }
  };
  for (const providers::Preset& preset : providers::presets()) {
    if (!preset.key_variable.empty()) {
      add(providers::resolve({.name = std::string(preset.name) + "/any"}, context.environment));
    }
  }
  if (const auto file = agent_of_folder(context.cwd)) {
    const auto report = config::load_agent(context.cwd / *file, context.environment, known_names());
    if (report.agent) {
      add(providers::resolve(report.agent->model, context.environment));
      for (const agent::ModelSpec& model : report.agent->fallback.models) {
        add(providers::resolve(model, context.environment));
      }
    }
  }
  return found;
}

}  // namespace

Health look_at_health(const Context& context) {
  Health health;
  look_at_keys(context, health);
  look_at_settings(context, health);
  look_at_journal(context, health);
  look_at_prices(context, health);
  return health;
}

agent::Result<void> ask_providers(Context& context, Health& health) {
  TRY_ASSIGN(const auto signals, SignalWatcher::start(context.cancellation));
  agent::SystemClock clock;
  providers::HttpClient http(context.environment);
  Json asked = Json::array();
  for (const providers::Resolved& one : configured(context)) {
    const auto models = providers::list_models(one, http, clock, context.cancellation.stop());
    const std::string address = agent::one_line(context.redactor.apply(one.base_url));
    asked.push_back({{"provider", one.provider},
                     {"address", address},
                     {"reachable", models.has_value()},
                     {"models", models ? Json(models->size()) : Json()},
                     {"error", models ? Json() : agent::to_json(models.error())}});
    health.lines.push_back({"online",
                            fmt::format("{} at {}: {}",
                                        one.provider,
                                        address,
                                        models ? fmt::format("reachable, {} models", models->size())
                                               : agent::one_line(models.error().message))});
    if (!models) {
      health.errors.push_back(models.error());
    }
  }
  if (asked.empty()) {
    health.lines.push_back({"online",
                            "no provider was asked: no key is set, and no agent of this "
                            "folder names a server"});
  }
  health.report["online"] = std::move(asked);
  return {};
}

}  // namespace cli
