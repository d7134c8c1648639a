#include "cli/mcp_lock.h"

#include "agent/durable_file.h"
#include "agent/text.h"
#include "cli/output.h"
#include "config/yaml/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

constexpr std::size_t k_most_lock = 64u << 20;  // bytes

// As it was named, without what says which of the agents in it is meant.
std::string shown_whole(const agent::AgentSpec& agent) {
  const std::string name = agent::name_in_whole(agent::file_of(agent));
  return agent.file.substr(0, agent.file.size() - name.size());
}

// An agent that is written out in a file with a lock is locked with it, though nothing of it is
// there yet.
bool is_locked_with_whole(const agent::AgentSpec& agent) {
  const fs::path file = agent::file_of(agent);
  const fs::path whole = agent::file_of_whole(file);
  std::error_code ignored;
  return whole != file && fs::exists(fs::symlink_status(agent::tool_lock_file(whole), ignored));
}

}  // namespace

std::vector<std::string> names_of_servers(const agent::AgentSpec& agent) {
  std::vector<std::string> names;
  std::ranges::transform(agent.mcp_servers, std::back_inserter(names), &agent::McpServerSpec::name);
  return names;
}

std::string shown_lock_file(const agent::AgentSpec& agent) {
  return fmt::format("`{}`", agent::one_line(fs::path(tool_lock_file(agent)).filename().string()));
}

ReadLock read_mcp_lock(const agent::AgentSpec& agent) {
  const fs::path file = tool_lock_file(agent);
  if (file.empty()) {
    return std::nullopt;
  }
  TRY_ASSIGN(const std::optional<std::string> text,
             config::read_file_inside(file.parent_path(), file.filename(), k_most_lock));
  if (!text) {
    return is_locked_with_whole(agent) ? std::optional(tools::mcp::ToolLock()) : std::nullopt;
  }
  TRY_ASSIGN(tools::mcp::ToolLock lock, tools::mcp::read_lock(*text, shown_lock_file(agent)));
  return lock;
}

Result<void> check_locks_nothing(const agent::AgentSpec& agent, const ReadLock& read) {
  TRY_ASSIGN(const std::optional<tools::mcp::ToolLock> lock, read);
  if (!lock || lock->servers.empty()) {
    return {};
  }
  return agent::fail(Code::config_invalid,
                     fmt::format("{} locks the server `{}`, and the agent has no MCP servers",
                                 shown_lock_file(agent),
                                 agent::one_line(lock->servers.begin()->first, 60)),
                     "remove the file, or put the server back into `mcp_servers`");
}

Result<void> check_mcp_lock(const agent::AgentSpec& agent,
                            const ReadLock& read,
                            tools::mcp::Servers& servers,
                            std::span<const std::string> servers_of_agent,
                            const agent::Redactor& redactor) {
  TRY_ASSIGN(const std::optional<tools::mcp::ToolLock> lock, read);
  if (!lock) {
    return {};
  }
  const auto found = tools::mcp::differences(*lock, servers.lock(redactor), servers_of_agent);
  if (found.empty()) {
    servers.keep_to(*lock);
    return {};
  }
  const std::string more = found.size() == 1 ? "" : fmt::format(" (and {} more)", found.size() - 1);
  const std::string file = agent::shell_word(shown_whole(agent));
  return agent::fail(
      Code::config_invalid,
      fmt::format(
          "the MCP tools are others than in {}: {}{}", shown_lock_file(agent), found.front(), more),
      fmt::format("`errand mcp lock --check {}` shows every difference; `errand mcp lock {}` "
                  "accepts the tools as they are now",
                  file,
                  file));
}

Result<void> write_mcp_lock(const agent::AgentSpec& agent, const tools::mcp::ToolLock& lock) {
  const std::string file = tool_lock_file(agent);
  TRY(check_is_no_link(file));
  const std::string text = tools::mcp::lock_text(lock);
  if (const int error = agent::write_durably(file, text, 0666); error != 0) {
    return agent::fail(
        Code::cli_cannot_create,
        fmt::format("cannot write `{}`: {}", agent::one_line(file), std::strerror(error)));
  }
  const fs::path path = file;
  TRY_ASSIGN(const std::optional<std::string> found,
             config::read_file_inside(path.parent_path(), path.filename(), k_most_lock));
  if (found != text) {
    return agent::fail(Code::cli_cannot_create,
                       fmt::format("`{}` was written, and is {} now: another program changed it",
                                   agent::one_line(file),
                                   found ? "another one" : "gone"),
                       "end what writes there, and lock again");
  }
  return {};
}

}  // namespace cli
