// `errand runs export`, `import`, `rm` and `prune`: runs out of the journal, and in again.
#include "agent/duration.h"
#include "agent/json.h"
#include "agent/store/keeping.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/output.h"
#include "cli/run_choice.h"
#include "cli/run_document.h"
#include "cli/run_folder.h"
#include "cli/terminal/render_error.h"
#include "config/yaml/source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
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
  return run_ids;
}

constexpr std::size_t k_largest_import = 1u << 30;

std::string runs_counted(std::size_t count) {
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
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
          {"in_use", removal.in_use},
          {"bytes_left", !removal.remains.empty()}};
}

}  // namespace

Result<int> command_runs_export(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  TRY_ASSIGN(const std::string run_id, chosen_run(parsed, context, journal));
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
  TRY_ASSIGN(const auto run_ids, chosen_runs(parsed, context, journal));
  TRY_ASSIGN(const Removal removal,
             agent::store::remove_runs(journal, run_ids, agent::store::Traces::erase));
  remove_kept(context.environment, removal.run_ids);
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
  } else {
    TRY_ASSIGN(removal, agent::store::prune(journal, which, agent::store::Traces::erase));
    remove_kept(context.environment, removal.run_ids);
  }
  warn_of_remains(removal, journal, context);
  if (parsed.value("--output") == "json") {
    context.out << agent::dump(json_of(removal, journal)) << "\n";
    return 0;
  }
  for (const std::string& run_id : removal.run_ids) {
    context.out << run_id << "\n";
  }
  context.err << fmt::format("{} {}\n",
                             parsed.has("--dry-run") ? "would remove" : "removed",
                             runs_counted(removal.run_ids.size()));
  return 0;
}

}  // namespace cli
