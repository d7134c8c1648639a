// `errand check`: every mistake of every file, before anything runs.
#include "agent/outcome.h"
#include "cli/commands.h"
#include "cli/known_names.h"
#include "cli/price_book.h"
#include "cli/render_error.h"
#include "config/load.h"
#include "config/replay_script.h"
#include "providers/registry.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;

struct Checked {
  std::string file;
  std::vector<Error> errors;
  std::vector<Error> warnings;
};

// The file as a whole, where the mistake has no place of its own.
Error in_file(Error error, const std::string& file) {
  if (!error.where) {
    error.where = agent::Where{.file = file};
  }
  return error;
}

void check_price(const agent::AgentSpec& agent,
                 const agent::ModelSpec& spec,
                 const providers::Resolved& model,
                 const agent::Environment& environment,
                 Checked& checked) {
  if (!agent.limits.max_cost_usd) {
    return;
  }
  const auto book = PriceBook::open(environment);
  if (!book) {
    checked.errors.insert(checked.errors.end(), book.error().begin(), book.error().end());
    return;
  }
  const auto price = book->find(spec, model);
  const auto kept = price ? check_cost_limit(agent, *price, *book, std::chrono::system_clock::now())
                          : agent::Result<void>(agent::fail(price.error()));
  if (!kept) {
    checked.errors.push_back(in_file(kept.error(), checked.file));
  }
}

// What loading alone does not see. A missing key is no mistake of the file.
void check_model(const agent::ModelSpec& spec,
                 const agent::AgentSpec& agent,
                 const agent::Environment& environment,
                 Checked& checked) {
  const auto model = providers::resolve(spec, environment);
  if (!model) {
    auto& list = model.error().code == Code::provider_auth ? checked.warnings : checked.errors;
    list.push_back(in_file(model.error(), checked.file));
    return;
  }
  check_price(agent, spec, *model, environment, checked);
  if (model->protocol == providers::k_replay) {
    const auto script =
        config::load_replay_script(std::filesystem::path(agent.directory) / model->model);
    if (!script) {
      checked.errors.push_back(in_file(script.error(), checked.file));
    }
  }
}

Checked check(const std::string& file, const Context& context) {
  config::Report report =
      config::load_agent(context.cwd / file, context.environment, known_names());
  Checked checked{
      .file = file, .errors = std::move(report.errors), .warnings = std::move(report.warnings)};
  if (report.agent) {
    check_model(report.agent->model, *report.agent, context.environment, checked);
    for (const agent::ModelSpec& fallback : report.agent->fallback.models) {
      check_model(fallback, *report.agent, context.environment, checked);
    }
  }
  const std::string loaded = (context.cwd / file).string();
  for (auto* list : {&checked.errors, &checked.warnings}) {
    for (Error& error : *list) {
      if (error.where && error.where->file == loaded) {
        error.where->file = file;  // as it was asked for
      }
    }
  }
  return checked;
}

Json to_json(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const Error& error : errors) {
    list.push_back(agent::to_json(error));
  }
  return list;
}

void write_json(const std::vector<Checked>& files, bool ok, std::ostream& out) {
  Json json = {{"schema", "errand.check/1"}, {"ok", ok}, {"files", Json::array()}};
  for (const Checked& checked : files) {
    json["files"].push_back({{"file", checked.file},
                             {"ok", checked.errors.empty()},
                             {"errors", to_json(checked.errors)},
                             {"warnings", to_json(checked.warnings)}});
  }
  out << agent::dump(json) << "\n";
}

void write_text(const std::vector<Checked>& files, Context& context) {
  for (const Checked& checked : files) {
    for (const Error& error : checked.errors) {
      context.err << render(error, context.color_err) << "\n\n";
    }
    for (const Error& warning : checked.warnings) {
      context.err << render_warning(warning, context.color_err) << "\n\n";
    }
    if (checked.errors.empty()) {
      context.out << checked.file << ": ok\n";
    }
  }
}

}  // namespace

agent::Result<int> command_check(const Parsed& parsed, Context& context) {
  std::vector<Checked> files;
  for (const std::string& file : parsed.positionals) {
    files.push_back(check(file, context));
  }
  const auto is_bad = [](const Checked& checked) { return !checked.errors.empty(); };
  const auto bad = std::ranges::find_if(files, is_bad);
  const bool ok = bad == files.end();
  if (parsed.value("--output") == "json") {
    write_json(files, ok, context.out);
  } else {
    write_text(files, context);
  }
  if (ok) {
    return 0;
  }
  return agent::exit_code(bad->errors.front());
}

}  // namespace cli
