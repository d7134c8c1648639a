#include "tools/sandbox/policy.h"

#include "tools/sandbox/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace tools::sandbox {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
using agent::SandboxSpec;
namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

// As the agent file has it: absolute, below `~/`, or from the agent file's folder.
fs::path located(const std::string& path, const Surroundings& around) {
  if (path == "~" || path.starts_with("~/")) {
    return (around.homes.empty() ? fs::path() : around.homes.front()) /
           path.substr(path.size() > 1 ? 2 : 1);
  }
  return around.agent_folder / path;
}

Result<Paths> existing(const std::vector<std::string>& paths,
                       std::string_view key,
                       const Surroundings& around) {
  Paths found;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::path real = fs::canonical(located(path, around), error);
    if (error) {
      return fail(Code::sandbox_setup,
                  fmt::format("`sandbox.{}` names `{}`: {}", key, path, error.message()),
                  "name what exists when the run starts");
    }
    found.push_back(std::move(real));
  }
  return found;
}

Result<fs::path> checked_workspace(const Surroundings& around) {
  std::error_code error;
  fs::path workspace = fs::canonical(around.workspace, error);
  if (error) {
    return fail(
        Code::sandbox_setup,
        fmt::format(
            "cannot find the workspace `{}`: {}", around.workspace.string(), error.message()));
  }
  const auto is_workspace = [&](const fs::path& home) {
    std::error_code ignored;
    return fs::canonical(home, ignored) == workspace;
  };
  if (workspace == "/" || std::ranges::any_of(around.homes, is_workspace)) {
    return fail(
        Code::sandbox_setup,
        fmt::format("the tools of this agent could write everywhere in {}",
                    workspace == "/" ? "/" : "the home folder `" + workspace.string() + "`"),
        "run it in a project's own folder (--cwd DIR), or with `sandbox: read_only`");
  }
  return workspace;
}

bool is_below_any(const fs::path& path, const Paths& folders) {
  return std::ranges::any_of(folders, [&](const auto& folder) { return is_below(path, folder); });
}

std::vector<std::string> texts(const Paths& paths) {
  std::vector<std::string> all;
  std::ranges::transform(paths, std::back_inserter(all), [](const auto& p) { return p.string(); });
  return all;
}

std::optional<std::uint64_t> number(const std::optional<std::int64_t>& number) {
  return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

}  // namespace

Result<Policy> Policy::create(const SandboxSpec& spec, const Surroundings& around) {
  Policy policy;
  TRY_ASSIGN(const Paths named, existing(spec.write, "write", around));
  TRY_ASSIGN(const Paths shown, existing(spec.read, "read", around));
  policy.writable_ = named;
  if (spec.mode == SandboxSpec::Mode::workspace_write && around.writes) {
    TRY_ASSIGN(fs::path workspace, checked_workspace(around));
    policy.writable_.push_back(std::move(workspace));
  }
  for (const fs::path& root : policy.writable_) {
    std::ranges::copy(locked_places(root), std::back_inserter(policy.locked_));
  }
  for (const fs::path& file : around.obeyed) {
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(file, ignored);
    if (is_below_any(real, policy.writable_)) {
      policy.locked_.push_back(real);
    }
  }
  std::ranges::sort(policy.locked_);
  policy.locked_.erase(std::ranges::unique(policy.locked_).begin(), policy.locked_.end());
  // Who names a locked place itself means it.
  std::erase_if(policy.locked_, [&](const fs::path& place) {
    return std::ranges::any_of(named, [&](const fs::path& path) { return is_below(path, place); });
  });

  policy.hidden_ = secret_places(around.homes);
  for (const fs::path& folder : around.own) {
    std::error_code error;
    if (fs::path real = fs::canonical(folder, error); !error) {
      policy.hidden_.push_back(std::move(real));
    }
  }
  std::erase_if(policy.hidden_, [&](const fs::path& place) {
    const auto opens = [&](const fs::path& path) { return is_below(path, place); };
    return is_below_any(place, shown) || std::ranges::any_of(shown, opens) ||
           std::ranges::any_of(policy.writable_, opens);
  });
  if (!around.temporary.empty()) {
    policy.writable_.push_back(around.temporary);
  }
  policy.limits_ = {.network = spec.network,
                    .egress_proxy = !spec.allow_hosts.empty(),
                    .memory = number(spec.memory),
                    .processes = number(spec.processes),
                    .cpu_time = std::nullopt};
  if (spec.cpu_time) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*spec.cpu_time).count();
    policy.limits_.cpu_time = static_cast<std::uint64_t>(seconds);
  }
  return policy;
}

Verdict Policy::reading(const fs::path& path) const {
  return is_below_any(path, hidden_) ? Verdict::secret : Verdict::allowed;
}

Verdict Policy::writing(const fs::path& path) const {
  if (!is_below_any(path, writable_)) {
    return Verdict::outside;
  }
  if (is_below_any(path, locked_)) {
    return Verdict::locked;
  }
  return reading(path);
}

Profile Policy::profile() const {
  Profile profile = limits_;
  profile.writable = texts(writable_);
  profile.locked = texts(locked_);
  profile.hidden = texts(hidden_);
  return profile;
}

}  // namespace tools::sandbox
