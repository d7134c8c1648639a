// One agent, checked and plain: what an agent file says after loading. No YAML here, no defaults
// that depend on the environment.
#pragma once
#include "agent/environment.h"
#include "agent/error.h"
#include "agent/fallback.h"
#include "agent/hook_point.h"
#include "agent/money.h"
#include "agent/price.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent {

using Milliseconds = std::chrono::milliseconds;

struct Timeouts {
  Milliseconds connect{10'000};
  Milliseconds first_byte{120'000};  // streamed answers: until something of the answer comes
  Milliseconds idle{60'000};         // streamed answers: until more of it, or a keep-alive, comes
  Milliseconds request{1'800'000};   // the whole request

  bool operator==(const Timeouts&) const = default;
};

// A place of the agent file where the value of a variable stands.
struct EnvironmentUse {
  std::string name;
  Where where;

  bool operator==(const EnvironmentUse&) const = default;
};

struct ModelSpec {
  std::string name;         // "anthropic/claude-sonnet-4-5", "auto", "replay/demo.replay.yaml"
  std::string protocol;     // empty: by the provider's preset
  std::string base_url;     // empty: the preset's
  std::string api_key_env;  // the variable's name; empty: the preset's, none for a custom base_url
  bool stream = true;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<double> temperature;
  std::optional<std::int64_t> max_output_tokens;
  std::vector<std::string> stop;  // sequences that end an answer
  std::string tool_choice;        // "", "auto", "none", "required" or a tool's name
  std::string reasoning;          // "", "none", "minimal", "low", "medium", "high", "xhigh", "max"
  Timeouts timeouts;
  std::optional<std::int64_t> requests_per_minute;
  std::optional<std::int64_t> max_in_flight;
  std::optional<std::int64_t> context_window;  // tokens; absent: as the tables say
  std::optional<Price> cost;                   // what the user says that it costs
  std::optional<Where> where;                  // of the name in the agent file, for messages
  std::optional<Where> api_key_where;
  std::vector<EnvironmentUse> in_base_url;  // what ${env:} put there
  std::vector<EnvironmentUse> in_headers;
};

// Who is asked where the model fails for good, in this order.
struct FallbackSpec {
  std::vector<ModelSpec> models;
  Milliseconds cooldown{60'000};  // how long a model that failed is asked last
  std::vector<FallbackReason> on = standard_fallback_reasons();
};

struct ToolSpec {
  enum class Kind : std::uint8_t { builtin, command };
  enum class OnError : std::uint8_t { report, fatal };

  Kind kind = Kind::builtin;
  std::string name;
  std::string description;                                          // command tools
  std::vector<std::string> command;                                 // argv; never a shell
  std::string parameters = R"({"type":"object","properties":{}})";  // JSON Schema, as JSON text
  std::optional<Milliseconds> timeout;           // absent: the tool's own default
  std::optional<Milliseconds> idle_timeout;      // absent: none
  Environment env = {};                          // variables of its programs, beside errand's own
  std::vector<EnvironmentUse> in_programs = {};  // what they are given of the environment
  OnError on_error = OnError::report;
  bool parallel = false;    // command tools: may run beside other calls
  bool repeatable = false;  // the same call with the same result is no loop (polling)
  bool idempotent = false;  // may be run again by the program after a transient failure
  bool untrusted = false;   // its results are somebody else's words
  // HOST or HOST:PORT that web_fetch may go to although private, and over plain http.
  std::vector<std::string> allow_hosts;
};

// A rule as it was written: `TOOL` or `TOOL(ARGUMENT)`, with wildcards.
struct PermissionRule {
  std::string text;
  std::string origin;  // who says so, for messages: "agent.yaml", "--deny"
  // Where its relative paths start; empty: at the working folder.
  std::string folder = {};
};

// What tool calls need. A rule in `deny` wins over all others, `granted` over `ask`, and that over
// `allow`; where none of them fits, `standard` decides.
struct PermissionSpec {
  enum class Standard : std::uint8_t { automatic, allow, ask, deny };

  Standard standard = Standard::automatic;
  std::string standard_origin;  // empty: nobody said it
  std::vector<PermissionRule> allow;
  std::vector<PermissionRule> ask;
  std::vector<PermissionRule> deny;
  std::vector<PermissionRule> granted;  // what a person said yes to: --allow
};

struct Limits {
  std::optional<std::int64_t> max_turns;
  std::optional<std::int64_t> max_tool_calls;
  std::optional<std::int64_t> max_total_tokens;
  std::optional<Money> max_cost_usd;
  std::optional<Milliseconds> timeout;
  std::optional<std::int64_t> max_repeat_calls = 5;  // nullopt: `unlimited`
  std::optional<Where> max_cost_where;               // in the agent file, for messages

  // In the log, as those of events; without the place.
  static void fields(auto& self, auto& field) {
    field("max_turns", self.max_turns);
    field("max_tool_calls", self.max_tool_calls);
    field("max_total_tokens", self.max_total_tokens);
    field("max_cost_usd", self.max_cost_usd);
    field("timeout_ms", self.timeout);
    field("max_repeat_calls", self.max_repeat_calls);
  }
};

struct RetryPolicy {
  int max_attempts = 4;  // the first call included
  Milliseconds initial_delay{500};
  Milliseconds max_delay{30'000};
  Milliseconds max_elapsed{60'000};  // bounds the sum of the waits
};

// A value that the prompt or the instructions name as {{ name }}.
struct ParameterSpec {
  std::string name;
  std::string type = "string";  // string, integer, number, boolean
  bool required = false;
  std::optional<std::string> fallback;  // `default`, as text
  std::string description;
  std::vector<std::string> options;  // `enum`; empty: anything
};

struct ContextFile {
  std::string path;  // as written, without the trailing `?`
  bool optional = false;
};

// Calls that wait for a person's yes.
struct ApprovalSpec {
  std::optional<Milliseconds> deadline;  // how long a parked run may wait; nullopt: for ever
};

struct OutputSpec {
  std::string
      schema;  // JSON Schema that the answer must fit, as JSON text; empty: any text will do
};

struct SessionSpec {
  enum class Durability : std::uint8_t { process, full };
  std::string store = "auto";  // auto, none, or a path to the journal file
  Durability durability = Durability::process;
  std::optional<Milliseconds> keep = std::nullopt;  // older runs are removed; nullopt: none
};

// What tools can reach. Paths are as written: absolute, below `~/`, or from the agent file's
// folder.
struct SandboxSpec {
  enum class Mode : std::uint8_t { read_only, workspace_write, off };
  Mode mode = Mode::workspace_write;
  bool network = false;                   // allowed
  std::vector<std::string> allow_hosts;   // where it is not: these all the same, through a proxy
  std::vector<std::string> read;          // secret places that may be read all the same
  std::vector<std::string> write;         // beside the workspace
  std::optional<std::int64_t> memory;     // bytes, of a whole call where that can be
  std::optional<std::int64_t> processes;  // at the same time
  std::optional<Milliseconds> cpu_time;   // of each process
  std::vector<std::string> required = {"files", "network"};  // layers without which nothing runs
};
std::string_view to_string(SandboxSpec::Mode mode);
std::optional<SandboxSpec::Mode> sandbox_mode_from(std::string_view word);

// How a command of a hook or a guardrail is run: confined as the programs of tools are, but for
// what is said here.
struct CommandSandbox {
  bool is_off = false;
  std::optional<bool> network;     // allowed; absent: as for tools
  std::vector<std::string> read;   // beside what tools may
  std::vector<std::string> write;  // the same

  auto operator<=>(const CommandSandbox&) const = default;
};

// A command that is told of a point of the run, and may answer.
struct HookSpec {
  enum class Kind : std::uint8_t { observe, guard, transform };

  HookPoint point = HookPoint::run_start;
  std::string matcher;  // RE2, of the whole name of the tool; empty: all
  std::string command;  // for `sh -c`
  Milliseconds timeout{60'000};
  Kind kind = Kind::observe;  // what its own failure means
  bool may_fail = false;      // `on_error: ignore`: it means nothing
  CommandSandbox sandbox = {};
  Environment env = {};                          // beside what all programs are told
  std::vector<EnvironmentUse> in_programs = {};  // as ToolSpec's
};

struct HooksSpec {
  std::string dialect = "claude";  // how the commands are spoken to
  std::vector<HookSpec> hooks;     // in the order of the file
};

// A check on what goes in or out.
struct GuardrailSpec {
  enum class Of : std::uint8_t { input, output, tool_call, tool_result };
  enum class Kind : std::uint8_t { pattern, find, command, judge };
  enum class Action : std::uint8_t { warn, redact, deny, kill };

  Of of = Of::input;
  Kind kind = Kind::pattern;
  std::string name;
  std::string what;  // RE2; "secrets" or "pii"; for `sh -c`; the question to the model
  std::string tool;  // as HookSpec::matcher, for tool_call and tool_result
  Action action = Action::deny;
  Milliseconds timeout{60'000};                  // of commands and models
  CommandSandbox sandbox = {};                   // of commands
  Environment env = {};                          // the same, beside what all programs are told
  std::vector<EnvironmentUse> in_programs = {};  // as ToolSpec's
  std::optional<ModelSpec> model;                // that judges; absent: the agent's own
};

struct GuardrailsSpec {
  bool redact_secrets = true;  // out of what tools show to the model
  std::string kill_switch;     // a file whose presence ends the run; empty: none
  int retries = 2;             // how many answers are sent back before a denial ends the run
  std::vector<GuardrailSpec> checks;
};

// What happens when the conversation grows too long for the model's window. Shares are in percent
// of it; 0: that is not done.
struct ContextSpec {
  bool is_off = false;
  bool is_named = false;  // in the agent file
  std::int64_t clear_at = 60;
  std::int64_t keep_results = 5;
  std::int64_t summarize_at = 85;
  std::int64_t keep_recent = 20'000;  // tokens
  Milliseconds summarize_timeout{120'000};
  std::optional<ModelSpec> summarizer;  // absent: the agent's own
  std::vector<std::string> pins;        // files, from the working folder
};

// A server whose tools are the agent's: a program that is talked to by the Model Context Protocol.
struct McpServerSpec {
  std::string name;
  std::vector<std::string> command;              // argv; never a shell
  Environment env = {};                          // beside what all programs are told
  std::vector<EnvironmentUse> in_programs = {};  // as ToolSpec's
  CommandSandbox sandbox = {.is_off = true};     // it is the user's own program
  std::vector<std::string> tools = {};           // names with `*`; `!` before it leaves out
  bool is_required = true;                       // the run does not begin without it
  Milliseconds start{30'000};
  Milliseconds call{300'000};
  Milliseconds silence{120'000};  // of a call
};

struct AgentSpec {
  std::string file;       // the path that was loaded; empty: none
  std::string source;     // its text
  std::string directory;  // of the file, absolute; relative paths in the file start here
  std::string name;
  std::string description;
  ModelSpec model;
  FallbackSpec fallback;
  std::string instructions;  // template
  std::string prompt;        // template; empty: none
  std::vector<ParameterSpec> parameters;
  std::vector<ContextFile> context;
  std::vector<ToolSpec> tools;
  PermissionSpec permissions;
  ApprovalSpec approval;
  Limits limits;
  RetryPolicy retry;
  OutputSpec output;
  SessionSpec session;
  SandboxSpec sandbox;
  HooksSpec hooks;
  GuardrailsSpec guardrails;
  ContextSpec context_management;
  std::vector<McpServerSpec> mcp_servers;
  // What ${env:} put anywhere else: the model's server can come to see it.
  std::vector<EnvironmentUse> in_texts;
};

}  // namespace agent
