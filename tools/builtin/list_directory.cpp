// What is in one folder.
#include "tools/builtin/builtins.h"
#include "tools/feedback.h"
#include "tools/files/walk.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <system_error>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_list_directory_max_shown = 1'000;

constexpr const char* k_list_directory_parameters = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The folder; `.` is the working folder."}
  },
  "required": ["path"],
  "additionalProperties": false
})";

std::string describe(const fs::path& path, fs::file_type type) {
  std::error_code error;
  switch (type) {
    case fs::file_type::directory:
      return "/";
    case fs::file_type::symlink: {
      const fs::path target = fs::read_symlink(path, error);
      return error ? " -> ?" : " -> " + one_line(target.string());
    }
    case fs::file_type::fifo:
      return "  named pipe";
    case fs::file_type::socket:
      return "  socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "  device";
    case fs::file_type::regular: {
      const auto size = fs::file_size(path, error);
      return error ? "  ? bytes" : fmt::format("  {} bytes", size);
    }
    case fs::file_type::none:
    case fs::file_type::not_found:
    case fs::file_type::unknown:
      break;
  }
  return "  ?";
}

Output call_list_directory(const agent::Json& arguments, const CallContext& context) {
  const auto where = resolve(agent::text_at(arguments, "path"), context);
  if (!where) {
    return failure(where.error());
  }
  const auto folder = read_folder(*where, context.stop);
  if (!folder) {
    return failure(folder.error());
  }
  Output output;
  std::size_t shown = 0;
  for (const FolderEntry& entry : folder->entries) {
    if (context.stop.stop_requested()) {
      return failure(agent::Code::tool_cancelled, "stopped while listing the folder");
    }
    const std::string line =
        one_line(entry.name) + describe(where->path / entry.name, entry.type) + '\n';
    if (shown == k_list_directory_max_shown || output.text.size() + line.size() > k_page_bytes) {
      output.text += fmt::format("[and {}{} more; use glob or shell to narrow it down]\n",
                                 folder->is_whole ? "" : "over ",
                                 folder->entries.size() - shown);
      return output;
    }
    output.text += line;
    ++shown;
  }
  if (folder->entries.empty()) {
    output.text = "[the folder is empty]\n";
  }
  return output;
}

}  // namespace

std::unique_ptr<Tool> make_list_directory(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "list_directory",
                      .description = "Lists one folder, hidden names included: folders end in /, "
                                     "links show their target, files their size.",
                      .parameters = k_list_directory_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.parallel = true, .idempotent = true, .access = Access::Kind::names},
      call_list_directory);
}

}  // namespace tools
