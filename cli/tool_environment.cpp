#include "cli/tool_environment.h"

#include "cli/terminal/questioner.h"
#include "tools/builtin/registry.h"

#include <algorithm>
#include <utility>

namespace cli {

ToolEnvironment::ToolEnvironment(const std::filesystem::path& temporary,
                                 Options options,
                                 const Context& context,
                                 tools::Supervisor& supervisor,
                                 const agent::Redactor& redactor)
    : context_(context),
      redactor_(redactor),
      folder_(temporary, options.folder_id),
      place_{.folder = folder_,
             .supervisor = supervisor,
             .outputs = std::move(options.outputs),
             .obeyed = std::move(options.obeyed)},
      dialer_(context.environment),
      questioner_(options.is_attended ? open_questioner({.color = context.color_err,
                                                         .progress = options.progress,
                                                         .who = std::move(options.who)},
                                                        redactor)
                                      : nullptr),
      own_http_(options.http == nullptr
                    ? std::make_unique<providers::HttpClient>(context.environment)
                    : nullptr),
      http_(own_http_ ? own_http_.get() : options.http) {}

agent::Result<std::unique_ptr<ToolEnvironment>> ToolEnvironment::open(
    const agent::AgentSpec& agent,
    Options options,
    const Context& context,
    tools::Supervisor& supervisor,
    const agent::Redactor& redactor) {
  TRY_ASSIGN(const auto temporary, find_temporary(context.environment, options.is_written));
  std::unique_ptr<ToolEnvironment> tool_environment(
      new ToolEnvironment(temporary, std::move(options), context, supervisor, redactor));
  TRY_ASSIGN(tool_environment->sandbox_, open_sandbox(agent, context, tool_environment->place_));
  tool_environment->program_runner_ = std::make_unique<tools::LocalProgramRunner>(
      supervisor, tool_environment->sandbox_.get(), tool_environment->dialer_);
  if (tool_environment->sandbox_ && std::ranges::any_of(agent.tools, tools::uses_repository)) {
    TRY_ASSIGN(tool_environment->git_sandbox_,
               open_git_sandbox(agent, context, tool_environment->place_));
    tool_environment->git_runner_ = std::make_unique<tools::LocalProgramRunner>(
        supervisor, tool_environment->git_sandbox_.get(), tool_environment->dialer_);
  }
  return tool_environment;
}

tools::RunnerOptions ToolEnvironment::runner_options(std::vector<std::string> scrub) {
  return {.cwd = context_.cwd,
          .temporary = folder_.path(),
          .environment = context_.environment,
          .scrub = std::move(scrub),
          .program_runner = program_runner_.get(),
          .git_runner = git_runner_ ? git_runner_.get() : program_runner_.get(),
          .policy = sandbox_ ? &sandbox_->policy() : nullptr,
          .is_programs_own =
              [sandbox = sandbox_.get()](const std::filesystem::path& place) {
                return sandbox != nullptr && sandbox->has_own(place);
              },
          .redactor = &redactor_,
          .clock = &clock_,
          .questioner = questioner_.get(),
          .http = http_};
}

std::vector<std::string> ToolEnvironment::warnings() const {
  return sandbox_ ? sandbox_->warnings() : std::vector<std::string>();
}

}  // namespace cli
