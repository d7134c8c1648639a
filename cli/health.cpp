#include "cli/health.h"

#include "agent/absence.h"
#include "agent/clock.h"
#include "agent/duration.h"
#include "agent/store/sqlite_journal.h"
#include "agent/store/wal_file.h"
#include "agent/text.h"
#include "cli/agent_choice.h"
#include "cli/key_hosts.h"
#include "cli/known_names.h"
#include "cli/price_book.h"
#include "cli/run_seal.h"
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
#include <iterator>
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
  const bool is_there = !file.empty() && !agent::is_absent(file);
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

// Made by the first run that is kept. One that is broken makes no run known as the user's.
void look_at_seal_key(const Context& context, Health& health) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(state_folder(context.environment) / "run-seal.key", error))) {
    return;
  }
  auto key = seal_key(context.environment, context.cwd);
  if (!key && key.error().code == agent::Code::storage_io) {
    key.error().message.insert(0, "no run is known as yours: ");
    health.lines.push_back({"run seal", agent::one_line(key.error().message)});
    health.errors.push_back(std::move(key).error());
  }
}

void look_at_journal(const Context& context, Health& health) {
  const fs::path folder = state_folder(context.environment);
  const fs::path file = default_journal(context.environment);
  if (file.empty()) {
    health.report["journal"] = {{"file", nullptr}, {"exists", false}, {"usable", false}};
    health.lines.push_back(
        {"journal", "no session is kept: neither XDG_STATE_HOME nor HOME is set"});
    return;
  }
  const bool exists = !agent::is_absent(file);
  std::optional<Error> failure;
  if (exists) {
    auto journal = agent::store::SqliteJournal::open(
        file, agent::SessionSpec::Durability::process, context.redactor);
    failure = journal ? std::nullopt : std::optional(std::move(journal).error());
  } else if (auto nothing_left = agent::store::check_wal(file); !nothing_left) {
    failure = std::move(nothing_left).error();
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

void add_online(std::string line, Json entry, Health& health) {
  health.lines.push_back({"online", std::move(line)});
  health.report["online"].push_back(std::move(entry));
}

// What `whose` would end a run with before anything is sent, so that nobody is asked.
void add_unasked(std::string_view whose,
                 const Error& error,
                 const agent::Redactor& redactor,
                 Health& health) {
  add_online(fmt::format("{}: {}", whose, agent::one_line(redactor.apply(error.message))),
             {{"provider", error.provider.empty() ? Json() : Json(error.provider)},
              {"address", nullptr},
              {"reachable", nullptr},
              {"models", nullptr},
              {"error", agent::to_json(error)}},
             health);
}

// Each server once with each key.
void add_server(providers::Resolved server, std::vector<providers::Resolved>& servers) {
  const bool is_known = std::ranges::any_of(servers, [&](const providers::Resolved& one) {
    return one.base_url == server.base_url && one.api_key == server.api_key &&
           one.protocol == server.protocol;
  });
  if (!is_known && server.protocol != providers::k_replay) {
    servers.push_back(std::move(server));
  }
}

std::vector<agent::ModelSpec> models_of(const agent::AgentSpec& agent) {
  std::vector<agent::ModelSpec> models = {agent.model};
  models.insert(models.end(), agent.fallback.models.begin(), agent.fallback.models.end());
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.model) {
      models.push_back(*check.model);
    }
  }
  if (const auto& summarizer = agent.context_management.summarizer) {
    models.push_back(*summarizer);
  }
  return models;
}

// The servers of this agent to which its keys may go; what is in the way of the others is said.
void add_servers_of(const std::string& file,
                    const providers::KeyHosts& hosts,
                    const Context& context,
                    std::vector<providers::Resolved>& servers,
                    Health& health) {
  const auto report = config::load_agent(context.cwd / file, context.environment, known_names());
  std::vector<Error> errors = report.errors;
  if (report.agent) {
    for (const agent::ModelSpec& model : models_of(*report.agent)) {
      KeyRequests keys(hosts, *report.agent);
      auto server = providers::resolve(model, context.environment, keys.check());
      auto refused = refusals(keys.take(), context.redactor);
      if (!server) {
        errors.push_back(std::move(server).error());
      } else if (refused.empty()) {
        add_server(*std::move(server), servers);
      }
      std::ranges::move(refused, std::back_inserter(errors));
    }
  }
  for (Error& error : errors) {
    if (error.where && error.where->file == context.cwd / file) {
      error.where->file = file;
    }
    add_unasked(file, error, context.redactor, health);
    health.errors.push_back(std::move(error));
  }
}

// Those whose key is set, and those of the folder's agents.
std::vector<providers::Resolved> servers_to_ask(const providers::KeyHosts& hosts,
                                                const Context& context,
                                                Health& health) {
  std::vector<providers::Resolved> servers;
  for (const providers::Preset& preset : providers::presets()) {
    if (agent::trimmed_value_of(context.environment, preset.key_variable).empty()) {
      continue;
    }
    auto server =
        providers::resolve({.name = std::string(preset.name) + "/any"}, context.environment);
    if (server) {
      add_server(*std::move(server), servers);
    } else {  // whether a run would ask it is not known
      add_unasked(preset.name, server.error(), context.redactor, health);
    }
  }
  for (const std::string& file : agents_of_folder(context.cwd)) {
    add_servers_of(file, hosts, context, servers, health);
  }
  return servers;
}

}  // namespace

Health look_at_health(const Context& context) {
  Health health;
  look_at_keys(context, health);
  look_at_settings(context, health);
  look_at_journal(context, health);
  look_at_seal_key(context, health);
  look_at_prices(context, health);
  return health;
}

agent::Result<void> ask_providers(const Parsed& parsed, Context& context, Health& health) {
  TRY_ASSIGN(const auto signals, SignalWatcher::start(context.cancellation));
  TRY_ASSIGN(auto hosts, key_hosts_of(parsed, context.environment));
  if (const auto user = load_user_settings(context.environment)) {
    TRY(allow_settings(*user, hosts));
  }
  agent::SystemClock clock;
  providers::HttpClient http(context.environment);
  health.report["online"] = Json::array();
  for (const providers::Resolved& one : servers_to_ask(hosts, context, health)) {
    const auto models = providers::list_models(one, http, clock, context.cancellation.stop());
    const std::string address = agent::one_line(context.redactor.apply(one.base_url));
    add_online(fmt::format("{} at {}: {}",
                           one.provider,
                           address,
                           models ? fmt::format("reachable, {} models", models->size())
                                  : agent::one_line(models.error().message)),
               {{"provider", one.provider},
                {"address", address},
                {"reachable", models.has_value()},
                {"models", models ? Json(models->size()) : Json()},
                {"error", models ? Json() : agent::to_json(models.error())}},
               health);
    if (!models) {
      health.errors.push_back(models.error());
    }
  }
  if (health.report["online"].empty()) {
    health.lines.push_back({"online",
                            "no provider was asked: no key is set, and no agent of this "
                            "folder names a server"});
  }
  return {};
}

}  // namespace cli
