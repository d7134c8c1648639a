#include "cli/user_places.h"

#include "cli/open_sandbox.h"
#include "cli/outside_commands.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/hooks.h"
#include "tools/hooks/named_programs.h"
#include "tools/hooks/obeyed_files.h"
#include "tools/hooks/script_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::CommandSandbox;
using agent::Result;
using Mode = agent::SandboxSpec::Mode;
namespace fs = std::filesystem;

std::set<CommandSandbox> wanted_by(const agent::AgentSpec& agent) {
  std::set<CommandSandbox> wanted;
  for (const agent::HookSpec& hook : agent.hooks.hooks) {
    wanted.insert(hook.sandbox);
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.kind == agent::GuardrailSpec::Kind::command) {
      wanted.insert(check.sandbox);
    }
  }
  for (const agent::McpServerSpec& server : agent::programs_of(agent.mcp_servers)) {
    wanted.insert(server.sandbox);
  }
  if (!agent.checks.commands.empty()) {
    wanted.insert(CommandSandbox());
  }
  return wanted;
}

void add_places(const std::vector<std::string>& places,
                const agent::AgentSpec& from,
                std::vector<std::string>& to) {
  for (const std::string& place : places) {
    const bool is_whole = place.starts_with('/') || place.starts_with('~');
    to.push_back(is_whole ? place : from.directory + "/" + place);
  }
}

// An agent whose tools write what those of any of them can, and the programs that agents work
// through: hooks, servers, and commands of flows, which may run what an agent wrote.
agent::AgentSpec with_reach_of(agent::AgentSpec agent, const OtherAgents& others) {
  if (agent.sandbox.mode == Mode::off || std::ranges::none_of(others, is_confined_writer)) {
    return agent;
  }
  for (const agent::AgentSpec* other : others) {
    const bool is_flow = std::ranges::any_of(other->steps, &agent::StepSpec::is_command);
    if (other->sandbox.mode == Mode::off || !(is_flow || is_confined_writer(other))) {
      continue;
    }
    if (other->sandbox.mode == Mode::workspace_write) {
      agent.sandbox.mode = Mode::workspace_write;
    }
    std::ranges::copy(other->tools, std::back_inserter(agent.tools));
    std::ranges::copy(other->mcp_servers, std::back_inserter(agent.mcp_servers));
    std::ranges::copy(other->steps, std::back_inserter(agent.steps));
    add_places(other->sandbox.write, *other, agent.sandbox.write);
    for (const CommandSandbox& command : wanted_by(*other)) {
      add_places(command.write, *other, agent.sandbox.write);
    }
  }
  return agent;
}

// What a command may and tools may not; empty: nothing.
std::string_view further_right(const CommandSandbox& own, const agent::SandboxSpec& tools) {
  return own.network.value_or(false) && !tools.network ? "the network"
         : !own.read.empty()                           ? "`read`"
         : !own.write.empty()                          ? "`write`"
                                                       : "";
}

// Without what the command's settings name, and those of the tools do not.
std::vector<fs::path> not_opened(std::vector<fs::path> places,
                                 const tools::sandbox::Policy& command,
                                 const tools::sandbox::Policy& tools) {
  std::erase_if(places, [&](const fs::path& place) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(place, error);
    return !error && command.is_opened_by_name(real) && !tools.is_opened_by_name(real);
  });
  return places;
}

// A command line of the user's own; borrows from the agent.
struct UserLine {
  enum class Kind : std::uint8_t { hook, guardrail, server };
  Kind kind = Kind::hook;
  std::string what;  // "the hook `make`"
  std::string text;
  const CommandSandbox* sandbox = nullptr;
  const agent::Environment* env = nullptr;  // its own
  agent::Where where = {};
  bool decides = false;  // what tools may do
};

std::vector<UserLine> lines_of(const agent::AgentSpec& agent, const Context& context) {
  std::vector<UserLine> lines;
  for (const agent::HookSpec& hook : agent.hooks.hooks) {
    lines.push_back({.what = fmt::format("the hook `{}`", agent::one_line(hook.command, 100)),
                     .text = tools::hook_command(agent.hooks, hook, context.cwd),
                     .sandbox = &hook.sandbox,
                     .env = &hook.env,
                     .where = hook.where,
                     .decides = hook.point == agent::HookPoint::pre_tool_use});
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.kind == agent::GuardrailSpec::Kind::command) {
      lines.push_back({.kind = UserLine::Kind::guardrail,
                       .what = fmt::format("the guardrail `{}`", agent::one_line(check.what, 100)),
                       .text = check.what,
                       .sandbox = &check.sandbox,
                       .env = &check.env,
                       .where = check.where,
                       .decides = true});
    }
  }
  for (const agent::McpServerSpec& server : agent.mcp_servers) {
    if (server.url.empty()) {
      std::vector<std::string> words = server.command;
      std::ranges::replace(words, ".", "./");  // to a server, it is the folder that it starts in
      lines.push_back({.kind = UserLine::Kind::server,
                       .what = fmt::format("the MCP server `{}`", server.name),
                       .text = tools::line_of(words),
                       .sandbox = &server.sandbox,
                       .env = &server.env,
                       .where = server.where});
    }
  }
  return lines;
}

// Of what they name beside the tools' places.
std::vector<agent::Error> mistakes_in_own_places(const agent::AgentSpec& agent,
                                                 const Context& context) {
  std::vector<UserLine> lines = lines_of(agent, context);
  std::erase_if(lines, [](const UserLine& line) {
    return line.sandbox->read.empty() && line.sandbox->write.empty();
  });
  std::vector<agent::Error> wrong;
  const std::vector<agent::Error> of_tools =
      lines.empty() ? std::vector<agent::Error>() : mistakes_in_places(agent, context);
  for (const UserLine& line : lines) {
    for (agent::Error& error : mistakes_in_places(agent, context, *line.sandbox)) {
      if (std::ranges::find(of_tools, error.message, &agent::Error::message) == of_tools.end()) {
        error.message = fmt::format("{}: {}", line.what, error.message);
        error.where = line.where.line != 0 ? std::optional(line.where) : error.where;
        wrong.push_back(std::move(error));
      }
    }
  }
  return wrong;
}

std::vector<UserLine> lines_outside(const agent::AgentSpec& agent, const Context& context) {
  std::vector<UserLine> lines = lines_of(agent, context);
  std::erase_if(lines, [](const UserLine& one) { return !one.sandbox->is_off; });
  return lines;
}

// For what one command or agent can write, and another one must not run; null: nobody is kept from
// anything, or there are no lines.
Result<std::unique_ptr<tools::Sandbox>> rules_beside(const std::vector<UserLine>& lines,
                                                     const agent::AgentSpec& agent,
                                                     const Context& context,
                                                     const OtherAgents& others) {
  if (lines.empty()) {
    return nullptr;
  }
  agent::AgentSpec all = with_reach_of(agent, others);
  for (const CommandSandbox& sandbox : wanted_by(agent)) {
    std::ranges::copy(sandbox.write, std::back_inserter(all.sandbox.write));
  }
  return open_file_rules(all, context);
}

// Nobody knows where the others are. Those of the system are no tool's to write.
bool has_other_names(const fs::path& file) {
  struct stat found{};
  return !file.string().starts_with("/usr/") && ::stat(file.c_str(), &found) == 0 &&
         S_ISREG(found.st_mode) && found.st_nlink > 1 && ::access(file.c_str(), W_OK) == 0;
}

agent::Warning by_another_name(std::string_view what, const fs::path& file) {
  return {.message = fmt::format("{} runs outside of the sandbox, and `{}` has another name by a "
                                 "hard link: where tools can write that one, they write what runs",
                                 what,
                                 agent::one_line(file.string(), 200)),
          .help = "make it a file of its own: `cp FILE NEW && mv NEW FILE`"};
}

agent::Warning beside_what_tools_write(std::string_view what,
                                       std::string_view right,
                                       const fs::path& file) {
  return {
      .message = fmt::format("{} has a right that tools have not ({}), and `{}` lies where they "
                             "can write: what it loads from there may be theirs",
                             what,
                             right,
                             agent::one_line(file.string(), 200)),
      .help = "put it into a folder where tools cannot write"};
}

// What of these another name, or what lies beside it, may change; nullopt: nothing.
std::optional<agent::Warning> exposed_file(std::string_view what,
                                           const std::vector<fs::path>& files,
                                           bool is_off,
                                           std::string_view right,
                                           const tools::Sandbox* rules) {
  for (const fs::path& file : files) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(file, error);
    if (error || !fs::is_regular_file(real, error)) {
      continue;
    }
    if (is_off && has_other_names(real)) {
      return by_another_name(what, file);
    }
    if (!is_off && !right.empty() && can_write(rules, real.parent_path())) {
      return beside_what_tools_write(what, right, file);
    }
  }
  return std::nullopt;
}

constexpr std::string_view k_commands_way = "take `sandbox: off` out of the command";
constexpr std::string_view k_servers_way = "confine the server by `sandbox: true`";

// What a command outside of the sandbox asks for and is not given, since tools can write there.
std::vector<agent::Warning> not_given(const UserLine& one,
                                      const agent::AgentSpec& agent,
                                      const Context& context,
                                      const tools::Sandbox& rules) {
  std::vector<agent::Warning> warnings;
  const std::string line = agent::one_line(one.text, 100);
  const tools::UserPrograms programs = programs_outside(agent, context, &rules);
  for (const std::string& name : tools::names_left_out(programs, *one.env)) {
    warnings.push_back(
        {.message = fmt::format("`{}` runs outside of the sandbox, and {} names what tools can "
                                "write: {}",
                                line,
                                name,
                                name == "PATH" ? "it is told the rest" : "it is not told"),
         .help = "name a place in `env` that tools cannot write"});
  }
  const std::string program = reader_of_its_folder(one.text);
  if (!program.empty() && starts_elsewhere(agent.directory, rules)) {
    warnings.push_back(
        {.message = fmt::format("`{}` runs outside of the sandbox and starts in an empty folder, "
                                "for tools can write in that of the agent file or below it: what "
                                "`{}` looks for there is not found",
                                line,
                                program),
         .help = fmt::format("{}, or put the agent file and what its commands need into a folder "
                             "where tools cannot write",
                             one.kind == UserLine::Kind::server ? k_servers_way : k_commands_way)});
  }
  return warnings;
}

}  // namespace

bool is_confined_writer(const agent::AgentSpec* agent) {
  const auto& sandbox = agent->sandbox;
  const bool tools_write = (sandbox.mode == Mode::workspace_write || !sandbox.write.empty()) &&
                           (!agent->mcp_servers.empty() || !agent->checks.commands.empty() ||
                            std::ranges::any_of(agent->tools, tools::writes));
  const bool commands_write =
      std::ranges::any_of(wanted_by(*agent), [&](const CommandSandbox& own) {
        return !own.is_off && (!own.write.empty() || !sandbox.write.empty());
      });
  return sandbox.mode != Mode::off && (tools_write || commands_write);
}

IsWritten written_by(const agent::AgentSpec& agent,
                     const OtherAgents& others,
                     const Context& context) {
  return [&agent, &others, &context](const fs::path& folder) {
    agent::AgentSpec all = with_reach_of(agent, others);
    for (const CommandSandbox& sandbox : wanted_by(agent)) {
      std::ranges::copy(sandbox.write, std::back_inserter(all.sandbox.write));
    }
    std::error_code error;
    if (all.sandbox.write.empty() &&
        !tools::sandbox::is_below(folder, fs::weakly_canonical(context.cwd, error))) {
      return false;
    }
    const auto rules = open_file_rules(all, context);
    return rules && can_write(rules->get(), folder / "a name");
  };
}

Result<std::unique_ptr<UserPlaces>> UserPlaces::open(const agent::AgentSpec& agent,
                                                     agent::Environment environment,
                                                     const Context& context,
                                                     ToolEnvironment& tools,
                                                     const tools::DeniedPlaces& denied,
                                                     const OtherAgents& others) {
  TRY_ASSIGN(auto warnings, check_unconfined(agent, context, others));
  std::unique_ptr<UserPlaces> places(
      new UserPlaces(std::move(environment), agent.directory, tools.folder().path()));
  places->tools_spec_ = agent.sandbox;
  places->warnings_ = std::move(warnings);
  std::error_code error;
  const fs::path directory = fs::weakly_canonical(agent.directory, error);
  places->tools_ = tools.sandbox();
  if (others.size() > 1) {  // else it is alone
    TRY_ASSIGN(places->others_, open_file_rules(with_reach_of(agent, others), context));
  }
  for (const CommandSandbox& sandbox : wanted_by(agent)) {
    Place place;
    if (!sandbox.is_off) {
      TRY_ASSIGN(place.sandbox, open_sandbox_of(sandbox, agent, context, tools.place()));
      if (place.sandbox) {
        const auto closed = [&](const std::vector<fs::path>& all) {
          return not_opened(all, place.sandbox->policy(), tools.sandbox()->policy());
        };
        place.sandbox->close(closed(denied.reading), closed(denied.writing));
      }
    }
    place.runner = std::make_unique<tools::LocalProgramRunner>(
        tools.place().supervisor, place.sandbox.get(), tools.dialer());
    places->places_.emplace(sandbox, std::move(place));
  }
  places->is_directory_writable_ =
      places->tools_ != nullptr &&
      (places->others_write(directory) || places->others_write_below(directory));
  const auto is_off = [](const auto& one) { return one.first.is_off; };
  if (places->is_directory_writable_ && std::ranges::any_of(places->places_, is_off)) {
    TRY_ASSIGN(places->start_, tools.folder().made_start());
  }
  return places;
}

bool UserPlaces::others_write(const fs::path& path) const {
  return can_write(tools_, path) || can_write(others_.get(), path) ||
         std::ranges::any_of(
             places_, [&](const auto& one) { return can_write(one.second.sandbox.get(), path); });
}

bool UserPlaces::others_write_below(const fs::path& folder) const {
  const auto holds = [&](const tools::Sandbox* sandbox) {
    return sandbox != nullptr && sandbox->policy().writes_below(folder);
  };
  return holds(tools_) || holds(others_.get()) ||
         std::ranges::any_of(places_,
                             [&](const auto& one) { return holds(one.second.sandbox.get()); });
}

tools::UserPrograms UserPlaces::of(const CommandSandbox& sandbox) const {
  const Place& place = places_.at(sandbox);
  const bool is_elsewhere = place.sandbox == nullptr && sandbox.is_off && is_directory_writable_;
  std::function<bool(const fs::path&)> others_write;
  std::function<bool(const fs::path&)> others_write_below;
  if (sandbox.is_off && tools_ != nullptr) {
    others_write = [this](const fs::path& path) { return this->others_write(path); };
    others_write_below = [this](const fs::path& path) { return this->others_write_below(path); };
  }
  return {.folder = is_elsewhere ? start_ : directory_,
          .is_folder_empty = is_elsewhere,
          .directory = directory_,
          .temporary = temporary_,
          .environment = environment_,
          .program_runner = place.runner.get(),
          .policy = place.sandbox ? &place.sandbox->policy() : nullptr,
          .may_more = tools::may_more(sandbox, tools_spec_),
          .others_write = std::move(others_write),
          .others_write_below = std::move(others_write_below)};
}

const tools::Sandbox* UserPlaces::sandbox() const {
  const auto found =
      std::ranges::find_if(places_, [](const auto& one) { return one.second.sandbox != nullptr; });
  return found == places_.end() ? nullptr : found->second.sandbox.get();
}

std::vector<agent::Leftover> UserPlaces::tidy_up() {
  std::vector<agent::Leftover> left;
  for (auto& [sandbox, place] : places_) {
    std::ranges::move(place.runner->tidy_up(), std::back_inserter(left));
  }
  return left;
}

Unconfined look_at_unconfined(const agent::AgentSpec& agent,
                              const Context& context,
                              const OtherAgents& others) {
  Unconfined found{.mistakes = mistakes_in_own_places(agent, context)};
  if (!found.mistakes.empty()) {
    return found;
  }
  const std::vector<UserLine> lines = lines_outside(agent, context);
  const auto opened = rules_beside(lines, agent, context, others);
  if (!opened) {
    found.mistakes.push_back(opened.error());
    return found;
  }
  const tools::Sandbox* const rules = opened->get();
  if (rules == nullptr) {
    return found;
  }
  for (const UserLine& one : lines) {
    const bool is_server = one.kind == UserLine::Kind::server;
    const auto place = place_outside(agent, *one.env, context, rules);
    auto done = check_outside(is_server ? one.text : tools::with_home(one.text, place.home),
                              place,
                              *rules,
                              is_server ? BareNames::are_the_users : BareNames::are_known,
                              is_server ? k_servers_way : k_commands_way);
    if (!done) {
      found.mistakes.push_back(std::move(done).error());
      if (one.where.line != 0) {
        found.mistakes.back().where = one.where;
      }
      continue;
    }
    std::ranges::move(not_given(one, agent, context, *rules), std::back_inserter(found.warnings));
  }
  return found;
}

Result<std::vector<agent::Warning>> check_unconfined(const agent::AgentSpec& agent,
                                                     const Context& context,
                                                     const OtherAgents& others) {
  Unconfined found = look_at_unconfined(agent, context, others);
  if (!found.mistakes.empty()) {
    return agent::fail(std::move(found.mistakes.front()));
  }
  return std::move(found.warnings);
}

std::vector<tools::MissingProgram> missing_programs(const agent::AgentSpec& agent,
                                                    const Context& context) {
  std::optional<std::optional<tools::sandbox::Policy>> places;  // for the first program there is
  const auto is_open = [&](const fs::path& path) {
    if (!places) {
      places = places_of_tools(agent, context);
    }
    return !*places || (*places)->reading(path) == tools::sandbox::Verdict::allowed;
  };
  return tools::missing_programs(
      agent, {.cwd = context.cwd, .environment = context.environment, .is_open = is_open});
}

std::vector<std::string> unclear_commands(const agent::AgentSpec& agent, const Context& context) {
  std::vector<std::string> sentences;
  const bool is_writing =
      agent.sandbox.mode == Mode::workspace_write || !agent.sandbox.write.empty();
  if (agent.sandbox.mode == Mode::off || !is_writing ||
      std::ranges::none_of(agent.tools, tools::writes)) {
    return sentences;  // tools are kept from nothing, or from everything
  }
  for (const tools::UnclearCommand& one :
       tools::unclear_commands(agent, context.cwd, context.environment)) {
    sentences.push_back(
        fmt::format("what `{}` runs cannot be determined ({}): scripts that it names are "
                    "not protected from tools",
                    agent::one_line(one.command, 100),
                    one.why));
  }
  for (const tools::UnclearCommand& one :
       tools::unclear_checks(agent, context.cwd, context.environment)) {
    sentences.push_back(fmt::format(
        "what the check `{}` runs cannot be determined ({}): whether tools have changed "
        "it is not looked at",
        agent::one_line(one.command, 100),
        one.why));
  }
  return sentences;
}

std::vector<agent::Warning> exposed_commands(const agent::AgentSpec& agent,
                                             const Context& context) {
  std::vector<agent::Warning> warnings;
  const std::vector<UserLine> lines = lines_of(agent, context);
  if (!is_confined_writer(&agent) || lines.empty()) {
    return warnings;
  }
  const auto opened = open_file_rules(agent, context);
  if (!opened) {
    return warnings;  // the run ends with that
  }
  const tools::Sandbox* const rules = opened->get();
  const fs::path home(agent::value_of(context.environment, "HOME"));
  for (const UserLine& one : lines) {
    const bool is_off = one.sandbox->is_off;
    const std::string_view right = further_right(*one.sandbox, agent.sandbox);
    const fs::path start =
        one.kind == UserLine::Kind::server ? context.cwd : fs::path(agent.directory);
    std::vector<fs::path> files =
        tools::read_scripts(one.text, {.directory = start, .home = home}).files;
    if (is_off) {
      const auto place = place_outside(agent, *one.env, context, rules);
      std::ranges::move(tools::named_programs(one.text, place), std::back_inserter(files));
    }
    if (auto warning = exposed_file(one.what, files, is_off, right, rules)) {
      warnings.push_back(*std::move(warning));
    }
    const bool weighs = one.kind != UserLine::Kind::server && (one.decides || !right.empty());
    if (auto warning =
            weighs && !is_off ? unasked_for(one.what, one.text, start, rules) : std::nullopt) {
      warnings.push_back(*std::move(warning));
    }
  }
  return warnings;
}

}  // namespace cli
