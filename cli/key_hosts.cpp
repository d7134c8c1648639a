#include "cli/key_hosts.h"

#include "cli/terminal/key_question.h"
#include "cli/terminal/terminal.h"
#include "tools/builtin/registry.h"
#include "tools/permissions/permissions.h"
#include "tools/process/harmless_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Result;
using providers::KeyHosts;
using providers::KeyRequest;

constexpr std::string_view k_below = "://*.";
constexpr std::string_view k_blanks = " \t\n;";

// Scheme, host and port, and nothing else.
Result<providers::Origin> origin_from(const std::string& url, Code code) {
  TRY_ASSIGN(const providers::Url parts, providers::parse_url(url, code));
  if (parts.has_path || parts.has_query) {
    return agent::fail(code,
                       fmt::format("`{}` is more than a server's address", url),
                       "Give scheme, host and port alone, as in https://llm.example:8443.");
  }
  return providers::origin_of(url, code);
}

std::vector<std::string> split_at(std::string_view text, std::string_view marks) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(marks), text.size());
    if (end > 0) {
      words.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// What the user names: a server, all below a domain, or every server.
Result<providers::Origin> entry_from(const std::string& text, Code code) {
  const auto mark = text.find(k_below);
  if (text == providers::k_anywhere) {
    return providers::Origin{.text = text};
  }
  if (mark == std::string::npos) {
    return origin_from(text, code);
  }
  const std::size_t name = mark + k_below.size();
  TRY_ASSIGN(auto domain, origin_from(text.substr(0, name - 2) + text.substr(name), code));
  domain.text.insert(name - 2, "*.");
  domain.is_loopback = false;
  return domain;
}

// A host of `sandbox.allow_hosts`, as the same entry. How a program speaks to it is its own choice.
providers::Origin origin_of_host(const std::string& host) {
  auto origin = entry_from("https://" + host, Code::config_invalid);
  return origin ? *origin : providers::Origin{.text = "https://" + host};
}

// Whether it is this machine's network, or may be: a layer that is not required can be missing.
bool has_own_network(const agent::SandboxSpec& tools, const agent::CommandSandbox& own) {
  const bool is_confined = tools.mode != agent::SandboxSpec::Mode::off && !own.is_off;
  const bool is_kept = !tools.allow_hosts.empty() ||
                       std::ranges::find(tools.required, "network") != tools.required.end();
  return !is_confined || !is_kept || own.network.value_or(tools.network);
}

// What runs programs, each with what it is given of the environment.
struct Programs {
  std::span<const agent::EnvironmentUse> given;
  bool have_own_network = false;
};

std::vector<Programs> programs_of(const agent::AgentSpec& agent) {
  std::vector<Programs> all;
  for (const agent::ToolSpec& tool : agent.tools) {
    if (tools::runs_programs(tool)) {
      all.push_back({tool.in_programs, has_own_network(agent.sandbox, {})});
    }
  }
  for (const agent::HookSpec& hook : agent.hooks.hooks) {
    all.push_back({hook.in_programs, has_own_network(agent.sandbox, hook.sandbox)});
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.kind == agent::GuardrailSpec::Kind::command) {
      all.push_back({check.in_programs, has_own_network(agent.sandbox, check.sandbox)});
    }
  }
  for (const agent::McpServerSpec& server : agent::programs_of(agent.mcp_servers)) {
    all.push_back({server.in_programs, has_own_network(agent.sandbox, server.sandbox)});
  }
  if (!agent.checks.commands.empty() ||
      std::ranges::any_of(agent.steps, &agent::StepSpec::is_command)) {
    all.push_back({{}, has_own_network(agent.sandbox, {})});
  }
  return all;
}

bool have_own_network(const std::vector<Programs>& all) {
  return std::ranges::any_of(all, &Programs::have_own_network);
}

// A rule may allow it some hosts alone: whose they are is not known.
bool fetch_pages(const agent::AgentSpec& agent) {
  const auto web = tools::web_tools();
  const auto rules = tools::Permissions::create(agent.permissions, {.cwd = "/"});
  return std::ranges::any_of(agent.tools, [&](const agent::ToolSpec& tool) {
    return tool.kind == agent::ToolSpec::Kind::builtin &&
           std::ranges::find(web, tool.name) != web.end() &&
           !(rules && rules->always_denies(tool.name));
  });
}

Company company_of(const agent::AgentSpec& agent) {
  Company company;
  company.add(agent);
  return company;
}

// NAME=URL[,URL…], several with blanks or semicolons between them. `source` is for messages.
Result<void> allow_words(std::string_view text, std::string_view source, KeyHosts& hosts) {
  const auto wrong = [&](const std::string& why) {
    return agent::fail(Code::cli_usage,
                       fmt::format("{}: {}", source, why),
                       "for example CORP_LLM_KEY=https://llm.corp.example");
  };
  for (const std::string& word : split_at(text, k_blanks)) {
    const auto equals = word.find('=');
    const auto urls = equals == std::string::npos
                          ? std::vector<std::string>{}
                          : split_at(std::string_view(word).substr(equals + 1), ",");
    if (equals == 0 || urls.empty()) {
      return wrong(fmt::format("`{}` is not NAME=URL", word));
    }
    for (const std::string& url : urls) {
      auto origin = entry_from(url, Code::cli_usage);
      if (!origin) {
        return wrong(origin.error().message);
      }
      hosts.allow(word.substr(0, equals), *std::move(origin));
    }
  }
  return {};
}

}  // namespace

Result<void> allow_settings(const UserSettings& settings, KeyHosts& hosts) {
  for (const config::KeyHost& host : settings.config.key_hosts) {
    auto origin = entry_from(host.url, Code::config_invalid);
    if (!origin) {
      origin.error().where = host.where;
      return agent::fail(std::move(origin).error());
    }
    hosts.allow(host.variable, *std::move(origin));
  }
  return {};
}

Result<KeyHosts> key_hosts_of(const Parsed& parsed, const agent::Environment& environment) {
  KeyHosts hosts(environment);
  for (const std::string& text : parsed.all("--key-host")) {
    TRY(allow_words(text, "`--key-host`", hosts));
  }
  // An option does not take back what the variable says: both are the user's own words.
  TRY(allow_words(
      agent::value_of(environment, "ERRAND_KEY_HOSTS"), "the variable ERRAND_KEY_HOSTS", hosts));
  return hosts;
}

void Company::add(const agent::AgentSpec& agent) {
  has_network_ = has_network_ || have_own_network(programs_of(agent));
  fetches_pages_ = fetches_pages_ || fetch_pages(agent);
  hear(agent);
}

void Company::hear(const agent::AgentSpec& agent) {
  for (const agent::EnvironmentUse& use : agent.in_texts) {
    if (names_.insert(use.name).second) {
      texts_.push_back(use);
    }
  }
}

Company Company::of(std::span<const agent::AgentSpec* const> agents) {
  Company company;
  for (const agent::AgentSpec* agent : agents) {
    company.add(*agent);
  }
  return company;
}

KeyRequests::KeyRequests(KeyHosts hosts, const agent::AgentSpec& agent, Company company)
    : hosts_(std::move(hosts)), agent_(agent), company_(std::move(company)) {
  if (company_.has_network()) {
    hosts_.share_loopback();
  }
}

KeyRequests::KeyRequests(KeyHosts hosts, const agent::AgentSpec& agent)
    : KeyRequests(std::move(hosts), agent, company_of(agent)) {}

providers::KeyCheck KeyRequests::check() {
  return [this](const KeyRequest& request) -> Result<void> {
    add(request);
    return {};
  };
}

void KeyRequests::add_texts(const providers::Resolved& model) {
  if (model.protocol == providers::k_replay || company_.texts().empty()) {
    return;
  }
  const auto origin = providers::origin_of(model.base_url, Code::config_invalid);
  for (const agent::EnvironmentUse& use : company_.texts()) {
    add({.variable = use.name,
         .origin = origin ? *origin : providers::Origin{.text = model.base_url},
         .place = KeyRequest::Place::text,
         .where = use.where});
  }
}

void KeyRequests::add_programs(const agent::Environment& environment) {
  const std::vector<providers::Origin> anywhere = {{.text = std::string(providers::k_anywhere)}};
  std::vector<providers::Origin> hosts;
  std::ranges::transform(agent_.sandbox.allow_hosts, std::back_inserter(hosts), origin_of_host);
  const agent::Environment harmless = tools::harmless_variables(environment);
  const auto add_uses =
      [&](std::span<const agent::EnvironmentUse> uses, bool is_anywhere, KeyRequest::Place place) {
        for (const agent::EnvironmentUse& use : uses) {
          if (harmless.contains(use.name)) {
            continue;
          }
          for (const providers::Origin& origin : is_anywhere ? anywhere : hosts) {
            add({.variable = use.name, .origin = origin, .place = place, .where = use.where});
          }
        }
      };
  const std::vector<Programs> all = programs_of(agent_);
  for (const Programs& programs : all) {
    add_uses(programs.given, programs.have_own_network, KeyRequest::Place::program);
  }
  const bool is_anywhere = company_.fetches_pages() || company_.has_network();
  if (is_anywhere || !all.empty()) {
    add_uses(company_.texts(), is_anywhere, KeyRequest::Place::told);
  }
}

void KeyRequests::add_servers() {
  for (const agent::McpServerSpec& server : agent_.mcp_servers) {
    if (server.is_program()) {
      continue;
    }
    const auto known = providers::origin_of(server.url, Code::config_invalid);
    const providers::Origin origin = known ? *known : providers::Origin{.text = server.url};
    const auto add_uses = [&](std::span<const agent::EnvironmentUse> uses,
                              KeyRequest::Place place) {
      for (const agent::EnvironmentUse& use : uses) {
        add({.variable = use.name, .origin = origin, .place = place, .where = use.where});
      }
    };
    add_uses(server.in_headers, KeyRequest::Place::header);
    add_uses(server.in_url, KeyRequest::Place::address);
    add_uses(company_.texts(), KeyRequest::Place::told);
    if (server.oauth && !server.oauth->issuer.empty()) {
      const auto issuer = providers::origin_of(server.oauth->issuer, Code::config_invalid);
      const providers::Origin to =
          issuer ? *issuer : providers::Origin{.text = server.oauth->issuer};
      for (const agent::EnvironmentUse& use : server.oauth->in_secret) {
        add({.variable = use.name,
             .origin = to,
             .place = KeyRequest::Place::client,
             .where = use.where});
      }
      for (const auto* uses : {&server.oauth->in_words, &server.in_url}) {
        for (const agent::EnvironmentUse& use : *uses) {
          add({.variable = use.name,
               .origin = to,
               .place = KeyRequest::Place::login,
               .where = use.where});
        }
      }
    }
  }
}

void KeyRequests::add(const KeyRequest& request) {
  const bool is_known = std::ranges::any_of(requests_, [&](const KeyRequest& one) {
    return one.variable == request.variable && one.origin == request.origin;
  });
  if (!is_known && !hosts_.allows(request)) {
    requests_.push_back(request);
  }
}

std::vector<KeyRequest> key_requests_of(std::span<const Asker> all,
                                        const Company& company,
                                        const KeyHosts& hosts,
                                        const agent::Environment& environment) {
  std::vector<KeyRequest> requests;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Asker& one : all) {
    KeyRequests keys(hosts, *one.agent, company);
    std::vector<providers::Resolved> models;
    for (const agent::ModelSpec& spec : one.models) {
      if (auto model = providers::resolve(spec, environment, keys.check())) {
        models.push_back(*std::move(model));
      }
    }
    std::ranges::for_each(models, [&](const auto& model) { keys.add_texts(model); });
    keys.add_programs(environment);
    keys.add_servers();
    for (KeyRequest& request : keys.take()) {
      if (seen.emplace(request.variable, request.origin.text).second) {
        requests.push_back(std::move(request));
      }
    }
  }
  return requests;
}

std::vector<agent::Error> refusals(const std::vector<KeyRequest>& requests,
                                   const agent::Redactor& redactor) {
  std::vector<agent::Error> errors;
  for (const KeyRequest& request : requests) {
    agent::Error error = providers::refusal(request);
    error.message = redactor.apply(error.message);
    error.help = redactor.apply(error.help);
    errors.push_back(std::move(error));
  }
  return errors;
}

std::vector<agent::Error> settle(const std::vector<KeyRequest>& requests,
                                 const KeySettler& settler) {
  if (!Terminal::is_there()) {
    return refusals(requests, settler.redactor);
  }
  for (const KeyRequest& request : requests) {
    const KeyQuestion question{.variable = request.variable,
                               .origin = request.origin.text,
                               .server = providers::shown(request.origin),
                               .file = request.where ? request.where->file : "the agent file",
                               .is_of_program = request.place == KeyRequest::Place::program ||
                                                request.place == KeyRequest::Place::told};
    const bool may_keep =
        !settler.user_config.empty() && settler.redactor.is_clean(question.origin);
    const KeyAnswer answer = ask_for_key(
        question, may_keep, settler.color, settler.redactor, settler.cancellation.stop());
    if (settler.cancellation.signal_number() != 0) {
      return {{.code = Code::run_cancelled,
               .message = "a signal ended the run before anything was sent",
               .help = {}}};
    }
    if (settler.cancellation.is_expired()) {
      return {{.code = Code::run_timeout,
               .message = "the run's time (--timeout) was over before anything was sent",
               .help = "Give it more time, or say beforehand where the key may go (--key-host)."}};
    }
    if (answer == KeyAnswer::always) {
      keep_key_host(question, settler.user_config, settler.redactor);
    } else if (answer != KeyAnswer::once) {
      return refusals({request}, settler.redactor);
    }
  }
  return {};
}

}  // namespace cli
