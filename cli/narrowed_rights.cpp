#include "cli/narrowed_rights.h"

#include "agent/text.h"
#include "cli/open_sandbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::SandboxSpec;
using tools::sandbox::Policy;
using tools::sandbox::Verdict;

// As the agent file has it: absolute, below `~/`, or from the agent file's folder; `PATH?` may be
// missing.
fs::path place_of(std::string entry, const agent::AgentSpec& agent, const Context& context) {
  if (entry.size() > 1 && entry.ends_with('?')) {
    entry.pop_back();
  }
  const fs::path home(agent::value_of(context.environment, "HOME"));
  const bool is_at_home = entry == "~" || entry.starts_with("~/");
  std::error_code ignored;
  return fs::weakly_canonical(is_at_home ? home / entry.substr(entry.size() > 1 ? 2 : 1)
                                         : fs::path(agent.directory) / entry,
                              ignored);
}

class Narrowing {
 public:
  Narrowing(agent::AgentSpec& agent, const agent::AgentSpec& above, const Context& context)
      : agent_(agent), above_(above), context_(context), places_(places_of_tools(above, context)) {}

  std::vector<std::string> perform() {
    cut_limits();
    if (above_.sandbox.mode != SandboxSpec::Mode::off) {
      cut_mode();
      cut_network();
      cut_places("sandbox", agent_.sandbox.read, agent_.sandbox.write);
      for (agent::HookSpec& hook : agent_.hooks.hooks) {
        confine("hooks.sandbox", hook.sandbox);
        cut_command("hooks.sandbox", hook.sandbox);
      }
      for (agent::GuardrailSpec& check : agent_.guardrails.checks) {
        confine("guardrails.sandbox", check.sandbox);
        cut_command("guardrails.sandbox", check.sandbox);
      }
      for (agent::McpServerSpec& server : agent_.mcp_servers) {
        cut_command(fmt::format("mcp_servers.{}.sandbox", server.name), server.sandbox);
      }
    }
    return std::move(cut_);
  }

  bool is_folder_open() const {
    std::error_code ignored;
    const fs::path folder = fs::weakly_canonical(agent_.directory, ignored);
    return !places_ || places_->reading(folder) == Verdict::allowed;
  }

 private:
  void say(std::string_view key, std::string_view value) {
    cut_.push_back(fmt::format("`{}: {}` of the agent {} does not count: {} has it not",
                               key,
                               agent::one_line(value, 100),
                               agent_.name,
                               above_.name));
  }

  // The lesser number, and all layers that one of them wants.
  void cut_limits() {
    const auto lesser = [](auto& own, const auto& upper) {
      own = own && upper ? std::min(*own, *upper) : own ? own : upper;
    };
    lesser(agent_.sandbox.memory, above_.sandbox.memory);
    lesser(agent_.sandbox.processes, above_.sandbox.processes);
    lesser(agent_.sandbox.cpu_time, above_.sandbox.cpu_time);
    for (const std::string& layer : above_.sandbox.required) {
      if (std::ranges::find(agent_.sandbox.required, layer) == agent_.sandbox.required.end()) {
        agent_.sandbox.required.push_back(layer);
      }
    }
  }

  void cut_mode() {
    if (agent_.sandbox.mode > above_.sandbox.mode) {  // read_only, workspace_write, off
      if (agent_.sandbox.mode == SandboxSpec::Mode::off) {
        say("sandbox.mode", "off");
      }
      agent_.sandbox.mode = above_.sandbox.mode;
    }
  }

  void cut_network() {
    if (above_.sandbox.network) {
      return;
    }
    if (std::exchange(agent_.sandbox.network, false)) {
      say("sandbox.network", "allow");
      agent_.sandbox.allow_hosts = above_.sandbox.allow_hosts;
    }
    std::erase_if(agent_.sandbox.allow_hosts, [this](const std::string& host) {
      const auto& hosts = above_.sandbox.allow_hosts;
      const bool is_closed = std::ranges::find(hosts, host) == hosts.end();
      if (is_closed) {
        say("sandbox.allow_hosts", host);
      }
      return is_closed;
    });
  }

  void confine(std::string_view key, agent::CommandSandbox& command) {
    if (std::exchange(command.is_off, false)) {
      say(key, "off");
    }
  }

  // What a command's own settings open beside what tools may. A server that is outside of the
  // sandbox is a program of the user's.
  void cut_command(const std::string& key, agent::CommandSandbox& command) {
    if (command.network.value_or(false) && !above_.sandbox.network) {
      command.network.reset();
      say(key + ".network", "allow");
    }
    cut_places(key, command.read, command.write);
  }

  void cut_places(const std::string& key,
                  std::vector<std::string>& read,
                  std::vector<std::string>& write) {
    cut_places(key + ".read", read, [this](const fs::path& place) {
      return places_->reading(place) == Verdict::allowed || places_->is_opened_by_name(place);
    });
    cut_places(key + ".write", write, [this](const fs::path& place) {
      return places_->writing(place) == Verdict::allowed;
    });
  }

  void cut_places(const std::string& key,
                  std::vector<std::string>& entries,
                  const std::function<bool(const fs::path&)>& is_open) {
    std::erase_if(entries, [&](const std::string& entry) {
      const bool is_closed = !places_ || !is_open(place_of(entry, agent_, context_));
      if (is_closed) {
        say(key, entry);
      }
      return is_closed;
    });
  }

  agent::AgentSpec& agent_;
  const agent::AgentSpec& above_;
  const Context& context_;
  std::optional<Policy>
      places_;  // nullopt: its sandbox is off, or a mistake that is said elsewhere
  std::vector<std::string> cut_;
};

}  // namespace

agent::Result<std::vector<std::string>> narrow_sandbox(agent::AgentSpec& agent,
                                                       const agent::AgentSpec& above,
                                                       const Context& context) {
  Narrowing narrowing(agent, above, context);
  if (!narrowing.is_folder_open()) {
    return agent::fail(agent::Code::team_invalid,
                       fmt::format("the folder of the agent {} is closed to {}: {}",
                                   agent.name,
                                   above.name,
                                   agent::one_line(agent.directory, 100)),
                       "put the agent file beside the other one, or name its folder in "
                       "`sandbox.read` of that");
  }
  return narrowing.perform();
}

}  // namespace cli
