// How hook scripts of other agent programs are spoken to: their names for the points of a run, for
// tools and for arguments. Sources: the public hook references of Claude Code, Gemini CLI and
// docker-agent.
#pragma once
#include "agent/hook_point.h"
#include "agent/json.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tools {

class NameMatcher;

struct HookArgument {
  enum class Form : std::uint8_t {
    same,
    path,          // theirs is absolute
    milliseconds,  // errand's is seconds, or text with a unit
  };
  std::string_view ours;
  std::string_view theirs;
  Form form = Form::same;
};

struct HookTool {
  std::string_view ours;
  std::string_view theirs;
  std::span<const HookArgument> arguments;
};

struct HookDialect {
  enum class Response : std::uint8_t { parts, llm_content, text };  // of a tool, to post_tool_use

  std::string_view name;
  std::array<std::string_view, agent::k_points> events;  // in the order of agent::HookPoint
  std::span<const HookTool> tools;
  Response response = Response::parts;
  bool merges_input = false;            // the answer's arguments are added to the call's
  bool replaces_denied_result = false;  // a reason to deny a result stands in its place
  bool sends_conversation = false;      // with each request to the model
  std::span<const agent::HookPoint>
      text_is_context;               // where output that is no JSON is for the model
  std::string_view folder_variable;  // has the working folder; empty: none
};

std::span<const HookDialect> hook_dialects();
const HookDialect* hook_dialect(std::string_view name);  // nullptr: none of that name

// The dialect's name of a tool; errand's own where it has none.
std::string_view their_name(const HookDialect& dialect, std::string_view tool);

// Whether the matcher of a hook means that tool, by the one name or the other.
bool is_about(const HookDialect& dialect, const NameMatcher& matcher, std::string_view tool);

// A call's arguments in the dialect's words, and back. What is not in the table stays as it is.
agent::Json to_theirs(const HookDialect& dialect,
                      std::string_view tool,
                      const agent::Json& arguments,
                      const std::filesystem::path& cwd);
agent::Json to_ours(const HookDialect& dialect, std::string_view tool, const agent::Json& theirs);

}  // namespace tools
