#include "config/unknown_key.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace config {
namespace {

// A name that other tools use, spelled as in canonical(), for a key of ours.
struct OtherName {
  std::string_view map;
  std::string_view other;
  std::string_view ours;  // a path of the table
};

constexpr auto k_other_names = std::to_array<OtherName>({
    {"", "instruction", "instructions"},
    {"", "systemprompt", "instructions"},
    {"", "systemmessage", "instructions"},
    {"", "system", "instructions"},
    {"", "developerinstructions", "instructions"},
    {"", "role", "instructions"},
    {"", "goal", "instructions"},
    {"", "backstory", "instructions"},
    {"", "task", "prompt"},
    {"", "message", "prompt"},
    {"", "userprompt", "prompt"},
    {"", "title", "name"},
    {"", "id", "name"},
    {"", "llm", "model"},
    {"", "models", "model"},
    {"", "provider", "model"},
    {"", "settings", "model"},
    {"", "modelconfig", "model"},
    {"", "engine", "model"},
    {"", "effort", "model.reasoning"},
    {"", "reasoningeffort", "model.reasoning"},
    {"", "endpoint", "model.base_url"},
    {"", "tokenkey", "model.api_key_env"},
    {"", "maxiterations", "limits.max_turns"},
    {"", "maxiter", "limits.max_turns"},
    {"", "maxsteps", "limits.max_turns"},
    {"", "maxconsecutivetoolcalls", "limits.max_repeat_calls"},
    {"", "budget", "limits"},
    {"", "budgets", "limits"},
    {"", "maxexecutiontime", "limits.timeout"},
    {"", "maxtime", "limits.timeout"},
    {"", "timeoutminutes", "limits.timeout"},
    {"", "stopafter", "limits.timeout"},
    {"", "maxcost", "limits.max_cost_usd"},
    {"", "maxbudgetusd", "limits.max_cost_usd"},
    {"", "toolsets", "tools"},
    {"", "extensions", "tools"},
    {"", "usetools", "tools"},
    {"", "functions", "tools"},
    {"", "allowedtools", "tools"},
    {"", "mcps", "mcp_servers"},
    {"", "mcp", "mcp_servers"},
    {"", "response", "output"},
    {"", "responseformat", "output"},
    {"", "outputschema", "output"},
    {"", "structuredoutput", "output"},
    {"", "jsonschema", "output"},
    {"", "outputtype", "output"},
    {"", "variables", "parameters"},
    {"", "inputs", "parameters"},
    {"", "inputschema", "parameters"},
    {"", "params", "parameters"},
    {"", "addpromptfiles", "context"},
    {"", "contextfiles", "context"},
    {"", "knowledge", "context"},
    {"", "permission", "permissions"},
    {"", "permissionmode", "permissions"},
    {"", "disallowedtools", "permissions"},
    {"", "handoff", "handoffs"},
    {"", "transfers", "handoffs"},
    {"", "subrecipes", "sub_agents"},
    {"", "fallbackmodel", "fallback"},
    {"", "retries", "retry"},
    {"", "maxretries", "retry.max_attempts"},
    {"", "maxretrylimit", "retry.max_attempts"},
    {"", "compaction", "context_management"},
    {"model", "model", "model.name"},
    {"model", "id", "model.name"},
    {"model", "modelname", "model.name"},
    {"model", "provider", "model.name"},
    {"model", "api", "model.protocol"},
    {"model", "apitype", "model.protocol"},
    {"model", "wireapi", "model.protocol"},
    {"model", "type", "model.protocol"},
    {"model", "rpm", "model.requests_per_minute"},
    {"model", "maxrpm", "model.requests_per_minute"},
    {"model", "maxconcurrency", "model.max_in_flight"},
    {"model", "maxconcurrent", "model.max_in_flight"},
    {"model", "url", "model.base_url"},
    {"model", "endpoint", "model.base_url"},
    {"model", "apibase", "model.base_url"},
    {"model", "host", "model.base_url"},
    {"model", "tokenkey", "model.api_key_env"},
    {"model", "envkey", "model.api_key_env"},
    {"model", "keyenv", "model.api_key_env"},
    {"model", "streaming", "model.stream"},
    {"model", "extraheaders", "model.headers"},
    {"model", "httpheaders", "model.headers"},
    {"model", "maxtokens", "model.max_output_tokens"},
    {"model", "maxcompletiontokens", "model.max_output_tokens"},
    {"model", "effort", "model.reasoning"},
    {"model", "reasoningeffort", "model.reasoning"},
    {"model", "thinking", "model.reasoning"},
    {"model", "thinkingbudget", "model.reasoning"},
    {"model", "timeout", "model.timeouts"},
    {"model.timeouts", "firsttoken", "model.timeouts.first_byte"},
    {"model.timeouts", "total", "model.timeouts.request"},
    {"model.timeouts", "read", "model.timeouts.idle"},
    {"hooks", "beforetool", "hooks.pre_tool_use"},
    {"hooks", "aftertool", "hooks.post_tool_use"},
    {"hooks", "sessionstart", "hooks.run_start"},
    {"hooks", "userpromptsubmit", "hooks.run_start"},
    {"hooks", "beforeagent", "hooks.run_start"},
    {"hooks", "beforemodel", "hooks.pre_model"},
    {"hooks", "beforellmcall", "hooks.pre_model"},
    {"hooks", "aftermodel", "hooks.post_model"},
    {"hooks", "afterllmcall", "hooks.post_model"},
    {"hooks", "afteragent", "hooks.stop"},
    {"hooks", "sessionend", "hooks.run_end"},
    {"hooks", "precompress", "hooks.pre_compact"},
    {"hooks", "pretooluse", "hooks.pre_tool_use"},
    {"hooks", "posttooluse", "hooks.post_tool_use"},
    {"limits", "maxiterations", "limits.max_turns"},
    {"limits", "maxsteps", "limits.max_turns"},
    {"limits", "steps", "limits.max_turns"},
    {"limits", "turns", "limits.max_turns"},
    {"limits", "maxtokens", "limits.max_total_tokens"},
    {"limits", "tokens", "limits.max_total_tokens"},
    {"limits", "maxtime", "limits.timeout"},
    {"limits", "maxexecutiontime", "limits.timeout"},
    {"limits", "duration", "limits.timeout"},
    {"limits", "maxcost", "limits.max_cost_usd"},
    {"limits", "cost", "limits.max_cost_usd"},
    {"limits", "maxbudgetusd", "limits.max_cost_usd"},
    {"retry", "maxretries", "retry.max_attempts"},
    {"retry", "retries", "retry.max_attempts"},
    {"retry", "attempts", "retry.max_attempts"},
    {"retry", "backoff", "retry.initial_delay"},
    {"retry", "delay", "retry.initial_delay"},
    {"retry", "timeout", "retry.max_elapsed"},
    {"parameters.*", "inputtype", "parameters.*.type"},
    {"parameters.*", "requirement", "parameters.*.required"},
    {"parameters.*", "options", "parameters.*.enum"},
    {"parameters.*", "choices", "parameters.*.enum"},
    {"parameters.*", "value", "parameters.*.default"},
    {"tools[]", "cmd", "tools[].command"},
    {"tools[]", "run", "tools[].command"},
    {"tools[]", "args", "tools[].command"},
    {"tools[]", "argv", "tools[].command"},
    {"tools[]", "inputschema", "tools[].parameters"},
    {"tools[]", "schema", "tools[].parameters"},
    {"tools[]", "arguments", "tools[].parameters"},
    {"tools[]", "timeoutseconds", "tools[].timeout"},
    {"mcp_servers.*", "cmd", "mcp_servers.*.command"},
    {"mcp_servers.*", "executable", "mcp_servers.*.command"},
    {"mcp_servers.*", "argv", "mcp_servers.*.args"},
    {"mcp_servers.*", "arguments", "mcp_servers.*.args"},
    {"mcp_servers.*", "envs", "mcp_servers.*.env"},
    {"mcp_servers.*", "environment", "mcp_servers.*.env"},
    {"mcp_servers.*", "httpurl", "mcp_servers.*.url"},
    {"mcp_servers.*", "serverurl", "mcp_servers.*.url"},
    {"mcp_servers.*", "uri", "mcp_servers.*.url"},
    {"mcp_servers.*", "endpoint", "mcp_servers.*.url"},
    {"mcp_servers.*", "transport", "mcp_servers.*.type"},
    {"mcp_servers.*", "transporttype", "mcp_servers.*.type"},
    {"mcp_servers.*", "httpheaders", "mcp_servers.*.headers"},
    {"mcp_servers.*", "auth", "mcp_servers.*.oauth"},
    {"mcp_servers.*", "authorization", "mcp_servers.*.oauth"},
    {"mcp_servers.*", "includetools", "mcp_servers.*.tools"},
    {"mcp_servers.*", "enabledtools", "mcp_servers.*.tools"},
    {"mcp_servers.*", "allowedtools", "mcp_servers.*.tools"},
    {"mcp_servers.*", "availabletools", "mcp_servers.*.tools"},
    {"mcp_servers.*", "toolfilter", "mcp_servers.*.tools"},
    {"mcp_servers.*", "timeout", "mcp_servers.*.timeouts"},
    {"mcp_servers.*", "timeoutms", "mcp_servers.*.timeouts"},
    {"mcp_servers.*", "startuptimeoutsec", "mcp_servers.*.timeouts"},
    {"mcp_servers.*", "tooltimeoutsec", "mcp_servers.*.timeouts"},
    {"mcp_servers.*", "optional", "mcp_servers.*.required"},
    {"session", "path", "session.store"},
    {"session", "file", "session.store"},
    {"replies[]", "content", "replies[].text"},
    {"replies[]", "message", "replies[].text"},
    {"replies[]", "thinking", "replies[].reasoning"},
    {"replies[]", "tools", "replies[].tool_calls"},
    {"replies[]", "calls", "replies[].tool_calls"},
    {"replies[]", "toolcall", "replies[].tool_calls"},
    {"replies[]", "finishreason", "replies[].stop_reason"},
    {"replies[]", "times", "replies[].repeat"},
    {"replies[]", "code", "replies[].error"},
    {"replies[]", "fault", "replies[].error"},
    {"replies[].tool_calls[]", "input", "replies[].tool_calls[].arguments"},
    {"replies[].tool_calls[]", "args", "replies[].tool_calls[].arguments"},
    {"replies[].tool_calls[]", "tool", "replies[].tool_calls[].name"},
    {"", "steps", "replies"},
    {"", "turns", "replies"},
    {"", "responses", "replies"},
});

// A name that other tools use, spelled as in canonical(), for what no key of ours says.
struct NoKey {
  std::string_view map;
  std::string_view other;
  std::string_view help;
};

constexpr std::string_view k_no_switch =
    "what is in the file is used: take the server out where it is not to be, or put the map under "
    "a key that begins with `x-`";
constexpr std::string_view k_no_approval =
    "what may run without a yes is said by rules: `permissions: {allow: [\"mcp__SERVER__TOOL\"]}`";
constexpr std::string_view k_no_folder =
    "a server outside of the sandbox starts where tools cannot write, one with `sandbox: true` in "
    "the working folder: give it the folder in `args` or `env`";
constexpr std::string_view k_no_exclusion =
    "tools are left out by a `!` in `tools`: `tools: [\"*\", \"!NAME\"]`";

constexpr auto k_no_keys = std::to_array<NoKey>({
    {"mcp_servers.*", "disabled", k_no_switch},
    {"mcp_servers.*", "enabled", k_no_switch},
    {"mcp_servers.*", "autoapprove", k_no_approval},
    {"mcp_servers.*", "alwaysallow", k_no_approval},
    {"mcp_servers.*", "autoallow", k_no_approval},
    {"mcp_servers.*", "trust", k_no_approval},
    {"mcp_servers.*", "trusted", k_no_approval},
    {"mcp_servers.*", "cwd", k_no_folder},
    {"mcp_servers.*", "workingdirectory", k_no_folder},
    {"mcp_servers.*", "workdir", k_no_folder},
    {"mcp_servers.*", "excludetools", k_no_exclusion},
    {"mcp_servers.*", "disabledtools", k_no_exclusion},
    {"mcp_servers.*", "envfile", "each variable is named: `env: {NAME: \"${env:NAME}\"}`"},
    {"mcp_servers.*", "description", "it says itself what it is; a comment begins with `#`"},
});

// One spelling for max_turns, maxTurns, max-turns, MAX_TURNS.
std::string canonical(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '-' && c != '_' && c != ' ') {
      letters += agent::to_lower(c);
    }
  }
  return letters;
}

const Key* other_spelling(std::span<const Key* const> candidates, std::string_view key) {
  const auto found = std::ranges::find(
      candidates, canonical(key), [](const Key* row) { return canonical(last_part(row->path)); });
  return found == candidates.end() ? nullptr : *found;
}

const Key* name_of_another_tool(std::span<const Key> table,
                                std::string_view map,
                                std::string_view key) {
  const std::string name = canonical(key);
  for (const OtherName& row : k_other_names) {
    if (row.map == map && row.other == name) {
      if (const Key* ours = find_key(table, row.ours)) {
        return ours;
      }
    }
  }
  return nullptr;
}

std::string_view help_without_key(std::string_view map, std::string_view key) {
  const std::string name = canonical(key);
  const auto found = std::ranges::find_if(
      k_no_keys, [&](const NoKey& row) { return row.map == map && row.other == name; });
  return found == k_no_keys.end() ? std::string_view() : found->help;
}

const Key* nearest_key(std::span<const Key* const> candidates, std::string_view key) {
  std::vector<std::string_view> names;
  for (const Key* row : candidates) {
    names.push_back(last_part(row->path));
  }
  const auto name = agent::nearest(key, std::span<const std::string_view>(names));
  return name
             ? candidates[static_cast<std::size_t>(std::ranges::find(names, *name) - names.begin())]
             : nullptr;
}

// A key that exists, but in one other map: `temperature` at the top.
const Key* key_of_another_map(std::span<const Key> table, std::string_view key) {
  const Key* found = nullptr;
  for (const Key& row : table) {
    const bool is_named = row.path.find_first_of("*[") == std::string_view::npos;
    if (is_named && canonical(last_part(row.path)) == canonical(key)) {
      if (found != nullptr) {
        return nullptr;
      }
      found = &row;
    }
  }
  return found;
}

std::string names_of(std::span<const Key* const> rows) {
  std::vector<std::string_view> names;
  for (const Key* row : rows) {
    if (row->status == Status::available) {
      names.push_back(last_part(row->path));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

std::string advise(const Key& meant, std::string_view map) {
  const std::string_view name = last_part(meant.path);
  if (meant.status == Status::later) {
    return fmt::format("that would be `{}`, which is not supported yet: take it out", meant.path);
  }
  if (parent_of(meant.path).empty() && !map.empty()) {
    return fmt::format("`{}` stands at the top of the file", name);
  }
  if (parent_of(meant.path) != map) {
    return fmt::format("write `{}` under `{}:`", name, parent_of(meant.path));
  }
  return fmt::format("did you mean `{}`?", name);
}

std::string place(std::string_view map) {
  return map.empty() ? std::string("at the top") : fmt::format("in `{}`", map);
}

}  // namespace

std::string_view last_part(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string join(std::string_view map, std::string_view key) {
  return map.empty() ? std::string(key) : fmt::format("{}.{}", map, key);
}

const Key* find_key(std::span<const Key> table, std::string_view path) {
  const auto row = std::ranges::find(table, path, &Key::path);
  return row == table.end() ? nullptr : &*row;
}

std::vector<const Key*> children(std::span<const Key> table, std::string_view map) {
  std::vector<const Key*> rows;
  for (const Key& row : table) {
    const std::string_view name = last_part(row.path);
    if (parent_of(row.path) == map && name != "*" && !name.ends_with("[]")) {
      rows.push_back(&row);
    }
  }
  return rows;
}

bool names_a_secret(std::string_view key) {
  const std::string name = canonical(key);
  constexpr auto k_names = std::to_array<std::string_view>(
      {"apikey", "key", "token", "apitoken", "accesstoken", "authtoken", "secret", "password"});
  return std::ranges::find(k_names, name) != k_names.end();
}

Advice unknown_key(std::span<const Key> table,
                   std::string_view map,
                   std::string_view shown,
                   std::string_view key) {
  const std::string message =
      fmt::format("unknown key `{}` {}", agent::one_line(key, 80), place(shown));
  const auto here = children(table, map);
  if (names_a_secret(key)) {
    return {
        fmt::format("an API key does not belong in the file: unknown key `{}`", key),
        "put it into an environment variable and name that: `api_key_env: NAME` under `model:`"};
  }
  if (map.empty() && canonical(key) == "maxtokens" && find_key(table, "limits") != nullptr) {
    return {message,
            "write `max_output_tokens` under `model:` for one answer, or `max_total_tokens` under "
            "`limits:` for the whole run"};
  }
  if (const std::string_view help = help_without_key(map, key); !help.empty()) {
    return {message, std::string(help)};
  }
  const Key* meant = other_spelling(here, key);
  if (meant == nullptr) {
    meant = name_of_another_tool(table, map, key);
  }
  if (meant == nullptr) {
    meant = nearest_key(here, key);
  }
  if (meant == nullptr) {
    meant = key_of_another_map(table, key);
  }
  return {message,
          meant != nullptr ? advise(*meant, map)
                           : fmt::format("known here: {}; x-… is free", names_of(here))};
}

}  // namespace config
