// Everything that happens in a run is one of these. The state is their fold; sinks and the
// journal read nothing else. Types of later features are added here with the feature.
#pragma once
#include "agent/error.h"
#include "agent/hook_point.h"
#include "agent/json.h"
#include "agent/message.h"
#include "agent/outcome.h"
#include "agent/result.h"
#include "agent/run_plan.h"
#include "agent/toolbox.h"

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agent {

constexpr std::string_view k_event_schema = "errand.events/1";

// For lists of events that somebody does nothing with: a new one is in none of them, and is not
// compiled before each reader says what it is to him.
template <typename Body, typename... Bodies>
concept IsOneOf = (std::same_as<Body, Bodies> || ...);

// What an event has in JSON stands once, in its fields(): writing, reading (agent/event.cpp) and
// the schema (cli/manual/schema_events.cpp) are visitors of it, which see the fields in the order
// in which they are written. A visitor takes
//
//     field(key, value)                 the form follows from the value's type
//     field.or_null(key, text)          null where the text is empty
//     field.word(key, text, words)      one of these words
//     field.arguments(key, text)        JSON text, as the object that it is
//     field.constant(key, text)
//     field.group(key, [](auto& field)) an object of its own
//     field.kept(key, value)            in the journal alone: what a run is carried on by
//     field.members(value)              the fields of `value`, among those of the event
//     field.reported(key, usage)        as a provider has it: nothing says that it can be
template <typename Value>
concept HasFields =
    requires(const Value& value, int& no_visitor) { Value::fields(value, no_visitor); };

struct SandboxInForce {
  std::string mode;                  // "workspace_write"; empty: the run ended before there was one
  std::string network;               // "deny"
  std::vector<std::string> hosts;    // that programs may reach although it is denied
  std::vector<std::string> layers;   // what the machine enforces on programs, where there are any
  std::vector<std::string> missing;  // what it cannot

  static void fields(auto& self, auto& field) {
    field("mode", self.mode);
    field("network", self.network);
    field("hosts", self.hosts);
    field("layers", self.layers);
    field("missing", self.missing);
  }
};
// What a run can be made from once more. What else its agent file named is in what the model was
// told, and in the plan.
struct MadeFrom {
  std::string agent_text;            // of the agent file
  std::string agent_folder;          // absolute: where paths in it start
  std::vector<std::string> options;  // of the command line: "--max-turns=5"; what outlives it
  std::string seal;                  // by which this user's errand knows that it made this
  std::string input_sha256 = {};     // of the input of a batch that it works on; empty: of none
  // Of the agents that work for it, a line each, with the file.
  std::string agents_sha256 = {};

  static void fields(auto& self, auto& field) {
    field("agent_text", self.agent_text);
    field("agent_folder", self.agent_folder);
    field("options", self.options);
    field("seal", self.seal);
    field("input_sha256", self.input_sha256);
    field("agents_sha256", self.agents_sha256);
  }
};
// Whose beginning a run has: the events until then are that run's, word for word.
struct ForkedFrom {
  std::string run_id;
  std::int64_t turn = 0;  // the last one that they have; 0: none

  static void fields(auto& self, auto& field) {
    field("run_id", self.run_id);
    field("turn", self.turn);
  }
};
// A process has begun the run, or carries it on.
// An MCP server that the run has, and what was agreed with it.
struct McpConnection {
  std::string name;                // in the agent file
  std::string revision;            // "2025-11-25"
  std::string server;              // as it calls itself; may be empty
  std::vector<std::string> tools;  // at the agent
  bool is_searched = false;        // the model finds them, instead of seeing all
  bool has_resources = false;      // that the agent can read

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("revision", self.revision);
    field("server", self.server);
    field("tools", self.tools);
    field("searched", self.is_searched);
    field("resources", self.has_resources);
  }
};

// What stands before the prompt of a new run, as if it had been said: of a prompt that an MCP
// server has.
struct OpeningMessage {
  static constexpr std::array<std::string_view, 2> k_roles = {"user", "assistant"};

  std::string role;  // of k_roles
  std::string text;
  std::vector<Attachment> attachments = {};  // of the user's

  bool operator==(const OpeningMessage&) const = default;

  static void fields(auto& self, auto& field) {
    field.word("role", self.role, k_roles);
    field("text", self.text);
    field("attachments", self.attachments);
  }
};

struct RunStarted {
  static constexpr std::string_view k_type = "run.started";

  std::string version;  // of errand
  std::string agent_name;
  std::string agent_file;  // may be empty
  std::string model;       // provider/model as it will be asked
  std::string cwd;
  std::string instructions;  // rendered, context files included
  std::string prompt;        // rendered
  std::vector<Attachment> attachments;
  std::vector<OpeningMessage> opening = {};  // before the prompt, of a new run
  std::vector<std::string> tools;
  SandboxInForce sandbox;
  std::vector<McpConnection> mcp_servers = {};
  std::vector<std::string> missing_servers = {};  // that the run goes without
  std::string session;                            // what the user calls the run; may be empty
  std::optional<std::int64_t> resumes;    // the event that it is carried on from; prompt: a new one
  std::optional<ForkedFrom> forked_from;  // from here on, the run has a bill of its own
  RunPlan plan;
  MadeFrom made_from;
  std::int64_t worked_ms = 0;  // what earlier processes have spent on it

  static void fields(auto& self, auto& field) {
    field.constant("schema", k_event_schema);
    field("version", self.version);
    field.or_null("session", self.session);
    field("resumes", self.resumes);
    field("forked_from", self.forked_from);
    field.group("agent", [&](auto& agent) {
      agent("name", self.agent_name);
      agent("file", self.agent_file);
    });
    field("model", self.model);
    field("cwd", self.cwd);
    field("instructions", self.instructions);
    field("prompt", self.prompt);
    field("attachments", self.attachments);
    field("opening", self.opening);
    field("tools", self.tools);
    field("sandbox", self.sandbox);
    field("mcp_servers", self.mcp_servers);
    field("missing_servers", self.missing_servers);
    field.kept("plan", self.plan);
    field.kept("made_from", self.made_from);
    field.kept("worked_ms", self.worked_ms);
  }
};
struct TurnStarted {
  static constexpr std::string_view k_type = "turn.started";

  std::int64_t turn = 0;  // from 1

  static void fields(auto& self, auto& field) { field("turn", self.turn); }
};
struct ModelRequested {
  static constexpr std::string_view k_type = "model.requested";

  std::int64_t turn = 0;
  std::string model;
  std::int64_t messages = 0;
  std::int64_t estimated_input = 0;               // tokens
  std::optional<std::int64_t> max_output_tokens;  // where a budget lowers it

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field("model", self.model);
    field("messages", self.messages);
    field("estimated_input", self.estimated_input);
    field("max_output_tokens", self.max_output_tokens);
  }
};
struct ModelDelta {
  static constexpr std::string_view k_type = "model.delta";

  enum class Kind : std::uint8_t { text, reasoning };
  Kind kind = Kind::text;
  std::string text;

  static void fields(auto& self, auto& field) {
    field("kind", self.kind);
    field("text", self.text);
  }
};
std::string_view to_string(ModelDelta::Kind kind);
struct ModelBroken {  // an answer that broke off, in whatever way, and is charged for all the same
  static constexpr std::string_view k_type = "model.broken";

  Usage usage;                     // as the provider reported it until then
  std::optional<Usage> estimated;  // from bytes, where that is missing or cannot be
  std::optional<Money> cost;       // as Reply::cost

  const Usage& counted() const { return estimated ? *estimated : usage; }

  static void fields(auto& self, auto& field) {
    field("usage", self.usage);
    field("estimated", self.estimated);
    field("cost_usd", self.cost);
  }
};
struct ModelReset {  // drop what was streamed of this reply
  static constexpr std::string_view k_type = "model.reset";

  std::string reason;

  static void fields(auto& self, auto& field) { field("reason", self.reason); }
};
struct ModelRetrying {
  static constexpr std::string_view k_type = "model.retrying";

  int attempt = 0;  // the one that failed
  int max_attempts = 0;
  std::chrono::milliseconds delay{0};
  Error error;

  static void fields(auto& self, auto& field) {
    field("attempt", self.attempt);
    field("max_attempts", self.max_attempts);
    field("delay_ms", self.delay);
    field("error", self.error);
  }
};
struct ModelFallback {  // another model is asked
  static constexpr std::string_view k_type = "model.fallback";

  std::string from;  // provider/model
  std::string to;
  bool skipped = false;                   // `from` failed before, and is not asked again so soon
  Error error;                            // why `from` failed
  std::chrono::milliseconds cooldown{0};  // how long `from` is asked last

  static void fields(auto& self, auto& field) {
    field("from", self.from);
    field("to", self.to);
    field("skipped", self.skipped);
    field("cooldown_ms", self.cooldown);
    field("error", self.error);
  }
};
struct ModelResponded {
  static constexpr std::string_view k_type = "model.responded";

  std::int64_t turn = 0;
  SharedReply reply;
  std::int64_t duration_ms = 0;

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field.members(self.reply);
    field("duration_ms", self.duration_ms);
  }
};
// The program's own words to the model: a nudge to continue a cut answer, a loop warning.
struct UserSaid {
  static constexpr std::string_view k_type = "user.said";

  std::string text;
  // "truncated", "empty", "malformed_tool_call", "hook", "sent_on", "denied", "output_invalid",
  // "checks_failed", "wrap_up", "carried_on"
  std::string reason;
  std::optional<Code> limit = {};  // of "wrap_up": that is nearly used up

  static void fields(auto& self, auto& field) {
    field("text", self.text);
    field("reason", self.reason);
    field.kept("limit", self.limit);
  }
};
struct ToolStarted {
  static constexpr std::string_view k_type = "tool.started";

  std::int64_t turn = 0;
  std::string call_id;
  std::string name;
  std::string arguments;              // JSON text
  std::string arguments_sha256 = {};  // ToolCall's

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field("call_id", self.call_id);
    field("name", self.name);
    field.arguments("arguments", self.arguments);
    field("arguments_sha256", self.arguments_sha256);
  }
};
struct ToolOutput {
  static constexpr std::string_view k_type = "tool.output";

  std::string call_id;
  std::string text;

  static void fields(auto& self, auto& field) {
    field("call_id", self.call_id);
    field("text", self.text);
  }
};
struct ToolFinished {
  static constexpr std::string_view k_type = "tool.finished";

  std::int64_t turn = 0;
  ToolResult result;

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field.members(self.result);
  }
};
// The model has more tools than run.started says: they stand behind those, in this order, in every
// request from the next one on.
struct ToolsAdded {
  static constexpr std::string_view k_type = "tools.added";
  static constexpr std::array<std::string_view, 3> k_reasons = {
      "found", "called", "listed"};  // by find_tools; by their names alone; by their server

  std::int64_t turn = 0;  // the last one
  std::string reason;     // of k_reasons
  std::vector<AddedTool> tools;

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field.word("reason", self.reason, k_reasons);
    field("tools", self.tools);
  }
};
struct ApprovalRequested {
  static constexpr std::string_view k_type = "approval.requested";

  std::int64_t turn = 0;
  ApprovalRequest request;

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field("call_id", self.request.call.id);
    field("name", self.request.call.name);
    field.arguments("arguments", self.request.call.arguments);
    field("arguments_sha256", self.request.call.arguments_sha256);
    field("reason", self.request.reason);
    field("rule", self.request.rule);
    field("by_hook", self.request.by_hook);
    field.or_null("tool_sha256", self.request.tool_sha256);
  }
};
struct ApprovalAnswered {
  static constexpr std::string_view k_type = "approval.answered";

  std::string call_id;
  Answer answer = Answer::nobody;
  std::string by;           // "person", "--yes", "resume"
  std::string reason = {};  // of a no
  std::string seal = {};    // by which this user's errand knows that it wrote this

  static void fields(auto& self, auto& field) {
    field("call_id", self.call_id);
    field("answer", self.answer);
    field("by", self.by);
    field("reason", self.reason);
    field.kept("seal", self.seal);
  }
};
// A call that waits for a yes, as it was shown.
struct ParkedCall {
  ApprovalRequest request;
  std::string since;     // RFC 3339, in UTC: since when it waits
  std::string deadline;  // the same; empty: none
  // False: a secret in its arguments is not in the journal, so that the model has to call again.
  bool can_be_approved = true;

  static void fields(auto& self, auto& field) {
    field("call_id", self.request.call.id);
    field("name", self.request.call.name);
    field.arguments("arguments", self.request.call.arguments);
    field("arguments_sha256", self.request.call.arguments_sha256);
    field("reason", self.request.reason);
    field("rule", self.request.rule);
    field("by_hook", self.request.by_hook);
    field.or_null("tool_sha256", self.request.tool_sha256);
    field("since", self.since);
    field.or_null("deadline", self.deadline);
    field("can_be_approved", self.can_be_approved);
  }
};
// Calls need a yes, and nobody is there: the run ends, and its calls wait for the next process.
struct RunParked {
  static constexpr std::string_view k_type = "run.parked";

  std::int64_t turn = 0;
  std::string cwd;  // where the calls are to run
  std::vector<ParkedCall> calls;
  std::vector<WaitingCall> others;  // the other calls of the reply that have no result yet

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field("cwd", self.cwd);
    field("calls", self.calls);
    field("others", self.others);
  }
};
struct HookRan {
  static constexpr std::string_view k_type = "hook.ran";
  static constexpr std::array<std::string_view, 7> k_outcomes = {
      "ok", "changed", "allowed", "asked", "denied", "stopped", "failed"};

  std::int64_t turn = 0;
  HookPoint point = HookPoint::run_start;
  std::string hook;     // its command
  std::string call_id;  // of the call that it is about; may be empty
  std::string outcome;  // of k_outcomes
  std::string reason;
  std::string message;                      // to the user
  std::optional<std::int64_t> exit_status;  // where it ran to its end
  std::int64_t duration_ms = 0;

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field("point", self.point);
    field("hook", self.hook);
    field("call_id", self.call_id);
    field.word("outcome", self.outcome, k_outcomes);
    field("reason", self.reason);
    field("message", self.message);
    field("exit_status", self.exit_status);
    field("duration_ms", self.duration_ms);
  }
};
struct GuardrailRan {
  static constexpr std::string_view k_type = "guardrail.ran";
  static constexpr std::array<std::string_view, 5> k_actions = {
      "allow", "warn", "redact", "deny", "kill"};

  std::int64_t turn = 0;
  HookPoint point = HookPoint::run_start;
  std::string guardrail;  // its name
  std::string call_id;    // as HookRan's
  std::string action;     // of k_actions
  std::string reason;
  std::optional<ModelUse> judge;    // what a model that judged has cost
  std::optional<std::string> text;  // what the prompt (run_start) or the answer (stop) is now

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field("point", self.point);
    field("guardrail", self.guardrail);
    field("call_id", self.call_id);
    field.word("action", self.action, k_actions);
    field("reason", self.reason);
    field("judge", self.judge);
    field("text", self.text);
  }
};
// A command that says whether the work is done has run, or was kept from running.
struct CheckRan {
  static constexpr std::string_view k_type = "check.ran";

  std::int64_t turn = 0;  // of the answer that is checked
  std::string check;      // its name
  std::string command;    // the line
  int attempt = 1;        // of `attempts`
  bool passed = false;
  std::optional<std::int64_t> exit_status;  // where it ran to its end
  bool timed_out = false;
  std::string reason;      // why it failed, where the exit status does not say it
  std::string output;      // its end, stderr included
  bool truncated = false;  // there was more
  std::int64_t duration_ms = 0;

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field("check", self.check);
    field("command", self.command);
    field("attempt", self.attempt);
    field("passed", self.passed);
    field("exit_status", self.exit_status);
    field("timed_out", self.timed_out);
    field("reason", self.reason);
    field("output", self.output);
    field("truncated", self.truncated);
    field("duration_ms", self.duration_ms);
  }
};
// A file that stays with the model word for word, as it was at that moment.
struct PinnedFile {
  std::string path;  // as the agent file has it
  std::string content;

  static void fields(auto& self, auto& field) {
    field("path", self.path);
    field("content", self.content);
  }
};
// From here on the model sees less of the conversation; the log has all of it.
struct ContextCompacted {
  static constexpr std::string_view k_type = "context.compacted";
  static constexpr std::array<std::string_view, 5> k_actions = {
      "asked", "cleared", "summarized", "left_out", "failed"};  // asked: for a summary
  static constexpr std::array<std::string_view, 2> k_reasons = {"fill", "overflow"};

  std::int64_t turn = 0;              // the last one
  std::string action;                 // of k_actions
  std::string reason;                 // of k_reasons: errand's count, or a request was refused
  std::string model;                  // whose window it is
  std::int64_t window = 0;            // tokens, as far as is known by now
  std::int64_t before = 0;            // tokens of the next request, estimated
  std::int64_t after = 0;             // the same number
  std::vector<std::int64_t> results;  // cleared: their numbers in the run, from 1
  std::int64_t messages = 0;  // of the conversation, from its beginning: summarized, or left out
  std::string summary;
  std::vector<PinnedFile> pinned;
  std::optional<ModelUse> summarizer;  // what the summary has cost
  std::optional<Error> error;          // why it failed
  std::int64_t duration_ms = 0;

  static void fields(auto& self, auto& field) {
    field("turn", self.turn);
    field.word("action", self.action, k_actions);
    field.word("reason", self.reason, k_reasons);
    field("model", self.model);
    field("window", self.window);
    field("before", self.before);
    field("after", self.after);
    field("results", self.results);
    field("messages", self.messages);
    field("summary", self.summary);
    field("pinned", self.pinned);
    field("summarizer", self.summarizer);
    field("error", self.error);
    field("duration_ms", self.duration_ms);
  }
};
// A member has begun or goes on: of a flow a step or one of its items, of an agent a sub-agent.
struct MemberStarted {
  static constexpr std::string_view k_type = "member.started";
  static constexpr std::array<std::string_view, 4> k_kinds = {
      "agent", "command", "flow", "handoff"};  // the last: an agent to whom the conversation goes

  std::string member;  // "fix[2]"
  std::string step;    // "fix"; the sub-agent's name
  std::optional<std::int64_t>
      item;                  // its number, from 0; of a sub-agent that of the call in the run
  std::int64_t round = 1;    // of a step that is repeated
  std::string kind;          // of k_kinds
  std::string runs;          // the file of the agent or the flow, or the command
  std::string run_id;        // of an agent's run, or a flow's
  std::string call_id = {};  // a sub-agent's: of the call that it is for

  static void fields(auto& self, auto& field) {
    field("member", self.member);
    field("step", self.step);
    field("item", self.item);
    field("round", self.round);
    field.word("kind", self.kind, k_kinds);
    field("runs", self.runs);
    field.or_null("run_id", self.run_id);
    field.or_null("call_id", self.call_id);
  }
};
// How it ended, and its bill; of a member that was carried on, the whole one.
struct MemberFinished {
  static constexpr std::string_view k_type = "member.finished";

  std::string member;
  std::string step;
  std::optional<std::int64_t> item;
  std::int64_t round = 1;
  std::optional<int> exit_status;  // of a command, as MemberResult's
  // What a command said on stderr: the head and the end of it, where that is much.
  std::optional<std::string> errors = {};
  // The run that it was a member of, where it was not run in this one: it costs nothing here.
  std::optional<std::string> taken_from = {};
  RunResult result;
  std::string call_id = {};  // as MemberStarted's
  // It is not over, and goes on where the run does: another process has it, it waits for a person,
  // or it was the whole that ended it.
  bool suspended = false;

  static void fields(auto& self, auto& field) {
    field("member", self.member);
    field("step", self.step);
    field("item", self.item);
    field("round", self.round);
    field("exit_status", self.exit_status);
    field("stderr", self.errors);
    field("taken_from", self.taken_from);
    field("result", self.result);
    field.or_null("call_id", self.call_id);
    field("suspended", self.suspended);
  }
};
struct LimitWarning {
  static constexpr std::string_view k_type = "limit.warning";

  std::string limit;  // "limits.max_turns"
  double used = 0;
  double max = 0;

  static void fields(auto& self, auto& field) {
    field("limit", self.limit);
    field("used", self.used);
    field("max", self.max);
  }
};
struct Warning {
  static constexpr std::string_view k_type = "warning";

  std::string message;
  std::string help;
  std::string kind = {};  // for programs: "replies_left"; empty: nobody is to act on it

  static void fields(auto& self, auto& field) {
    field("message", self.message);
    field("help", self.help);
    field.or_null("kind", self.kind);
  }
};
struct RunFinished {
  static constexpr std::string_view k_type = "run.finished";

  RunResult result;

  static void fields(auto& self, auto& field) { field("result", self.result); }
};

// In the order of the schema.
using EventBody = std::variant<RunStarted,
                               TurnStarted,
                               UserSaid,
                               LimitWarning,
                               Warning,
                               RunFinished,
                               ModelRequested,
                               ModelDelta,
                               ModelBroken,
                               ModelReset,
                               ModelRetrying,
                               ModelFallback,
                               ModelResponded,
                               ToolStarted,
                               ToolOutput,
                               ToolFinished,
                               ToolsAdded,
                               ApprovalRequested,
                               ApprovalAnswered,
                               RunParked,
                               HookRan,
                               GuardrailRan,
                               ContextCompacted,
                               CheckRan,
                               MemberStarted,
                               MemberFinished>;

struct Event {
  std::string run_id;
  std::string parent = {};  // the run of the flow that this one is a member of; empty: of none
  std::int64_t seq = 0;     // from 1
  std::chrono::system_clock::time_point time;
  EventBody body;
};

using Emit = std::function<void(EventBody)>;

// What it has cost, whichever event says so; nullopt: nothing. Of an answer, the loop knows whose.
ModelUse use_in(const Reply& reply);
ModelUse use_in(const ModelBroken& broken);
std::optional<ModelUse> use_in(const EventBody& body);

std::string_view type_name(const EventBody& body);  // "tool.started"
// Streamed pieces are shown but not kept.
bool is_journaled(const EventBody& body);
// For sinks, or for the journal, which has some more.
enum class Detail : std::uint8_t { shown, kept };
Json to_json(const Event& event, Detail detail = Detail::shown);
// The same as text, without a copy of what is large in it.
std::string dump(const Event& event, Detail detail = Detail::shown);
// The inverse of to_json for journaled types; storage.corrupt where it is none.
Result<Event> event_from_json(const Json& json);

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event) = 0;
  // Set by the one sink that the run is for (stdout): where it cannot be written, the run ends.
  // Observers keep the default: they never fail a run.
  virtual const Error* failure() const { return nullptr; }
  // Set by that one, too: its reader went away, or did not read once a stop was asked for. What
  // stops the run is its ending, then.
  virtual bool is_cut_off() const { return false; }
  // What an observer could not take in, once.
  virtual std::optional<Warning> loss() { return std::nullopt; }
};

// The one sink that the loop waits for: when commit returns, all that was appended before survives
// SIGKILL; where it fails, none of what was appended since the last one is kept.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual void append(const Event& event) = 0;
  virtual Result<void> commit() = 0;
};

}  // namespace agent
