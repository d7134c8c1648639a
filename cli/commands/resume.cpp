// `errand resume`: a recorded run, carried on from its last event. `errand fork`: a new run, of the
// beginning of a recorded one.
#include "agent/duration.h"
#include "agent/store/runs.h"
#include "cli/commands/commands.h"
#include "cli/find_run.h"
#include "cli/given_answers.h"
#include "cli/run_choice.h"
#include "cli/run_identity.h"
#include "cli/start_run.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {
namespace {

// Which run is meant, and what is to be done next.
struct Choice {
  std::string run;  // empty: the last one of this folder
  std::vector<std::string> prompt;
};

agent::Result<Choice> choice_of(const Parsed& parsed) {
  const bool is_last = parsed.has("--last");
  if (!is_last && (parsed.positionals.empty() || parsed.positionals.front().empty())) {
    const std::string_view name = parsed.command->name;
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("`errand {}` wants a run", name),
                       fmt::format("`errand {0} RUN`, or `errand {0} --last`", name));
  }
  return Choice{
      .run = is_last ? "" : parsed.positionals.front(),
      .prompt = {parsed.positionals.begin() + (is_last ? 0 : 1), parsed.positionals.end()}};
}

agent::Result<RunSource> resumed_source(Parsed& parsed, Context& context) {
  TRY_ASSIGN(Choice choice, choice_of(parsed));
  TRY_ASSIGN(const auto journal, journal_of(parsed, context));
  TRY_ASSIGN(auto earlier, find_run(journal, choice.run, context));
  TRY_ASSIGN(auto answers, given_answers(earlier, parsed, context.environment));
  if (!answers.empty() && (!choice.prompt.empty() || parsed.has("--prompt-file"))) {
    return agent::fail(agent::Code::cli_usage,
                       "a new message leaves out the calls that wait, and here they are answered",
                       "answer them first; `errand resume RUN \"and now …\"` goes on from there");
  }
  TRY_ASSIGN(auto source,
             carried_on(std::move(earlier), std::move(choice.prompt), parsed, context));
  source.answers = std::move(answers);
  return source;
}

// What a run that begins may be called.
agent::Result<void> check_is_new(const std::filesystem::path& journal,
                                 const std::string& session,
                                 const Context& context) {
  if (session.empty()) {
    return {};
  }
  TRY_ASSIGN(const auto known, find_session(journal, session, context));
  return known ? agent::fail(agent::Code::cli_usage,
                             fmt::format("there is a run `{}` in this folder already",
                                         agent::one_line(session)),
                             "give the new one another name, or none")
               : agent::Result<void>();
}

agent::Result<RunSource> forked_source(Parsed& parsed, Context& context) {
  TRY_ASSIGN(Choice choice, choice_of(parsed));
  const auto at = parsed.value("--at");
  if (!at) {
    return agent::fail(agent::Code::cli_usage,
                       "`errand fork` wants the turn that the new run goes on from",
                       "`--at N`: after turn N; 0 is before the first");
  }
  TRY(check_name(parsed.value("--session").value_or(""), "run"));
  TRY_ASSIGN(const auto journal, journal_of(parsed, context));
  TRY_ASSIGN(const std::string run_id,
             agent::store::find_run(journal, choice.run, context.cwd.string()));
  TRY_ASSIGN(auto beginning, fork(journal, run_id, *agent::parse_count(*at), context.environment));
  TRY_ASSIGN(RunSource source,
             carried_on(std::move(beginning), std::move(choice.prompt), parsed, context));
  source.session = parsed.value("--session").value_or("");
  TRY(check_is_new(journal, source.session, context));
  return source;
}

}  // namespace

agent::Result<int> command_resume(const Parsed& parsed, Context& context) {
  return start_run(parsed, context, resumed_source);
}

agent::Result<int> command_fork(const Parsed& parsed, Context& context) {
  return start_run(parsed, context, forked_source);
}

}  // namespace cli
