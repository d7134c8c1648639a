#include "cli/find_run.h"

#include "agent/refusal.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/agents_above.h"
#include "cli/flow_claims.h"
#include "cli/given_answers.h"
#include "cli/output.h"
#include "cli/run_choice.h"
#include "cli/run_identity.h"
#include "cli/user_folders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

Result<void> change_to_folder_of(const agent::RunStarted& begun, Context& context) {
  std::error_code error;
  fs::current_path(begun.cwd, error);
  if (error) {
    return agent::fail(Code::config_invalid,
                       fmt::format("the folder of the run, `{}`, cannot be entered: {}",
                                   agent::one_line(begun.cwd),
                                   error.message()),
                       begun.plan.is_flow
                           ? "`--agent FILE --cwd DIR` carries it on in another one, by "
                             "the flow's file there"
                           : "`--cwd DIR` carries it on in another one");
  }
  context.cwd = fs::current_path();
  return {};
}

// Without one of these, a run may do less than it might. Any other has to be said again.
Result<void> check_lost_options(const RecordedRun& run, const Parsed& parsed) {
  constexpr std::array<std::string_view, 3> k_dispensable = {"--allow", "--key-host", "--param"};
  for (const std::string& name : lost_options(run)) {
    if (!parsed.has(name) && std::ranges::find(k_dispensable, name) == k_dispensable.end()) {
      return agent::fail(
          Code::cli_usage,
          fmt::format("a {} of the run {} had a secret in it, which is not in the journal",
                      name,
                      recorded_id(run)),
          "give it again");
    }
  }
  return {};
}

// What members are begun with by `--sandbox` replaces what their files say.
Result<void> keep_sandbox_below(const Parsed& above,
                                const std::string& above_id,
                                const std::string& run_id,
                                Parsed& parsed) {
  constexpr const char* k_option = "--sandbox";
  const auto most = above.value(k_option);
  const auto asked = parsed.value(k_option);
  if (!most) {
    return {};
  }
  if (!asked && agent::sandbox_mode_from(*most) == agent::SandboxSpec::Mode::read_only) {
    parsed.values[k_option] = {*most};  // more than that no file says
  }
  if (!asked || agent::sandbox_mode_from(*asked) <= agent::sandbox_mode_from(*most)) {
    return {};
  }
  return agent::fail(
      Code::cli_usage,
      fmt::format("`{0} {1}` is more than the run {2} has, for which {3} worked: `{0} {4}`",
                  k_option,
                  *asked,
                  above_id,
                  run_id,
                  *most),
      fmt::format("say `{} {}`, or less", k_option, *most));
}

// What a command line has closed to those that a run worked for is closed to it by itself, too.
Result<void> heed_options_above(const RecordedRun& run, Parsed& parsed, const Context& context) {
  std::set<std::string> seen;  // a record may lie
  std::string above = run.parent;
  while (!above.empty() && seen.insert(above).second) {
    const auto parent = recall(run.store, above, context.environment);
    if (!parent) {
      break;  // whether it may go on without that is said elsewhere
    }
    TRY_ASSIGN(const Parsed recorded, recorded_options(*parent));
    TRY(keep_sandbox_below(recorded, above, recorded_id(run), parsed));
    const auto known = parsed.all("--deny");
    for (const std::string& rule : recorded.all("--deny")) {
      if (std::ranges::find(known, rule) == known.end()) {
        parsed.values["--deny"].push_back(rule);
      }
    }
    above = parent->parent;
  }
  return {};
}

// A stranger's run may have come without those of its sub-agents: one at work there would begin
// anew, and be paid for twice. Of one's own, what has no record has not come to anything.
Result<void> check_sub_agents_are_here(const RecordedRun& run) {
  const auto& open = run.past.state.open_calls;
  for (const auto& [key, sub_agent] : run.past.state.sub_agents) {
    const auto& [run_id, finished] = sub_agent.record;
    const bool goes_on = !run_id.empty() && (!finished || finished->suspended) &&
                         std::ranges::find(open, key.second, &agent::ToolCall::id) != open.end();
    if (!goes_on || agent::store::run_info(run.store, run_id)) {
      continue;
    }
    return agent::fail(
        Code::cli_usage,
        fmt::format("the sub-agent {} of the run {} was at work, and its record, the run {}, is "
                    "not here: it would begin anew, and be paid for twice",
                    agent::one_line(sub_agent.member, 60),
                    recorded_id(run),
                    run_id),
        fmt::format("bring it as this one was: `errand runs export {} --raw`, then `errand runs "
                    "import`; a new message leaves the call out",
                    run_id));
  }
  return {};
}

}  // namespace

fs::path store_of(const agent::AgentSpec& agent, const agent::Environment& environment) {
  const std::string& store = agent.session.store;
  return store == "none"   ? fs::path()
         : store == "auto" ? default_journal(environment)
                           : fs::path(agent.directory) / store;
}

Result<void> check_store(const agent::AgentSpec& agent) {
  const std::string& store = agent.session.store;
  if (store == "none" || store == "auto" || agent.session.is_of_whole) {
    return {};
  }
  TRY(check_stays_inside(store, agent.directory));
  return check_is_no_link((fs::path(agent.directory) / store).string());
}

Result<RecordedRun> find_run(const fs::path& store,
                             const std::string& run,
                             const Context& context) {
  if (run.empty()) {
    TRY(folder_of(context));
  }
  TRY_ASSIGN(const std::string id, agent::store::find_run(store, run, context.cwd.string()));
  return recall(store, id, context.environment);
}

Result<std::optional<RecordedRun>> find_session(const fs::path& store,
                                                const std::string& name,
                                                const Context& context) {
  if (const auto why = agent::why_not_text(name)) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the name of the run is not valid text: {}", *why),
                       "give it as UTF-8");
  }
  TRY_ASSIGN(const std::string folder, folder_of(context));
  const auto runs = agent::store::list_runs(store, {.folder = folder, .session = name, .limit = 1});
  if (!runs && runs.error().code != Code::storage_not_found) {
    return agent::fail(runs.error());
  }
  if (!runs || runs->empty()) {
    return std::nullopt;
  }
  return recall(store, runs->front().row.run_id, context.environment);
}

Result<RunSource> carried_on(RecordedRun run,
                             std::vector<std::string> prompt,
                             Parsed& parsed,
                             Context& context) {
  TRY(check_resumable(run, !prompt.empty() || parsed.has("--prompt-file")));
  const auto agent_file = parsed.value("--agent");
  if (run.begun.plan.is_flow) {  // what its steps have brought goes into commands
    TRY(check_is_own(run, "begin the flow anew"));
  } else if (!agent_file) {
    TRY(check_is_own(
        run,
        fmt::format("`errand {} --agent FILE` carries it on in this folder, by an agent of your "
                    "choice",
                    run.forked_from ? fmt::format("fork RUN --at {}", run.forked_from->turn)
                                    : std::string("resume RUN"))));
  }
  if (!agent_file && parsed.has("--param")) {
    return agent::fail(
        Code::cli_usage,
        "`--param` is for an agent file that is read, and the run goes on by what it "
        "was told",
        "leave it out, or name the file with --agent FILE");
  }
  if (!agent_file && needs_agent_file(run.begun)) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the agent file of the run {} had a secret in it, which is not "
                                   "in the journal: its rules may say something else without it",
                                   recorded_id(run)),
                       "name the file with --agent FILE");
  }
  TRY(check_identity(run.begun, recorded_id(run), run.is_own, parsed));
  if (!run.is_own && prompt.empty() && !parsed.has("--prompt-file")) {
    TRY(check_sub_agents_are_here(run));
  }
  if (run.is_own) {
    TRY(check_lost_options(run, parsed));
  }
  if (!run.is_own && parsed.has("--keep-grants")) {
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("the run {} is not known as yours: what was approved in it does "
                                   "not count",
                                   recorded_id(run)),
                       "leave out --keep-grants; what the run needs is asked for again");
  }
  RunSource source{
      .agent = {.file = agent_file ? fs::absolute(*agent_file).string() : run.begun.agent_file,
                .prompt = std::move(prompt)},
      .is_by_record = !agent_file,
      .says_own_prompt = false,
      .session = run.begun.session,
      .paths_from = context.cwd,
      .input_sha256 = run.begun.made_from.input_sha256};
  auto above = agents_above(run, parsed, context.environment);
  if (above) {
    source.above = *std::move(above);
  } else if (!agent_file) {  // else that file's own rights and limits are all that is known
    return agent::fail(std::move(above).error());
  }
  if (!run.forked_from) {
    TRY_ASSIGN(source.beside_commands, claim_beside_commands(source.above));
  }
  if (run.is_own) {
    TRY(take_over_options(run, parsed));
    if (!parsed.has("--cwd")) {
      TRY(change_to_folder_of(run.begun, context));
    }
  }
  TRY(heed_options_above(run, parsed, context));
  source.earlier = std::move(run);
  return source;
}

namespace {

bool was_begun_with(const RecordedRun& flow, const std::string& prompt) {
  const auto& messages = flow.past.state.conversation.messages;
  return std::ranges::any_of(messages, [&](const agent::Message& message) {
    const auto* said = std::get_if<agent::UserMessage>(&message);
    return said != nullptr && said->text == prompt;
  });
}

}  // namespace

Result<RunSource> carried_on_anew(RecordedRun run,
                                  AgentChoice agent,
                                  bool has_message,
                                  const agent::Environment& environment) {
  TRY(check_is_own(run,
                   fmt::format("`errand resume {} --agent FILE` carries it on as a stranger's; "
                               "another `--session` begins a run of your own",
                               run.run_id)));
  const bool is_flow = run.begun.plan.is_flow;
  if (is_flow && was_begun_with(run, fmt::format("{}", fmt::join(agent.prompt, " ")))) {
    agent.prompt.clear();
    has_message = false;
  }
  TRY(check_resumable(run, !is_flow || has_message));
  if (const std::string pending = pending_words(run); has_message && !pending.empty()) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the run `{}` is parked, it waits for approval: {}",
                    agent::one_line(run.begun.session),
                    pending),
        fmt::format("answer first, `errand runs pending {0}` says how; `errand resume {0} \"…\"` "
                    "leaves the calls out for a new message",
                    run.run_id));
  }
  if (has_message && !is_flow && waits_for_a_person(run, environment)) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the run `{}` is parked: members of it wait for approval",
                    agent::one_line(run.begun.session)),
        fmt::format("answer first, `errand runs pending` lists what waits, and then `errand resume "
                    "{0}`; `errand resume {0} \"…\"` leaves their calls out for a new message",
                    run.run_id));
  }
  RunSource source{.agent = std::move(agent),
                   .says_own_prompt = needs_message(run),
                   .session = run.begun.session,
                   .input_sha256 = run.begun.made_from.input_sha256};
  source.earlier = std::move(run);
  return source;
}

}  // namespace cli
