#include "agent/text.h"
#include "config/build/build.h"
#include "config/check.h"
#include "config/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace config {
namespace {

using agent::McpServerSpec;

// Outside where nothing is said: a server is a program of the user's own.
agent::CommandSandbox sandbox_of(const Value& server) {
  const Value* const value = value_at(server, "sandbox");
  if (value == nullptr || (value->kind == Kind::boolean && !boolean_of(*value).value_or(false))) {
    return {.is_off = true};
  }
  return build_command_sandbox(server);
}

McpServerSpec::Load load_of(std::string_view word) {
  return word == "search" ? McpServerSpec::Load::search
         : word == "all"  ? McpServerSpec::Load::all
                          : McpServerSpec::Load::automatic;
}

constexpr auto k_of_programs =
    std::to_array<std::string_view>({"command", "args", "env", "sandbox"});
constexpr auto k_of_addresses = std::to_array<std::string_view>({"url", "headers", "oauth"});

// A program has no address, and an address no program.
void check_kind(const Entry& entry, Problems& problems) {
  const Value& item = entry.value;
  const bool has_url = value_at(item, "url") != nullptr;
  if (has_url == (value_at(item, "command") != nullptr)) {
    problems.add(entry.key_span,
                 fmt::format("the MCP server `{}` has {}",
                             entry.key,
                             has_url ? "both `command` and `url`" : "neither `command` nor `url`"),
                 "`command` names a program that is started, `url` a server that runs already");
    return;
  }
  const std::string type = text_at(item, "type");
  if (!type.empty() && (type == "stdio") == has_url) {
    problems.add(
        value_at(item, "type")->span,
        fmt::format(
            "a server with `{}` is not of the type `{}`", has_url ? "url" : "command", type),
        "leave `type` out");
  }
  for (const std::string_view key :
       has_url ? std::span<const std::string_view>(k_of_programs) : k_of_addresses) {
    if (const Entry* const other = item.find(key)) {
      problems.add(other->key_span,
                   fmt::format("`{}` does not go with `{}`", key, has_url ? "url" : "command"),
                   "leave it out");
    }
  }
}

// What errand says itself in each request.
void check_own_headers(const Value& headers, Problems& problems) {
  for (const Entry& entry : headers.entries) {
    const std::string name = agent::to_lower(entry.key);
    if (name.starts_with("mcp-") || name == "content-type" || name == "accept" ||
        name == "content-length" || name == "last-event-id") {
      problems.add(entry.key_span,
                   fmt::format("the header `{}` cannot be set: it is the protocol's", entry.key),
                   "leave it out");
    }
  }
}

bool has_credentials(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::string_view rest = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?#")).contains('@');
}

void check_oauth(const Value& map, const agent::McpOAuthSpec& oauth, Problems& problems) {
  const auto wrong = [&](std::string_view what, std::string_view help) {
    problems.add(map.span, std::string(what), std::string(help));
  };
  const bool has_secret =
      map.find("client_secret") != nullptr || map.find("private_key") != nullptr;
  if (!oauth.client_secret.empty() && !oauth.private_key.empty()) {
    wrong("`oauth` has both `client_secret` and `private_key`", "one says who the client is");
  }
  if (has_secret && oauth.client_id.empty()) {
    wrong("`oauth` has a secret or a key, and no `client_id`", "name the client that it is of");
  }
  const bool is_known = !oauth.client_secret.empty() || !oauth.private_key.empty();
  if (is_known && oauth.in_secret.empty() && oauth.issuer.empty()) {
    wrong(
        "a secret that stands here, or the default of a variable that is not set, could go to "
        "whatever server is named for logins",
        "take it from the environment (`${env:NAME}`), and set that variable, or say with "
        "`issuer` whom it is for");
  }
  if (oauth.grant == agent::McpOAuthSpec::Grant::client_credentials && !has_secret) {
    wrong("`grant: client_credentials` needs `client_id`, and `client_secret` or `private_key`",
          "the authorization server gives them to who makes a client there");
  }
}

std::optional<agent::McpOAuthSpec> build_oauth(const Value& item, Problems& problems) {
  const Value* const map = value_at(item, "oauth");
  if (map == nullptr || map->kind != Kind::map) {
    return std::nullopt;
  }
  agent::McpOAuthSpec oauth;
  oauth.grant = text_at(*map, "grant") == "client_credentials"
                    ? agent::McpOAuthSpec::Grant::client_credentials
                    : agent::McpOAuthSpec::Grant::authorization_code;
  oauth.client_id = text_at(*map, "client_id");
  oauth.client_secret = text_at(*map, "client_secret");
  oauth.private_key = text_at(*map, "private_key");
  oauth.scopes = texts_at(*map, "scopes");
  oauth.issuer = text_at(*map, "issuer");
  for (const Entry& entry : map->entries) {
    const bool is_secret = entry.key == "client_secret" || entry.key == "private_key";
    std::ranges::move(build_uses(entry.value, problems),
                      std::back_inserter(is_secret ? oauth.in_secret : oauth.in_words));
  }
  check_oauth(*map, oauth, problems);
  return oauth;
}

// Other clients mean a variable by `${NAME}`; here it would go out as it stands. Its name; empty:
// there is none.
std::string other_variable(const Value& value, Problems& problems) {
  const std::size_t begin = value.text.find("${");
  if (begin == std::string::npos || !build_uses(value, problems).empty()) {
    return {};  // what variables hold is nobody's business
  }
  const std::size_t end = std::min(value.text.find('}', begin), value.text.size());
  return agent::one_line(value.text.substr(begin + 2, end - begin - 2), 60);
}

std::string help_on_variable(const std::string& name) {
  return name.contains(':') && !name.contains(":-")
             ? "write the value itself, or `${env:NAME}` for a variable of the environment"
             : fmt::format("a variable of the environment is `${{env:{}}}`", name);
}

void check_has_no_other_variables(const Value& value, Problems& problems) {
  if (const std::string name = other_variable(value, problems); !name.empty()) {
    problems.add(value.span,
                 fmt::format("`${{{}}}` would be sent as it stands", name),
                 help_on_variable(name));
  }
}

void build_address(const Value& item, McpServerSpec& server, Problems& problems) {
  if (const Value* url = value_at(item, "url")) {
    server.url = url->text;
    if (has_credentials(server.url)) {
      problems.add(url->span,
                   "an address holds no user name and no password",
                   "give them as the header `Authorization`");
    }
    server.in_url = build_uses(*url, problems);
    check_has_no_other_variables(*url, problems);
  }
  const Value& headers = map_at(item, "headers");
  check_headers(headers, problems);
  check_own_headers(headers, problems);
  server.in_headers = build_uses(headers, problems);
  for (const Entry& header : headers.entries) {
    server.headers.emplace_back(header.key, header.value.text);
    check_has_no_other_variables(header.value, problems);
  }
  server.is_older_form = text_at(item, "type") == "sse";
  server.oauth = build_oauth(item, problems);
}

// Only a shell makes something of it; other clients mean a variable.
void warn_of_other_variables(const Value& item, Problems& problems) {
  constexpr auto k_shells =
      std::to_array<std::string_view>({"bash", "dash", "fish", "ksh", "sh", "zsh"});
  const std::string command = text_at(item, "command");
  const Value* const args = value_at(item, "args");
  if (args == nullptr ||
      std::ranges::find(k_shells, command.substr(command.rfind('/') + 1)) != k_shells.end()) {
    return;
  }
  for (const Value& word : args->items) {
    if (const auto name = other_variable(word, problems); !name.empty()) {
      problems.warn(word.span,
                    fmt::format("`${{{}}}` is given to the program as it stands", name),
                    help_on_variable(name));
    }
  }
}

// Other clients take the words of a program as a list, too; it is people who write them as one.
void check_program(const Value& command, Problems& problems) {
  const std::size_t end = command.text.find_first_of(" \t");
  if (end != std::string::npos && !command.text.substr(0, end).contains('/')) {
    problems.add(command.span,
                 fmt::format("`command` is a program, and `{}` is a line",
                             agent::one_line(command.text, 60)),
                 fmt::format("`command: {}`, and the other words in `args`, as a list",
                             agent::one_line(command.text.substr(0, end), 60)));
  }
}

void build_program(const Entry& entry,
                   const ToolWorld& world,
                   McpServerSpec& server,
                   Problems& problems) {
  const Value& item = entry.value;
  server.command = {text_at(item, "command")};
  const Value& program = *value_at(item, "command");
  server.where = problems.source().where(program.span);
  check_program(program, problems);
  warn_of_other_variables(item, problems);
  std::ranges::copy(texts_at(item, "args"), std::back_inserter(server.command));
  if (const Value* env = value_at(item, "env")) {
    server.env =
        build_tool_env(*env, fmt::format("the MCP server `{}`", entry.key), world, problems);
    for (const Entry& variable : env->entries) {
      check_has_no_other_variables(variable.value, problems);
    }
  }
  server.in_programs = build_program_uses(item, world, problems);
  server.sandbox = sandbox_of(item);
}

McpServerSpec::Elicitation elicitation_of(std::string_view word) {
  return word == "defaults"  ? McpServerSpec::Elicitation::defaults
         : word == "decline" ? McpServerSpec::Elicitation::decline
                             : McpServerSpec::Elicitation::ask;
}

McpServerSpec build_server(const Entry& entry, const ToolWorld& world, Problems& problems) {
  const Value& item = entry.value;
  McpServerSpec server{.name = entry.key};
  check_kind(entry, problems);
  if (value_at(item, "command") != nullptr) {
    build_program(entry, world, server, problems);
  } else {
    build_address(item, server, problems);
  }
  server.tools = texts_at(item, "tools");
  if (const Value* const tools = value_at(item, "tools");
      tools != nullptr && server.tools.empty()) {
    problems.add(tools->span,
                 "none of its tools would be offered",
                 "leave `tools` out for all of them, or leave the server out");
  }
  server.offers_resources = boolean_at(item, "resources", true);
  server.elicitation = elicitation_of(text_at(item, "elicitation"));
  server.load = load_of(text_at(item, "load"));
  server.is_required = boolean_at(item, "required", true);
  const Value none;
  const Value* const given = value_at(item, "timeouts");
  const Value& timeouts = given != nullptr ? *given : none;
  server.start = duration_at(timeouts, "start").value_or(server.start);
  server.call = duration_at(timeouts, "call").value_or(server.call);
  server.silence = duration_at(timeouts, "silence").value_or(server.silence);
  return server;
}

// A rule like `mcp__docs__*` is about one server, and about all of its tools: what is cut of the
// name of a tool for providers is never the server's.
void check_names(const Value& map, Problems& problems) {
  constexpr std::size_t k_longest = std::string_view("mcp____").size() + 40;
  std::vector<std::pair<std::string, const Entry*>> prefixes;
  for (const Entry& entry : map.entries) {
    prefixes.emplace_back(McpServerSpec{.name = entry.key}.tool_prefix(), &entry);
    if (prefixes.back().first.size() > k_longest) {
      problems.add(
          entry.key_span,
          fmt::format("the name of the MCP server `{}` is too long: its tools are called by "
                      "it, and providers take 64 bytes",
                      agent::one_line(entry.key, 60)),
          "give it a name of 40 bytes or less");
    }
  }
  std::ranges::sort(prefixes);
  for (std::size_t at = 1; at < prefixes.size(); ++at) {
    const auto& [prefix, entry] = prefixes[at];
    const auto& [before, other] = prefixes[at - 1];
    if (prefix.starts_with(before)) {
      problems.add(entry->key_span,
                   fmt::format("rules for the tools of the MCP server `{}` (`{}*`) would be about "
                               "those of `{}`, too",
                               other->key,
                               before,
                               entry->key),
                   "call one of them something else");
    }
  }
}

}  // namespace

std::vector<McpServerSpec> build_mcp_servers(const Value& map,
                                             const ToolWorld& world,
                                             Problems& problems) {
  std::vector<McpServerSpec> servers;
  check_names(map, problems);
  for (const Entry& entry : map.entries) {
    if (entry.value.kind == Kind::map && !is_free_key(entry.key)) {
      servers.push_back(build_server(entry, world, problems));
    }
  }
  return servers;
}

}  // namespace config
