#include "cli/tool_by_hand.h"

#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/refusal.h"
#include "agent/text.h"
#include "cli/agent_as_tool.h"
#include "cli/agents_at_work.h"
#include "cli/handoffs.h"
#include "cli/known_names.h"
#include "cli/permissions.h"
#include "cli/prompt_input.h"
#include "cli/terminal/render_error.h"
#include "config/load.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;

class Quiet final : public agent::ToolWatcher {
 public:
  bool started(const agent::ToolCall&) override { return true; }
  void output(const agent::ToolCall&, std::string_view) override {}
  void finished(const agent::ToolResult&) override {}
};

Json json_of(const agent::ToolResult& result) {
  return {{"schema", "errand.call/1"},
          {"name", result.name},
          {"status", agent::to_string(result.status)},
          {"code", result.code ? Json(agent::row(*result.code).name) : Json()},
          {"message", result.message},
          {"content", result.content},
          {"truncated", result.truncated},
          {"duration_ms", result.duration_ms}};
}

Result<int> ending(const agent::ToolResult& result, int signal) {
  if (signal != 0) {
    return agent::exit_code(
        agent::Ending{.error = std::nullopt, .stop = std::nullopt, .signal = signal});
  }
  if (!result.code) {
    return 0;
  }
  const bool ends_runs = agent::row(*result.code).exit_code != 0;
  return agent::fail(ends_runs ? *result.code : Code::tool_failed, result.message, result.help);
}

// Messages call it what it was called when it was asked for.
void name_as(agent::AgentSpec& agent, const std::string& shown) {
  agent.file = shown;
  for (agent::SubAgentSpec& sub : agent.sub_agents) {
    if (sub.agent) {
      name_as(*sub.agent, fmt::format("{}#{}", shown, sub.name));
    }
  }
}

// As a run does of each. The rules of one that works alone are looked at as its file is read.
Result<void> check_rules_by_hand(const FlowTree& tree) {
  OtherAgents below = agents_at_work(tree);
  std::erase(below, &tree.spec);
  if (!tree.spec.sub_agents.empty() || !tree.spec.handoffs.empty()) {
    TRY(check_rules_of_all(tree.spec, below, Parsed()));
  }
  for (const auto& member : tree.members) {
    if (member) {
      TRY(check_rules_by_hand(*member));
    }
  }
  return {};
}

// The one in the tree that is this one; null: there is none.
const FlowTree* part_of(const FlowTree& tree, const agent::AgentSpec* agent) {
  if (&tree.spec == agent) {
    return &tree;
  }
  for (const auto& member : tree.members) {
    if (const FlowTree* const found = member ? part_of(*member, agent) : nullptr) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace

Result<agent::AgentSpec> load_by_hand(const std::string& file, Context& context) {
  config::Report report =
      config::load_agent(context.cwd / file, context.environment, known_names());
  if (report.agent && !report.agent->steps.empty()) {
    return agent::fail(
        agent::Code::team_invalid,
        fmt::format("{} is a flow, and an agent is needed here", agent::one_line(file)),
        "name one of its agents");
  }
  for (const agent::Error& warning : report.warnings) {
    context.err << render_warning(warning, context.color_err, context.redactor) << "\n\n";
  }
  if (report.agent) {
    name_as(*report.agent, file);
    return std::move(*report.agent);
  }
  for (std::size_t at = 0; at + 1 < report.errors.size(); ++at) {
    context.err << render(report.errors[at], context.color_err, context.redactor) << "\n\n";
  }
  return agent::fail(std::move(report.errors.back()));
}

Result<TeamByHand> load_team_by_hand(const std::string& file, Context& context) {
  const std::string name = agent::name_in_whole(context.cwd / file);
  const std::string whole = file.substr(0, file.size() - name.size());
  TRY_ASSIGN(agent::AgentSpec first, load_by_hand(whole, context));
  bool is_whole = true;
  const auto load = [&](const std::filesystem::path& other) {
    auto loaded = config::load_agent(
        other.lexically_proximate(context.cwd), context.environment, known_names());
    is_whole = is_whole && loaded.agent;
    return std::move(loaded.agent);
  };
  std::vector<agent::Error> mistakes;
  TeamByHand team{
      .tree = std::make_unique<FlowTree>(flow_tree(std::move(first), load, context, mistakes))};
  for (const agent::AgentSpec* one : agents_at_work(*team.tree)) {
    if (one->file == file) {
      team.agent = *one;
      if (is_whole) {  // else nobody knows what its rules may name
        TRY(check_rules_by_hand(*part_of(*team.tree, one)));
      }
      return team;
    }
  }
  if (!mistakes.empty()) {
    return agent::fail(std::move(mistakes.front()));
  }
  return agent::fail(agent::Code::cli_usage,
                     fmt::format("{} has no sub-agent `{}` that is written out in it",
                                 agent::one_line(whole),
                                 agent::one_line(std::string_view(name).substr(1), 60)),
                     "of one in a file of its own, name that file");
}

Result<std::vector<agent::ToolInfo>> agents_as_tools(const agent::AgentSpec& agent,
                                                     Context& context) {
  const auto load = [&](const std::string& file) {
    const auto path = std::filesystem::path(agent.directory) / file;
    return load_by_hand(path.lexically_proximate(context.cwd).string(), context);
  };
  std::vector<agent::ToolInfo> tools;
  for (const agent::SubAgentSpec& sub : agent.sub_agents) {
    if (sub.agent) {
      tools.push_back(sub_agent_as_tool(sub.name, *sub.agent));
      continue;
    }
    TRY_ASSIGN(const agent::AgentSpec other, load(sub.file));
    tools.push_back(sub_agent_as_tool(sub.name, other));
  }
  for (const agent::HandoffSpec& handoff : agent.handoffs) {
    TRY_ASSIGN(const agent::AgentSpec other, load(handoff.file));
    tools.push_back(handoff_as_tool(handoff, other));
  }
  std::ranges::sort(tools, {}, &agent::ToolInfo::name);
  return tools;
}

Json json_of_tools(std::span<const agent::ToolInfo> tools) {
  Json json = {{"schema", "errand.tools/1"}, {"tools", Json::array()}};
  for (const agent::ToolInfo& tool : tools) {
    json["tools"].push_back({{"name", tool.name},
                             {"description", tool.description},
                             {"parameters", agent::parse_json(tool.parameters).value_or(Json())}});
  }
  return json;
}

Result<std::string> arguments_by_hand(std::string text) {
  if (text == "-") {
    const std::array<std::string, 1> words{"-"};
    TRY_ASSIGN(const auto input, read_prompt({.words = words, .file = std::nullopt}));
    text = input.value_or("");
  }
  if (const auto why = agent::why_not_text(text)) {
    return agent::fail(Code::cli_usage,
                       "the arguments of the tool are not valid text: " + *why,
                       "give them as UTF-8");
  }
  const auto json = agent::parse_json(text);
  if (!json) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("what the tool is given as arguments {}", agent::why_not_json(text)),
        "for example '{\"path\": \"README.md\"}'; mind the shell's quotes");
  }
  if (!json->is_object()) {
    return agent::fail(Code::cli_usage,
                       "the arguments of the tool are not a JSON object",
                       "for example '{\"path\": \"README.md\"}'; mind the shell's quotes");
  }
  return text;
}

Result<int> call_by_hand(agent::Toolbox& toolbox,
                         const agent::ToolCall& call,
                         RunFolder& folder,
                         bool as_json,
                         Context& context) {
  Quiet watcher;
  agent::Cancellation& cancellation = context.cancellation;
  const auto results =
      toolbox.run(std::span(&call, 1), watcher, cancellation.stop(), cancellation.kill());
  agent::ToolResult result = results.front();
  const std::vector<agent::Leftover> all_left = toolbox.tidy_up();
  for (const agent::Leftover& left : all_left) {
    context.err << render_warning(
                       {.message = left.sentence, .help = {}}, context.color_err, context.redactor)
                << "\n";
  }
  if (const agent::Leftover* const ends = agent::what_ends(all_left)) {
    agent::Error error = agent::error_of(*ends);
    result.code = error.code;
    result.message = std::move(error.message);
    result.help = std::move(error.help);
  }
  if (result.truncated || result.content.contains(folder.path().string())) {
    folder.leave();  // the result names a file in it
    context.err << fmt::format(
        "what it names in {} is temporary: the next command of errand may "
        "remove it\n",
        folder.path().string());
  }
  if (as_json) {
    context.out << context.redactor.dump(json_of(result)) << "\n";
  } else {
    context.out << result.content << (result.content.ends_with('\n') ? "" : "\n");
  }
  return ending(result, cancellation.signal_number());
}

}  // namespace cli
