#include "tools/mcp/servers.h"

#include "agent/sha256.h"
#include "agent/text.h"
#include "tools/mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Result;

constexpr std::size_t k_most_name = 64;  // of what a provider takes for a tool
constexpr std::size_t k_digest = 12;     // of its digits

std::string clean(std::string_view name) {
  std::string cleaned(name);
  std::ranges::replace_if(
      cleaned,
      [](char one) {
        return !(agent::is_digit(one) || (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') ||
                 one == '_' || one == '-');
      },
      '_');
  return cleaned;
}

std::string plain_name(std::string_view server, std::string_view tool) {
  return fmt::format("mcp__{}__{}", clean(server), clean(tool));
}

// For one that is too long, or that two tools would have: the same in each run.
std::string marked_name(std::string_view server, std::string_view tool) {
  const std::string plain = plain_name(server, tool);
  return fmt::format("{}_{}",
                     agent::prefix(plain, k_most_name - 1 - k_digest),
                     agent::sha256_hex(agent::length_prefixed({server, tool})).substr(0, k_digest));
}

class ServerTool final : public Tool {
 public:
  ServerTool(Server& server, const OfferedTool& tool)
      : server_(server),
        tool_(tool),
        info_{.name = tool.agent_name,
              .description = tool.description,
              .parameters = tool.parameters} {}

  const agent::ToolInfo& info() const override { return info_; }
  bool parallel() const override { return true; }
  Access access(const agent::Json& arguments) const override {
    return {.kind = Access::Kind::server, .target = agent::dump(arguments)};
  }
  Output call(const agent::Json& arguments, const CallContext& context) override {
    return server_.call(tool_, arguments, context);
  }

 private:
  Server& server_;
  const OfferedTool& tool_;
  agent::ToolInfo info_;
};

agent::Warning warning_of(const agent::Error& error) {
  return {.message = error.message,
          .help = "the run goes without its tools; `required: true` ends it instead",
          .kind = "mcp_server"};
}

}  // namespace

Result<std::unique_ptr<Servers>> Servers::start(std::span<const agent::McpServerSpec> specs,
                                                ServersOptions options,
                                                std::stop_token stop) {
  std::unique_ptr<Servers> servers(new Servers(std::move(options)));
  std::vector<Result<void>> started(specs.size());
  for (const agent::McpServerSpec& spec : specs) {
    servers->servers_.push_back(std::make_unique<Server>(spec, servers->options_));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t at = 0; at < specs.size(); ++at) {
      threads.emplace_back([&, at] { started[at] = servers->servers_[at]->start(stop); });
    }
  }
  for (std::size_t at = 0; at < specs.size(); ++at) {
    if (started[at]) {
      continue;
    }
    if (specs[at].is_required || stop.stop_requested()) {
      return agent::fail(std::move(started[at]).error());
    }
    servers->warnings_.push_back(warning_of(started[at].error()));
    servers->servers_[at]->close();
    servers->servers_[at].reset();
  }
  std::erase(servers->servers_, nullptr);
  servers->name_tools();
  return servers;
}

void Servers::name_tools() {
  std::map<std::string, int> uses;
  for (const auto& server : servers_) {
    for (const OfferedTool& tool : server->tools()) {
      ++uses[plain_name(server->spec().name, tool.name)];
    }
  }
  for (const auto& server : servers_) {
    for (OfferedTool& tool : server->tools()) {
      const std::string plain = plain_name(server->spec().name, tool.name);
      const bool is_plain = uses.at(plain) == 1 && plain.size() <= k_most_name;
      tool.agent_name = is_plain ? plain : marked_name(server->spec().name, tool.name);
    }
    for (const std::string& sentence : server->unusable()) {
      warnings_.push_back(
          {.message = fmt::format("of the MCP server `{}`: {}", server->spec().name, sentence),
           .help = {}});
    }
  }
}

Servers::Servers(ServersOptions options) : options_(std::move(options)) {}

Servers::~Servers() {
  close();
}

void Servers::close() {
  for (const auto& server : servers_) {
    server->close();
  }
}

std::vector<ConfiguredTool> Servers::tools() const {
  std::vector<ConfiguredTool> tools;
  for (const auto& server : servers_) {
    for (const OfferedTool& tool : server->tools()) {
      tools.push_back({.tool = std::make_unique<ServerTool>(*server, tool),
                       .is_untrusted = true,
                       .has_foreign_schema = true});
    }
  }
  return tools;
}

std::vector<ConnectedServer> Servers::connected() const {
  std::vector<ConnectedServer> all;
  for (const auto& server : servers_) {
    ConnectedServer one{.name = server->spec().name,
                        .revision = server->agreement().revision,
                        .server = server->agreement().server,
                        .tools = {},
                        .hidden = server->hidden()};
    for (const OfferedTool& tool : server->tools()) {
      one.tools.push_back(tool.agent_name);
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace tools::mcp
