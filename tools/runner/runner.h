// Runs the calls of a reply: what every call goes through, whatever the tool. What a tool does is
// in its own file.
#pragma once
#include "agent/clock.h"
#include "agent/environment.h"
#include "agent/result.h"
#include "agent/schema/json_schema.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "agent/state.h"
#include "agent/toolbox.h"
#include "tools/files/seen_files.h"
#include "tools/process/program_runner.h"
#include "tools/runner/tool_result.h"
#include "tools/tool.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

class Permissions;

struct ListedTools;

struct RunnerOptions {
  std::filesystem::path cwd;                // absolute
  std::filesystem::path temporary;          // the run's own folder; made when first needed (0700)
  agent::Environment environment;           // as the process has it
  std::vector<std::string> scrub;           // variables that tools never see: provider keys
  ProgramRunner* program_runner = nullptr;  // borrowed
  ProgramRunner* git_runner = nullptr;      // borrowed
  const sandbox::Policy* policy = nullptr;  // borrowed; null: no sandbox
  // CallContext's
  std::function<bool(const std::filesystem::path&)> is_programs_own = {};
  const agent::Redactor* redactor = nullptr;    // borrowed; null: nothing is taken out
  bool redact_secrets = true;                   // false: the model reads them, the watcher does not
  agent::Clock* clock = nullptr;                // borrowed, required
  Permissions* permissions = nullptr;           // borrowed; null: every call may run
  const agent::SandboxSpec* sandbox = nullptr;  // borrowed; null: the model is told nothing of it
  bool fail_on_denied = false;                  // a call that is denied ends the run
  Questioner* questioner = nullptr;             // borrowed; null: nobody can be asked anything
  bool shows_changes = false;                   // a person looks on: results have what they changed
  // Files that exist are changed only after the model has read them, where it can read files.
  bool guards_unseen = true;
  agent::Http* http = nullptr;       // borrowed; null: there is no web
  std::size_t result_page = 28'000;  // bytes that read_result shows at once
  std::uint64_t seed = 0;            // of the numbers on fences; for nobody's eyes
  std::function<std::vector<agent::Leftover>()>
      tidy_up;  // what programs beside the tools have left
  // What servers offer now and did not before; asked between turns. Empty: nothing becomes of it.
  std::function<ListedTools(std::stop_token stop)> list_anew;
};

// A tool as an agent has it.
struct ConfiguredTool {
  std::unique_ptr<Tool> tool;
  agent::ToolSpec::OnError on_error = agent::ToolSpec::OnError::report;
  bool is_untrusted = false;        // its results are fenced in (fence.h)
  std::string reach = {};           // stands behind its description; may be empty
  bool has_foreign_schema = false;  // arguments are not checked by one that cannot be used
  bool is_searched = false;         // the model has it once it was found, or called by its name
};

struct ListedTools {
  std::vector<ConfiguredTool> tools;  // each of another name
  std::vector<std::string> warnings;  // a sentence each
};

// config.invalid: there is no such built-in.
agent::Result<ConfiguredTool> configure_tool(const agent::ToolSpec& spec);

// All of an agent's. `sandbox`: null: the model is told nothing of it.
agent::Result<std::vector<ConfiguredTool>> configure_tools(
    const std::vector<agent::ToolSpec>& specs, const agent::SandboxSpec* sandbox);

// One for a run; run() is not to be called twice at once.
class Runner final : public agent::Toolbox {
 public:
  // config.invalid: an unknown built-in, a schema that cannot be used, a setting that the tool
  // does not have. registry.duplicate: two tools of one name.
  static agent::Result<std::unique_ptr<Runner>> create(const std::vector<agent::ToolSpec>& tools,
                                                       RunnerOptions options);
  static agent::Result<std::unique_ptr<Runner>> create(std::vector<ConfiguredTool> tools,
                                                       RunnerOptions options);

  // What the model knows and the tools hold of a run that is carried on. Once, before run().
  void recall(const agent::State& past);

  // Those that are not denied whatever their arguments are.
  std::span<const agent::ToolInfo> tools() const override { return infos_; }
  std::vector<agent::ToolInfo> added_tools(std::span<const agent::AddedTool> tools) const override;

  agent::ToolNews take_news(std::stop_token stop) override;

  // Repairs the name, checks the arguments and the permission, announces the call, runs it. What
  // needs a person's yes is asked for before any call of the reply runs: where the answer is to
  // stop (run.declined), none of them runs; where nobody answers to some
  // (tool.confirmation_required), they are parked with all others, and have no result. The
  // permission is judged once more when the call starts, since the calls before it may have changed
  // what it is about: what is denied then does not run, and what needs another yes is asked for
  // then, with the same ends for it and those after it. Hooks are not asked again. A name is never
  // repaired into a call that is denied or asked for, nor where a rule that does so is about the
  // name as it was written. Neighbours that are all parallel run side by side, at most eight; any
  // other call runs alone. A call that has not begun when `stop` is requested, or that the watcher
  // refuses, is tool.cancelled, and so are those after it. Idempotent tools get one more try half a
  // second after a failure of the system. A tool may ask for a corrected call three times in a run;
  // then that is tool.failed.
  std::vector<agent::ToolResult> run(std::span<const agent::ToolCall> calls,
                                     agent::ToolWatcher& watcher,
                                     std::stop_token stop,
                                     std::stop_token kill) override;

  std::vector<agent::Leftover> tidy_up() override;

 private:
  std::set<std::string, std::less<>> seen_names() const;  // of tools that the model knows of
  struct Entry {
    ConfiguredTool configured;
    // Nothing: not read yet. That of a stranger's tool is read when it is called: there may be
    // thousands, and some that cannot be used.
    std::optional<agent::JsonSchema> schema = {};
    int model_retries = 0;

    const std::string& name() const { return configured.tool->info().name; }
    agent::Result<void> read_schema();
    const agent::JsonSchema& schema_of_call();
  };
  class Round;

  Runner(std::vector<Entry> entries, RunnerOptions options);
  static agent::Result<Entry> entry_of(ConfiguredTool configured);
  bool is_denied(const Entry& entry) const;
  std::optional<agent::AddedTool> offer_later(const Entry& entry);
  const agent::Redactor* watcher_redactor() const { return guessing_ ? &*guessing_ : nullptr; }

  RunnerOptions options_;
  std::vector<Entry> entries_;                                    // sorted by name
  std::vector<std::string> names_;                                // of entries_, in the same order
  std::vector<agent::ToolInfo> infos_;                            // of those that are offered
  std::vector<std::string> offered_;                              // the names of infos_
  std::map<std::string, agent::ToolInfo, std::less<>> searched_;  // that can be added, by name
  std::set<std::string, std::less<>> added_;                      // of them: that were
  std::optional<agent::Redactor> guessing_;  // known secrets, and what looks like one
  ResultMaker results_;
  SeenFiles seen_;
  bool guards_unseen_ = false;
  std::uint64_t calls_ = 0;          // so far
  bool has_kept_untrusted_ = false;  // in the run's folder
};

}  // namespace tools
