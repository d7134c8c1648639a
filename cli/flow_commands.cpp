#include "cli/flow_commands.h"

#include "agent/environment.h"
#include "agent/text.h"
#include "tools/hooks/script_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace cli {
namespace {

using agent::Error;
using agent::StepSpec;
using Mode = agent::SandboxSpec::Mode;

Error wrong_command(const StepSpec& step, const std::string& message, std::string help) {
  return {.code = agent::Code::team_invalid,
          .message = fmt::format("step `{}`: {}", step.name, message),
          .help = std::move(help),
          .where = step.where};
}

Error runs_outside(const StepSpec& step, const agent::AgentSpec& writer) {
  return wrong_command(
      step,
      fmt::format("it runs outside of the sandbox what stands in the working folder, and the agent "
                  "{} ({}) is in a sandbox and can write there",
                  agent::one_line(writer.name, 60),
                  agent::one_line(std::filesystem::path(writer.file).filename().string(), 60)),
      "`sandbox: {network: allow, read: […], write: […]}` of the flow opens what its commands "
      "need; "
      "or give the agent `sandbox: read_only`");
}

Error is_unclear(const StepSpec& step, const std::string& why) {
  return wrong_command(
      step,
      fmt::format("the flow's `sandbox` opens more to it than an agent has by itself, and what "
                  "agents must not change cannot be determined: {}",
                  why),
      "put the line into a script, and name that by a plain word: `sh ci/deploy.sh`");
}

tools::CommandPlace place_of_commands(const Context& context) {
  return {.directory = context.cwd,
          .home = agent::value_of(context.environment, "HOME"),
          .environment = context.environment};
}

}  // namespace

NamedFiles files_named(const std::string& command, const Context& context) {
  tools::Scripts named = tools::read_scripts(command, place_of_commands(context));
  NamedFiles files{.run = std::move(named.modules), .other = std::move(named.files)};
  std::ranges::move(named.to_run, std::back_inserter(files.run));
  std::ranges::move(named.run, std::back_inserter(files.run));
  std::ranges::move(named.more, std::back_inserter(files.other));
  std::erase_if(files.other, [&](const std::filesystem::path& file) {
    return std::ranges::find(files.run, file.native(), &std::filesystem::path::native) !=
           files.run.end();
  });
  return files;
}

bool opens_more(const agent::AgentSpec& flow, const OtherAgents& all) {
  const agent::SandboxSpec& sandbox = flow.sandbox;
  const auto writes_less = [](const agent::AgentSpec* agent) {
    return is_confined_writer(agent) && agent->sandbox.mode == Mode::read_only;
  };
  return sandbox.network || !sandbox.allow_hosts.empty() || !sandbox.read.empty() ||
         !sandbox.write.empty() ||
         (sandbox.mode == Mode::workspace_write && std::ranges::any_of(all, writes_less));
}

std::vector<Error> mistakes_in_commands(const OtherAgents& all, const Context& context) {
  std::vector<Error> mistakes;
  const auto writer = std::ranges::find_if(all, is_confined_writer);
  if (writer == all.end()) {
    return mistakes;
  }
  const tools::CommandPlace place = place_of_commands(context);
  for (const agent::AgentSpec* flow : all) {
    const bool is_off = flow->sandbox.mode == Mode::off;
    for (const StepSpec& step : flow->steps) {
      if (step.is_command() && is_off) {
        mistakes.push_back(runs_outside(step, **writer));
      } else if (step.is_command() && opens_more(*flow, all)) {
        const std::string why = tools::read_scripts(step.command, place).unclear;
        if (!why.empty()) {
          mistakes.push_back(is_unclear(step, why));
        }
      }
    }
  }
  return mistakes;
}

}  // namespace cli
