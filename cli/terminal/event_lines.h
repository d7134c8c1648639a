// Events in words, each one line: not yet safe to show, and without styles.
#pragma once
#include "agent/event.h"

#include <cstdint>
#include <string>

namespace cli {

std::string duration_words(std::int64_t ms);  // "1.2 s", "12s", "3m4s"

std::string start_line(const agent::RunStarted& run, const std::string& run_id);
// `has_layers`: also what differs from machine to machine.
std::string sandbox_line(const agent::RunStarted& run, bool has_layers);
// "MCP server docs: docs-server 1.2, 2025-11-25, 3 tools"
std::string server_line(const agent::McpConnection& server);
std::string reply_line(const agent::ModelResponded& reply);
// How many tries there still may be, and when the next one is.
std::string retry_line(const agent::ModelRetrying& retry);
std::string fallback_line(const agent::ModelFallback& fallback);
std::string waiting_line(const agent::ParkedCall& call);
std::string said_line(const agent::UserSaid& said);
std::string hook_line(const agent::HookRan& hook);
std::string check_line(const agent::CheckRan& check);
std::string guardrail_line(const agent::GuardrailRan& guardrail);
// What came of a call.
std::string result_words(const agent::ToolResult& result);
std::string bill(const agent::RunResult& result);
std::string bill_of(const agent::ModelUse& use);

// Whether the hook went as it mostly goes.
std::string added_line(const agent::ToolsAdded& added);
// "plan: planner.yaml"
std::string member_line(const agent::MemberStarted& member);
// What came of it, its bill, and why it did not end well.
std::string member_words(const agent::MemberFinished& member);
// Of a command that failed: the last lines of what it said. Without escapes.
std::vector<std::string> last_words(const agent::MemberFinished& member);
std::string compacted_line(const agent::ContextCompacted& compacted);
bool is_quiet(const agent::HookRan& hook);

// One line of a text that may be long and may hold line breaks; of a name that a model, a file or a
// server has given.
std::string excerpt(std::string_view text, std::size_t limit);
std::string name_of(std::string_view name);

constexpr std::size_t k_excerpt_bytes = 120;

}  // namespace cli
