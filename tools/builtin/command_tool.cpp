#include "tools/builtin/command_tool.h"

#include "agent/json.h"
#include "tools/hooks/kept_modules.h"
#include "tools/process/closed_places.h"
#include "tools/process/program_environment.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::Json;
using agent::Milliseconds;

constexpr Milliseconds k_default_timeout = std::chrono::minutes(2);
constexpr std::size_t k_error_bytes = 4'000;     // of stderr, for the model
constexpr std::size_t k_hint_bytes = 64u << 10;  // a longer stdout is no retry hint

// The last whole lines of at most k_error_bytes; of one longer line its end.
std::string_view last_lines(std::string_view text) {
  if (text.size() <= k_error_bytes) {
    return text;
  }
  text.remove_prefix(text.size() - k_error_bytes);
  const std::size_t line_end = text.find('\n');
  return line_end + 1 < text.size() ? text.substr(line_end + 1) : text;
}

// The hint, where the program asks for a corrected call: {"retry_hint": "…"} and nothing else.
std::optional<std::string> retry_hint(const Captured& output) {
  if (!output.is_whole || output.text.size() > k_hint_bytes) {
    return std::nullopt;
  }
  const std::optional<Json> answer = agent::parse_json(output.text);
  if (!answer || !answer->is_object() || answer->size() != 1) {
    return std::nullopt;
  }
  const Json* const hint = agent::find(*answer, "retry_hint");
  if (hint == nullptr || !hint->is_string()) {
    return std::nullopt;
  }
  return std::string(agent::text_at(*answer, "retry_hint"));
}

Output succeeded(ProgramResult result) {
  result.errors.remove_file();
  if (const auto hint = retry_hint(result.output)) {
    return failure(Code::tool_model_retry, *hint);
  }
  Output output;
  output.exit_status = 0;
  put_text(output, std::move(result.output));
  if (output.text.empty()) {
    output.text = "(no output)";
  }
  return output;
}

Output failed(ProgramResult result, const ProgramRequest& request, const CallContext& context) {
  Output output = failed_end(result, request);
  put_text(output, std::move(result.output));
  const std::string_view errors = last_lines(result.errors.text);
  if (errors.empty()) {
    result.errors.remove_file();
  } else {
    append_line(
        output.text,
        errors.size() < result.errors.total_bytes
            ? fmt::format(
                  "[stderr, the last {} of {} bytes]\n", errors.size(), result.errors.total_bytes)
            : "[stderr]\n");
    output.text += errors;
    if (!result.errors.spill_path.empty()) {
      append_line(output.text, fmt::format("[all of stderr: {}]", result.errors.spill_path));
    }
  }
  if (context.policy != nullptr) {
    append_closed_places(
        output.text, *context.policy, {.folder = context.cwd, .own = context.environment});
  }
  tell_notes(output.text, result);
  return output;
}

class CommandTool final : public Tool {
 public:
  explicit CommandTool(const agent::ToolSpec& spec)
      : spec_(spec),
        info_{.name = spec.name,
              .description = spec.description,
              .parameters = spec.parameters,
              .repeatable = spec.repeatable} {}

  const agent::ToolInfo& info() const override { return info_; }
  bool parallel() const override { return spec_.parallel; }
  bool idempotent() const override { return spec_.idempotent; }

  Output call(const Json& arguments, const CallContext& context) override {
    if (context.program_runner == nullptr) {
      return failure(Code::tool_failed, "programs cannot be started here");
    }
    ProgramRequest request{.argv = spec_.command,
                           .environment = tool_environment(context, spec_.env),
                           .cwd = context.cwd,
                           .temporary = context.temporary,
                           .input = agent::dump(arguments) + "\n",
                           .timeout = spec_.timeout.value_or(k_default_timeout),
                           .idle_timeout = spec_.idle_timeout,
                           .merge_stderr = false};
    keep_no_modules(request);
    ProgramResult result =
        context.program_runner->run(request, {context.stop, context.kill, context.on_output});
    return result.has_exited_cleanly() && result.exit_status == 0
               ? succeeded(std::move(result))
               : failed(std::move(result), request, context);
  }

 private:
  agent::ToolSpec spec_;
  agent::ToolInfo info_;
};

}  // namespace

std::unique_ptr<Tool> make_command_tool(const agent::ToolSpec& spec) {
  return std::make_unique<CommandTool>(spec);
}

}  // namespace tools
