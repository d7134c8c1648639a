// A file's whole content, new or in place of the old one.
#include "tools/builtins.h"
#include "tools/feedback.h"
#include "tools/replacement.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tools {
namespace {

constexpr const char* k_parameters = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file; missing folders are made."},
    "content": {"type": "string", "description": "The whole new content."}
  },
  "required": ["path", "content"],
  "additionalProperties": false
})";

Output call(const agent::Json& arguments, const CallContext& context) {
  const auto file = resolve(agent::text_at(arguments, "path"), context);
  if (!file) {
    return failure(file.error());
  }
  const std::string_view content = agent::text_at(arguments, "content");
  const auto replaced = replace_file(*file, content);
  if (!replaced) {
    return failure(replaced.error());
  }
  const std::string before =
      replaced->is_new ? "a new file" : fmt::format("it had {} before", replaced->old_size);
  return {.text = fmt::format(
              "wrote {} bytes to {} ({})\n", content.size(), one_line(file->shown), before)};
}

}  // namespace

std::unique_ptr<Tool> make_write_file(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "write_file",
                      .description = "Writes a file, in place of the old content if there is any. "
                                     "To change a part of a file, use edit_file.",
                      .parameters = k_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.reach = Reach::Kind::writes},
      call);
}

}  // namespace tools
