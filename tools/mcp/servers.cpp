#include "tools/mcp/servers.h"

#include "agent/budget.h"
#include "agent/sha256.h"
#include "agent/text.h"
#include "agent/tool_name.h"
#include "tools/mcp/find_tools.h"
#include "tools/mcp/read_resources.h"
#include "tools/mcp/resource_list.h"
#include "tools/mcp/server.h"
#include "tools/permissions/text_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <ranges>
#include <thread>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Result;

constexpr std::int64_t k_seen_share = 10;     // one part of so many of the window is for tools
constexpr std::size_t k_most_sentences = 10;  // on one server's tools, at once

std::string plain_name(std::string_view server, std::string_view tool) {
  return agent::McpServerSpec{.name = std::string(server)}.tool_prefix() +
         agent::cleaned_tool_name(tool);
}

// For one that is too long, or that two tools would have: the same in each run.
std::string marked_name(std::string_view server, std::string_view tool) {
  const std::string plain = plain_name(server, tool);
  return fmt::format(
      "{}_{}",
      agent::prefix(plain, agent::k_longest_tool_name - 1 - agent::k_digits_of_tool),
      agent::sha256_hex(agent::length_prefixed({server, tool})).substr(0, agent::k_digits_of_tool));
}

agent::ToolInfo info_of(const OfferedTool& tool) {
  return {.name = tool.agent_name,
          .description = tool.description,
          .parameters = tool.parameters,
          .name_elsewhere = tool.name,
          .results = tool.results};
}

std::int64_t bytes_of_tools(Server& server) {
  std::int64_t bytes = 0;
  for (const OfferedTool& tool : server.tools()) {
    bytes += agent::bytes_of(info_of(tool));
  }
  return bytes;
}

class ServerTool final : public Tool {
 public:
  ServerTool(Server& server, const OfferedTool& tool)
      : server_(server), tool_(tool), info_(info_of(tool)) {}

  const agent::ToolInfo& info() const override { return info_; }
  bool parallel() const override { return tool_.only_reads; }
  Access access(const agent::Json& arguments) const override {
    return {.kind = Access::Kind::server, .target = agent::canonical_value(arguments)};
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
  return {
      .message = error.message,
      .help = fmt::format("{}{}the run goes without its tools; `required: true` ends it instead",
                          error.help,
                          error.help.empty() ? "" : "; "),
      .kind = k_of_missing_server};
}

std::string about(const Server& server, std::string_view sentence) {
  return fmt::format("of the MCP server `{}`: {}", server.spec().name, sentence);
}

// How many there are is the server's choice.
std::vector<std::string> no_flood(const Server& server, std::vector<std::string> sentences) {
  if (sentences.size() > k_most_sentences) {
    const std::size_t more = sentences.size() - k_most_sentences;
    sentences.resize(k_most_sentences);
    sentences.push_back(about(server, fmt::format("{} more of this kind", more)));
  }
  return sentences;
}

ConfiguredTool configured(Server& server, const OfferedTool& tool, bool is_searched) {
  return {.tool = std::make_unique<ServerTool>(server, tool),
          .is_untrusted = true,
          .has_foreign_schema = true,
          .is_searched = is_searched};
}

LockedTool locked_as(const OfferedTool& tool, const agent::Redactor& redactor) {
  return locked_tool(agent::parse_json(tool.definition).value_or(agent::Json()), redactor);
}

// Of a list that nobody asks for the rest of.
agent::Error cut_list(const Server& server, std::string_view method, std::size_t found) {
  return {.code = agent::Code::mcp_other,
          .message = about(server,
                           fmt::format("`{}` was asked for no more than its first {} items, and "
                                       "there are more",
                                       method,
                                       found)),
          .help = {}};
}

agent::Error nameless(const Server& server,
                      std::string_view method,
                      std::string_view key,
                      std::size_t count) {
  return {.code = agent::Code::mcp_other,
          .message = about(server,
                           fmt::format("{} of what `{}` lists {} no `{}`, and cannot be used",
                                       count,
                                       method,
                                       count == 1 ? "has" : "have",
                                       key)),
          .help = {}};
}

// `goes_on`: there are more of them, which were not looked at.
agent::Error no_such_prompt(const ChosenPrompt& chosen,
                            const std::vector<Prompt>& prompts,
                            bool goes_on) {
  constexpr std::size_t k_most_named = 20;
  std::vector<std::string> names;
  for (const Prompt& prompt : prompts | std::views::take(k_most_named)) {
    names.push_back(agent::one_line(prompt.name, 60));
  }
  const std::string more = prompts.size() > k_most_named
                               ? fmt::format(" and {} more", prompts.size() - k_most_named)
                               : "";
  const std::string server = agent::one_line(chosen.server, 60);
  const std::string among =
      goes_on ? fmt::format(" among its first {}; the rest was not looked at", prompts.size()) : "";
  return {.code = agent::Code::cli_no_input,
          .message = prompts.empty() ? fmt::format("the MCP server `{}` has no prompts", server)
                                     : fmt::format("the MCP server `{}` has no prompt `{}`{}",
                                                   server,
                                                   agent::one_line(chosen.name, 60),
                                                   among),
          .help = prompts.empty() ? "`errand mcp list AGENT` shows which server has which"
                                  : fmt::format("it has {}{}", fmt::join(names, ", "), more)};
}

// Where what ends the run came first.
Result<void> none_is_late(std::span<const agent::McpServerSpec> specs,
                          std::span<const Result<void>> started) {
  std::vector<std::string> late;
  std::string asked;  // of others, by those
  for (std::size_t at = 0; at < specs.size(); ++at) {
    if (!started[at] && started[at].error().code == agent::Code::run_cancelled) {
      late.push_back(fmt::format("`{}`", agent::one_line(specs[at].name, 60)));
      asked += (started[at].error().help.empty() ? "" : "; ") + started[at].error().help;
    }
  }
  return late.empty() ? Result<void>()
                      : agent::fail(agent::Code::run_cancelled,
                                    fmt::format("the MCP server{} {} had not answered yet{}",
                                                late.size() == 1 ? "" : "s",
                                                fmt::join(late, ", "),
                                                asked));
}

// As the agent calls them, without what they begin with.
std::set<std::string> offered_names(Server& server, std::size_t prefix) {
  std::set<std::string> names;
  for (const OfferedTool& tool : server.tools()) {
    names.insert(tool.agent_name.substr(prefix));
  }
  return names;
}

// Likewise, and without digests; of those that are left out, too.
std::vector<std::string> names_for_rules(Server& server, std::size_t prefix) {
  std::set<std::string> names = offered_names(server, prefix);
  for (const std::string& name : server.known()) {
    names.insert(agent::cleaned_tool_name(name));
  }
  return {names.begin(), names.end()};
}

// On a thread of its own, which nobody catches for.
ToolChanges list_one(Server& server, const std::stop_token& stop) {
  try {
    return server.list_anew(stop);
  } catch (const std::exception& exception) {
    return {.added = {}, .sentences = {about(server, agent::error_of(exception).message)}};
  }
}

// Likewise.
Result<void> start_one(Server& server, const std::stop_token& stop) {
  try {
    return server.start(stop);
  } catch (const std::exception& exception) {
    return agent::fail(agent::error_of(exception));
  }
}

StartedServer started_server(Server& server,
                             bool is_ready,
                             std::chrono::steady_clock::duration took) {
  return {.name = server.spec().name,
          .is_ready = is_ready,
          .revision = is_ready ? server.agreement().revision : std::string(),
          .tools = server.tools().size(),
          .took = std::chrono::duration_cast<agent::Milliseconds>(took)};
}

}  // namespace

Result<std::unique_ptr<Servers>> Servers::start(std::span<const agent::McpServerSpec> specs,
                                                ServersOptions options,
                                                std::stop_token stop) {
  std::unique_ptr<Servers> servers(new Servers(std::move(options)));
  std::vector<Result<void>> started(specs.size());
  for (const agent::McpServerSpec& spec : specs) {
    servers->servers_.push_back(
        std::make_unique<Server>(spec, servers->options_, servers->elicitor_));
  }
  servers->start_all(started, stop);
  auto left_out = stop.stop_requested() ? none_is_late(specs, started) : Result<void>();
  if (left_out) {
    left_out = servers->leave_out_failed(started);
  }
  if (!left_out) {
    return agent::fail(agent::with_leftovers(std::move(left_out).error(), servers->tidy_up()));
  }
  servers->name_tools();
  return servers;
}

void Servers::start_all(std::span<Result<void>> started, const std::stop_token& stop) {
  std::mutex mutex;  // of on_started
  std::vector<std::jthread> threads;
  for (std::size_t at = 0; at < servers_.size(); ++at) {
    threads.emplace_back([&, at] {
      const auto begin = options_.clock->now();
      try {
        started[at] = start_one(*servers_[at], stop);
      } catch (const std::exception& exception) {
        started[at] = agent::fail(agent::error_of(exception));
      }
      if (options_.on_started) {
        const StartedServer server =
            started_server(*servers_[at], started[at].has_value(), options_.clock->now() - begin);
        const std::lock_guard lock(mutex);
        options_.on_started(server);
      }
    });
  }
}

Result<void> Servers::leave_out_failed(std::span<Result<void>> started) {
  for (std::size_t at = 0; at < started.size(); ++at) {
    if (started[at]) {
      continue;
    }
    const agent::McpServerSpec& spec = servers_[at]->spec();
    if (spec.is_required) {
      return agent::fail(std::move(started[at]).error());
    }
    warnings_.push_back(warning_of(started[at].error()));
    missing_.push_back({.name = spec.name,
                        .checks = {{.name = "start", .found = {}, .error = started[at].error()}}});
    servers_[at]->close();
    servers_[at]->end();
    std::ranges::move(servers_[at]->take_leftovers(), std::back_inserter(left_));
    servers_[at].reset();
  }
  std::erase(servers_, nullptr);
  return {};
}

void Servers::name_tools() {
  for (const auto& server : servers_) {
    for (const OfferedTool& tool : server->tools()) {
      ++uses_[plain_name(server->spec().name, tool.name)];
    }
  }
  for (const auto& server : servers_) {
    for (OfferedTool& tool : server->tools()) {
      tool.agent_name = name_for(*server, tool);
    }
    std::vector<std::string> sentences;
    for (const std::string& sentence : server->take_unusable()) {
      sentences.push_back(about(*server, sentence));
    }
    for (std::string& sentence : no_flood(*server, std::move(sentences))) {
      warnings_.push_back({.message = std::move(sentence), .help = {}});
    }
  }
}

std::string Servers::name_for(const Server& server, const OfferedTool& tool) const {
  const std::string plain = plain_name(server.spec().name, tool.name);
  const bool is_plain = uses_.at(plain) == 1 && plain.size() <= agent::k_longest_tool_name &&
                        agent::without_digest(plain) == plain;  // else it may be another one's
  return is_plain ? plain : marked_name(server.spec().name, tool.name);
}

ListedTools Servers::list_anew(const std::stop_token& stop) {
  std::vector<ToolChanges> changes(servers_.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t at = 0; at < servers_.size(); ++at) {
      if (servers_[at]->has_news()) {
        threads.emplace_back([&, at] { changes[at] = list_one(*servers_[at], stop); });
      }
    }
  }
  ListedTools listed;
  for (std::size_t at = 0; at < servers_.size(); ++at) {
    take(*servers_[at], std::move(changes[at]), listed);
  }
  return listed;
}

void Servers::take(Server& server, ToolChanges changes, ListedTools& listed) {
  for (const std::string& sentence : server.take_unusable()) {
    changes.sentences.push_back(about(server, sentence));
  }
  for (const OfferedTool* tool : changes.added) {
    ++uses_[plain_name(server.spec().name, tool->name)];
  }
  const bool is_searched = searched_.contains(server.spec().name);
  const bool is_too_much = !is_searched && !changes.added.empty() && are_many() &&
                           server.spec().load == agent::McpServerSpec::Load::automatic;
  if (is_too_much) {
    changes.sentences.push_back(
        about(server,
              "with the new tools, all would fill more than a tenth of the model's window: it is "
              "not shown the new ones; `load: search` would let it find them"));
  }
  for (OfferedTool* tool : changes.added) {
    tool->agent_name = name_for(server, *tool);
    if (is_searched || is_too_much) {
      index(*tool);
    }
    listed.tools.push_back(configured(server, *tool, is_searched || is_too_much));
  }
  std::ranges::move(no_flood(server, std::move(changes.sentences)),
                    std::back_inserter(listed.warnings));
}

void Servers::keep_to(const ToolLock& lock) {
  for (const auto& server : servers_) {
    const auto tools = lock.servers.find(server->spec().name);
    server->keep_to(tools == lock.servers.end() ? LockedTools() : tools->second);
  }
}

Servers::Servers(ServersOptions options)
    : options_(std::move(options)), elicitor_(options_.questioner) {}

Servers::~Servers() {
  close();
}

void Servers::close() {
  for (const auto& server : servers_) {
    server->close();
  }
}

std::vector<ConfiguredTool> Servers::tools(const std::set<std::string, std::less<>>& added) const {
  std::vector<ConfiguredTool> tools;
  for (const auto& server : servers_) {
    for (const OfferedTool& tool : server->tools()) {
      const bool is_searched = searched_.contains(server->spec().name);
      tools.push_back(configured(*server, tool, is_searched || added.contains(tool.agent_name)));
    }
  }
  if (!searched_.empty()) {
    tools.push_back(finder());
  }
  if (auto servers = servers_with_resources(); !servers.empty()) {
    tools.push_back({.tool = make_read_resources(std::move(servers)), .is_untrusted = true});
  }
  return tools;
}

void Servers::index(const OfferedTool& tool) {
  if (!is_denied_ || !is_denied_(tool.agent_name)) {
    index_->add(info_of(tool));
  }
}

std::vector<Server*> Servers::servers_with_resources() const {
  std::vector<Server*> servers;
  for (const auto& server : servers_) {
    if (server->offers_resources()) {
      servers.push_back(server.get());
    }
  }
  return servers;
}

ConfiguredTool Servers::finder() const {
  std::vector<std::string> servers;
  for (const auto& server : servers_) {
    if (searched_.contains(server->spec().name)) {
      servers.push_back(agent::cleaned_tool_name(server->spec().name));
    }
  }
  return {.tool = make_find_tools(index_, servers), .is_untrusted = true};
}

bool Servers::are_many() const {
  std::int64_t bytes = 0;
  for (const auto& server : servers_) {
    if (server->spec().load == agent::McpServerSpec::Load::automatic) {
      bytes += bytes_of_tools(*server);
    }
  }
  return room_ > 0 && agent::tokens_of(bytes) > room_;
}

void Servers::choose_searched(const SearchOptions& options) {
  using Load = agent::McpServerSpec::Load;
  is_denied_ = options.is_denied;
  index_ = std::make_shared<ToolIndex>();
  room_ = options.window / k_seen_share;
  const bool searches = options.may_search && are_many();
  for (const auto& server : servers_) {
    const Load load = server->spec().load;
    const bool may_have_some = !server->tools().empty() || server->agreement().tells_of_tools;
    if (may_have_some && (load == Load::search || (load == Load::automatic && searches))) {
      searched_.insert(server->spec().name);
      std::ranges::for_each(server->tools(), [this](const OfferedTool& tool) { index(tool); });
    }
  }
}

// That the rule is about alone, and not as a whole; of those whose names begin alike the longest.
Server* Servers::server_of_rule(std::string_view tool) const {
  const auto names_tool_of = [&](const std::string& name) {
    const std::string prefix = plain_name(name, "");
    const bool is_cut = prefix.size() >= agent::k_longest_tool_name - 1 - agent::k_digits_of_tool;
    return !is_cut && tool.starts_with(prefix) && tool.substr(prefix.size()) != "*" ? prefix.size()
                                                                                    : 0;
  };
  Server* found = nullptr;
  std::size_t longest = 0;
  for (const auto& server : servers_) {
    if (const std::size_t size = names_tool_of(server->spec().name); size > longest) {
      longest = size;
      found = server.get();
    }
  }
  const bool may_be_missing = std::ranges::any_of(
      missing_, [&](const CheckedServer& one) { return names_tool_of(one.name) > 0; });
  return may_be_missing ? nullptr : found;
}

std::vector<agent::Warning> Servers::idle_rules(
    std::span<const agent::PermissionRule> rules) const {
  std::vector<agent::Warning> warnings;
  for (const agent::PermissionRule& rule : rules) {
    const std::string_view tool = std::string_view(rule.text).substr(0, rule.text.find('('));
    Server* const server = server_of_rule(tool);
    if (server == nullptr) {
      continue;
    }
    const std::string prefix = plain_name(server->spec().name, "");
    const std::string_view word = tool.substr(prefix.size());
    const std::vector<std::string> names = names_for_rules(*server, prefix.size());
    const TextPattern pattern(word);
    const std::string_view whole = agent::without_digest(tool);
    const std::string_view stem = whole.substr(std::min(prefix.size(), whole.size()));
    if (std::ranges::any_of(
            names, [&](const auto& name) { return pattern.covers(name) || name == stem; })) {
      continue;
    }
    const std::set<std::string> offered = offered_names(*server, prefix.size());
    const std::vector<std::string> candidates(offered.begin(), offered.end());
    warnings.push_back(
        {.message = fmt::format("the rule `{}` ({}) is about no tool of the MCP server `{}`{}",
                                agent::one_line(rule.text, 100),
                                rule.origin,
                                agent::one_line(server->spec().name, 60),
                                meant_among(word, candidates, prefix)),
         .help = "`errand mcp tools AGENT` shows the names that rules are about",
         .kind = "idle_rule"});
  }
  return warnings;
}

std::vector<agent::PermissionRule> Servers::without_own(
    std::vector<agent::PermissionRule> rules) const {
  std::erase_if(rules, [&](const agent::PermissionRule& rule) {
    return server_of_rule(std::string_view(rule.text).substr(0, rule.text.find('('))) != nullptr;
  });
  return rules;
}

std::vector<std::string> Servers::with_own_tools(std::vector<std::string> names) const {
  for (const auto& server : servers_) {  // once: another agent may have one of that name
    const auto prefix = std::ranges::find(names, plain_name(server->spec().name, ""));
    if (prefix != names.end()) {
      names.erase(prefix);
    }
  }
  std::ranges::copy(names_of_tools(), std::back_inserter(names));
  return names;
}

std::set<std::string> Servers::names_of_tools() const {
  std::set<std::string> names;
  for (const auto& server : servers_) {
    const std::string prefix = plain_name(server->spec().name, "");
    for (const std::string& name : names_for_rules(*server, prefix.size())) {
      names.insert(prefix + name);
    }
  }
  return names;
}

std::vector<std::string> Servers::missing() const {
  std::vector<std::string> names;
  std::ranges::transform(missing_, std::back_inserter(names), &CheckedServer::name);
  return names;
}

std::vector<agent::Leftover> Servers::tidy_up() {
  std::vector<agent::Leftover> left = std::exchange(left_, {});
  for (const auto& server : servers_) {
    if (!server->spec().sandbox.is_off) {
      server->close();
    }
  }
  for (const auto& server : servers_) {
    if (!server->spec().sandbox.is_off) {
      server->end();
    }
    std::ranges::move(server->take_leftovers(), std::back_inserter(left));
  }
  return left;
}

ToolLock Servers::lock(const agent::Redactor& redactor) const {
  ToolLock lock;
  for (const auto& server : servers_) {
    auto& locked = lock.servers[server->spec().name];
    for (const OfferedTool& tool : server->tools()) {
      locked.insert_or_assign(tool.name, locked_as(tool, redactor));
    }
  }
  return lock;
}

std::vector<CheckedServer> Servers::check(const std::stop_token& stop) {
  std::vector<CheckedServer> checked = missing_;
  for (const auto& server : servers_) {
    checked.push_back({.name = server->spec().name, .checks = server->check(stop)});
  }
  return checked;
}

std::vector<CheckedServer> Servers::end_all() {
  close();
  std::vector<CheckedServer> ended;
  for (const auto& server : servers_) {
    ended.push_back({.name = server->spec().name, .checks = {server->check_end()}});
  }
  return ended;
}

std::vector<OtherOffers> Servers::other_offers(const std::stop_token& stop) const {
  std::vector<OtherOffers> all;
  for (const auto& server : servers_) {
    OtherOffers& one = all.emplace_back(OtherOffers{.server = server->spec().name});
    const auto list = [&](std::string_view method, std::string_view member) {
      auto items = server->list(method, member, k_most_resources, stop);
      if (!items) {
        agent::Error error = before_a_run(std::move(items).error());
        error.message = fmt::format("`{}`: {}", method, error.message);
        one.errors.push_back(std::move(error));
        return std::vector<agent::Json>();
      }
      if (items->goes_on) {
        one.errors.push_back(cut_list(*server, method, items->items.size()));
      }
      return std::move(items->items);
    };
    const auto texts = [&](std::string_view method, std::string_view member, const char* key) {
      std::vector<std::string> found;
      const std::vector<agent::Json> items = list(method, member);
      for (const agent::Json& item : items) {
        if (const std::string_view text = agent::text_at(item, key); !text.empty()) {
          found.emplace_back(text);
        }
      }
      if (found.size() < items.size()) {
        one.errors.push_back(nameless(*server, method, key, items.size() - found.size()));
      }
      return found;
    };
    if (server->offers_resources()) {
      one.resources = texts("resources/list", "resources", "uri");
      one.templates = texts("resources/templates/list", "resourceTemplates", "uriTemplate");
    }
    if (server->agreement().has_prompts) {
      one.prompts = prompts_in(list("prompts/list", "prompts"));
    }
  }
  return all;
}

Result<PromptOpening> Servers::use(const ChosenPrompt& chosen, const std::stop_token& stop) const {
  const std::string server_name = agent::one_line(chosen.server, 60);
  const auto found = std::ranges::find(
      servers_, chosen.server, [](const auto& server) { return server->spec().name; });
  if (found == servers_.end()) {
    return agent::fail(
        agent::Code::mcp_connection,
        fmt::format("the MCP server `{}`, whose prompt is to be used, did not start", server_name));
  }
  Server& server = **found;
  std::vector<Prompt> prompts;
  bool goes_on = false;
  if (server.agreement().has_prompts) {
    auto items = server.list("prompts/list", "prompts", k_most_resources, stop);
    if (!items) {
      return agent::fail(before_a_run(std::move(items).error()));
    }
    goes_on = items->goes_on;
    prompts = prompts_in(items->items);
  }
  const auto prompt = std::ranges::find(prompts, chosen.name, &Prompt::name);
  if (prompt == prompts.end()) {
    return agent::fail(no_such_prompt(chosen, prompts, goes_on));
  }
  TRY(check_arguments(*prompt, chosen.arguments, server_name));
  auto result = server.get_prompt(chosen.name, chosen.arguments, stop);
  if (!result) {
    return agent::fail(before_a_run(std::move(result).error()));
  }
  options_.redactor->redact(*result);
  return opening_of(
      *result, fmt::format("the prompt `{}/{}`", server_name, agent::one_line(chosen.name, 60)));
}

std::vector<ConnectedServer> Servers::connected() const {
  std::vector<ConnectedServer> all;
  for (const auto& server : servers_) {
    const Agreement& agreement = server->agreement();
    ConnectedServer& one = all.emplace_back(
        ConnectedServer{.connection = {.name = server->spec().name,
                                       .revision = agreement.revision,
                                       .server = agreement.server,
                                       .tools = {},
                                       .is_searched = searched_.contains(server->spec().name),
                                       .has_resources = server->offers_resources()},
                        .hidden = server->hidden()});
    std::ranges::transform(
        server->tools(), std::back_inserter(one.connection.tools), &OfferedTool::agent_name);
  }
  return all;
}

}  // namespace tools::mcp
