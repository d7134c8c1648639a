#include "config/project_config.h"

#include "config/build/build_permissions.h"
#include "config/read.h"
#include "config/settings.h"
#include "config/yaml/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace config {
namespace {

namespace fs = std::filesystem;
using Standard = agent::PermissionSpec::Standard;

constexpr auto k_project_keys = std::to_array<Key>({
    // clang-format off
    {.path = "key_hosts", .type = Type::anything, .help = "Not here: a project does not say where the user's keys go.", .example = {}},
    {.path = "permissions", .type = Type::map, .help = "Rules for agents that work in this project, beside those of the agent file (`errand-agent(5)`). They can only tighten. Relative paths start at the folder that holds `.errand`.", .example = "{deny: [\"write_file(vendor/**)\"]}"},
    {.path = "permissions.default", .type = Type::choice, .help = "What holds where no rule speaks of a call; the stricter of this and the agent file's.", .example = "ask", .choices = "auto|allow|ask|deny"},
    {.path = "permissions.allow", .type = Type::anything, .help = "Not here: a project gives no rights.", .example = {}},
    {.path = "permissions.ask", .type = Type::list, .help = "Calls that need a person's approval.", .example = "[\"shell(git push *)\"]"},
    {.path = "permissions.ask[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(git push *)", .shape = Shape::filled},
    {.path = "permissions.deny", .type = Type::list, .help = "Calls that never run.", .example = "[\"write_file(vendor/**)\"]"},
    {.path = "permissions.deny[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(rm -rf *)", .shape = Shape::filled},
    // clang-format on
});

void refuse_loosening(const Value& permissions, Problems& problems) {
  constexpr const char* k_help =
      "say it in the agent file, in your own config.yaml, or with --allow";
  if (const Entry* allow = permissions.find("allow")) {
    problems.add(allow->key_span,
                 "a project's settings can only tighten: `permissions.allow` would give rights to "
                 "whoever wrote the project",
                 k_help);
  }
  const Entry* standard = permissions.find("default");
  if (standard != nullptr && (standard->value.text == "auto" || standard->value.text == "allow")) {
    problems.add(
        standard->value.span,
        fmt::format("a project's settings can only tighten: `permissions.default` cannot be "
                    "`{}` here",
                    standard->value.text),
        k_help);
  }
}

void refuse_key_hosts(const Value& root, Problems& problems) {
  if (const Entry* hosts = root.find("key_hosts")) {
    problems.add(hosts->key_span,
                 "a project's settings cannot say where keys go: `key_hosts` would give them to "
                 "whoever wrote the project",
                 "say it in your own config.yaml, or with --key-host");
  }
}

int strictness(Standard standard) {
  switch (standard) {
    case Standard::allow:
      return 0;
    case Standard::automatic:
      return 1;
    case Standard::ask:
      return 2;
    case Standard::deny:
      return 3;
  }
  return 3;
}

}  // namespace

std::span<const Key> project_keys() {
  return k_project_keys;
}

std::expected<ProjectConfig, std::vector<agent::Error>> load_project_config(
    const fs::path& folder, const KnownNames& known) {
  const fs::path name = fs::path(".errand") / "config.yaml";
  fs::path at = folder;
  auto text = read_file_inside(at, name, k_largest_settings_file);
  while (text && !*text && at.has_relative_path()) {
    at = at.parent_path();
    text = read_file_inside(at, name, k_largest_settings_file);
  }
  if (!text) {
    return std::unexpected(std::vector{std::move(text).error()});
  }
  ProjectConfig config;
  auto errors = read_settings(text->value_or(""),
                              (at / name).string(),
                              k_project_keys,
                              [&](const Value& root, Problems& problems) {
                                refuse_key_hosts(root, problems);
                                if (const Value* permissions = value_at(root, "permissions")) {
                                  refuse_loosening(*permissions, problems);
                                  config.permissions =
                                      build_permissions(*permissions, {}, known, problems);
                                }
                              });
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  for (auto* rules : {&config.permissions.ask, &config.permissions.deny}) {
    std::ranges::for_each(*rules, [&](agent::PermissionRule& rule) { rule.folder = at.string(); });
  }
  return config;
}

void tighten(agent::PermissionSpec& permissions, const agent::PermissionSpec& by) {
  permissions.ask.insert(permissions.ask.end(), by.ask.begin(), by.ask.end());
  permissions.deny.insert(permissions.deny.end(), by.deny.begin(), by.deny.end());
  if (!by.standard_origin.empty() && strictness(by.standard) > strictness(permissions.standard)) {
    permissions.standard = by.standard;
    permissions.standard_origin = by.standard_origin;
  }
}

}  // namespace config
