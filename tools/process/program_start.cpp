#include "tools/process/program_start.h"

#include "tools/process/sandbox.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace tools {
namespace {

std::vector<std::string> environment_block(const agent::Environment& environment) {
  std::vector<std::string> block;
  block.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    block.push_back(name + "=" + value);
  }
  return block;
}

std::string absolute_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
  return error ? folder.string() : absolute.string();
}

}  // namespace

Program program_of(const ProgramRequest& request,
                   const Sandbox* sandbox,
                   const std::string& profile) {
  Program program{.argv = request.argv,
                  .environment = environment_block(request.environment),
                  .cwd = absolute_folder(request.cwd),
                  .profile = {}};
  if (sandbox != nullptr) {
    program.profile = profile;
    program.layers = sandbox->in_force();
  }
  return program;
}

std::string why_not_started(const Report& report,
                            const ProgramRequest& request,
                            const Sandbox* sandbox) {
  const std::string name = request.argv.empty() ? "" : request.argv.front();
  const char* const why = std::strerror(report.value);
  if (report.kind == Report::Kind::no_folder) {
    return fmt::format("cannot enter the working folder `{}`: {}", request.cwd.string(), why);
  }
  if (report.kind == Report::Kind::no_process) {
    return fmt::format("cannot start a process for `{}`: {}", name, why);
  }
  if (report.kind == Report::Kind::no_sandbox) {
    return fmt::format("cannot confine `{}`: {}", name, why);
  }
  if (report.value == ENOENT && name.find('/') == std::string::npos) {
    return fmt::format("cannot run `{}`: no such program in PATH", name);
  }
  std::error_code ignored;
  if (report.value == ENOENT && std::filesystem::exists(request.cwd / name, ignored)) {
    return sandbox == nullptr
               ? fmt::format(
                     "cannot run `{}`: the interpreter that its first line names does not exist",
                     name)
               : fmt::format(
                     "cannot run `{}`: the sandbox shows no such file, or not the "
                     "interpreter that its first line names; `sandbox.read` opens places",
                     name);
  }
  return fmt::format("cannot run `{}`: {}", name, why);
}

}  // namespace tools
