#include "cli/serve/sandbox_tools.h"

#include "agent/id.h"
#include "agent/text.h"
#include "cli/key_hosts.h"
#include "cli/known_names.h"
#include "cli/open_sandbox.h"
#include "cli/permissions.h"
#include "cli/settings.h"
#include "cli/user_places.h"
#include "tools/builtin/registry.h"
#include "tools/guardrails/guardrails.h"

#include <fmt/format.h>

#include <exception>
#include <random>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;
using agent::Result;

// Nobody is there to be asked; what a call says meanwhile is not for the client, only that it does.
class CallWatcher final : public agent::ToolWatcher {
 public:
  CallWatcher(const ServedProgress& progress, bool says_yes)
      : progress_(progress), says_yes_(says_yes) {}

  agent::Answer ask(const agent::ApprovalRequest&) override {
    return says_yes_ ? agent::Answer::once : agent::Answer::nobody;
  }
  void parked(std::span<const agent::ApprovalRequest>,
              std::span<const agent::WaitingCall>,
              const Error& why) override {
    refusal_ = why;
  }
  bool started(const agent::ToolCall& call) override {
    last_ = Steady::now();
    progress_("calls " + call.name);
    return true;
  }
  void output(const agent::ToolCall& call, std::string_view) override {
    if (const auto now = Steady::now(); now - last_ >= std::chrono::seconds(1)) {
      last_ = now;
      progress_(call.name + " is at work");
    }
  }
  void finished(const agent::ToolResult&) override {}

  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  using Steady = std::chrono::steady_clock;

  const ServedProgress& progress_;
  bool says_yes_;
  std::optional<Error> refusal_;
  Steady::time_point last_;
};

Error no_gates(const agent::AgentSpec& agent) {
  return {.code = Code::config_invalid,
          .message = fmt::format("the agent {} has hooks or guardrails, and these are about runs: "
                                 "its tools alone would not be what it says",
                                 agent.name),
          .help = "serve the agent itself, or the tools of one without them"};
}

bool has_gates(const agent::AgentSpec& agent) {
  return !agent.hooks.hooks.empty() || !agent.guardrails.checks.empty();
}

// Of a call that has not run.
ServedResult failure(const Error& error, const agent::Redactor& redactor) {
  std::string text = fmt::format("{}: {}", agent::row(error.code).name, error.message);
  text += error.help.empty() ? "" : "\n" + error.help;
  return {.is_error = true,
          .texts = {redactor.apply(text)},
          .details = {{"exit_status", nullptr},
                      {"truncated", false},
                      {"duration_ms", 0},
                      {"code", agent::row(error.code).name}}};
}

ServedResult served_result(const agent::ToolResult& result, const agent::Redactor& redactor) {
  ServedResult served{
      .is_error = result.code.has_value(),
      .texts = {redactor.apply(result.content)},
      .details = {{"exit_status", result.exit_status ? Json(*result.exit_status) : Json()},
                  {"truncated", result.truncated},
                  {"duration_ms", result.duration_ms}}};
  if (result.code) {
    served.details["code"] = agent::row(*result.code).name;
  }
  return served;
}

}  // namespace

Result<std::unique_ptr<SandboxTools>> SandboxTools::open(World world, agent::AgentSpec agent) {
  if (has_gates(agent)) {
    return agent::fail(no_gates(agent));
  }
  std::unique_ptr<SandboxTools> tools(new SandboxTools(std::move(world), std::move(agent)));
  if (!tools->agent_.mcp_servers.empty()) {
    tools->world_.log.warn({.message = "--tools: the MCP servers of the agent are left out",
                            .help = "a client can start them itself"});
    tools->agent_.mcp_servers.clear();
  }
  if (!tools->agent_.sub_agents.empty()) {
    tools->world_.log.warn({.message = "--tools: the sub-agents of the agent are left out",
                            .help = "serve their files without `--tools`"});
    tools->agent_.sub_agents.clear();
  }
  std::erase_if(tools->agent_.tools, [](const auto& tool) { return tools::is_of_a_run(tool); });
  TRY(tools->open_tools());
  return tools;
}

// What its programs are given goes where the user has said, as in a run.
Result<void> SandboxTools::check_keys(const Settings& settings) {
  for (const agent::ToolSpec& tool : agent_.tools) {
    world_.redactor.add(tool.env);
  }
  TRY_ASSIGN(providers::KeyHosts hosts, key_hosts_of(world_.parsed, world_.context.environment));
  TRY(allow_settings(settings.user, hosts));
  KeyRequests keys(std::move(hosts), agent_);
  keys.add_programs(world_.context.environment);
  auto refused = refusals(keys.take(), world_.redactor);
  return refused.empty() ? Result<void>() : agent::fail(std::move(refused.front()));
}

Result<void> SandboxTools::open_tools() {
  auto settings = load_settings(world_.context.environment, world_.context.cwd);
  if (!settings) {
    return agent::fail(std::move(settings.error().front()));
  }
  TRY_ASSIGN(kill_file_, tools::kill_file(agent_, world_.context.environment));
  apply_sandbox_option(agent_.sandbox, world_.parsed);
  TRY(check_keys(*settings));
  TRY_ASSIGN(tool_environment_,
             ToolEnvironment::open(agent_,
                                   {.folder_id = agent::new_run_id(),
                                    .is_written = written_by(agent_, {}, world_.context),
                                    .http = &world_.http,
                                    .obeyed = world_.obeyed,
                                    .is_attended = false},
                                   world_.context,
                                   world_.supervisor,
                                   world_.redactor));
  for (std::string& sentence : tool_environment_->warnings()) {
    world_.log.warn({.message = std::move(sentence)});
  }
  tools::Sandbox* const sandbox = tool_environment_->sandbox();
  TRY_ASSIGN(permissions_,
             permissions_of(agent_,
                            *settings,
                            world_.parsed,
                            world_.context,
                            tool_environment_->folder().path(),
                            sandbox));
  if (sandbox != nullptr) {
    auto [reading, writing] = permissions_->denied_places();
    sandbox->close(std::move(reading), std::move(writing));
  }
  tools::RunnerOptions options =
      tool_environment_->runner_options(key_variables_of(agent_, world_.context.environment));
  options.redact_secrets = agent_.guardrails.redact_secrets;
  options.permissions = &*permissions_;
  options.sandbox = &agent_.sandbox;
  options.seed = std::random_device{}();
  TRY_ASSIGN(runner_, tools::Runner::create(agent_.tools, std::move(options)));
  for (const agent::ToolInfo& tool : runner_->tools()) {
    tools_.push_back({.name = tool.name,
                      .description = tool.description,
                      .input_schema = agent::parse_json(tool.parameters).value_or(Json::object()),
                      .takes_turns = true});
    tools_.back().input_schema["type"] = "object";
  }
  return {};
}

ServedResult SandboxTools::call(std::string_view tool,
                                const Json& arguments,
                                agent::Cancellation& cancellation,
                                const ServedProgress& progress) {
  const auto stopped = [&] {
    return failure({.code = Code::tool_cancelled, .message = "it was stopped before it had begun"},
                   world_.redactor);
  };
  try {
    if (cancellation.stop().stop_requested()) {
      return stopped();  // on the thread of who has stopped it: it must not wait for others
    }
    const std::lock_guard lock(mutex_);
    if (cancellation.stop().stop_requested()) {
      return stopped();
    }
    if (const auto killed = tools::killed_by(kill_file_)) {
      return failure(*killed, world_.redactor);
    }
    const agent::ToolCall call{.id = fmt::format("call_{}", ++calls_),
                               .name = std::string(tool),
                               .arguments = agent::dump(arguments)};
    CallWatcher watcher(progress, world_.parsed.has("--yes"));
    const auto results =
        runner_->run(std::span(&call, 1), watcher, cancellation.stop(), cancellation.kill());
    return watcher.refusal() ? failure(*watcher.refusal(), world_.redactor)
                             : served_result(results.front(), world_.redactor);
  } catch (const std::exception& exception) {
    return failure(agent::error_of(exception), world_.redactor);
  }
}

Result<void> SandboxTools::tidy_up() {
  const std::lock_guard lock(mutex_);
  std::vector<agent::Leftover> all_left = runner_->tidy_up();
  const agent::Leftover* const ends = agent::what_ends(all_left);
  for (agent::Leftover& left : all_left) {
    if (&left != ends) {
      world_.log.warn({.message = std::move(left.sentence)});
    }
  }
  return ends == nullptr ? Result<void>() : agent::fail(agent::error_of(*ends));
}

}  // namespace cli
