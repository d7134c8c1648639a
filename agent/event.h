// Everything that happens in a run is one of these. The state is their fold; sinks and the
// journal read nothing else. Types of later features are added here with the feature.
#pragma once
#include "agent/error.h"
#include "agent/hook_point.h"
#include "agent/json.h"
#include "agent/message.h"
#include "agent/outcome.h"
#include "agent/result.h"
#include "agent/toolbox.h"

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

struct SandboxInForce {
  std::string mode;                  // "workspace_write"; empty: the run ended before there was one
  std::string network;               // "deny"
  std::vector<std::string> hosts;    // that programs may reach although it is denied
  std::vector<std::string> layers;   // what the machine enforces on programs, where there are any
  std::vector<std::string> missing;  // what it cannot
};
struct RunStarted {
  std::string version;  // of errand
  std::string agent_name;
  std::string agent_file;  // may be empty
  std::string model;       // provider/model as it will be asked
  std::string cwd;
  std::string instructions;  // rendered, context files included
  std::string prompt;        // rendered
  std::vector<Attachment> attachments;
  std::vector<std::string> tools;
  SandboxInForce sandbox;
};
struct TurnStarted {
  std::int64_t turn = 0;  // from 1
};
struct ModelRequested {
  std::int64_t turn = 0;
  std::string model;
  std::int64_t messages = 0;
  std::int64_t estimated_input = 0;               // tokens
  std::optional<std::int64_t> max_output_tokens;  // where a budget lowers it
};
struct ModelDelta {
  enum class Kind : std::uint8_t { text, reasoning };
  Kind kind = Kind::text;
  std::string text;
};
struct ModelBroken {  // an answer that broke off, in whatever way, and is charged for all the same
  Usage usage;        // as the provider reported it until then
  std::optional<Usage> estimated;  // from bytes, where that is missing or cannot be
  std::optional<Money> cost;       // as Reply::cost

  const Usage& counted() const { return estimated ? *estimated : usage; }
};
struct ModelReset {  // drop what was streamed of this reply
  std::string reason;
};
struct ModelRetrying {
  int attempt = 0;  // the one that failed
  int max_attempts = 0;
  std::chrono::milliseconds delay{0};
  Error error;
};
struct ModelFallback {  // another model is asked
  std::string from;     // provider/model
  std::string to;
  bool skipped = false;                   // `from` failed before, and is not asked again so soon
  Error error;                            // why `from` failed
  std::chrono::milliseconds cooldown{0};  // how long `from` is asked last
};
struct ModelResponded {
  std::int64_t turn = 0;
  SharedReply reply;
  std::int64_t duration_ms = 0;
};
// The program's own words to the model: a nudge to continue a cut answer, a loop warning.
struct UserSaid {
  std::string text;
  std::string reason;  // "truncated", "empty", "malformed_tool_call", "hook", "sent_on", "denied"
};
struct ToolStarted {
  std::int64_t turn = 0;
  std::string call_id;
  std::string name;
  std::string arguments;              // JSON text
  std::string arguments_sha256 = {};  // ToolCall's
};
struct ToolOutput {
  std::string call_id;
  std::string text;
};
struct ToolFinished {
  std::int64_t turn = 0;
  ToolResult result;
};
struct ApprovalRequested {
  std::int64_t turn = 0;
  ApprovalRequest request;
};
struct ApprovalAnswered {
  std::string call_id;
  Answer answer = Answer::nobody;
  std::string by;  // "person", "--yes"
};
struct HookRan {
  std::int64_t turn = 0;
  HookPoint point = HookPoint::run_start;
  std::string hook;     // its command
  std::string call_id;  // of the call that it is about; may be empty
  std::string outcome;  // "ok", "changed", "allowed", "asked", "denied", "stopped", "failed"
  std::string reason;
  std::string message;                      // to the user
  std::optional<std::int64_t> exit_status;  // where it ran to its end
  std::int64_t duration_ms = 0;
};
struct GuardrailRan {
  std::int64_t turn = 0;
  HookPoint point = HookPoint::run_start;
  std::string guardrail;  // its name
  std::string call_id;    // as HookRan's
  std::string action;     // "allow", "warn", "redact", "deny", "kill"
  std::string reason;
  std::optional<ModelUse> judge;    // what a model that judged has cost
  std::optional<std::string> text;  // what the prompt (run_start) or the answer (stop) is now
};
struct LimitWarning {
  std::string limit;  // "limits.max_turns"
  double used = 0;
  double max = 0;
};
struct Warning {
  std::string message;
  std::string help;
  std::string kind = {};  // for programs: "replies_left"; empty: nobody is to act on it
};
struct RunFinished {
  RunResult result;
};

using EventBody = std::variant<RunStarted,
                               TurnStarted,
                               ModelRequested,
                               ModelDelta,
                               ModelBroken,
                               ModelReset,
                               ModelRetrying,
                               ModelFallback,
                               ModelResponded,
                               UserSaid,
                               ToolStarted,
                               ToolOutput,
                               ToolFinished,
                               ApprovalRequested,
                               ApprovalAnswered,
                               HookRan,
                               GuardrailRan,
                               LimitWarning,
                               Warning,
                               RunFinished>;

struct Event {
  std::string run_id;
  std::int64_t seq = 0;  // from 1
  std::chrono::system_clock::time_point time;
  EventBody body;
};

using Emit = std::function<void(EventBody)>;

// For lists of events that somebody does nothing with: a new one is in none of them, and is not
// compiled before each reader says what it is to him.
template <typename Body, typename... Bodies>
concept IsOneOf = (std::same_as<Body, Bodies> || ...);

constexpr std::string_view k_event_schema = "errand.events/1";

std::string_view type_name(const EventBody& body);  // "tool.started"
// Streamed pieces are shown but not kept.
bool is_journaled(const EventBody& body);
Json to_json(const Event& event);
// The same as text, without a copy of what is large in it.
std::string dump(const Event& event);
// The inverse of to_json for journaled types; storage.corrupt where it is none.
Result<Event> event_from_json(const Json& json);

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event) = 0;
  // Set by the one sink that the run is for (stdout): where it cannot be written, the run ends.
  // Observers keep the default: they never fail a run.
  virtual const Error* failure() const { return nullptr; }
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
