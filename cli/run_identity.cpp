#include "cli/run_identity.h"

#include "agent/refusal.h"
#include "agent/store/runs.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;

bool has_gap(std::string_view text) {
  return text.contains(agent::k_redacted);
}

// What is wrong with it for the journal; empty: nothing.
std::string_view flaw_of(const std::string& text, const agent::Redactor& redactor) {
  return has_gap(text)                  ? "`[redacted]` in it, which stands for a secret there"
         : redactor.apply(text) != text ? "the value of a secret variable in it, or a key"
                                        : "";
}

agent::Result<void> missing(std::string_view what,
                            const std::string& run_id,
                            std::string_view help) {
  return agent::fail(
      Code::config_invalid,
      fmt::format("{} of the run {} had a secret in it, which is not in the journal", what, run_id),
      std::string(help));
}

}  // namespace

std::optional<Error> why_not_kept(const RunIdentity& run, const agent::Redactor& redactor) {
  struct Part {
    std::string what;
    const std::string& text;
    Code code = Code::config_invalid;
  };
  const auto parts = std::to_array<Part>(
      {{.what = fmt::format("the {} name", run.what), .text = run.name, .code = Code::cli_usage},
       {.what = "the path of this folder", .text = run.cwd},
       {.what = "the path of the agent's folder", .text = run.agent_folder},
       {.what = "the path of the agent file", .text = run.agent_file}});
  for (const Part& part : parts) {
    if (const std::string_view flaw = flaw_of(part.text, redactor); !flaw.empty()) {
      return Error{.code = part.code,
                   .message = fmt::format("{} has {}", part.what, flaw),
                   .help = part.code == Code::cli_usage
                               ? "the journal has no secrets, and finds the run by it: give it "
                                 "another name"
                               : "the journal has no secrets, and finds the run by it: name the "
                                 "folder otherwise, or the variable where its value is no secret"};
    }
  }
  return std::nullopt;
}

agent::Result<agent::store::RunClaim> claim_name(const RunIdentity& run,
                                                 const std::filesystem::path& journal) {
  TRY_ASSIGN(
      auto claim,
      agent::store::RunClaim::take(journal, fmt::format("name {} in {}", run.name, run.cwd)));
  TRY_ASSIGN(
      const auto runs,
      agent::store::list_runs(journal, {.folder = run.cwd, .session = run.name, .limit = 1}));
  if (claim && runs.empty()) {
    return *std::move(claim);
  }
  return agent::fail(Code::cli_usage,
                     fmt::format("another process has just begun the run `{}` of this folder",
                                 agent::one_line(run.name)),
                     "wait for its end, then carry it on");
}

agent::Result<void> check_name(const std::string& name, std::string_view what) {
  if (const auto why = agent::why_not_text(name)) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the name of the {} is not valid text: {}", what, *why),
                       "give it as UTF-8");
  }
  if (name.contains('#')) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the name of a {} has no `#`: `{}`", what, agent::one_line(name)),
        "the runs of a batch are called NAME#1, NAME#2 and so on; `errand resume "
        "NAME#1` carries one of them on");
  }
  if (name.contains('/')) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the name of a {} has no `/`: `{}`", what, agent::one_line(name)),
        "FLOW/MEMBER is what the run of a flow's member is called; take a `-`, or "
        "carry one of that name on with `errand resume`");
  }
  return {};
}

bool needs_agent_file(const agent::RunStarted& begun) {
  return has_gap(begun.made_from.agent_text) || has_gap(begun.plan.output_schema);
}

agent::Result<void> check_identity(const agent::RunStarted& begun,
                                   const std::string& run_id,
                                   bool is_own,
                                   const Parsed& parsed) {
  if (has_gap(begun.session)) {
    return missing("the name", run_id, "`errand fork RUN --at TURN` makes a run without it");
  }
  const bool is_by_record = !parsed.has("--agent");
  if (is_by_record && (has_gap(begun.agent_file) || has_gap(begun.made_from.agent_folder))) {
    return missing("the path of the agent file", run_id, "name the file with --agent FILE");
  }
  if (is_by_record && has_gap(begun.model) && !parsed.has("--model")) {
    return missing("the model", run_id, "name it with --model");
  }
  if (is_own && has_gap(begun.cwd) && !parsed.has("--cwd")) {
    return missing("the folder", run_id, "`--cwd DIR` carries it on in the one that you name");
  }
  return {};
}

}  // namespace cli
