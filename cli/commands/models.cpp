// `errand models`: the providers that have a name, whether their key is there, and what they offer.
#include "agent/cancellation.h"
#include "agent/clock.h"
#include "agent/json.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "providers/http/http_client.h"
#include "providers/model_list.h"
#include "providers/registry.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;
using providers::Preset;

constexpr std::string_view k_schema = "errand.models/1";

// A preset as this machine has it: where it is and with which key, or why it cannot be used.
struct Row {
  const Preset* preset;
  Result<providers::Resolved> resolved;

  bool has_key() const { return resolved && !resolved->api_key_env.empty(); }
  bool needs_key() const { return !preset->key_variable.empty(); }
  std::string base_url() const {
    return resolved ? resolved->base_url : std::string(preset->base_url);
  }
};

Result<std::vector<Row>> chosen(const Parsed& parsed, const agent::Environment& environment) {
  std::vector<std::string_view> names;
  std::vector<Row> rows;
  for (const Preset& preset : providers::presets()) {
    names.push_back(preset.name);
    const auto& asked = parsed.positionals;
    if (asked.empty() || std::ranges::find(asked, preset.name) != asked.end()) {
      rows.push_back({.preset = &preset,
                      .resolved = providers::resolve({.name = std::string(preset.name) + "/any"},
                                                     environment)});
    }
  }
  for (const std::string& name : parsed.positionals) {
    if (std::ranges::find(names, name) == names.end()) {
      const auto near = agent::nearest(name, names);
      return agent::fail(
          Code::cli_usage,
          fmt::format("there is no provider `{}`", name),
          near ? fmt::format("did you mean `{}`?", *near) : "`errand models` lists them all");
    }
  }
  return rows;
}

std::string key_state(const Row& row) {
  if (row.has_key()) {
    return row.resolved->api_key_env + " is set";
  }
  return row.needs_key() ? fmt::format("needs {}", row.preset->key_variable) : "no key";
}

void write_text(const std::vector<Row>& rows, std::ostream& out) {
  constexpr std::string_view k_line = "{:<13} {:<19} {:<32} {}\n";
  out << fmt::format(k_line, "PROVIDER", "PROTOCOL", "KEY", "ADDRESS");
  for (const Row& row : rows) {
    const std::string address = row.base_url();
    out << fmt::format(k_line,
                       row.preset->name,
                       row.preset->protocol,
                       key_state(row),
                       address.empty() ? "-" : address);
  }
}

Json to_json(const Row& row) {
  const auto or_null = [](std::string_view text) { return text.empty() ? Json() : Json(text); };
  return {{"provider", row.preset->name},
          {"protocol", row.preset->protocol},
          {"base_url", or_null(row.base_url())},
          {"key_variable", or_null(row.preset->key_variable)},
          {"has_key", row.has_key()},
          {"usable", row.resolved.has_value()},
          {"description", row.preset->description}};
}

// Asks each; what one fails with goes to stderr, and the first failure is the ending.
class Asking {
 public:
  Asking(Context& context, bool as_json) : context_(context), as_json_(as_json) {}

  Result<int> ask(const std::vector<Row>& rows) {
    agent::Cancellation& cancellation = context_.cancellation;
    TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation));
    agent::SystemClock clock;
    providers::HttpClient http(context_.environment);
    for (const Row& row : rows) {
      if (!row.resolved) {
        note(row.resolved.error());
        continue;
      }
      const auto models = providers::list_models(*row.resolved, http, clock, cancellation.stop());
      if (cancellation.signal_number() != 0) {
        return 128 + cancellation.signal_number();
      }
      if (models) {
        write(row, *models);
      } else {
        note(models.error());
      }
    }
    if (as_json_) {
      context_.out << agent::dump({{"schema", k_schema}, {"providers", list_}}) << "\n";
    }
    return failure_ ? Result<int>(agent::fail(*failure_)) : Result<int>(0);
  }

 private:
  void write(const Row& row, const std::vector<std::string>& models) {
    if (as_json_) {
      list_.push_back(to_json(row));
      list_.back()["models"] = models;
      return;
    }
    for (const std::string& model : models) {
      context_.out << fmt::format("{}/{}\n", row.preset->name, agent::one_line(model));
    }
  }

  void note(const agent::Error& error) {
    if (failure_) {
      context_.err << render(error, context_.color_err, context_.redactor) << "\n\n";
    } else {
      failure_ = error;
    }
  }

  Context& context_;
  bool as_json_;
  Json list_ = Json::array();
  std::optional<agent::Error> failure_;
};

}  // namespace

Result<int> command_models(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(std::vector<Row> rows, chosen(parsed, context.environment));
  const bool as_json = parsed.value("--output") == "json";
  if (parsed.has("--remote")) {
    if (parsed.positionals.empty()) {
      std::erase_if(rows, [](const Row& row) { return !row.has_key(); });
    }
    if (rows.empty()) {
      return agent::fail(
          Code::provider_auth,
          "no provider's key is set",
          "Set one, or name a provider that needs none: errand models --remote ollama");
    }
    return Asking(context, as_json).ask(rows);
  }
  if (!as_json) {
    write_text(rows, context.out);
    return 0;
  }
  Json list = Json::array();
  for (const Row& row : rows) {
    list.push_back(to_json(row));
  }
  context.out << agent::dump({{"schema", k_schema}, {"providers", list}}) << "\n";
  return 0;
}

}  // namespace cli
