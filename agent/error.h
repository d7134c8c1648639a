// What can go wrong: the codes, the one table of their policy, and Error, the value that carries
// one. Nothing here renders text or ends the process.
#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent {

// One enumerator a row of the error table, in the table's order (error.cpp).
enum class Code : std::uint8_t {
  provider_network,
  provider_tls,
  provider_rate_limited,
  provider_timeout,
  provider_unavailable,
  provider_model_loading,
  provider_stream_broken,
  provider_circuit_open,
  provider_busy,
  provider_bad_response,
  provider_auth,
  provider_invalid_request,
  provider_model_not_found,
  provider_quota,
  provider_unsupported,
  provider_refused,
  provider_other,
  context_overflow,
  context_compaction_failed,
  context_compaction_provider,
  output_truncated,
  output_invalid,
  output_empty,
  run_max_turns,
  run_token_budget,
  run_cost_budget,
  run_tool_call_limit,
  run_timeout,
  run_loop_detected,
  run_task_failed,
  run_declined,
  run_checks_failed,
  run_cancelled,
  tool_not_found,
  tool_invalid_parameters,
  tool_type_mismatch,
  tool_model_retry,
  tool_failed,
  tool_policy_blocked,
  tool_confirmation_required,
  tool_cancelled,
  tool_rate_limited,
  tool_server_error,
  tool_network,
  tool_timeout,
  tool_result_unusable,
  tool_interrupted,
  hook_terminated,
  hook_failed,
  guardrail_denied,
  guardrail_killed,
  sandbox_violation,
  sandbox_setup,
  sandbox_exec_failed,
  sandbox_invalid_state,
  sandbox_not_found,
  sandbox_connect,
  sandbox_agent_timeout,
  sandbox_rpc,
  sandbox_rpc_timeout,
  sandbox_protocol,
  sandbox_backend,
  mcp_connection,
  mcp_initialization,
  mcp_auth,
  mcp_tool_call,
  mcp_transport,
  mcp_other,
  a2a_remote,
  team_invalid,
  team_handoff_limit,
  team_member_failed,
  registry_duplicate,
  registry_missing,
  config_invalid,
  durable_activity_failed,
  durable_cancelled,
  durable_signal_timeout,
  durable_continue_as_new,
  durable_lease_lost,
  durable_other,
  storage_not_found,
  storage_corrupt,
  storage_io,
  storage_other,
  memory_failed,
  knowledge_failed,
  embedding_auth,
  embedding_rate_limited,
  embedding_invalid_request,
  embedding_network,
  embedding_other,
  daemon_failed,
  trigger_failed,
  channel_failed,
  cli_usage,
  cli_no_input,
  cli_cannot_create,
  os_failed,
  replay_miss,
  internal,
};

enum class Domain : std::uint8_t {
  system,
  config,
  action,
  reflection,
  planning,
  limit,
  cancel,
  none
};

// Who may try again: the program itself with backoff (as often as it is told to, or once), the
// model, the caller later, nobody.
enum class Retry : std::uint8_t { automatic, automatic_once, model, caller, never };
constexpr bool is_automatic(Retry retry) {
  return retry == Retry::automatic || retry == Retry::automatic_once;
}

// One row of the error table: the whole policy of a code.
struct CodeRow {
  Code code;
  std::string_view name;  // "provider.rate_limited", stable
  Domain domain;
  Retry retry;
  std::string_view retry_note;  // the condition on `retry`, or empty
  std::string_view seen;        // of "MUC": model, user, caller
  int exit_code;                // 0: never an ending of its own
  bool only_if_fatal;           // the exit code counts only where the error ends the run
  std::string_view advice;      // one sentence for the person: what to do
  std::string_view since;       // the version that can first produce it; empty: not yet built
};

std::span<const CodeRow> error_table();
const CodeRow& row(Code code);
std::optional<Code> code_from_name(std::string_view name);
std::string_view to_string(Domain domain);
std::string_view to_string(Retry retry);  // "automatic" for both

// A place in a text that the user wrote. Lines and columns count from 1, columns in characters.
struct Where {
  std::string file;
  int line = 0;         // 0: the file as a whole
  int column = 0;       // 0: the line as a whole
  std::string excerpt;  // the source line itself, without its end
  int length = 1;       // how many characters the caret marks
};

struct Cause {
  Code code;
  std::string message;
  std::string help = {};  // as of Error; empty: it has none of its own
};

// One failure. Its policy is row(code); wrapping adds `context`, never another code.
struct Error {
  Code code = Code::internal;
  std::string message;  // what happened, for the user; no trailing period
  std::string help;     // how to fix it; empty: the row's advice
  std::optional<Where> where = std::nullopt;
  std::vector<std::string> context = {};  // "loading agent `review`", innermost first
  std::optional<Cause> cause = std::nullopt;
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
  int http_status = 0;  // 0: none
  std::string provider = {};
  std::string model = {};
  std::string request_id = {};
  int attempts = 0;  // model calls that were made; 0: none
  // The server's own word on trying again (x-should-retry); it wins over the row's policy.
  std::optional<bool> server_says_retry = std::nullopt;
  // Who made this error knows that a second retry is as useless as the first (refused loopback
  // port): the row's automatic retry happens once.
  bool retry_once = false;
  // Of a store: it took no more (full, broken, gone), in place of not letting itself be opened.
  bool write_failed = false;
  // Of a run: another process has it. Nothing was done, and it goes on there.
  bool is_taken = false;
  // Of a run that was begun: it could not go on now. Nothing of it is lost, and it does later.
  bool is_put_off = false;
  // Of a replay: the recorded run was stopped while it waited for the answer.
  bool is_unfinished = false;

  Error while_(std::string doing) && {
    context.push_back(std::move(doing));
    return std::move(*this);
  }
};

// Nothing was sent, or not at once: its models are known to be down, or requests are kept back.
bool is_for_want_of_a_model(const Error& error);

// What an exception of the standard library stands for: os.failed where the machine has no more
// memory, threads or descriptors; internal otherwise.
Error error_of(const std::exception& exception);
bool is_shortage(int error_number);  // an errno that says so

}  // namespace agent
