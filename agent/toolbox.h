// What an agent can do, as a port. The loop does not know what a process is.
#pragma once
#include "agent/error.h"
#include "agent/hook_decision.h"
#include "agent/message.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

struct Ending;
struct MemberStarted;
struct SubAgentRecord;
struct MemberFinished;

struct ToolInfo {
  std::string name;
  std::string description;
  std::string parameters;  // JSON Schema of the arguments, as JSON text
  bool repeatable = false;
  bool idempotent = false;          // a call that a crash has cut off may run once more
  bool is_kept = false;             // what it said last stays with the model, word for word
  bool writes = false;              // files that it has seen it has written
  std::string name_elsewhere = {};  // what the server calls it that has it; empty: it has none
  std::string results = {};  // JSON Schema of what that promises, as JSON text; empty: nothing
};
std::int64_t bytes_of(const ToolInfo& tool);          // of what a model reads of it
std::string definition_sha256(const ToolInfo& tool);  // of what its server says of it

// Something that calls have left and that a person has to know of.
struct Leftover {
  std::string sentence;
  // No run ends well with it: sandbox.violation where git or errand would do what it says,
  // os.failed where nobody could look whether something like that is there.
  std::optional<Code> ends_as = std::nullopt;
};
Error error_of(const Leftover& left);  // of one that a run ends with
// What it failed with, and what was left meanwhile: that which ends a run comes first.
Error with_leftovers(Error error, std::span<const Leftover> left);
// The one of them that ends the run, a violation before others; null: none does.
const Leftover* what_ends(std::span<const Leftover> left);

// A file whose content the model knows, and by what it is seen whether it is the same since.
struct SeenFile {
  std::string path;  // a true one: absolute, every link followed
  std::int64_t device = 0;
  std::int64_t inode = 0;
  std::int64_t size = 0;         // bytes
  std::int64_t modified_ns = 0;  // of the Unix epoch

  bool operator==(const SeenFile&) const = default;

  static void fields(auto& self, auto& field) {
    field("path", self.path);
    field("device", self.device);
    field("inode", self.inode);
    field("size", self.size);
    field("modified_ns", self.modified_ns);
  }
};

// A tool that the model has from the next request on.
struct AddedTool {
  std::string name;
  std::int64_t bytes = 0;  // of its name, description and schema, for estimates

  bool operator==(const AddedTool&) const = default;

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("bytes", self.bytes);
  }
};

// What has become of the tools by themselves.
struct ToolNews {
  std::vector<AddedTool> added;       // the model's from now on: each once in a run
  std::vector<std::string> warnings;  // a sentence each

  bool operator==(const ToolNews&) const = default;
};

// The one result of one call.
struct ToolResult {
  std::string call_id;
  std::string name;     // the tool that ran, after name repair
  std::string content;  // what the model reads: capped, redacted, valid UTF-8
  ToolStatus status = ToolStatus::ok;
  std::optional<Code> code;  // tool.*; absent when ok
  std::string message;       // for the user, when not ok; not for the model
  std::string help;          // for the user, where it ends the run
  bool fatal = false;        // it ends the run, with the exit code of `code`
  bool task_failed = false;  // the agent itself says that the task failed (exit 1)
  bool truncated = false;    // `content` is head and tail; the whole is in `full_output`
  std::string full_output;   // path of the whole output, when truncated
  std::int64_t duration_ms = 0;
  std::optional<std::int64_t> exit_status;  // of the program; nullopt: none has ended
  std::vector<SeenFile> seen = {};          // read or written since the result before
  // For the eyes of the person alone, never kept: what it changed in files, as a unified diff.
  std::string changes = {};

  static void fields(auto& self, auto& field) {
    field("call_id", self.call_id);
    field("name", self.name);
    field("status", self.status);
    field("code", self.code);
    field("message", self.message);
    field("help", self.help);
    field("content", self.content);
    field("exit_status", self.exit_status);
    field("truncated", self.truncated);
    field.or_null("full_output", self.full_output);
    field("fatal", self.fatal);
    field("task_failed", self.task_failed);
    field("duration_ms", self.duration_ms);
    field.kept("seen", self.seen);
  }

  bool is_well() const { return status == ToolStatus::ok && exit_status.value_or(0) == 0; }
};

// A call that a person has to say yes to.
struct ApprovalRequest {
  ToolCall call;                // with the repaired name and the parsed arguments (JSON text)
  std::string reason;           // why it is asked for
  std::string rule;             // of `permissions`, that says yes to this very call
  bool may_always = true;       // in `permissions.allow`, that rule would be enough
  bool by_hook = false;         // a hook asks, and `reason` are its words
  bool may_whole_tool = false;  // a yes may be to all calls of this tool: Answer::tool
  // definition_sha256() of a tool whose definition nobody here has written; empty: of another one.
  std::string tool_sha256 = {};
  // For the eyes of the person alone, never kept: what it would change in files, as a unified diff
  // (empty: nothing, or nobody knows), and why nobody knows.
  std::string changes = {};
  std::string changes_unknown = {};
};
enum class Answer : std::uint8_t {
  once,
  run,     // and for all calls like it in this run
  tool,    // and for all calls of its tool in this run
  always,  // and in all runs of this user
  no,
  stop,    // and the run is to end
  nobody,  // there was no one to ask
};
std::string_view to_string(Answer answer);
// The rule that such an answer adds, to a request with that `rule`; empty: none.
std::string granted_rule(Answer answer, std::string_view rule);

// Another call of a reply of which some wait for a yes, and what has come of judging it.
struct WaitingCall {
  static constexpr std::array<std::string_view, 3> k_verdicts = {"runs", "rejected", "unjudged"};

  std::string call_id;
  std::string name;
  std::string verdict;  // of k_verdicts
  std::string reason;   // of one that is rejected

  static void fields(auto& self, auto& field) {
    field("call_id", self.call_id);
    field("name", self.name);
    field.word("verdict", self.verdict, k_verdicts);
    field("reason", self.reason);
  }
};
Answer answer_from(std::string_view name);  // `nobody` where it is none

// Who says yes or no to calls.
class Approver {
 public:
  virtual ~Approver() = default;
  // Waits for the answer; `nobody` soon after `stop`, and where who was asked has left.
  virtual Answer ask(const ApprovalRequest& request, std::stop_token stop) = 0;
  virtual std::string_view name() const = 0;  // who it is, for the record: "person", "--yes"
};

// Hears of calls as they happen, on the thread that called run().
class ToolWatcher {
 public:
  virtual ~ToolWatcher() = default;
  // What hooks and guardrails say to a call, before its permission is looked at. With `text`, that
  // are its arguments; with an ending, no call of the reply runs any more.
  virtual HookDecision judge(const ToolCall&) { return {}; }
  // Asked before any call of the reply runs, and once more before a call about which an earlier one
  // of the reply has changed what a yes would be to.
  virtual Answer ask(const ApprovalRequest&) { return Answer::nobody; }
  // There was nobody to answer `requests`: neither these calls nor `others`, all that have no
  // result yet, run now, and none gets one. `why` is the ending that this is.
  virtual void parked(std::span<const ApprovalRequest> /*requests*/,
                      std::span<const WaitingCall> /*others*/,
                      const Error& /*why*/) {}
  // Just before the effect, with the repaired name and the parsed arguments (JSON text). False:
  // the intent could not be recorded, and the call must not run (nor any after it).
  virtual bool started(const ToolCall& call) = 0;
  virtual void output(const ToolCall& call, std::string_view chunk) = 0;  // valid UTF-8
  virtual void finished(const ToolResult& result) = 0;
  // A call runs another agent. What has begun is recorded for good when this comes back. False: it
  // could not be recorded, and must not begin.
  virtual bool began(const MemberStarted& /*member*/) { return true; }
  virtual void ended(const MemberFinished& /*member*/) {}
  // What an earlier process has begun for it; where that is none, only the number is there.
  virtual SubAgentRecord sub_agent(std::string_view call_id) const;
  // In the place of finished(): the call has no result yet. The run ends with `why`, and where it
  // is carried on, so is the call.
  virtual void suspended(const ToolCall& /*call*/, const Ending& /*why*/) {}
  // All that was said until now, as the model sees it.
  virtual Conversation conversation() const { return {}; }
  // Tools that were left out of Toolbox::tools() are the model's from now on: each once in a run.
  // `reason` is of ToolsAdded::k_reasons.
  virtual void added(std::span<const AddedTool> /*tools*/, std::string_view /*reason*/) {}
  // What the model was shown as the result of that number, from 1; nullopt: there is none.
  virtual std::optional<std::string> earlier_result(std::int64_t /*number*/) {
    return std::nullopt;
  }
};

class Toolbox {
 public:
  virtual ~Toolbox() = default;

  // Sorted by name; the same for the whole run.
  virtual std::span<const ToolInfo> tools() const = 0;

  // Of those that were added, the ones that are there, in the order of the names.
  virtual std::vector<ToolInfo> added_tools(std::span<const AddedTool> /*tools*/) const {
    return {};
  }

  // Between turns: takes up what whoever offers the tools has said of them since. What the model
  // was shown stays as it is. Waits for them at most for seconds, and not beyond `stop`.
  virtual ToolNews take_news(std::stop_token /*stop*/) { return {}; }

  // Runs the calls (side by side where the tools allow it) and returns one result a call, in call
  // order; of those that were parked it says not_run. Never fails: what goes wrong is in the
  // results. `stop` asks running tools to end (TERM, after 1 s KILL); `kill` ends them at once.
  virtual std::vector<ToolResult> run(std::span<const ToolCall> calls,
                                      ToolWatcher& watcher,
                                      std::stop_token stop,
                                      std::stop_token kill) = 0;

  // After the last call of the run: looks after what the calls have left.
  virtual std::vector<Leftover> tidy_up() { return {}; }
};

}  // namespace agent
