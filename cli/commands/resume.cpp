// `errand resume`: a recorded run, carried on from its last event.
#include "cli/commands/commands.h"
#include "cli/find_run.h"
#include "cli/run_choice.h"
#include "cli/start_run.h"

#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

agent::Result<RunSource> resumed_source(Parsed& parsed, Context& context) {
  const bool is_last = parsed.has("--last");
  if (!is_last && (parsed.positionals.empty() || parsed.positionals.front().empty())) {
    return agent::fail(agent::Code::cli_usage,
                       "`errand resume` wants a run",
                       "`errand resume RUN`, or `errand resume --last`");
  }
  const std::string run = is_last ? "" : parsed.positionals.front();
  std::vector<std::string> prompt(parsed.positionals.begin() + (is_last ? 0 : 1),
                                  parsed.positionals.end());
  TRY_ASSIGN(const auto journal, journal_of(parsed, context));
  TRY_ASSIGN(auto earlier, find_run(journal, run, context));
  return carried_on(std::move(earlier), std::move(prompt), parsed, context);
}

}  // namespace

agent::Result<int> command_resume(const Parsed& parsed, Context& context) {
  return start_run(parsed, context, resumed_source);
}

}  // namespace cli
