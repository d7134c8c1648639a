#include "tools/runner/reach.h"

#include "agent/duration.h"
#include "tools/builtin/registry.h"
#include "tools/runner/tool_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace tools {
namespace {

using agent::SandboxSpec;
using Mode = SandboxSpec::Mode;

std::string network_of(const SandboxSpec& sandbox) {
  if (sandbox.network || sandbox.mode == Mode::off) {
    return "It has the network.";
  }
  return sandbox.allow_hosts.empty()
             ? "It has no network."
             : fmt::format(
                   "Of the network it has {} alone, through the proxy that its environment "
                   "names.",
                   fmt::join(sandbox.allow_hosts, ", "));
}

std::string writing_of(const SandboxSpec& sandbox) {
  if (sandbox.mode == Mode::off) {
    return "It may write whatever the user may.";
  }
  std::vector<std::string> places{"$TMPDIR"};
  if (sandbox.mode == Mode::workspace_write) {
    places.insert(places.begin(), "the working folder (but not .git)");
  }
  for (std::string place : sandbox.write) {
    if (place.ends_with('?')) {
      place.pop_back();
    }
    places.push_back(std::move(place));
  }
  return fmt::format("It may write {} and nothing else.", fmt::join(places, ", "));
}

std::string limit_of_output() {
  return fmt::format("Of a long output you see {} bytes; the rest is kept in a file that is named.",
                     k_max_content);
}

std::string pages_of(const agent::ToolSpec& tool, agent::Milliseconds standard) {
  const std::string hosts = tool.allow_hosts.empty()
                                ? "It reaches public addresses alone."
                                : fmt::format("Beside public addresses it reaches {}.",
                                              fmt::join(tool.allow_hosts, ", "));
  return fmt::format("{} Time limit: {}. {}",
                     hosts,
                     agent::format_duration(tool.timeout.value_or(standard)),
                     limit_of_output());
}

}  // namespace

std::string reach_of(const agent::ToolSpec& tool, const SandboxSpec& sandbox) {
  const auto row = std::ranges::find(builtins(), tool.name, &Builtin::name);
  if (tool.kind == agent::ToolSpec::Kind::command || row == builtins().end()) {
    return {};
  }
  if (row->is_from_outside) {
    return pages_of(tool, row->timeout);
  }
  return row->runs_programs
             ? fmt::format("{} {} {}", network_of(sandbox), writing_of(sandbox), limit_of_output())
             : std::string();
}

}  // namespace tools
