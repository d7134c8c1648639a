#include "config/build/build_permissions.h"

#include "config/read.h"

#include <utility>
#include <vector>

namespace config {
namespace {

std::vector<agent::PermissionRule> build_rules(const Value& map,
                                               std::string_view list,
                                               std::span<const std::string> tools,
                                               const KnownNames& known,
                                               Problems& problems) {
  std::vector<agent::PermissionRule> rules;
  const Value* items = value_at(map, list);
  if (items == nullptr) {
    return rules;
  }
  for (const Value& item : items->items) {
    if (item.kind != Kind::text || item.text.empty()) {
      continue;
    }
    if (auto error = known.rule_error ? known.rule_error(item.text, tools) : std::nullopt) {
      problems.add(item.span, std::move(error->message), std::move(error->help));
    }
    rules.push_back({.text = item.text, .origin = problems.source().file()});
  }
  return rules;
}

}  // namespace

agent::PermissionSpec build_permissions(const Value& map,
                                        std::span<const std::string> tools,
                                        const KnownNames& known,
                                        Problems& problems) {
  using Standard = agent::PermissionSpec::Standard;
  agent::PermissionSpec spec;
  const std::string standard = text_at(map, "default");
  spec.standard = standard == "allow"  ? Standard::allow
                  : standard == "ask"  ? Standard::ask
                  : standard == "deny" ? Standard::deny
                                       : Standard::automatic;
  spec.standard_origin = standard.empty() ? "" : problems.source().file();
  spec.allow = build_rules(map, "allow", tools, known, problems);
  spec.ask = build_rules(map, "ask", tools, known, problems);
  spec.deny = build_rules(map, "deny", tools, known, problems);
  return spec;
}

}  // namespace config
