// `errand check`: every mistake of every file, before anything runs.
#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "cli/agent_choice.h"
#include "cli/agents_at_work.h"
#include "cli/commands/commands.h"
#include "cli/flow_check.h"
#include "cli/flow_commands.h"
#include "cli/flow_tree.h"
#include "cli/key_hosts.h"
#include "cli/known_names.h"
#include "cli/mcp_lock.h"
#include "cli/open_sandbox.h"
#include "cli/permissions.h"
#include "cli/plan.h"
#include "cli/plan_members.h"
#include "cli/price_book.h"
#include "cli/run_inputs.h"
#include "cli/settings.h"
#include "cli/terminal/render_error.h"
#include "cli/user_places.h"
#include "config/load.h"
#include "config/project_config.h"
#include "config/prompt.h"
#include "config/replay_script.h"
#include "providers/registry.h"
#include "tools/hooks/idle_matchers.h"
#include "tools/mcp/find_tools.h"
#include "tools/mcp/read_resources.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;

struct Checked {
  std::string file;
  std::vector<Error> errors;
  std::vector<Error> warnings;
  std::vector<std::string> agents = {};  // as a flow or an agent names them, that can be read
  std::optional<FlowTree> flow = {};
  MemberNames member_names = {};               // of the whole that it is
  std::set<std::filesystem::path> files = {};  // of that, its own among them
};

// The file as a whole, where the mistake has no place of its own.
Error in_file(Error error, const std::string& file) {
  if (!error.where) {
    error.where = agent::Where{.file = file};
  }
  return error;
}

std::vector<agent::ModelSpec> asked_models(const agent::AgentSpec& agent) {
  std::vector<agent::ModelSpec> models{agent.model};
  std::ranges::copy(agent.fallback.models, std::back_inserter(models));
  for (const agent::GuardrailSpec& guardrail : agent.guardrails.checks) {
    if (guardrail.model) {
      models.push_back(*guardrail.model);
    }
  }
  if (const auto& summarizer = agent.context_management.summarizer) {
    models.push_back(*summarizer);
  }
  return models;
}

class Checker {
 public:
  Checker(const Parsed& parsed, const Context& context, providers::KeyHosts hosts)
      : parsed_(parsed), context_(context), hosts_(std::move(hosts)), known_(known_names()) {
    known_.reading_policy = [&](const agent::AgentSpec& agent) {
      return reading_policy(agent, settings_, parsed, context);
    };
    if (auto user = load_user_settings(context.environment)) {
      book_.emplace(*user, context.environment);
      if (const auto allowed = allow_settings(*user, hosts_); !allowed) {
        add_own(allowed.error());
      }
      settings_.user = std::move(*user);
    } else {
      add_own(user.error());
    }
    if (auto project = config::load_project_config(context.cwd, known_)) {
      settings_.project = std::move(*project);
    } else {
      add_own(project.error());
    }
  }

  Checked check(const std::string& file) {
    config::Report report = config::load_agent(context_.cwd / file, context_.environment, known_);
    if (!report.agent) {
      add_unknown_providers(report, context_.environment);
    }
    Checked checked{
        .file = file, .errors = std::move(report.errors), .warnings = std::move(report.warnings)};
    if (report.agent && !report.agent->steps.empty()) {
      check_steps(*report.agent, checked);
    } else if (report.agent) {
      check_agent(*report.agent, checked);
      check_team(*report.agent, checked);
    }
    const std::string loaded = (context_.cwd / file).string();
    for (auto* list : {&checked.errors, &checked.warnings}) {
      for (Error& error : *list) {
        if (error.where && error.where->file == loaded) {
          error.where->file = file;  // as it was asked for
        }
      }
    }
    return checked;
  }

  // Of one that is run by itself: what the scripts of all of its agents have for members.
  void check_scripts(Checked& checked) {
    std::set<std::filesystem::path> scripts;
    for (const std::filesystem::path& file : checked.files) {
      const auto& own = scripts_[file];
      scripts.insert(own.begin(), own.end());
    }
    if (const auto done = check_members_of_scripts(scripts, checked.member_names); !done) {
      checked.errors.push_back(in_file(done.error(), checked.file));
    }
  }

  // Files that hold for every agent, those in which something is wrong: the user's config.yaml and
  // imported prices, the project's settings.
  std::vector<Checked> own_files() && { return std::move(own_files_); }

 private:
  void add_own(const std::vector<Error>& errors) {
    std::ranges::for_each(errors, [this](const Error& error) { add_own(error); });
  }

  // And those that are written out in its file.
  void check_agent(const agent::AgentSpec& agent, Checked& checked) {
    checked.files.insert(file_of(agent));
    KeyRequests keys(hosts_, agent);
    keys.add_programs(context_.environment);
    keys.add_servers();
    for (const agent::ModelSpec& model : asked_models(agent)) {
      check_model(model, agent, keys, checked);
    }
    std::ranges::move(refusals(keys.take(), context_.redactor), std::back_inserter(checked.errors));
    Unconfined unconfined = look_at_unconfined(agent, context_);
    for (Error& mistake : unconfined.mistakes) {
      checked.errors.push_back(in_file(std::move(mistake), checked.file));
    }
    for (std::string& sentence : unclear_commands(agent, context_)) {
      checked.warnings.push_back({.code = Code::config_invalid,
                                  .message = std::move(sentence),
                                  .help = "name the script by a plain word: `sh hooks/policy.sh`"});
    }
    auto warnings = exposed_commands(agent, context_);
    std::ranges::move(unconfined.warnings, std::back_inserter(warnings));
    for (agent::Warning& warning : warnings) {
      checked.warnings.push_back({.code = Code::config_invalid,
                                  .message = std::move(warning.message),
                                  .help = std::move(warning.help)});
    }
    for (tools::MissingProgram& missing : missing_programs(agent, context_)) {
      checked.warnings.push_back(in_file({.code = Code::config_invalid,
                                          .message = std::move(missing.message),
                                          .help = std::move(missing.help)},
                                         checked.file));
    }
    check_permissions(agent, checked);
    check_matchers(agent, checked);
    check_sandbox(agent, checked);
    check_files(agent, checked);
    check_lock(agent, checked);
    for (const agent::SubAgentSpec& sub : agent.sub_agents) {
      if (sub.agent) {
        check_agent(*sub.agent, checked);
      } else {
        add_agent(agent, sub.file, sub.where, checked);
      }
    }
    for (const agent::HandoffSpec& handoff : agent.handoffs) {
      add_agent(agent, handoff.file, handoff.where, checked);
    }
  }

  // Looked at by itself where it can be read.
  void add_agent(const agent::AgentSpec& named_by,
                 const std::string& file,
                 const agent::Where& named_at,
                 Checked& checked) {
    if (auto error =
            why_not_read(std::filesystem::path(named_by.directory) / file, named_at, context_)) {
      checked.errors.push_back(*std::move(error));
    } else {
      checked.agents.push_back(file);
    }
  }

  // What is between the agents: circles, depth, rules about each other's tools.
  void check_team(const agent::AgentSpec& agent, Checked& checked) {
    if (agent.sub_agents.empty() && agent.handoffs.empty()) {
      check_patterns({&agent}, checked);
      return;
    }
    const FlowTree tree = tree_of(agent, checked);
    check_patterns(agents_at_work(tree), checked);
    check_unconfined_beside(agents_at_work(tree), checked);
    check_keys_between(agents_at_work(tree), checked);
    const auto plan = prepare_agent(parsed_, {.agent = {.file = checked.file}}, context_);
    if (plan) {
      return;
    }
    for (const Error& error : plan.error()) {
      if (error.code == Code::team_invalid) {
        checked.errors.push_back(error);
      }
    }
  }

  FlowTree tree_of(const agent::AgentSpec& whole, Checked& checked) {
    const auto load = [this](const std::filesystem::path& file) {
      return config::load_agent(
                 file.lexically_proximate(context_.cwd), context_.environment, known_)
          .agent;
    };
    FlowTree tree = flow_tree(whole, load, context_, checked.errors);
    add_members(tree, checked);
    return tree;
  }

  static void add_members(const FlowTree& tree, Checked& checked) {
    checked.files.insert(file_of(tree.spec));
    add_names_of_members(
        tree.spec,
        [&](std::size_t step) { return tree.members[step] && tree.members[step]->is_flow(); },
        checked.member_names);
    for (const auto& member : tree.members) {
      if (member) {
        add_members(*member, checked);
      }
    }
  }

  // The agents are looked at as files of their own (agents_of).
  void check_steps(const agent::AgentSpec& flow, Checked& checked) {
    const FlowTree& tree = checked.flow.emplace(tree_of(flow, checked));
    std::vector<const agent::AgentSpec*> agents;
    std::ranges::transform(tree.members, std::back_inserter(agents), [](const auto& member) {
      return member ? &member->spec : nullptr;
    });
    std::ranges::move(mistakes_in_steps(flow, agents), std::back_inserter(checked.errors));
    for (const agent::StepSpec& step : flow.steps) {
      if (!step.is_command()) {
        add_agent(flow, step.agent, step.where, checked);
      }
    }
    const OtherAgents all = agents_at_work(tree);
    std::ranges::move(mistakes_in_commands(all, context_), std::back_inserter(checked.errors));
    check_keys_between(all, checked);
    check_unconfined_beside(all, checked);
    check_patterns(all, checked);
    check_sandbox(flow, checked);
  }

  // Where nothing is wrong with an agent by itself, but another one of the flow writes what it
  // runs.
  void check_unconfined_beside(const OtherAgents& all, Checked& checked) {
    for (const agent::AgentSpec* agent : all) {
      if (!look_at_unconfined(*agent, context_).mistakes.empty()) {
        continue;
      }
      for (Error& mistake : look_at_unconfined(*agent, context_, all).mistakes) {
        checked.errors.push_back(in_file(std::move(mistake), checked.file));
      }
    }
  }

  // Beyond what is said of each agent by itself: what one is told comes to all, and the flow's own
  // texts and commands.
  void check_keys_between(const OtherAgents& all, Checked& checked) {
    std::vector<Asker> askers;
    Company company;
    std::set<std::pair<std::string, std::string>> said;
    for (const agent::AgentSpec* agent : all) {
      askers.push_back({.agent = agent, .models = asked_models(*agent)});
      company.add(*agent);
      if (agent->steps.empty()) {
        Company alone;
        alone.add(*agent);
        for (const auto& request :
             key_requests_of(std::span(askers).last(1), alone, hosts_, context_.environment)) {
          said.emplace(request.variable, request.origin.text);
        }
      }
    }
    auto requests = key_requests_of(askers, company, hosts_, context_.environment);
    std::erase_if(requests, [&](const providers::KeyRequest& request) {
      return said.contains({request.variable, request.origin.text});
    });
    std::ranges::move(refusals(requests, context_.redactor), std::back_inserter(checked.errors));
  }

  // Said once, however many models and agents come upon it.
  void add_own(const Error& error) {
    const std::string file = error.where ? error.where->file : "";
    auto found = std::ranges::find(own_files_, file, &Checked::file);
    if (found == own_files_.end()) {
      found = own_files_.insert(found, Checked{.file = file, .errors = {}, .warnings = {}});
    }
    const auto line = [](const Error& one) { return one.where ? one.where->line : 0; };
    const bool is_known = std::ranges::any_of(found->errors, [&](const Error& one) {
      return one.message == error.message && line(one) == line(error);
    });
    if (!is_known) {
      found->errors.push_back(error);
    }
  }

  // What loading alone does not see. A missing key is no mistake of the file.
  void check_model(const agent::ModelSpec& spec,
                   const agent::AgentSpec& agent,
                   KeyRequests& keys,
                   Checked& checked) {
    const auto model = providers::resolve(spec, context_.environment, keys.check());
    if (!model) {
      auto& list = model.error().code == Code::provider_auth ? checked.warnings : checked.errors;
      list.push_back(in_file(model.error(), checked.file));
      return;
    }
    keys.add_texts(*model);
    if (auto keyless = providers::sends_no_key(*model, spec)) {
      checked.warnings.push_back(in_file({.code = Code::config_invalid,
                                          .message = std::move(keyless->message),
                                          .help = std::move(keyless->help),
                                          .where = spec.where},
                                         checked.file));
    }
    check_price(spec, *model, agent, checked);
    if (model->protocol == providers::k_replay) {
      const auto file = std::filesystem::path(agent.directory) / model->model;
      scripts_[file_of(agent)].insert(file);
      const auto script = config::load_replay_script(file);
      if (!script) {
        checked.errors.push_back(in_file(script.error(), checked.file));
      }
    }
  }

  // Those of the agent file alone: what else holds depends on where it runs.
  void check_permissions(const agent::AgentSpec& agent, Checked& checked) {
    const auto permissions = tools::Permissions::create(
        agent.permissions,
        {.cwd = context_.cwd,
         .temporary = {},
         .home = std::filesystem::path(agent::value_of(context_.environment, "HOME")),
         .confined = {},
         .guarded = {}});
    if (!permissions) {
      return;  // loading has said it
    }
    if (const auto possible = check_tool_choice(agent, *permissions); !possible) {
      checked.errors.push_back(in_file(possible.error(), checked.file));
    }
  }

  // Of rules, which may be about the tools of another one of them.
  static void check_patterns(const OtherAgents& all, Checked& checked) {
    const std::vector<std::string> names = names_in_rules(all);
    for (const agent::AgentSpec* one : all) {
      std::vector<agent::PermissionRule> rules = rules_of(one->permissions);
      for (agent::PermissionRule& rule : rules) {
        rule.origin = std::filesystem::path(rule.origin).filename();
      }
      for (agent::Warning& warning : tools::idle_patterns(rules, names)) {
        checked.warnings.push_back(in_file({.code = Code::config_invalid,
                                            .message = std::move(warning.message),
                                            .help = std::move(warning.help)},
                                           checked.file));
      }
    }
  }

  static void check_lock(const agent::AgentSpec& agent, Checked& checked) {
    const ReadLock lock = read_mcp_lock(agent);
    const auto fits = !lock ? agent::Result<void>(std::unexpected(lock.error()))
                      : agent.mcp_servers.empty() ? check_locks_nothing(agent, lock)
                                                  : agent::Result<void>();
    if (!fits) {
      checked.errors.push_back(in_file(fits.error(), checked.file));
    }
  }

  // What its servers have is not known here.
  static void check_matchers(const agent::AgentSpec& agent, Checked& checked) {
    std::vector<std::string> unknown;
    std::ranges::transform(agent.mcp_servers, std::back_inserter(unknown), [](const auto& server) {
      return server.tool_prefix();
    });
    std::set<std::string> names = names_of_tools(agent);
    names.insert(
        {std::string(tools::mcp::k_tool_finder), std::string(tools::mcp::k_resource_reader)});
    for (agent::Warning& warning :
         tools::idle_matchers(agent.hooks, agent.guardrails, names, unknown)) {
      checked.warnings.push_back(in_file({.code = Code::config_invalid,
                                          .message = std::move(warning.message),
                                          .help = std::move(warning.help)},
                                         checked.file));
    }
  }

  void check_sandbox(const agent::AgentSpec& agent, Checked& checked) {
    for (agent::Error& error : mistakes_in_places(agent, context_)) {
      checked.errors.push_back(in_file(std::move(error), checked.file));
    }
  }

  // What stands in them. A sandbox that cannot be made here may be made where the agent runs.
  void check_files(const agent::AgentSpec& agent, Checked& checked) {
    const auto readable = config::check_named_files(agent, known_.reading_policy(agent));
    if (!readable && readable.error().code != Code::sandbox_setup) {
      checked.errors.push_back(in_file(readable.error(), checked.file));
    }
  }

  void check_price(const agent::ModelSpec& spec,
                   const providers::Resolved& model,
                   const agent::AgentSpec& agent,
                   Checked& checked) {
    if (!book_) {
      return;
    }
    const auto price = book_->find(spec, model);
    if (!price) {
      add_own(price.error());
      return;
    }
    const auto kept =
        check_cost_limit(agent, model.name(), *price, *book_, std::chrono::system_clock::now());
    if (!kept) {
      checked.errors.push_back(in_file(kept.error(), checked.file));
    }
  }

  const Parsed& parsed_;
  const Context& context_;
  providers::KeyHosts hosts_;
  config::KnownNames known_;
  std::map<std::filesystem::path, std::set<std::filesystem::path>> scripts_;  // of each agent file
  Settings settings_;              // what of them can be read
  std::optional<PriceBook> book_;  // of a config.yaml that can be read
  std::vector<Checked> own_files_;
};

Json to_json(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const Error& error : errors) {
    list.push_back(agent::to_json(error));
  }
  return list;
}

void write_json(const std::vector<Checked>& files, bool ok, Context& context) {
  Json json = {{"schema", "errand.check/1"}, {"ok", ok}, {"files", Json::array()}};
  for (const Checked& checked : files) {
    json["files"].push_back({{"file", checked.file},
                             {"ok", checked.errors.empty()},
                             {"errors", to_json(checked.errors)},
                             {"warnings", to_json(checked.warnings)}});
  }
  context.out << context.redactor.dump(json) << "\n";
}

void write_text(const std::vector<Checked>& files, bool tells_ok, Context& context) {
  for (const Checked& checked : files) {
    for (const Error& error : checked.errors) {
      context.err << render(error, context.color_err, context.redactor) << "\n\n";
    }
    for (const Error& warning : checked.warnings) {
      context.err << render_warning(warning, context.color_err, context.redactor) << "\n\n";
    }
    if (checked.errors.empty() && tells_ok) {
      context.out << agent::one_line(checked.file) << ": ok\n";
    }
  }
}

// What --graph draws is one flow.
agent::Result<void> check_is_one_flow(const Checked& named, std::size_t count) {
  const bool is_flow = named.flow.has_value() || !named.errors.empty();
  return count == 1 && is_flow
             ? agent::Result<void>()
             : agent::fail(Code::cli_usage,
                           count == 1 ? fmt::format("`--graph` draws a flow, and {} is none",
                                                    agent::one_line(named.file))
                                      : "`--graph` draws one flow, and several files are named",
                           "`errand check FLOW --graph text`");
}

void write_graph(const FlowTree& flow, std::string_view format, Context& context) {
  const agent::flow::Graph graph = graph_of(flow);
  context.out << context.redactor.apply(format == "mermaid" ? agent::flow::drawn_as_mermaid(graph)
                                                            : agent::flow::drawn_as_text(graph));
}

}  // namespace

agent::Result<int> command_check(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto hosts, key_hosts_of(parsed, context.environment));
  Checker checker(parsed, context, std::move(hosts));
  std::vector<Checked> agents;
  std::vector<std::string> named = parsed.positionals;
  if (named.empty()) {
    TRY_ASSIGN(named.emplace_back(), agent_of_folder(context.cwd));
  }
  const auto graph = parsed.value("--graph");
  const std::size_t count = named.size();
  std::set<std::string> members;
  for (std::size_t at = 0; at < named.size(); ++at) {
    agents.push_back(checker.check(named[at]));
    for (const std::string& agent : agents.back().agents) {
      const std::string file = (std::filesystem::path(agents.back().file).parent_path() / agent)
                                   .lexically_normal()
                                   .string();
      members.insert(file);
      if (std::ranges::find(named, file) == named.end()) {
        named.push_back(file);
      }
    }
  }
  const auto is_bad = [](const Checked& checked) { return !checked.errors.empty(); };
  if (std::ranges::none_of(agents, is_bad)) {  // else a member may be missing
    for (Checked& checked : agents) {
      if (!members.contains(std::filesystem::path(checked.file).lexically_normal().string())) {
        checker.check_scripts(checked);
      }
    }
  }
  if (graph) {
    TRY(check_is_one_flow(agents.front(), count));
  }
  const auto flow = std::move(agents.front().flow);
  std::vector<Checked> files = std::move(checker).own_files();
  std::ranges::move(agents, std::back_inserter(files));
  const auto bad = std::ranges::find_if(files, is_bad);
  const bool ok = bad == files.end();
  if (parsed.value("--output") == "json") {
    write_json(files, ok, context);
  } else {
    write_text(files, !graph, context);
  }
  if (graph && ok) {
    write_graph(*flow, *graph, context);
  }
  if (ok) {
    return 0;
  }
  return agent::exit_code(bad->errors.front());
}

}  // namespace cli
