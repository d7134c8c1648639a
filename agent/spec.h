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
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <ranges>
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
  bool wrap_up = false;                              // a tenth is kept for a last turn
  std::int64_t max_parallel = 4;                     // sub-agents at the same time
  std::int64_t max_depth = 4;  // of sub-agents, or of flows in flows, below each other
  std::optional<std::int64_t> max_handoffs;  // nullopt: no agent has the conversation twice
  std::optional<Where> max_cost_where;       // in the agent file, for messages

  // In the log, as those of events; without the place and what loading has seen to.
  static void fields(auto& self, auto& field) {
    field("max_turns", self.max_turns);
    field("max_tool_calls", self.max_tool_calls);
    field("max_total_tokens", self.max_total_tokens);
    field("max_cost_usd", self.max_cost_usd);
    field("timeout_ms", self.timeout);
    field("max_repeat_calls", self.max_repeat_calls);
    field("wrap_up", self.wrap_up);
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
  int repair_attempts = 3;  // answers that do not fit and are sent back; 0: none
};

// A command that has to succeed when the agent says that it is done.
struct CheckSpec {
  std::string name;  // in messages
  std::string run;   // for `sh -c`, in the working folder
  Milliseconds timeout{300'000};
};

struct ChecksSpec {
  std::vector<CheckSpec> commands;   // in the order of the file, in which they run
  std::vector<std::string> protect;  // file name patterns, from the working folder
  int attempts = 3;                  // answers that are checked before the run fails
};

struct SessionSpec {
  enum class Durability : std::uint8_t { process, full };
  std::string store = "auto";  // auto, none, or a path to the journal file
  bool is_of_whole = false;    // said by an agent or a flow that this one works for
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
  Where where = {};                              // of its command in the file
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
  Where where = {};                              // of a command, in the file
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

// How errand shows an MCP server that is reached by HTTP who it is.
struct McpOAuthSpec {
  enum class Grant : std::uint8_t { authorization_code, client_credentials };

  Grant grant = Grant::authorization_code;
  std::string client_id;  // empty: the client is registered on the way
  std::string client_secret;
  std::string private_key;  // PEM; in place of a secret
  std::vector<std::string> scopes;
  std::string issuer;                     // the one authorization server; empty: the server says
  std::vector<EnvironmentUse> in_secret;  // what ${env:} put into the secret or the key
  std::vector<EnvironmentUse> in_words = {};  // likewise, into all else

  bool operator==(const McpOAuthSpec&) const = default;
};

// A server whose tools are the agent's, by the Model Context Protocol.
struct McpServerSpec {
  // What it is answered where it asks the person: by them, by its own defaults, or nothing.
  enum class Elicitation : std::uint8_t { ask, defaults, decline };
  // Whether the model sees all of its tools, or finds them; automatic: by how much they are.
  enum class Load : std::uint8_t { automatic, search, all };

  bool is_program() const { return url.empty(); }
  // What the names of its tools begin with at the agent: "mcp__NAME__".
  std::string tool_prefix() const;

  std::string name;
  // A program, or an address.
  std::vector<std::string> command = {};  // argv; never a shell
  Where where = {};                       // of the program, in the file
  std::string url = {};                   // empty: it is a program
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool is_older_form = false;               // of HTTP: one stream for all answers
  std::vector<EnvironmentUse> in_url = {};  // as ModelSpec's
  std::vector<EnvironmentUse> in_headers = {};
  Environment env = {};                          // beside what all programs are told
  std::vector<EnvironmentUse> in_programs = {};  // as ToolSpec's
  CommandSandbox sandbox = {.is_off = true};     // it is the user's own program
  std::vector<std::string> tools = {};           // names with `*`; `!` before it leaves out
  bool offers_resources = true;                  // where it has any
  bool is_required = true;                       // the run does not begin without it
  Elicitation elicitation = Elicitation::ask;
  std::optional<McpOAuthSpec> oauth = {};
  Load load = Load::automatic;
  Milliseconds start{30'000};
  Milliseconds call{300'000};
  Milliseconds silence{120'000};  // of a call
};

// Those that errand starts.
inline auto programs_of(const std::vector<McpServerSpec>& servers) {
  return servers | std::views::filter(&McpServerSpec::is_program);
}

// A step of a flow: an agent, another flow or a command, once or for each item of a list.
struct StepSpec {
  // What a failure of it does to the flow: ends it, or nothing but what later steps make of it.
  enum class OnError : std::uint8_t { stop, proceed };
  // While the step fails, another one is run again, and then it itself.
  struct Repeat {
    std::size_t with = 0;  // of the steps
    std::int64_t max = 0;  // how often
  };

  bool is_command() const { return agent.empty(); }

  std::string name;
  std::string agent = {};    // the path of its file, or a flow's, as written; empty: a command
  std::string command = {};  // for `sh -c`
  std::string prompt = {};   // a template of expressions (agent/flow); empty: the agent's own
  std::vector<std::pair<std::string, std::string>> parameters = {};  // the same, by name
  std::vector<std::size_t> needs = {};                               // steps that come before it
  std::string when = {};                                             // an expression; empty: always
  std::string for_each = {};      // the same, of the list; empty: it is run once
  std::int64_t max_parallel = 4;  // items at the same time
  OnError on_error = OnError::stop;
  std::optional<Repeat> repeat = {};
  std::optional<Milliseconds> timeout = {};  // of a command; absent: as for `shell`
  Where where = {};                          // of its name in the file
};

struct AgentSpec;

// An agent that another one can call.
struct SubAgentSpec {
  std::string name;       // of the tool that it is
  std::string file = {};  // the path, as written; empty: it stands in the agent file itself
  std::shared_ptr<AgentSpec> agent = {};  // that one; else null
  ToolSpec::OnError on_error = ToolSpec::OnError::report;
  Where where = {};  // of its name in the file
};

// An agent that another one can hand its conversation over to.
struct HandoffSpec {
  std::string name;  // of its file, without the ending
  std::string file;  // the path; relative: from the file that names it
  Where where = {};  // in that

  std::string tool() const { return "handoff_to_" + name; }
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
  ChecksSpec checks;
  SessionSpec session;
  SandboxSpec sandbox;
  HooksSpec hooks;
  GuardrailsSpec guardrails;
  ContextSpec context_management;
  std::vector<McpServerSpec> mcp_servers;
  std::vector<SubAgentSpec> sub_agents;
  std::vector<HandoffSpec> handoffs;
  std::vector<StepSpec> steps;  // of a flow, in their order; empty: it is one agent
  // What ${env:} put anywhere else: the model's server can come to see it.
  std::vector<EnvironmentUse> in_texts;
};

// Absolute, as it was named. Of an agent that has a file.
std::filesystem::path file_of(const AgentSpec& agent);

// Which agent of a file is meant by its end, where one that is written out in another one's file is
// named: "#helper" of `agent.yaml#helper`, where there is such a file in front. Else empty.
std::string name_in_whole(const std::filesystem::path& file);
// The file without that: where the agent stands.
std::filesystem::path file_of_whole(const std::filesystem::path& file);

constexpr std::string_view k_tool_lock_suffix = ".mcp-lock.json";
// The file beside the agent file, or where that is a link and has none, beside the file it leads
// to, that its MCP servers' tools are compared with, where it is there. Empty: there is no file.
std::string tool_lock_file(const AgentSpec& agent);
std::string tool_lock_file(const std::filesystem::path& agent_file);  // absolute

}  // namespace agent
