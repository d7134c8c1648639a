#include "tools/builtin/shell.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "tools/files/regular_file.h"
#include "tools/process/closed_places.h"
#include "tools/process/program_environment.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::Json;
using agent::Milliseconds;

constexpr Milliseconds k_shell_timeout = std::chrono::minutes(2);
constexpr Milliseconds k_longest_timeout = std::chrono::minutes(10);
constexpr int k_not_executable = 126;
constexpr int k_not_found = 127;

std::string describe(Milliseconds timeout, Milliseconds longest) {
  return fmt::format(
      "Runs a command line with /bin/sh (not bash) in the working folder and returns its stdout "
      "and "
      "stderr as one text, with the exit status where it is not 0. Nothing stays running after the "
      "call, background processes included. stdin is empty: use options that ask no questions. "
      "Each call starts anew in the working folder. Time limit: {}, at most {}.",
      agent::format_duration(timeout),
      agent::format_duration(longest));
}

Json schema(Milliseconds longest) {
  return Json{{"type", "object"},
              {"properties",
               {{"command",
                 {{"type", "string"},
                  {"minLength", 1},
                  {"description", "The command line, as for sh -c."}}},
                {"timeout",
                 {{"type", Json::array({"string", "integer"})},
                  {"description",
                   fmt::format("Time limit: \"30s\", \"5m\", or whole seconds; at most {}.",
                               agent::format_duration(longest))}}}}},
              {"required", Json::array({"command"})},
              {"additionalProperties", false}};
}

class Shell final : public Tool {
 public:
  explicit Shell(const agent::ToolSpec& spec)
      : timeout_(spec.timeout.value_or(k_shell_timeout)),
        longest_(spec.timeout.value_or(k_longest_timeout)),
        idle_timeout_(spec.idle_timeout),
        idempotent_(spec.idempotent),
        env_(spec.env),
        info_{.name = "shell",
              .description = describe(timeout_, longest_),
              .parameters = agent::dump(schema(longest_)),
              .repeatable = spec.repeatable} {}

  const agent::ToolInfo& info() const override { return info_; }
  bool idempotent() const override { return idempotent_; }
  Access access(const Json& arguments) const override {
    return {.kind = Access::Kind::commands,
            .target = std::string(agent::text_at(arguments, "command"))};
  }
  agent::Result<void> check_arguments(const Json& arguments) const override;
  Output call(const Json& arguments, const CallContext& context) override;

 private:
  // nullopt where the argument is no time.
  std::optional<Milliseconds> asked_timeout(const Json& arguments) const;

  Milliseconds timeout_;
  Milliseconds longest_;
  std::optional<Milliseconds> idle_timeout_;
  bool idempotent_;
  agent::Environment env_;
  agent::ToolInfo info_;
};

std::optional<Milliseconds> Shell::asked_timeout(const Json& arguments) const {
  const Json* const asked = agent::find(arguments, "timeout");
  if (asked == nullptr) {
    return timeout_;
  }
  std::optional<Milliseconds> time;
  if (asked->is_string()) {
    time = agent::parse_duration(agent::text_at(arguments, "timeout"));
  } else {
    const long long longest = std::chrono::ceil<std::chrono::seconds>(longest_).count();
    const long long seconds = agent::integer_at(arguments, "timeout");
    time = std::chrono::seconds(std::clamp(seconds, 0LL, longest));
  }
  if (!time || *time <= Milliseconds(0)) {
    return std::nullopt;
  }
  return std::min(*time, longest_);
}

// A status other than 0 is the command's answer, as grep's 1; what could not even run is a failure.
Output exited(ProgramResult& result) {
  const int status = result.exit_status;
  Output output;
  if (status == k_not_found) {
    output = failure(Code::tool_failed,
                     "exit status 127: a command was not found",
                     "Check its spelling and whether it is installed (command -v NAME).");
  } else if (status == k_not_executable) {
    output = failure(Code::tool_failed,
                     "exit status 126: a command could not be executed",
                     "Check that it is a program and has the execute permission.");
  }
  put_text(output, std::move(result.output));
  output.exit_status = status;
  if (output.text.empty()) {
    output.text = "(no output)";
  }
  if (status != 0) {
    append_line(output.text, fmt::format("[exit status {}]", status));
  }
  return output;
}

Output stopped(ProgramResult& result, const ProgramRequest& request) {
  Output output = failed_end(result, request);
  put_text(output, std::move(result.output));
  return output;
}

agent::Result<void> Shell::check_arguments(const Json& arguments) const {
  const std::string_view command = agent::text_at(arguments, "command");
  if (command.contains('\0')) {
    return agent::fail(Code::tool_invalid_parameters,
                       "`command` contains a NUL byte",
                       "Write it without; `printf '\\0'` makes one.");
  }
  if (command.find_first_not_of(" \t\n") == std::string_view::npos) {
    return agent::fail(
        Code::tool_invalid_parameters, "`command` is blank", "Give the command line to run.");
  }
  if (!asked_timeout(arguments)) {
    return agent::fail(Code::tool_invalid_parameters,
                       "`timeout` is not a time: it needs a number above 0 and a unit",
                       "Write \"30s\", \"5m\" or whole seconds, or leave it out.");
  }
  return {};
}

Output Shell::call(const Json& arguments, const CallContext& context) {
  if (const auto fit = check_arguments(arguments); !fit) {
    return failure(fit.error());
  }
  std::string command(agent::text_at(arguments, "command"));
  if (context.program_runner == nullptr) {
    return failure(Code::tool_failed, "programs cannot be started here");
  }
  const ProgramRequest request{.argv = {"/bin/sh", "-c", std::move(command)},
                               .environment = tool_environment(context, env_),
                               .cwd = context.cwd,
                               .temporary = context.temporary,
                               .timeout = asked_timeout(arguments),
                               .idle_timeout = idle_timeout_};
  ProgramResult result =
      context.program_runner->run(request, {context.stop, context.kill, context.on_output});
  Output output = result.has_exited_cleanly() ? exited(result) : stopped(result, request);
  if (output.exit_status.value_or(0) != 0 && context.policy != nullptr) {
    append_closed_places(
        output.text, *context.policy, {.folder = context.cwd, .own = context.environment});
  }
  tell_notes(output.text, result);
  return output;
}

}  // namespace

std::unique_ptr<Tool> make_shell(const agent::ToolSpec& spec) {
  return std::make_unique<Shell>(spec);
}

}  // namespace tools
