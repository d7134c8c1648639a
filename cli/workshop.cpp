#include "cli/workshop.h"

#include "cli/enclosed.h"
#include "cli/terminal/questioner.h"

#include <utility>

namespace cli {

Workshop::Workshop(Options options, const Context& context, const agent::Redactor& redactor)
    : context_(context),
      redactor_(redactor),
      folder_(context.environment, options.folder_id),
      dialer_(context.environment),
      questioner_(open_questioner(
          {.color = context.color_err, .fall_silent = std::move(options.before_question)},
          redactor)),
      http_(context.environment) {}

agent::Result<std::unique_ptr<Workshop>> Workshop::open(const agent::AgentSpec& agent,
                                                        Options options,
                                                        const Context& context,
                                                        tools::Supervisor& supervisor,
                                                        const agent::Redactor& redactor) {
  std::unique_ptr<Workshop> workshop(new Workshop(std::move(options), context, redactor));
  TRY_ASSIGN(workshop->enclosure_, enclose(agent, context, workshop->folder_, supervisor));
  workshop->isolation_ = std::make_unique<tools::ProcessIsolation>(
      supervisor, workshop->enclosure_.get(), workshop->dialer_);
  return workshop;
}

tools::RunnerOptions Workshop::runner_options(std::vector<std::string> scrub) {
  return {.cwd = context_.cwd,
          .temporary = folder_.path(),
          .environment = context_.environment,
          .scrub = std::move(scrub),
          .isolation = isolation_.get(),
          .policy = enclosure_ ? &enclosure_->policy() : nullptr,
          .redactor = &redactor_,
          .clock = &clock_,
          .questioner = questioner_.get(),
          .http = &http_};
}

std::vector<std::string> Workshop::warnings() const {
  return enclosure_ ? enclosure_->warnings() : std::vector<std::string>();
}

}  // namespace cli
