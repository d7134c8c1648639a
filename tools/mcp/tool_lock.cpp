#include "tools/mcp/tool_lock.h"

#include "agent/refusal.h"
#include "agent/sha256.h"
#include "agent/text.h"
#include "agent/written_out.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;

constexpr std::string_view k_schema = "errand.mcp-lock/1";
constexpr std::size_t k_shown_description = 160;  // bytes
constexpr std::size_t k_shown_name = 60;
constexpr std::size_t k_shown_parameters = 300;
constexpr std::size_t k_shown_digest = 12;  // of its digits
constexpr std::size_t k_digest_digits = 64;
constexpr std::size_t k_kept_schema = 160;  // bytes, of an argument
constexpr std::string_view k_cut_schema = "… sha256:";
constexpr std::size_t k_kept_schemas = 100;  // of a tool
constexpr std::size_t k_shown_changes = 10;  // of a tool

bool is_digest(std::string_view text) {
  return text.size() == k_digest_digits && std::ranges::all_of(text, [](char one) {
           return agent::is_digit(one) || (one >= 'a' && one <= 'f');
         });
}

Json json_of(const LockedTool& tool) {
  Json json = {{"description", tool.description},
               {"description_sha256", tool.description_sha256},
               {"parameters", tool.parameters},
               {"schema_sha256", tool.schema_sha256}};
  if (!tool.results_sha256.empty()) {
    json["output_schema_sha256"] = tool.results_sha256;
  }
  if (!tool.schemas.empty()) {
    json["required"] = tool.required;
    json["schemas"] = tool.schemas;
  }
  return json;
}

// Without a character that nobody sees.
std::string line_of(const Json& json) {
  return agent::printable_json(agent::dump(json));
}

std::vector<std::string> words_in(const Json& object, std::string_view member) {
  std::vector<std::string> words;
  if (const Json* const items = agent::find(object, member);
      items != nullptr && items->is_array()) {
    for (const Json& item : *items) {
      if (item.is_string()) {
        words.push_back(item.get<std::string>());
      }
    }
  }
  return words;
}

agent::Error no_lock(std::string_view file, std::string_view why) {
  return {.code = Code::config_invalid,
          .message = fmt::format("{} is not a lock of MCP tools: {}", file, why),
          .help = "restore it, or accept the tools as they are now: `errand mcp lock AGENT`"};
}

std::optional<LockedTool> tool_of(const Json& json) {
  LockedTool tool{.description = std::string(agent::text_at(json, "description")),
                  .description_sha256 = std::string(agent::text_at(json, "description_sha256")),
                  .parameters = {},
                  .schema_sha256 = std::string(agent::text_at(json, "schema_sha256")),
                  .results_sha256 = std::string(agent::text_at(json, "output_schema_sha256"))};
  if (!is_digest(tool.description_sha256) || !is_digest(tool.schema_sha256) ||
      (!tool.results_sha256.empty() && !is_digest(tool.results_sha256))) {
    return std::nullopt;
  }
  tool.parameters = words_in(json, "parameters");
  tool.required = words_in(json, "required");
  if (const Json* const schemas = agent::find(json, "schemas");
      schemas != nullptr && schemas->is_object()) {
    for (const auto& [name, schema] : schemas->items()) {
      if (schema.is_string()) {
        tool.schemas.insert_or_assign(name, schema.get<std::string>());
      }
    }
  }
  return tool;
}

Result<void> check_version(const Json& json, std::string_view file) {
  const std::string_view schema = agent::text_at(json, "schema");
  if (schema == k_schema) {
    return {};
  }
  if (schema.starts_with(k_schema.substr(0, k_schema.find('/') + 1))) {
    return agent::fail(Code::config_invalid,
                       fmt::format("{} is of the version `{}`; this errand knows `{}`",
                                   file,
                                   agent::one_line(schema, k_shown_name),
                                   k_schema),
                       "use the errand that wrote it, or remove the file and lock anew");
  }
  return agent::fail(no_lock(file, fmt::format("it has no `schema: {}`", k_schema)));
}

std::string quoted_name(std::string_view name) {
  return fmt::format("`{}`", agent::written_out_line(name, k_shown_name));
}

std::string shown_parameters(const std::vector<std::string>& names) {
  return agent::written_out_line(fmt::format("({})", fmt::join(names, ", ")), k_shown_parameters);
}

// From a lock that anybody may have written by hand.
std::string shown_description(const LockedTool& tool) {
  return fmt::format("\"{}\"", agent::written_out_line(tool.description, k_shown_description));
}

std::string description_change(const LockedTool& before, const LockedTool& after) {
  return before.description == after.description
             ? fmt::format("its description changed behind {}", shown_description(before))
             : fmt::format("its description was {}, and is {}",
                           shown_description(before),
                           shown_description(after));
}

// As the server has it: it is written out where it is shown.
std::string kept_description(std::string_view text) {
  return agent::excerpt(text, k_shown_description);
}

std::string kept_schema(const Json& schema, const agent::Redactor& redactor) {
  const std::string whole = agent::canonical(schema);
  const std::string text = redactor.apply(whole);
  return text.size() <= k_kept_schema
             ? text
             : fmt::format("{}{}{}",
                           agent::prefix(text, k_kept_schema),
                           k_cut_schema,
                           agent::sha256_hex(whole).substr(0, k_shown_digest));
}

// Anybody may have written it, too.
std::string shown_schema(std::string_view schema) {
  const std::size_t cut = schema.rfind(k_cut_schema);
  if (cut == std::string_view::npos) {
    return agent::written_out_line(schema, 2 * k_kept_schema);
  }
  return fmt::format(
      "{}{}{}",
      agent::written_out_line(schema.substr(0, cut), 2 * k_kept_schema),
      k_cut_schema,
      agent::written_out_line(schema.substr(cut + k_cut_schema.size()), k_shown_digest));
}

std::string required_change(const LockedTool& before, const LockedTool& after) {
  return before.required == after.required ? std::string()
                                           : fmt::format("{} must be given, and before {}",
                                                         shown_parameters(after.required),
                                                         shown_parameters(before.required));
}

// Argument by argument.
std::vector<std::string> argument_changes(const LockedTool& before, const LockedTool& after) {
  std::vector<std::string> parts;
  for (const auto& [name, schema] : before.schemas) {
    const auto now = after.schemas.find(name);
    if (now == after.schemas.end()) {
      parts.push_back(fmt::format("its argument {} is gone", quoted_name(name)));
    } else if (now->second != schema) {
      parts.push_back(fmt::format("its argument {} was {}, and is {}",
                                  quoted_name(name),
                                  shown_schema(schema),
                                  shown_schema(now->second)));
    }
  }
  for (const auto& [name, schema] : after.schemas) {
    if (!before.schemas.contains(name)) {
      parts.push_back(
          fmt::format("its argument {} is new, {}", quoted_name(name), shown_schema(schema)));
    }
  }
  if (std::string required = required_change(before, after); !required.empty()) {
    parts.push_back(std::move(required));
  }
  return parts;
}

// By names and digests: all that a lock of an earlier errand has.
std::string whole_schema_change(const LockedTool& before, const LockedTool& after) {
  return before.parameters == after.parameters
             ? fmt::format("the schema of its arguments {} was {}, and is {}",
                           shown_parameters(before.parameters),
                           before.schema_sha256.substr(0, k_shown_digest),
                           after.schema_sha256.substr(0, k_shown_digest))
             : fmt::format("its arguments were {}, and are {}",
                           shown_parameters(before.parameters),
                           shown_parameters(after.parameters));
}

std::string schema_change(const LockedTool& before, const LockedTool& after) {
  const bool is_kept = before.schemas.size() == before.parameters.size() &&
                       after.schemas.size() == after.parameters.size();
  std::vector<std::string> parts;
  if (is_kept) {
    parts = argument_changes(before, after);
  }
  if (parts.empty()) {
    return whole_schema_change(before, after);
  }
  if (parts.size() > k_shown_changes) {
    const std::size_t more = parts.size() - k_shown_changes;
    parts.resize(k_shown_changes);
    parts.push_back(fmt::format("{} more changes of its arguments", more));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string results_change(const LockedTool& before, const LockedTool& after) {
  const auto shown = [](const std::string& digest) {
    return digest.empty() ? "none" : digest.substr(0, k_shown_digest);
  };
  return fmt::format("the schema of its results (`outputSchema`) was {}, and is {}",
                     shown(before.results_sha256),
                     shown(after.results_sha256));
}

void compare(const std::string& server,
             const LockedTools& before,
             const LockedTools& after,
             std::vector<std::string>& found) {
  for (const auto& [name, tool] : before) {
    const auto now = after.find(name);
    const std::string how = now == after.end() ? "it is gone" : change(tool, now->second);
    if (!how.empty()) {
      found.push_back(fmt::format("{} of {}: {}", quoted_name(name), quoted_name(server), how));
    }
  }
  for (const auto& [name, tool] : after) {
    if (!before.contains(name)) {
      found.push_back(fmt::format("{} of {}: it is new, {}",
                                  quoted_name(name),
                                  quoted_name(server),
                                  shown_description(tool)));
    }
  }
}

}  // namespace

std::string change(const LockedTool& before, const LockedTool& after) {
  std::vector<std::string> parts;
  if (before.description_sha256 != after.description_sha256) {
    parts.push_back(description_change(before, after));
  }
  if (before.schema_sha256 != after.schema_sha256) {
    parts.push_back(schema_change(before, after));
  }
  if (before.results_sha256 != after.results_sha256) {
    parts.push_back(results_change(before, after));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

LockedTool locked_tool(const Json& definition, const agent::Redactor& redactor) {
  const std::string_view description = agent::text_at(definition, "description");
  const Json* const schema = agent::find(definition, "inputSchema");
  const Json* const results = agent::find(definition, "outputSchema");
  const Json* const parameters = schema == nullptr ? nullptr : agent::find(*schema, "properties");
  LockedTool tool{
      .description = kept_description(redactor.apply(description)),
      .description_sha256 = agent::sha256_hex(description),
      .parameters = {},
      .schema_sha256 = agent::sha256_hex(schema == nullptr ? "" : agent::canonical(*schema)),
      .results_sha256 = results == nullptr ? "" : agent::sha256_hex(agent::canonical(*results))};
  if (parameters != nullptr && parameters->is_object()) {
    for (const auto& [name, value] : parameters->items()) {
      tool.parameters.push_back(redactor.apply(name));
    }
    std::ranges::sort(tool.parameters);
    if (parameters->size() <= k_kept_schemas) {
      for (const auto& [name, value] : parameters->items()) {
        tool.schemas.insert_or_assign(redactor.apply(name), kept_schema(value, redactor));
      }
      for (const std::string& name : words_in(*schema, "required")) {
        tool.required.push_back(redactor.apply(name));
      }
      std::ranges::sort(tool.required);
    }
  }
  return tool;
}

std::string lock_text(const ToolLock& lock) {
  std::string text = fmt::format("{{\n  \"schema\": \"{}\",\n  \"servers\": {{", k_schema);
  std::string_view next_server = "\n";
  for (const auto& [server, tools] : lock.servers) {
    text += fmt::format("{}    {}: {{", next_server, line_of(Json(server)));
    std::string_view next_tool = "\n";
    for (const auto& [name, tool] : tools) {
      text += fmt::format("{}      {}: {}", next_tool, line_of(Json(name)), line_of(json_of(tool)));
      next_tool = ",\n";
    }
    text += tools.empty() ? "}" : "\n    }";
    next_server = ",\n";
  }
  return text + (lock.servers.empty() ? "}\n}\n" : "\n  }\n}\n");
}

Result<ToolLock> read_lock(std::string_view text, std::string_view file) {
  const auto json = agent::parse_json(text);
  if (!json || !json->is_object()) {
    return agent::fail(no_lock(file, json ? "it is no object" : "it " + agent::why_not_json(text)));
  }
  TRY(check_version(*json, file));
  const Json* const servers = agent::find(*json, "servers");
  if (servers == nullptr || !servers->is_object()) {
    return agent::fail(no_lock(file, "it has no `servers`"));
  }
  ToolLock lock;
  for (const auto& [server, tools] : servers->items()) {
    if (!tools.is_object()) {
      return agent::fail(no_lock(file, fmt::format("{} is no object", quoted_name(server))));
    }
    auto& locked = lock.servers[server];
    for (const auto& [name, json_tool] : tools.items()) {
      auto tool = tool_of(json_tool);
      if (!tool) {
        return agent::fail(no_lock(
            file, fmt::format("{} of {} has no digests", quoted_name(name), quoted_name(server))));
      }
      locked.insert_or_assign(name, *std::move(tool));
    }
  }
  return lock;
}

std::vector<std::string> differences(const ToolLock& lock,
                                     const ToolLock& now,
                                     std::span<const std::string> servers_of_agent) {
  std::vector<std::string> found;
  for (const auto& [server, tools] : lock.servers) {
    if (std::ranges::find(servers_of_agent, server) == servers_of_agent.end()) {
      found.push_back(
          fmt::format("the agent has no server {}, which is locked", quoted_name(server)));
    }
  }
  for (const auto& [server, tools] : now.servers) {
    const auto locked = lock.servers.find(server);
    if (locked == lock.servers.end()) {
      found.push_back(fmt::format("the server {} is not locked", quoted_name(server)));
    } else {
      compare(server, locked->second, tools, found);
    }
  }
  return found;
}

}  // namespace tools::mcp
