#include "agent/text.h"
#include "config/build/build.h"
#include "config/check.h"
#include "config/keys.h"
#include "config/read.h"
#include "config/shapes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace config {
namespace {

std::string build_parameters(const Value& schema, Problems& problems) {
  const agent::Json json = to_json(schema);
  const Value* type = value_at(schema, "type");
  if (type == nullptr || type->kind != Kind::text || type->text != "object") {
    problems.add(type != nullptr ? type->span : schema.span,
                 "the parameters of a tool must be a JSON Schema of type object",
                 "write `parameters: {type: object, properties: {…}}`");
    return {};
  }
  check_schema(schema, json, problems);
  return agent::dump(json);
}

void read_settings(const Value& map,
                   const ToolWorld& world,
                   agent::ToolSpec& tool,
                   Problems& problems) {
  tool.timeout = duration_at(map, "timeout");
  tool.idle_timeout = duration_at(map, "idle_timeout");
  if (text_at(map, "on_error") == "fatal") {
    tool.on_error = agent::ToolSpec::OnError::fatal;
  }
  tool.repeatable = boolean_at(map, "repeatable", false);
  tool.untrusted = boolean_at(map, "untrusted", false);
  tool.in_programs = build_program_uses(map, world, problems);
  if (const Value* env = value_at(map, "env")) {
    tool.env = build_tool_env(
        *env, fmt::format("the tool `{}`", agent::one_line(tool.name)), world, problems);
  }
}

// A program beside the agent file is found from any working folder; one without a slash is left to
// the PATH.
std::string program_path(const std::string& program, const std::filesystem::path& directory) {
  const bool is_beside = program.contains('/') && !program.starts_with('/');
  return is_beside ? (directory / program).lexically_normal().string() : program;
}

agent::ToolSpec build_command_tool(const Value& map, const ToolWorld& world, Problems& problems) {
  agent::ToolSpec tool;
  tool.kind = agent::ToolSpec::Kind::command;
  tool.name = text_at(map, "name");
  tool.description = text_at(map, "description");
  read_settings(map, world, tool, problems);
  tool.parallel = boolean_at(map, "parallel", false);
  tool.idempotent = boolean_at(map, "idempotent", false);
  if (const Value* command = value_at(map, "command")) {
    for (const Value& word : command->items) {
      tool.command.push_back(word.text);
    }
    if (!tool.command.empty() && tool.command.front().empty()) {
      problems.add(command->items.front().span,
                   "the program of a command tool is empty",
                   "write the program first: `command: [make, test]`");
    } else if (!tool.command.empty()) {
      tool.command.front() = program_path(tool.command.front(), world.directory);
    }
  }
  if (const Value* schema = value_at(map, "parameters");
      schema != nullptr && schema->kind == Kind::map) {
    tool.parameters = build_parameters(*schema, problems);
  }
  if (std::ranges::find(world.known.tools, tool.name) != world.known.tools.end()) {
    problems.add(value_at(map, "name")->span,
                 fmt::format("`{}` is the name of a built-in tool", tool.name),
                 "give the command tool another name");
  }
  return tool;
}

void check_built_in(const std::string& name,
                    Span span,
                    const KnownNames& known,
                    Problems& problems) {
  if (known.tools.empty() || std::ranges::find(known.tools, name) != known.tools.end()) {
    return;
  }
  const auto meant = agent::nearest(name, std::span<const std::string>(known.tools));
  problems.add(span,
               fmt::format("there is no built-in tool `{}`", agent::one_line(name, 80)),
               meant ? fmt::format("did you mean `{}`?", *meant)
                     : fmt::format("one of: {}; or a command tool with `name`, `description` and "
                                   "`command`",
                                   fmt::join(known.tools, ", ")));
}

// Of a tool that runs no program.
void check_program_settings(const Entry& tool, const KnownNames& known, Problems& problems) {
  if (std::ranges::find(known.tools, tool.key) == known.tools.end() ||
      std::ranges::find(known.program_tools, tool.key) != known.program_tools.end()) {
    return;
  }
  const auto refuse = [&](const char* key, const char* help) {
    if (const Entry* const setting = tool.value.find(key)) {
      problems.add(setting->key_span,
                   fmt::format("the tool `{}` has no `{}`: it runs no program", tool.key, key),
                   help);
    }
  };
  refuse("idle_timeout", "use `timeout`");
  refuse("env", "take it out");
}

bool is_in(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// What only a tool has that goes out, and what it cannot do without.
void check_web_settings(const Entry& tool, const KnownNames& known, Problems& problems) {
  const Entry* const hosts = tool.value.find("allow_hosts");
  if (!is_in(known.web_tools, tool.key)) {
    if (hosts != nullptr && is_in(known.tools, tool.key)) {
      problems.add(hosts->key_span,
                   fmt::format("the tool `{}` has no `allow_hosts`: it does not fetch", tool.key),
                   "leave it out");
    }
    return;
  }
  const Entry* const untrusted = tool.value.find("untrusted");
  if (untrusted != nullptr && boolean_of(untrusted->value) == false) {
    problems.add(untrusted->value.span,
                 fmt::format("what `{}` brings always comes from outside", tool.key),
                 "leave `untrusted` out");
  }
}

struct NamedTool {
  agent::ToolSpec tool;
  Span span;  // of the name
};

NamedTool build_tool(const Value& item, const ToolWorld& world, Problems& problems) {
  agent::ToolSpec tool;
  if (item.kind == Kind::text) {
    check_built_in(item.text, item.span, world.known, problems);
    tool.name = item.text;
    return {std::move(tool), item.span};
  }
  if (is_keyed_by_name(item, keys(), "tools[]")) {
    const Entry& entry = item.entries.front();
    check_built_in(entry.key, entry.key_span, world.known, problems);
    check_program_settings(entry, world.known, problems);
    check_web_settings(entry, world.known, problems);
    tool.name = entry.key;
    read_settings(entry.value, world, tool, problems);
    tool.allow_hosts = build_hosts(entry.value, Shape::host, world.known, problems);
    return {std::move(tool), entry.key_span};
  }
  const Value* name = value_at(item, "name");
  return {build_command_tool(item, world, problems), name != nullptr ? name->span : item.span};
}

}  // namespace

std::vector<agent::ToolSpec> build_tools(const Value& list,
                                         const ToolWorld& world,
                                         Problems& problems) {
  std::vector<agent::ToolSpec> tools;
  std::map<std::string, Span> seen;
  for (const Value& item : list.items) {
    auto [tool, span] = build_tool(item, world, problems);
    if (tool.name.empty()) {
      continue;
    }
    const auto [first, is_new] = seen.emplace(tool.name, span);
    if (!is_new) {
      problems.add(span,
                   fmt::format("the tool `{}` appears twice", tool.name),
                   fmt::format("it first appears in line {}; keep one",
                               problems.source().line_of(first->second.offset)),
                   agent::Code::registry_duplicate);
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace config
