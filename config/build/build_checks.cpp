#include "agent/text.h"
#include "config/build/build.h"
#include "config/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace config {
namespace {

agent::CheckSpec build_command(const Value& item) {
  agent::CheckSpec check{.run = item.kind == Kind::text ? item.text : text_at(item, "run")};
  check.name = text_at(item, "name", agent::one_line(check.run, 100));
  check.timeout = duration_at(item, "timeout").value_or(check.timeout);
  return check;
}

void check_protect(const Value& list, Problems& problems) {
  for (const Value& item : list.items) {
    if (item.kind == Kind::text && (item.text.starts_with('/') || item.text.starts_with("~/") ||
                                    item.text.starts_with("../"))) {
      problems.add(item.span,
                   fmt::format("`checks.protect` names `{}`, which is not in the working folder",
                               agent::one_line(item.text, 60)),
                   "write a path from the working folder: tests/**");
    }
  }
}

}  // namespace

agent::ChecksSpec build_checks(const Value& root, Problems& problems) {
  agent::ChecksSpec spec;
  const Value& checks = map_at(root, "checks");
  const Value& list = checks.kind == Kind::list ? checks : map_at(checks, "run");
  std::set<std::string> names;
  for (const Value& item : list.items) {
    spec.commands.push_back(build_command(item));
    if (!names.insert(spec.commands.back().name).second) {
      problems.add(item.span,
                   fmt::format("two checks are called `{}`", spec.commands.back().name),
                   "give each a `name` of its own");
    }
  }
  check_protect(map_at(checks, "protect"), problems);
  spec.protect = texts_at(checks, "protect");
  if (const auto attempts = count_at(root, "attempts")) {
    spec.attempts = static_cast<int>(std::clamp<std::int64_t>(*attempts, 1, 100));
    if (const Entry* entry = root.find("attempts"); entry != nullptr && spec.commands.empty()) {
      problems.warn(entry->key_span,
                    "`attempts` says how many answers `checks` look at, and there are none",
                    "name a command under `checks`, or take this key out");
    }
  }
  return spec;
}

}  // namespace config
