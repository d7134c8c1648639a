#include "tools/runner/possible_call.h"

#include "tools/files/atomic_file_write.h"
#include "tools/files/regular_file.h"
#include "tools/permissions/path_pattern.h"
#include "tools/permissions/shell_script.h"
#include "tools/runner/call_validation.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace tools {
namespace {

namespace fs = std::filesystem;
using agent::Result;

// Behind them, a relative path is another one.
bool changes_folder(const ShellScript& script) {
  constexpr auto k_movers = std::to_array<std::string_view>({"cd", "chdir", "popd", "pushd"});
  return !script.unclear.empty() ||
         std::ranges::any_of(script.commands, [&](const ShellCommand& command) {
           const bool is_open = !command.words.empty() && has_unknown(command.words.front());
           return is_open || std::ranges::any_of(command.words, [&](const std::string& word) {
                    return std::ranges::find(k_movers, word) != k_movers.end();
                  });
         });
}

Result<void> check_line(std::string_view line, const CallContext& context) {
  const ShellScript script = read_shell(line);
  const fs::path home(agent::value_of(context.environment, "HOME"));
  const bool moves = changes_folder(script);
  for (const ShellCommand& command : script.commands) {
    for (const ShellFile& file : command.files) {
      const bool is_at_home = file.path.starts_with("~/");
      const bool is_known =
          !has_unknown(file.path) && (is_at_home || (file.path.starts_with('/') || !moves));
      const fs::path path =
          (is_at_home ? home / file.path.substr(2) : context.cwd / file.path).lexically_normal();
      const bool is_own = (context.is_programs_own && context.is_programs_own(path)) ||
                          is_own_stream(path) || path.string().starts_with("/dev/fd/");
      if (!is_known || is_own) {
        continue;
      }
      const NamedPath named{.shown = file.path, .path = path, .policy = context.policy};
      TRY(file.writes ? check_place_to_write(named) : check_reading(named));
    }
  }
  return {};
}

}  // namespace

Result<void> check_fit(const Tool& tool,
                       const agent::JsonSchema& schema,
                       const agent::Json& arguments) {
  TRY(check_arguments(schema, arguments));
  return tool.check_arguments(arguments);
}

Result<void> check_possible(const Tool& tool,
                            const agent::Json& arguments,
                            const CallContext& context) {
  const Access access = tool.access(arguments);
  if (access.kind == Access::Kind::commands && context.policy != nullptr) {
    TRY(check_line(access.target, context));
  }
  return tool.check(arguments, context);
}

}  // namespace tools
