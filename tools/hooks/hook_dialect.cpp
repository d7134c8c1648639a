#include "tools/hooks/hook_dialect.h"

#include "agent/duration.h"
#include "tools/hooks/name_matcher.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace tools {
namespace {

using agent::Json;
using Form = HookArgument::Form;

// clang-format off
constexpr auto k_claude_shell = std::to_array<HookArgument>({{"command", "command"}, {"timeout", "timeout", Form::milliseconds}});
constexpr auto k_file_path = std::to_array<HookArgument>({{"path", "file_path", Form::path}});
constexpr auto k_path = std::to_array<HookArgument>({{"path", "path", Form::path}});
constexpr auto k_claude_tools = std::to_array<HookTool>({
    {"shell", "Bash", k_claude_shell},
    {"read_file", "Read", k_file_path},
    {"write_file", "Write", k_file_path},
    {"edit_file", "Edit", k_file_path},
    {"list_directory", "LS", k_path},
    {"glob", "Glob", k_path},
    {"grep", "Grep", k_path},
    {"web_fetch", "WebFetch", {}},
    {"todo", "TodoWrite", {}},
    {"ask_user", "AskUserQuestion", {}},
});

constexpr auto k_gemini_folder = std::to_array<HookArgument>({{"path", "dir_path"}});
constexpr auto k_gemini_grep = std::to_array<HookArgument>({{"path", "dir_path"}, {"glob", "include"}});
constexpr auto k_gemini_tools = std::to_array<HookTool>({
    {"shell", "run_shell_command", {}},
    {"read_file", "read_file", k_file_path},
    {"write_file", "write_file", k_file_path},
    {"edit_file", "replace", k_file_path},
    {"list_directory", "list_directory", k_gemini_folder},
    {"glob", "glob", k_gemini_folder},
    {"grep", "grep_search", k_gemini_grep},
    {"web_fetch", "web_fetch", {}},
    {"todo", "write_todos", {}},
    {"ask_user", "ask_user", {}},
});

constexpr auto k_docker_shell = std::to_array<HookArgument>({{"command", "cmd"}});
constexpr auto k_docker_tools = std::to_array<HookTool>({
    {"shell", "shell", k_docker_shell},
    {"grep", "search_files_content", {}},
    {"web_fetch", "fetch", {}},
});

constexpr auto k_context_of_claude = std::to_array({agent::HookPoint::run_start});
constexpr auto k_context_of_docker =
    std::to_array({agent::HookPoint::run_start, agent::HookPoint::post_tool_use});

//                       run_start pre_model post_model pre_tool post_tool notification pre_compact stop  run_end
constexpr auto k_dialects = std::to_array<HookDialect>({
    {.name = "claude",
     .events = {"SessionStart", "PreModel", "PostModel", "PreToolUse", "PostToolUse", "Notification", "PreCompact", "Stop", "SessionEnd"},
     .tools = k_claude_tools,
     .text_is_context = k_context_of_claude,
     .folder_variable = "CLAUDE_PROJECT_DIR"},
    {.name = "gemini",
     .events = {"BeforeAgent", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "Notification", "PreCompress", "AfterAgent", "SessionEnd"},
     .tools = k_gemini_tools,
     .response = HookDialect::Response::llm_content,
     .merges_input = true,
     .replaces_denied_result = true,
     .sends_conversation = true,
     .text_is_context = {},
     .folder_variable = "GEMINI_PROJECT_DIR"},
    {.name = "docker_agent",
     .events = {"session_start", "before_llm_call", "after_llm_call", "pre_tool_use", "post_tool_use", "notification", "pre_compact", "stop", "session_end"},
     .tools = k_docker_tools,
     .response = HookDialect::Response::text,
     .text_is_context = k_context_of_docker},
});
// clang-format on

const HookTool* tool_row(const HookDialect& dialect, std::string_view tool) {
  const auto row = std::ranges::find(dialect.tools, tool, &HookTool::ours);
  return row == dialect.tools.end() ? nullptr : &*row;
}

Json in_milliseconds(const Json& value) {
  if (agent::is_number(value)) {
    return agent::real_of(value) * 1000;
  }
  const auto time =
      value.is_string() ? agent::parse_duration(value.get_ref<const std::string&>()) : std::nullopt;
  return time ? Json(time->count()) : value;
}

Json in_seconds(const Json& value) {
  const auto number = agent::is_number(value) ? agent::integer_of(value) : std::nullopt;
  return number ? Json(agent::format_duration(std::chrono::milliseconds(*number))) : value;
}

Json absolute(const Json& value, const std::filesystem::path& cwd) {
  return value.is_string()
             ? Json((cwd / value.get_ref<const std::string&>()).lexically_normal().string())
             : value;
}

// `arguments` with the names of one side instead of those of the other.
template <typename Rename>
Json renamed(const Json& arguments, const Rename& rename) {
  Json result = Json::object();
  for (const auto& [name, value] : arguments.items()) {
    rename(result, name, value);
  }
  return result;
}

}  // namespace

std::span<const HookDialect> hook_dialects() {
  return k_dialects;
}

const HookDialect* hook_dialect(std::string_view name) {
  const auto row = std::ranges::find(k_dialects, name, &HookDialect::name);
  return row == k_dialects.end() ? nullptr : &*row;
}

std::string_view their_name(const HookDialect& dialect, std::string_view tool) {
  const HookTool* row = tool_row(dialect, tool);
  return row != nullptr ? row->theirs : tool;
}

bool is_about(const HookDialect& dialect, const NameMatcher& matcher, std::string_view tool) {
  return matcher.fits(tool) || matcher.fits(their_name(dialect, tool));
}

Json to_theirs(const HookDialect& dialect,
               std::string_view tool,
               const Json& arguments,
               const std::filesystem::path& cwd) {
  const HookTool* row = tool_row(dialect, tool);
  if (row == nullptr || !arguments.is_object()) {
    return arguments;
  }
  return renamed(arguments, [&](Json& result, const std::string& name, const Json& value) {
    const auto word = std::ranges::find(row->arguments, name, &HookArgument::ours);
    if (word == row->arguments.end()) {
      result[name] = value;
      return;
    }
    result[std::string(word->theirs)] = word->form == Form::path           ? absolute(value, cwd)
                                        : word->form == Form::milliseconds ? in_milliseconds(value)
                                                                           : value;
  });
}

Json to_ours(const HookDialect& dialect, std::string_view tool, const Json& theirs) {
  const HookTool* row = tool_row(dialect, tool);
  if (row == nullptr || !theirs.is_object()) {
    return theirs;
  }
  return renamed(theirs, [&](Json& result, const std::string& name, const Json& value) {
    const auto word = std::ranges::find(row->arguments, name, &HookArgument::theirs);
    if (word == row->arguments.end()) {
      result[name] = value;
      return;
    }
    result[std::string(word->ours)] = word->form == Form::milliseconds ? in_seconds(value) : value;
  });
}

}  // namespace tools
