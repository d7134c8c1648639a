#include "cli/manual/topics.h"

#include "cli/manual/man.h"
#include "cli/manual/plain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cli {
namespace {

using Title = std::string_view;

constexpr auto k_script = std::to_array<Title>({"EXAMPLES"});
constexpr auto k_environment = std::to_array<Title>({"ENVIRONMENT", "FILES"});
constexpr auto k_keys = std::to_array<Title>({"KEYS"});
constexpr auto k_yaml = std::to_array<Title>({"YAML, NUMBERS AND SCHEMAS"});
constexpr auto k_tools = std::to_array<Title>({"BUILT-IN TOOLS"});
constexpr auto k_permissions = std::to_array<Title>({"PERMISSIONS"});
constexpr auto k_guardrails = std::to_array<Title>({"GUARDRAILS"});
constexpr auto k_checks = std::to_array<Title>({"CHECKS"});
constexpr auto k_sub_agents = std::to_array<Title>({"SUB-AGENTS"});
constexpr auto k_handoffs = std::to_array<Title>({"HANDOFFS"});
constexpr auto k_flows = std::to_array<Title>({"FLOWS", "EXPRESSIONS"});
constexpr auto k_context = std::to_array<Title>({"LONG CONVERSATIONS"});
constexpr auto k_mcp = std::to_array<Title>({"MCP SERVERS"});
constexpr auto k_sandbox =
    std::to_array<Title>({"THE SANDBOX", "ORDINARY WORK IN THE SANDBOX", "WHAT PROGRAMS ARE TOLD"});
constexpr auto k_web = std::to_array<Title>({"THE WEB", "WORDS FROM OUTSIDE"});
constexpr auto k_secrets = std::to_array<Title>({"SECRETS", "WHERE KEYS GO"});
constexpr auto k_settings = std::to_array<Title>({"SETTINGS OF THE USER", "SETTINGS OF A PROJECT"});
constexpr auto k_providers = std::to_array<Title>({"PROVIDERS"});
constexpr auto k_recordings = std::to_array<Title>({"RECORDINGS"});

constexpr auto k_topics = std::to_array<Topic>({
    {"errand", "every command with all of its options", "errand.1", {}},
    {"script", "a script that knows how a run ended", "errand.1", k_script},
    {"environment", "variables and files that errand reads", "errand.1", k_environment},
    {"exit-codes", "how a run ends: exit codes and error codes", "errand-exit-codes.7", {}},
    {"agent", "the agent file, all of it", "errand-agent.5", {}},
    {"keys", "the keys of the agent file", "errand-agent.5", k_keys},
    {"yaml", "what is taken of YAML, numbers and JSON Schema", "errand-agent.5", k_yaml},
    {"builtin-tools", "the tools that errand has", "errand-agent.5", k_tools},
    {"permissions", "which calls may run, and who is asked", "errand-agent.5", k_permissions},
    {"guardrails", "checks of what the model and the tools say", "errand-agent.5", k_guardrails},
    {"checks", "commands that say whether the work is done", "errand-agent.5", k_checks},
    {"sub-agents",
     "agents that an agent calls, and what they may do",
     "errand-agent.5",
     k_sub_agents},
    {"handoffs",
     "agents that hand the conversation over to another one",
     "errand-agent.5",
     k_handoffs},
    {"flows", "several agents and commands, in order and side by side", "errand-agent.5", k_flows},
    {"context", "a conversation that outgrows the model's window", "errand-agent.5", k_context},
    {"mcp", "servers whose tools the agent has", "errand-agent.5", k_mcp},
    {"sandbox", "what the programs of tools can reach", "errand-agent.5", k_sandbox},
    {"web", "pages from the web, and words from outside", "errand-agent.5", k_web},
    {"secrets", "what is redacted, and where keys go", "errand-agent.5", k_secrets},
    {"settings", "the settings of a user and of a project", "errand-agent.5", k_settings},
    {"providers", "who answers, at which address, with which key", "errand-agent.5", k_providers},
    {"hooks", "commands at certain points of a run", "errand-hooks.7", {}},
    {"test", "test cases, replay scripts and recordings", "errand-test.5", {}},
    {"recordings", "what a recording holds, and how it is replayed", "errand-test.5", k_recordings},
});

std::string_view stem(std::string_view page) {
  return page.substr(0, page.rfind('.'));
}

// From `.Sh TITLE` up to the next one; empty where the page has no such section.
std::string_view section_of(std::string_view text, std::string_view title) {
  const std::string heading = fmt::format("\n.Sh {}\n", title);
  const auto found = text.find(heading);
  if (found == std::string_view::npos) {
    return {};
  }
  const std::string_view section = text.substr(found + 1);
  return section.substr(0, section.find("\n.Sh ") + 1);  // npos + 1: all of it
}

}  // namespace

std::span<const Topic> help_topics() {
  return k_topics;
}

const Topic* find_topic(std::string_view name) {
  const auto found = std::ranges::find_if(k_topics, [&](const Topic& topic) {
    return topic.name == name || (topic.sections.empty() && stem(topic.page) == name);
  });
  return found == k_topics.end() ? nullptr : &*found;
}

agent::Result<std::string> topic_text(const Topic& topic, bool bold) {
  const auto page = std::ranges::find(man_pages(), topic.page, &ManPage::name);
  if (page == man_pages().end()) {
    return agent::fail(agent::Code::internal, fmt::format("there is no page {}", topic.page));
  }
  std::string source(topic.sections.empty() ? page->text : std::string_view());
  for (const std::string_view title : topic.sections) {
    const std::string_view section = section_of(page->text, title);
    if (section.empty()) {
      return agent::fail(agent::Code::internal,
                         fmt::format("{} has no section {}", topic.page, title));
    }
    source += section;
  }
  TRY_ASSIGN(const std::string whole, with_tables(source));
  return mdoc::plain_text(whole, {.name = stem(topic.page), .bold = bold});
}

}  // namespace cli
