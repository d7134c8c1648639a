// A file's whole content, new or in place of the old one.
#include "agent/secrets/redact.h"
#include "tools/builtin/builtins.h"
#include "tools/feedback.h"
#include "tools/files/atomic_file_write.h"
#include "tools/files/unified_diff.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace tools {
namespace {

constexpr const char* k_write_file_parameters = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file; missing folders are made."},
    "content": {"type": "string", "description": "The whole new content."}
  },
  "required": ["path", "content"],
  "additionalProperties": false
})";

constexpr std::size_t k_max_looked_at = 16u << 20;

// What the model has read of a file holds marks in place of secrets: written back, they would
// destroy these.
bool would_destroy_secrets(const NamedPath& name,
                           std::string_view content,
                           const CallContext& context) {
  constexpr std::string_view k_mark = "[redacted]";
  if (context.redactor == nullptr || !content.contains(k_mark)) {
    return false;
  }
  const auto file = open_regular(name);
  if (!file) {
    return false;  // nothing is there, or writing says what is wrong
  }
  const auto old = read_whole(*file, name, k_max_looked_at, context.stop);
  return old && !old->contains(k_mark) && !context.redactor->is_clean(*old);
}

Output call_write_file(const agent::Json& arguments, const CallContext& context) {
  const auto file = resolve(agent::text_at(arguments, "path"), context);
  if (!file) {
    return failure(file.error());
  }
  const std::string_view content = agent::text_at(arguments, "content");
  if (would_destroy_secrets(*file, content, context)) {
    return failure(agent::Code::tool_failed,
                   fmt::format("`{}` has secrets where you read [redacted]; this would put that "
                               "word in their place",
                               one_line(file->shown)),
                   "Use edit_file for what else is to change, and leave the lines with secrets "
                   "alone.");
  }
  const auto replaced = replace_file(*file, content);
  if (!replaced) {
    return failure(replaced.error());
  }
  const std::string before =
      replaced->is_new ? "a new file" : fmt::format("it had {} before", replaced->old_size);
  return {.text = fmt::format(
              "wrote {} bytes to {} ({})\n", content.size(), one_line(file->shown), before)};
}

agent::Result<std::string> changes_of_write(const agent::Json& arguments,
                                            const CallContext& context) {
  TRY_ASSIGN(const NamedPath name, resolve(agent::text_at(arguments, "path"), context));
  const std::string_view content = agent::text_at(arguments, "content");
  std::error_code error;
  if (!std::filesystem::exists(name.path, error)) {
    return unified_diff("/dev/null", {}, name.shown, content);
  }
  TRY_ASSIGN(const RegularFile file, open_regular(name));
  TRY_ASSIGN(const std::string old, read_whole(file, name, k_max_looked_at, context.stop));
  return unified_diff(name.shown, old, name.shown, content);
}

}  // namespace

std::unique_ptr<Tool> make_write_file(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "write_file",
                      .description = "Writes a file, in place of the old content if there is any. "
                                     "To change a part of a file, use edit_file.",
                      .parameters = k_write_file_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.access = Access::Kind::writes, .changes = changes_of_write},
      call_write_file);
}

}  // namespace tools
