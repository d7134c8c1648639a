#include "agent/error.h"

#include "agent/shortage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>
#include <utility>

namespace agent {
namespace {

// The contract. A row stands at the index of its code; exit code 0 means that the code never ends
// a run by itself (or, for run.cancelled, that the signal does).
constexpr std::array k_table = std::to_array<CodeRow>({
    // clang-format off
    {Code::provider_network, "provider.network", Domain::system, Retry::automatic, "", "UC", 75, false, "Check the network, the proxy and the base URL; then run it again.", "0.1.0"},
    {Code::provider_tls, "provider.tls", Domain::config, Retry::never, "", "UC", 78, false, "Check the URL's scheme, the certificate and the CA settings (SSL_CERT_FILE).", "0.1.0"},
    {Code::provider_rate_limited, "provider.rate_limited", Domain::system, Retry::automatic, "honours the server's delay", "UC", 75, false, "Wait as long as the provider says, or ask it for a higher rate.", "0.1.0"},
    {Code::provider_timeout, "provider.timeout", Domain::system, Retry::automatic, "", "UC", 75, false, "Run it again, or raise the deadline in `model.timeouts`.", "0.1.0"},
    {Code::provider_unavailable, "provider.unavailable", Domain::system, Retry::automatic, "", "UC", 75, false, "The provider is in trouble; run it again later.", "0.1.0"},
    {Code::provider_model_loading, "provider.model_loading", Domain::system, Retry::automatic, "longer cap", "UC", 75, false, "The model is still being loaded; run it again in a minute.", "0.1.0"},
    {Code::provider_stream_broken, "provider.stream_broken", Domain::system, Retry::automatic, "until a tool of that turn has run", "UC", 75, false, "The answer was cut off on the way; run it again.", "0.1.0"},
    {Code::provider_circuit_open, "provider.circuit_open", Domain::system, Retry::caller, "until the circuit closes", "UC", 75, false, "The provider failed too often just now; run it again later.", "0.1.0"},
    {Code::provider_busy, "provider.busy", Domain::system, Retry::caller, "", "C", 75, false, "Too many requests are in flight in this process; run it again.", "0.1.0"},
    {Code::provider_bad_response, "provider.bad_response", Domain::system, Retry::automatic_once, "once", "UC", 76, false, "Check that `model.base_url` and `model.protocol` fit the server.", "0.1.0"},
    {Code::provider_auth, "provider.auth", Domain::action, Retry::never, "", "UC", 77, false, "Check the API key and what it may be used for.", "0.1.0"},
    {Code::provider_invalid_request, "provider.invalid_request", Domain::action, Retry::never, "", "UC", 65, false, "The provider refused the request; its message says why.", "0.1.0"},
    {Code::provider_model_not_found, "provider.model_not_found", Domain::action, Retry::never, "", "UC", 102, false, "Check the model's name, and that the key may use it.", "0.1.0"},
    {Code::provider_quota, "provider.quota", Domain::action, Retry::never, "", "UC", 103, false, "Check the account's billing and spend limits.", "0.1.0"},
    {Code::provider_unsupported, "provider.unsupported", Domain::action, Retry::never, "", "UC", 104, false, "Choose a model or a provider that can do this.", "0.1.0"},
    {Code::provider_refused, "provider.refused", Domain::action, Retry::never, "", "UC", 95, false, "The model or its filter refused; change the prompt.", "0.1.0"},
    {Code::provider_other, "provider.other", Domain::system, Retry::never, "", "UC", 65, false, "The provider's message says more.", "0.1.0"},
    {Code::context_overflow, "context.overflow", Domain::reflection, Retry::never, "once, after compaction", "UC", 84, false, "Give the model less to read, or choose one with a larger context: `-m MODEL`, also of `errand resume`.", "0.1.0"},
    {Code::context_compaction_failed, "context.compaction_failed", Domain::system, Retry::automatic, "falls back to dropping old results", "U", 84, true, "Choose another model for `context_management.summarize`; the run goes on without a summary.", "0.1.0"},
    {Code::context_compaction_provider, "context.compaction_provider", Domain::system, Retry::automatic, "as its cause", "U", 0, false, "See the cause.", "0.1.0"},
    {Code::output_truncated, "output.truncated", Domain::reflection, Retry::model, "one continuation", "MC", 85, false, "Raise `model.max_output_tokens`, or ask for less at once.", "0.1.0"},
    {Code::output_invalid, "output.invalid", Domain::reflection, Retry::model, "up to `output.repair_attempts`", "MC", 111, false, "Simplify the schema, or choose a stronger model.", "0.1.0"},
    {Code::output_empty, "output.empty", Domain::reflection, Retry::model, "once", "C", 112, false, "The model said nothing; change the prompt or the model.", "0.1.0"},
    {Code::run_max_turns, "run.max_turns", Domain::limit, Retry::never, "", "UC", 80, false, "Give it more, `--max-turns` (a new run: `limits.max_turns`, too), or a smaller task.", "0.1.0"},
    {Code::run_token_budget, "run.token_budget", Domain::limit, Retry::never, "", "UC", 81, false, "Raise `limits.max_total_tokens`, which `errand resume --agent FILE` takes from the file; or give the agent a smaller task.", "0.1.0"},
    {Code::run_cost_budget, "run.cost_budget", Domain::limit, Retry::never, "", "UC", 82, false, "Give it more, `--max-cost` (a new run: `limits.max_cost_usd`, too), or a smaller task.", "0.1.0"},
    {Code::run_tool_call_limit, "run.tool_call_limit", Domain::limit, Retry::never, "", "UC", 83, false, "Raise `limits.max_tool_calls`, which `errand resume --agent FILE` takes from the file; or give the agent a smaller task.", "0.1.0"},
    {Code::run_timeout, "run.timeout", Domain::limit, Retry::caller, "", "UC", 124, false, "Give it more, `--timeout` (a new run: `limits.timeout`, too), or a smaller task.", "0.1.0"},
    {Code::run_loop_detected, "run.loop_detected", Domain::limit, Retry::model, "first, then stop", "MC", 86, false, "The agent made the same call with the same result over and over; help it in the instructions, or mark a polling tool `repeatable: true`.", "0.1.0"},
    {Code::run_task_failed, "run.task_failed", Domain::action, Retry::caller, "", "C", 1, false, "The agent says that the task failed; its answer says why.", "0.1.0"},
    {Code::run_declined, "run.declined", Domain::cancel, Retry::never, "", "UC", 94, false, "Somebody said stop at a prompt.", "0.1.0"},
    {Code::run_checks_failed, "run.checks_failed", Domain::reflection, Retry::model, "up to `attempts`", "MC", 113, false, "The checks say what is still wrong.", "0.1.0"},
    {Code::run_cancelled, "run.cancelled", Domain::cancel, Retry::never, "", "UC", 0, false, "A signal ended the run.", "0.1.0"},
    {Code::tool_not_found, "tool.not_found", Domain::planning, Retry::model, "after name repair", "M", 110, true, "Check the tool's name against the agent's list.", "0.1.0"},
    {Code::tool_invalid_parameters, "tool.invalid_parameters", Domain::reflection, Retry::model, "", "M", 110, true, "Check the call against the tool's schema.", "0.1.0"},
    {Code::tool_type_mismatch, "tool.type_mismatch", Domain::reflection, Retry::model, "", "M", 110, true, "Check the types against the tool's schema.", "0.1.0"},
    {Code::tool_model_retry, "tool.model_retry", Domain::reflection, Retry::model, "capped per tool", "M", 0, false, "The tool asks for a corrected call.", "0.1.0"},
    {Code::tool_failed, "tool.failed", Domain::action, Retry::model, "", "M", 110, true, "The tool's own output says why.", "0.1.0"},
    {Code::tool_policy_blocked, "tool.policy_blocked", Domain::action, Retry::never, "", "MU", 92, true, "Allow the call in `permissions`, or leave it out.", "0.1.0"},
    {Code::tool_confirmation_required, "tool.confirmation_required", Domain::action, Retry::never, "", "UC", 92, false, "Carry the run on with `--approve CALL`, or allow the call in `permissions`.", "0.1.0"},
    {Code::tool_cancelled, "tool.cancelled", Domain::cancel, Retry::never, "", "M", 0, false, "The call was stopped before it could end.", "0.1.0"},
    {Code::tool_rate_limited, "tool.rate_limited", Domain::system, Retry::automatic, "if the tool is idempotent", "M", 110, true, "Try the tool again later.", "0.1.0"},
    {Code::tool_server_error, "tool.server_error", Domain::system, Retry::automatic, "if the tool is idempotent", "M", 110, true, "Try the tool again later.", "0.1.0"},
    {Code::tool_network, "tool.network", Domain::system, Retry::automatic, "if the tool is idempotent", "M", 110, true, "Check what the tool connects to.", "0.1.0"},
    {Code::tool_timeout, "tool.timeout", Domain::system, Retry::automatic, "if the tool is idempotent, else the model", "M", 110, true, "Raise the tool's `timeout`, or let it do less at once.", "0.1.0"},
    {Code::tool_result_unusable, "tool.result_unusable", Domain::reflection, Retry::model, "", "M", 110, true, "The tool's output is not text that the model could use.", "0.1.0"},
    {Code::tool_interrupted, "tool.interrupted", Domain::system, Retry::model, "automatic if the tool is idempotent", "M", 0, false, "A crash cut the call off; it is not known whether it took effect.", "0.1.0"},
    {Code::hook_terminated, "hook.terminated", Domain::action, Retry::never, "", "UC", 90, false, "A hook stopped the run; its reason says why.", "0.1.0"},
    {Code::hook_failed, "hook.failed", Domain::system, Retry::never, "observers open, guards closed", "U", 90, true, "Fix the hook: a guard that breaks stops the run.", "0.1.0"},
    {Code::guardrail_denied, "guardrail.denied", Domain::action, Retry::model, "for output, bounded", "MUC", 91, false, "A guardrail refused; its reason says why.", "0.1.0"},
    {Code::guardrail_killed, "guardrail.killed", Domain::action, Retry::never, "", "UC", 96, false, "A guardrail or the kill file stopped the run.", "0.1.0"},
    {Code::sandbox_violation, "sandbox.violation", Domain::action, Retry::model, "", "MU", 93, true, "The sandbox refused what the tool tried; widen `sandbox` if that is right.", "0.1.0"},
    {Code::sandbox_setup, "sandbox.setup", Domain::system, Retry::automatic_once, "once", "UC", 93, false, "The sandbox cannot be set up like this; `errand doctor` says what the machine lacks.", "0.1.0"},
    {Code::sandbox_exec_failed, "sandbox.exec_failed", Domain::action, Retry::model, "", "M", 110, true, "The program could not be started in the sandbox.", ""},
    {Code::sandbox_invalid_state, "sandbox.invalid_state", Domain::planning, Retry::model, "", "M", 93, true, "The sandbox is not in a state for this.", ""},
    {Code::sandbox_not_found, "sandbox.not_found", Domain::planning, Retry::model, "", "M", 110, true, "There is no such sandbox.", ""},
    {Code::sandbox_connect, "sandbox.connect", Domain::system, Retry::automatic, "100 ms steps for 10 s", "U", 93, false, "The sandbox does not answer.", ""},
    {Code::sandbox_agent_timeout, "sandbox.agent_timeout", Domain::system, Retry::automatic, "with a new sandbox", "UC", 93, false, "The sandbox did not come up in time.", ""},
    {Code::sandbox_rpc, "sandbox.rpc", Domain::action, Retry::model, "", "M", 110, true, "The sandbox refused the call; its message says why.", ""},
    {Code::sandbox_rpc_timeout, "sandbox.rpc_timeout", Domain::system, Retry::never, "the connection is dropped, never re-used", "M", 110, true, "The sandbox did not answer the call in time.", ""},
    {Code::sandbox_protocol, "sandbox.protocol", Domain::system, Retry::never, "the sandbox is discarded", "U", 93, false, "The sandbox broke its protocol.", ""},
    {Code::sandbox_backend, "sandbox.backend", Domain::system, Retry::never, "", "UC", 93, false, "The sandbox's backend failed.", ""},
    {Code::mcp_connection, "mcp.connection", Domain::system, Retry::automatic, "", "UC", 69, false, "Check that the MCP server can be started or reached.", "0.1.0"},
    {Code::mcp_initialization, "mcp.initialization", Domain::system, Retry::never, "", "UC", 69, false, "The MCP server did not initialise; its last words say why.", "0.1.0"},
    {Code::mcp_auth, "mcp.auth", Domain::action, Retry::never, "", "UC", 77, false, "The MCP server wants a login, or has refused it.", "0.1.0"},
    {Code::mcp_tool_call, "mcp.tool_call", Domain::action, Retry::model, "", "M", 110, true, "The MCP server refused the call; its message says why.", "0.1.0"},
    {Code::mcp_transport, "mcp.transport", Domain::system, Retry::automatic, "reconnect; only calls that were not taken are sent again", "M", 69, true, "The connection to the MCP server broke, or what it answered cannot be used.", "0.1.0"},
    {Code::mcp_other, "mcp.other", Domain::system, Retry::never, "", "U", 69, false, "The MCP server's message says more.", "0.1.0"},
    {Code::a2a_remote, "a2a.remote", Domain::system, Retry::automatic, "by HTTP status", "MU", 69, true, "The remote agent failed; its message says why.", ""},
    {Code::team_invalid, "team.invalid", Domain::config, Retry::never, "", "UC", 78, false, "Check the flow: names, cycles, duplicates.", "0.1.0"},
    {Code::team_handoff_limit, "team.handoff_limit", Domain::limit, Retry::never, "", "UC", 87, false, "Raise the number of hand-overs, or give the agents clearer roles.", "0.1.0"},
    {Code::team_member_failed, "team.member_failed", Domain::none, Retry::never, "by the node's failure rule", "MUC", 114, true, "See the cause.", "0.1.0"},
    {Code::registry_duplicate, "registry.duplicate", Domain::config, Retry::never, "", "UC", 78, false, "Give each tool a name of its own.", "0.1.0"},
    {Code::registry_missing, "registry.missing", Domain::config, Retry::never, "", "UC", 78, false, "Name a provider that exists.", "0.1.0"},
    {Code::config_invalid, "config.invalid", Domain::config, Retry::never, "", "UC", 78, false, "Fix the agent file; `errand check FILE` shows every mistake at once.", "0.1.0"},
    {Code::durable_activity_failed, "durable.activity_failed", Domain::system, Retry::never, "already retried", "UC", 0, false, "See the cause.", ""},
    {Code::durable_cancelled, "durable.cancelled", Domain::cancel, Retry::never, "", "UC", 143, false, "The engine cancelled the run.", "0.1.0"},
    {Code::durable_signal_timeout, "durable.signal_timeout", Domain::limit, Retry::caller, "", "UC", 97, false, "Carry the run on: the model reads that nobody answered. Or give people longer, in `approval.deadline`.", "0.1.0"},
    {Code::durable_continue_as_new, "durable.continue_as_new", Domain::none, Retry::never, "control flow: the journal rolls over", "", 0, false, "Nothing to do.", ""},
    {Code::durable_lease_lost, "durable.lease_lost", Domain::system, Retry::never, "", "UC", 98, false, "Another worker owns this run now.", ""},
    {Code::durable_other, "durable.other", Domain::system, Retry::never, "", "UC", 74, false, "The engine's message says more.", ""},
    {Code::storage_not_found, "storage.not_found", Domain::config, Retry::never, "", "UC", 74, false, "Check the run's id and the state directory.", "0.1.0"},
    {Code::storage_corrupt, "storage.corrupt", Domain::system, Retry::never, "a copy is kept", "UC", 74, false, "Move the file away; a new one is created.", "0.1.0"},
    {Code::storage_io, "storage.io", Domain::system, Retry::automatic_once, "once for EINTR, EAGAIN", "UC", 74, false, "Check the disk: space, permissions, health.", "0.1.0"},
    {Code::storage_other, "storage.other", Domain::system, Retry::never, "", "UC", 74, false, "The store's message says more.", "0.1.0"},
    {Code::memory_failed, "memory.failed", Domain::system, Retry::never, "the run goes on", "UM", 74, true, "Check the memory's store.", ""},
    {Code::knowledge_failed, "knowledge.failed", Domain::system, Retry::never, "the run goes on", "UM", 74, true, "Check the knowledge's store.", ""},
    {Code::embedding_auth, "embedding.auth", Domain::action, Retry::never, "", "U", 77, false, "Check the embedding provider's key.", ""},
    {Code::embedding_rate_limited, "embedding.rate_limited", Domain::system, Retry::automatic, "", "U", 75, false, "Wait as long as the embedding provider says.", ""},
    {Code::embedding_invalid_request, "embedding.invalid_request", Domain::action, Retry::never, "", "U", 65, false, "The embedding provider refused the request.", ""},
    {Code::embedding_network, "embedding.network", Domain::system, Retry::automatic, "", "U", 75, false, "Check the network and the embedding provider's URL.", ""},
    {Code::embedding_other, "embedding.other", Domain::system, Retry::never, "", "U", 65, false, "The embedding provider's message says more.", ""},
    {Code::daemon_failed, "daemon.failed", Domain::system, Retry::automatic, "by the supervisor", "C", 71, false, "The daemon's log says why.", ""},
    {Code::trigger_failed, "trigger.failed", Domain::system, Retry::automatic, "at the next tick", "U", 69, true, "Check what the trigger reads.", ""},
    {Code::channel_failed, "channel.failed", Domain::system, Retry::automatic, "", "U", 69, true, "Check the channel's connection.", ""},
    {Code::cli_usage, "cli.usage", Domain::config, Retry::never, "", "UC", 2, false, "`errand --help` shows how.", "0.1.0"},
    {Code::cli_no_input, "cli.no_input", Domain::config, Retry::never, "", "UC", 66, false, "Give a prompt: on the command line, in a file, or on standard input.", "0.1.0"},
    {Code::cli_cannot_create, "cli.cannot_create", Domain::system, Retry::never, "", "UC", 73, false, "Check that the folder exists and may be written.", "0.1.0"},
    {Code::os_failed, "os.failed", Domain::system, Retry::automatic_once, "once for EAGAIN", "UC", 71, false, "The machine ran out of a resource; the message says which.", "0.1.0"},
    {Code::replay_miss, "replay.miss", Domain::config, Retry::never, "", "UC", 119, false, "Record the run anew, or add the missing reply to the replay script.", "0.1.0"},
    {Code::internal, "internal", Domain::none, Retry::never, "", "UC", 70, false, "This is a bug in errand: please report it with the message above.", "0.1.0"},
    // clang-format on
});

constexpr bool rows_stand_at_their_codes() {
  for (std::size_t index = 0; index < k_table.size(); ++index) {
    if (static_cast<std::size_t>(k_table[index].code) != index) {
      return false;
    }
  }
  return k_table.size() == static_cast<std::size_t>(Code::internal) + 1;
}
static_assert(rows_stand_at_their_codes());

}  // namespace

std::span<const CodeRow> error_table() {
  return k_table;
}

const CodeRow& row(Code code) {
  return k_table[static_cast<std::size_t>(code)];
}

std::optional<Code> code_from_name(std::string_view name) {
  const auto found = std::ranges::find(k_table, name, &CodeRow::name);
  return found == k_table.end() ? std::nullopt : std::optional(found->code);
}

std::string_view to_string(Domain domain) {
  switch (domain) {
    case Domain::system:
      return "system";
    case Domain::config:
      return "config";
    case Domain::action:
      return "action";
    case Domain::reflection:
      return "reflection";
    case Domain::planning:
      return "planning";
    case Domain::limit:
      return "limit";
    case Domain::cancel:
      return "cancel";
    case Domain::none:
      return "none";
  }
  std::unreachable();
}

std::string_view to_string(Retry retry) {
  switch (retry) {
    case Retry::automatic:
    case Retry::automatic_once:
      return "automatic";
    case Retry::model:
      return "model";
    case Retry::caller:
      return "caller";
    case Retry::never:
      return "never";
  }
  std::unreachable();
}

bool is_shortage(int error_number) {
  constexpr std::array k_shortages = {EAGAIN, ENOMEM, EMFILE, ENFILE};
  return std::ranges::find(k_shortages, error_number) != k_shortages.end();
}

bool is_for_want_of_a_model(const Error& error) {
  return error.code == Code::provider_circuit_open || error.code == Code::provider_busy;
}

Error error_of(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return {
        .code = Code::os_failed,
        .message = "out of memory",
        .help = "Raise the limit (`ulimit -v`, the container's), or give the agent less to do."};
  }
  const auto* failed = dynamic_cast<const std::system_error*>(&exception);
  return error_of(failed != nullptr ? failed->code().value() : 0,
                  {.code = Code::internal, .message = exception.what(), .help = {}});
}

}  // namespace agent
