// `errand runs export`, `import`, `rm` and `prune`: runs out of the journal, and in again.
#include "agent/duration.h"
#include "agent/json.h"
#include "agent/store/keeping.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/output.h"
#include "cli/recorded_run.h"
#include "cli/run_choice.h"
#include "cli/run_document.h"
#include "cli/run_folder.h"
#include "cli/terminal/render_error.h"
#include "cli/test_export.h"
#include "cli/test_run.h"
#include "config/test_case.h"
#include "config/yaml/source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;
using agent::store::Removal;

// What people and other programs read: what a run shows, and nothing that looks like a secret.
Result<std::string> readable_export(const Parsed& parsed,
                                    const fs::path& journal,
                                    const std::string& run_id,
                                    const agent::Redactor& redactor) {
  TRY_ASSIGN(const std::vector<agent::Event> events, agent::store::read_run(journal, run_id));
  if (parsed.value("--format") == "markdown") {
    return run_document(events, redactor);
  }
  std::string lines;
  for (const agent::Event& event : events) {
    lines += redactor.dump(agent::dump(event), [&] { return agent::to_json(event); }) + '\n';
  }
  return lines;
}

Result<std::string> raw_export(const fs::path& journal, const std::string& run_id) {
  TRY_ASSIGN(const std::vector<std::string> texts, agent::store::read_run_texts(journal, run_id));
  std::string lines;
  for (const std::string& text : texts) {
    lines += text + '\n';
  }
  return lines;
}

// To the file that --output-file names, whole or not at all; else to stdout.
Result<int> deliver(const Parsed& parsed, const std::string& text, Context& context) {
  const auto file = parsed.value("--output-file");
  if (!file) {
    context.out << text;
    return 0;
  }
  TRY_ASSIGN(const auto output, Output::to_file(*file, &context.cancellation.patience()));
  output->write(text);
  output->commit();
  return ending_of(*output, 0);
}

// Where a test case goes: all its files, none of which may be there.
struct CaseFiles {
  fs::path test;
  fs::path script;
};

Result<CaseFiles> case_files(const Parsed& parsed, const Context& context) {
  const std::string file = parsed.value("--output-file").value_or("");
  const std::string name = fs::path(file).filename().string();
  if (!name.ends_with(config::k_test_suffix) || name.size() == config::k_test_suffix.size()) {
    return agent::fail(
        Code::cli_usage,
        file.empty() ? "`--test` writes a case file and its script: it has to be said where"
                     : fmt::format("`{}` is no name of a test case", agent::one_line(file, 200)),
        fmt::format("--output-file NAME{}", config::k_test_suffix));
  }
  TRY(check_stays_inside(file));
  CaseFiles files{.test = (context.cwd / file).lexically_normal(), .script = {}};
  files.script = files.test.parent_path() /
                 (name.substr(0, name.size() - config::k_test_suffix.size()) + ".replay.yaml");
  for (const fs::path& path : {files.test, files.script}) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(path, error))) {
      return agent::fail(Code::cli_cannot_create,
                         fmt::format("`{}` is there already", agent::one_line(path.string(), 300)),
                         "choose another name, or remove it");
    }
  }
  return files;
}

// A case works in a copy of the folder that the run worked in, or in that folder itself where the
// case is in it.
Result<std::string> workspace_of(const agent::RunStarted& started,
                                 const CaseFiles& files,
                                 const Context& context) {
  const fs::path folder = files.test.parent_path();
  std::error_code error;
  if (fs::equivalent(folder, started.cwd, error)) {
    return std::string();
  }
  config::TestCase test;
  test.file = files.test;
  test.workspace = started.cwd;
  if (const auto allowed = check_workspace(test, context); !allowed) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the run worked in `{}`, of which a case cannot have a copy: {}",
                                   agent::one_line(started.cwd, 200),
                                   allowed.error().message),
                       "write the case into that folder itself");
  }
  return fs::path(started.cwd).lexically_relative(folder).string();
}

void warn_of_changed_agent(const agent::RunStarted& started,
                           const fs::path& file,
                           Context& context) {
  constexpr std::size_t k_largest = 16u << 20;
  const auto text = config::read_text_file(file, k_largest);
  if (text && context.redactor.apply(*text) != started.made_from.agent_text) {
    context.err << render_warning({.code = Code::config_invalid,
                                   .message = fmt::format("`{}` has changed since the run",
                                                          agent::one_line(file.string(), 300)),
                                   .help = "the case tests the agent as it is now"},
                                  context.color_err,
                                  context.redactor)
                << "\n\n";
  }
}

Result<void> write_file(const fs::path& file, const std::string& text, Context& context) {
  TRY_ASSIGN(const auto output, Output::to_file(file.string(), &context.cancellation.patience()));
  output->write(text);
  output->commit();
  TRY(ending_of(*output, 0));
  return {};
}

// A case file and the script that it needs.
Result<int> export_test(const Parsed& parsed,
                        const fs::path& journal,
                        const std::string& run_id,
                        Context& context) {
  TRY_ASSIGN(const CaseFiles files, case_files(parsed, context));
  TRY_ASSIGN(const std::vector<agent::Event> events, agent::store::read_run(journal, run_id));
  TRY(check_can_be_case(events));
  const auto& started = std::get<agent::RunStarted>(events.front().body);
  const fs::path agent_file = agent_file_of(started);
  std::error_code error;
  if (!fs::is_regular_file(agent_file, error)) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the agent file `{}` of the run is not there any more",
                                   agent::one_line(agent_file.string(), 300)),
                       "put it back: a case names it");
  }
  const fs::path folder = files.test.parent_path();
  TRY_ASSIGN(const std::string workspace, workspace_of(started, files, context));
  warn_of_changed_agent(started, agent_file, context);
  const ExportedCase exported =
      case_of_run(events,
                  {.agent = agent_file.lexically_normal().lexically_relative(folder).string(),
                   .script = files.script.filename().string(),
                   .workspace = workspace},
                  context.redactor.guessing());
  TRY(write_file(files.script, exported.script, context));
  TRY(write_file(files.test, exported.test, context));
  context.out << parsed.value("--output-file").value_or("") << "\n";
  return 0;
}

// Each once, however often it is named.
Result<std::vector<std::string>> chosen_runs(const Parsed& parsed,
                                             const Context& context,
                                             const fs::path& journal) {
  std::vector<std::string> run_ids;
  for (const std::string& selector : parsed.positionals) {
    if (selector.empty()) {  // a variable that is not set is not the last run
      return agent::fail(agent::Code::cli_usage,
                         "an empty RUN names no run",
                         "RUN is an id, its beginning or a name; --last is this folder's last run");
    }
    TRY_ASSIGN(run_ids.emplace_back(),
               agent::store::find_run(journal, selector, context.cwd.string()));
  }
  if (parsed.has("--last") || run_ids.empty()) {
    TRY_ASSIGN(run_ids.emplace_back(), chosen_run(parsed, context, journal));
  }
  std::set<std::string> named;
  std::erase_if(run_ids, [&](const std::string& run_id) { return !named.insert(run_id).second; });
  return run_ids;
}

constexpr std::size_t k_largest_import = 1u << 30;

std::string runs_counted(std::size_t count) {
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
}

std::string parked_words(std::size_t count) {
  return count == 0 ? "" : fmt::format(", {} of them parked: their calls wait for approval", count);
}

void warn_of_remains(const Removal& removal, const fs::path& journal, Context& context) {
  if (!removal.remains.empty()) {
    context.err << render_warning(
                       {.code = Code::storage_io,
                        .message = fmt::format("bytes of what was removed may still be in {}: {}",
                                               journal.string(),
                                               removal.remains),
                        .help = "`errand runs prune --older-than 36500d` writes the file anew, "
                                "once no run is at work"},
                       context.color_err,
                       context.redactor)
                << "\n";
  }
}

agent::Json json_of(const Removal& removal, const fs::path& journal) {
  return {{"schema", "errand.removed/1"},
          {"store", journal.string()},
          {"removed", removal.run_ids},
          {"parked", removal.parked},
          {"in_use", removal.in_use},
          {"bytes_left", !removal.remains.empty()}};
}

}  // namespace

Result<int> command_runs_export(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  TRY_ASSIGN(const std::string run_id, chosen_run(parsed, context, journal));
  if (parsed.has("--test")) {
    return export_test(parsed, journal, run_id, context);
  }
  auto text = parsed.has("--raw")
                  ? raw_export(journal, run_id)
                  : readable_export(parsed, journal, run_id, context.redactor.guessing());
  if (!text) {
    return agent::fail(std::move(text).error());
  }
  return deliver(parsed, *text, context);
}

Result<int> command_runs_import(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  const std::string& file = parsed.positionals.front();
  TRY_ASSIGN(const std::string text, config::read_text_file(file, k_largest_import));
  TRY_ASSIGN(const std::string run_id,
             agent::store::import_run(journal, text, file, context.redactor));
  context.out << run_id << "\n";
  return 0;
}

Result<int> command_runs_rm(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  const auto run_ids = chosen_runs(parsed, context, journal);
  if (!run_ids) {
    agent::store::finish_removals(journal);
    return std::unexpected(run_ids.error());
  }
  TRY_ASSIGN(const Removal removal,
             agent::store::remove_runs(journal, *run_ids, agent::store::Traces::erase));
  remove_kept(context.environment, removal.run_ids, journal);
  warn_of_remains(removal, journal, context);
  if (parsed.value("--output") == "json") {
    context.out << agent::dump(json_of(removal, journal)) << "\n";
  } else {
    context.err << fmt::format("removed {}\n", runs_counted(removal.run_ids.size()));
  }
  if (!removal.in_use.empty()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("a living process has the run {}", removal.in_use.front()),
                       "wait for its end, or stop it; `errand runs show` says which it is");
  }
  return 0;
}

Result<int> command_runs_prune(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  const auto age = agent::parse_duration(parsed.value("--older-than").value_or(""));
  if (!age) {
    return agent::fail(Code::cli_usage,
                       "--older-than is missing",
                       "`errand runs prune --older-than 30d` removes what is older than that");
  }
  const agent::store::OldRuns which{.before = std::chrono::system_clock::now() - *age};
  Removal removal;
  if (parsed.has("--dry-run")) {
    TRY_ASSIGN(removal.run_ids, agent::store::find_old_runs(journal, which));
    TRY_ASSIGN(removal.parked, agent::store::parked_of(journal, removal.run_ids));
  } else {
    TRY_ASSIGN(removal, agent::store::prune(journal, which, agent::store::Traces::erase));
    remove_kept(context.environment, removal.run_ids, journal);
  }
  warn_of_remains(removal, journal, context);
  if (parsed.value("--output") == "json") {
    context.out << agent::dump(json_of(removal, journal)) << "\n";
    return 0;
  }
  for (const std::string& run_id : removal.run_ids) {
    context.out << run_id << "\n";
  }
  context.err << fmt::format("{} {}{}\n",
                             parsed.has("--dry-run") ? "would remove" : "removed",
                             runs_counted(removal.run_ids.size()),
                             parked_words(removal.parked.size()));
  return 0;
}

}  // namespace cli
