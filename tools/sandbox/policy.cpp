#include "tools/sandbox/policy.h"

#include "agent/text.h"
#include "tools/sandbox/way.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
using agent::SandboxSpec;
namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

// `PATH?` may be missing.
bool is_optional(std::string_view path) {
  return path.size() > 1 && path.ends_with('?');
}

// As the agent file has it: absolute, below `~/`, or from the agent file's folder.
fs::path located(std::string path, const Surroundings& around) {
  if (is_optional(path)) {
    path.pop_back();
  }
  if (path == "~" || path.starts_with("~/")) {
    return (around.homes.own.empty() ? fs::path() : around.homes.own.front()) /
           path.substr(path.size() > 1 ? 2 : 1);
  }
  return around.agent_folder / path;
}

bool has_obeyed_name(const fs::path& path) {
  return is_obeyed_name(path.filename().native()) ||
         std::ranges::any_of(
             path, [](const fs::path& part) { return is_obeyed_anywhere(part.native()); });
}

// An exception to what is obeyed need not be there yet.
Paths existing(const std::vector<std::string>& paths,
               std::string_view key,
               const Surroundings& around,
               std::vector<agent::Error>& missing) {
  Paths found;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::path real = fs::weakly_canonical(located(path, around), error);
    if (!error && !fs::exists(real, error) && !has_obeyed_name(real)) {
      error = std::make_error_code(std::errc::no_such_file_or_directory);
    }
    if (!error) {
      found.push_back(std::move(real));
    } else if (!is_optional(path)) {
      missing.push_back(
          {.code = Code::sandbox_setup,
           .message = fmt::format("`sandbox.{}` names `{}`: {}", key, path, error.message()),
           .help = fmt::format("name what exists when the run starts, or write `{}?`", path)});
    }
  }
  return found;
}

bool is_below_any(const fs::path& path, const Paths& folders) {
  return std::ranges::any_of(folders, [&](const auto& folder) { return is_below(path, folder); });
}

// Where tools would find what is not the work's: all of a home, or what errand keeps for itself.
bool is_private(const fs::path& folder, const Surroundings& around) {
  const auto holds = [&](const fs::path& place) { return is_below(place, folder); };
  return std::ranges::any_of(around.homes.closed, holds) ||
         std::ranges::any_of(around.homes.own, holds) || is_below_any(folder, around.own);
}

// Where tools can write, now or in another run: a link there may be anybody's.
Paths written_by_tools(const Surroundings& around) {
  std::error_code error;
  const fs::path workspace = fs::canonical(around.workspace, error);
  return error || workspace == "/" || is_private(workspace, around) ? Paths() : Paths{workspace};
}

// On the way to what a name leads to, the first link in one of the folders; empty: there is none.
fs::path link_in(const Paths& folders, const fs::path& name) {
  const std::vector<WayPoint> way = way_to(name);
  const auto link = std::ranges::find_if(way, [&](const WayPoint& point) {
    return point.kind == WayPoint::Kind::link && is_below_any(point.path, folders);
  });
  return link == way.end() ? fs::path() : link->path;
}

fs::path target_of(const fs::path& name) {
  return way_to(name).back().path;
}

// The agent file's folder, or as many above it as `..` stand in front of the name; empty: it is not
// relative.
fs::path base_of(const std::string& name, const Surroundings& around) {
  if (name.starts_with('/') || name.starts_with('~')) {
    return {};
  }
  fs::path base = around.agent_folder;
  for (const fs::path& part : fs::path(name)) {
    if (part != ".." && part != ".") {
      break;
    }
    base /= part;
  }
  std::error_code error;
  return fs::weakly_canonical(base, error);
}

// What is wrong with the links that the name leads by, in a part of a sentence; empty: nothing. The
// agent file opens what stood there when it was written, and links may be of this run's tools
// (`written`, and `without_links` what they may write by no link), or of another's.
std::string flaw_of_way(const std::string& name,
                        const Surroundings& around,
                        const Paths& written,
                        const Paths& without_links) {
  const fs::path place = located(name, around);
  const fs::path target = target_of(place);
  const fs::path link = link_in(written, place);
  if (!link.empty() && !is_below_any(target, without_links)) {
    return fmt::format(
        "the link `{}`, which tools could have made, leads out of what they may write",
        agent::one_line(link.string()));
  }
  if (const fs::path base = base_of(name, around);
      !base.empty() && !is_below(target, base) && !link_in({base}, place).empty()) {
    return fmt::format("a link leads from there out of `{}`", agent::one_line(base.string()));
  }
  const ReadingRules secrets{.closed = secret_places(around.homes.own), .open = {}};
  const bool is_secret =
      !may_read(secrets, target.native()) && may_read(secrets, place.lexically_normal().native());
  return is_secret ? "a link leads from there to a place for secrets" : "";
}

void check_ways(const SandboxSpec& spec,
                const Surroundings& around,
                std::vector<agent::Error>& wrong) {
  Paths without_links = written_by_tools(around);
  Paths written = without_links;
  for (const std::string& name : spec.write) {
    written.push_back(target_of(located(name, around)));
  }
  for (const std::string& name : spec.write) {
    if (const fs::path place = located(name, around); link_in(written, place).empty()) {
      without_links.push_back(target_of(place));
    }
  }
  for (const auto& [key, names] :
       {std::pair("write", &spec.write), std::pair("read", &spec.read)}) {
    for (const std::string& name : *names) {
      if (const std::string flaw = flaw_of_way(name, around, written, without_links);
          !flaw.empty()) {
        wrong.push_back({.code = Code::sandbox_setup,
                         .message = fmt::format("`sandbox.{}` names `{}`, and {}", key, name, flaw),
                         .help = "name what it leads to, or take the link away"});
      }
    }
  }
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
  if (workspace == "/" || is_private(workspace, around)) {
    return fail(Code::sandbox_setup,
                fmt::format("the tools of this agent could write everywhere in `{}`: it is {}",
                            workspace.string(),
                            workspace == "/"                      ? "the whole machine"
                            : is_below_any(workspace, around.own) ? "errand's own folder"
                                                                  : "a home folder, or holds one"),
                "run it in a project's own folder (--cwd DIR), or with `sandbox: read_only`");
  }
  return workspace;
}

// Whoever turns a link on the way gives errand another folder for its own.
Result<void> check_links(const Paths& own, const Paths& roots) {
  for (const fs::path& folder : own) {
    if (const fs::path link = link_in(roots, folder.lexically_normal()); !link.empty()) {
      return fail(Code::sandbox_setup,
                  fmt::format("errand's own folder `{}` is behind the link `{}`, which tools could "
                              "change",
                              folder.string(),
                              link.string()),
                  "set XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME to folders outside of "
                  "what tools may write");
    }
  }
  return {};
}

// Right in a home, or in its hidden folders, are links of the user's own; elsewhere agents work.
bool is_where_agents_work(const fs::path& folder, const Paths& homes) {
  const auto home =
      std::ranges::find_if(homes, [&](const fs::path& one) { return is_below(folder, one); });
  return home != homes.end() &&
         !std::ranges::all_of(folder.lexically_relative(*home),
                              [](const fs::path& part) { return part.native().starts_with('.'); });
}

// What is open by a table, or by PATH, is open where its name stands: no link that an agent may
// have made opens what is closed, and none a secret.
bool is_led_astray(const std::string& name,
                   const fs::path& real,
                   const Surroundings& around,
                   const Paths& open) {
  if (real == name || is_below_any(real, open)) {
    return false;
  }
  const ReadingRules secrets{.closed = secret_places(around.homes.own), .open = {}};
  const bool is_secret = !may_read(secrets, real.native()) && may_read(secrets, name);
  const std::vector<WayPoint> way = way_to(name);
  return is_secret || (is_below_any(real, around.homes.closed) &&
                       std::ranges::any_of(way, [&](const WayPoint& point) {
                         return point.kind == WayPoint::Kind::link &&
                                is_where_agents_work(point.path.parent_path(), around.homes.closed);
                       }));
}

// Where it exists, is not private as a whole, and no link of tools leads there.
void open_folder(const std::string& folder,
                 const Surroundings& around,
                 const Paths& written,
                 Paths& open) {
  if (::access(folder.c_str(), F_OK) != 0) {
    return;  // as most of a long table
  }
  std::error_code error;
  if (fs::path real = fs::canonical(folder, error);
      !error && real != "/" && !is_private(real, around) &&
      !is_led_astray(folder, real, around, open) &&
      (real == folder || is_below_any(real, written) || link_in(written, folder).empty())) {
    open.push_back(std::move(real));
  }
}

Paths open_to_reading(const Surroundings& around, const Paths& writable) {
  Paths open;
  Paths written = written_by_tools(around);
  std::ranges::copy(writable, std::back_inserter(written));
  for (const fs::path& home : around.homes.own) {
    for (const std::string& place : open_places(home)) {
      open_folder(place, around, written, open);
    }
  }
  for (const Paths* folders : {&around.search_path, &around.prefixes}) {
    for (const fs::path& folder : *folders) {
      open_folder(folder.native(), around, written, open);
    }
  }
  for (const fs::path* folder : {&around.workspace, &around.agent_folder}) {
    open_folder(folder->native(), around, written, open);
  }
  std::error_code error;
  if (!around.run_folder.empty()) {
    open.push_back(fs::weakly_canonical(around.run_folder, error));  // made when it is needed
  }
  if (fs::path file = fs::canonical(around.agent_file, error); !error) {
    open.push_back(std::move(file));
  }
  return open;
}

// Of /proc: what is the system's, and no process's.
bool is_of_a_process(const fs::path& path) {
  constexpr std::string_view k_processes = "/proc/";
  constexpr auto k_not_of_processes = std::to_array<std::string_view>(
      {"buddyinfo", "bus",        "cgroups",   "cmdline",     "consoles",   "cpuinfo",
       "crypto",    "devices",    "diskstats", "filesystems", "interrupts", "iomem",
       "ioports",   "loadavg",    "locks",     "mdstat",      "meminfo",    "misc",
       "modules",   "partitions", "pressure",  "softirqs",    "stat",       "swaps",
       "sys",       "uptime",     "version",   "vmstat",      "zoneinfo"});
  if (!path.native().starts_with(k_processes)) {
    return false;
  }
  std::string_view name = std::string_view(path.native()).substr(k_processes.size());
  name = name.substr(0, name.find('/'));
  return !name.empty() && std::ranges::find(k_not_of_processes, name) == k_not_of_processes.end();
}

std::vector<std::string> texts(const Paths& paths) {
  std::vector<std::string> all;
  std::ranges::transform(paths, std::back_inserter(all), [](const auto& p) { return p.string(); });
  return all;
}

// Homes and errand's own folders, their secrets, and what is open there all the same.
ReadingRules reading_rules(const Surroundings& around, const Paths& shown, const Paths& writable) {
  ReadingRules rules{.closed = secret_places(around.homes.own), .open = {}};
  // The kernel's rules cannot close a part of what may be written (private_places), and what the
  // work is about is open to all tools alike.
  std::error_code error;
  const fs::path workspace = fs::weakly_canonical(around.workspace, error);
  std::ranges::copy_if(
      led_to(rules.closed), std::back_inserter(rules.closed), [&](const std::string& target) {
        return !is_below(target, workspace) && !is_below_any(target, writable);
      });
  rules.closed.emplace_back("/dev");
  rules.open.assign(harmless_devices().begin(), harmless_devices().end());
  for (const Paths* places : {&around.homes.closed, &around.homes.own, &around.own}) {
    std::ranges::move(texts(*places), std::back_inserter(rules.closed));
  }
  for (const Paths& places : {open_to_reading(around, writable), shown, writable}) {
    std::ranges::move(texts(places), std::back_inserter(rules.open));
  }
  std::ranges::copy_if(
      around.other_runs, std::back_inserter(rules.closed), [&](const std::string& place) {
        return !is_below_any(place, shown) && !is_below_any(place, writable);  // the user's word
      });
  return rules;
}

std::optional<std::uint64_t> number(const std::optional<std::int64_t>& number) {
  return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

// A folder of which a part stays closed is refused: the kernel's rules would have to name all the
// rest of it beforehand, so that programs could make nothing new in it.
std::vector<agent::Error> private_places(const SandboxSpec& spec, const Surroundings& around) {
  std::vector<agent::Error> wrong;
  if (spec.write.empty()) {
    return wrong;
  }
  Surroundings others = around;
  others.other_runs.clear();  // what is written is open
  const ReadingRules reading = reading_rules(others, {}, {});
  for (const std::string& name : spec.write) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(located(name, around), error);
    if (error || !fs::is_directory(folder, error)) {
      continue;
    }
    const auto refuse = [&](std::string_view what) {
      wrong.push_back({.code = Code::sandbox_setup,
                       .message = fmt::format("`sandbox.write` names `{}`: it is {}", name, what),
                       .help = "name the folders in it that are to be written, such as "
                               "`~/.cache/pip`"});
    };
    const auto closed = std::ranges::find_if(reading.closed, [&](const std::string& place) {
      return place != folder.native() && is_below(place, folder);
    });
    if (folder == "/") {
      refuse("the whole machine");
    } else if (is_below_any(folder, around.own)) {
      refuse("errand's own folder");
    } else if (is_private(folder, around)) {
      refuse("a home folder, or holds one");
    } else if (closed != reading.closed.end()) {
      refuse(
          fmt::format("a folder with a place for secrets in it, `{}`, so that programs could "
                      "make nothing new there",
                      *closed));
    }
  }
  return wrong;
}

// So that it is the same for whoever has named it in another order.
Paths sorted(Paths paths) {
  std::ranges::sort(paths);
  const auto twice = std::ranges::unique(paths);
  paths.erase(twice.begin(), twice.end());
  return paths;
}

// As an item of a list in brackets.
std::string in_yaml(const std::string& text) {
  if (text.find_first_of(" ,[]{}#:'\"&*!|>%@`\\") == std::string::npos) {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "''" : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

std::string key_opening(std::string_view key, const fs::path& path) {
  return fmt::format("sandbox: {{{}: [{}]}}", key, in_yaml(agent::one_line(path.string())));
}

fs::path nearest_there(fs::path path) {
  std::error_code error;
  while (path.has_relative_path() && !fs::exists(path, error)) {
    path = path.parent_path();
  }
  return path;
}

Result<Policy> Policy::create(const SandboxSpec& spec, Surroundings around) {
  Policy policy;
  Sight sight;
  policy.is_read_only_ = spec.mode == SandboxSpec::Mode::read_only;
  policy.is_for_git_ = around.writes_repository;
  std::erase_if(around.own, [](const fs::path& folder) { return folder.is_relative(); });
  const Paths as_named = around.own;
  for (fs::path& folder : around.own) {
    std::error_code error;
    if (fs::path real = fs::weakly_canonical(folder, error); !error) {
      folder = std::move(real);
    }
  }
  std::vector<agent::Error> wrong = private_places(spec, around);
  check_ways(spec, around, wrong);
  const Paths named = existing(spec.write, "write", around, wrong);
  const Paths shown = existing(spec.read, "read", around, wrong);
  if (!wrong.empty()) {
    return std::unexpected(std::move(wrong.front()));
  }
  policy.writable_ = named;
  if (spec.mode == SandboxSpec::Mode::workspace_write && around.writes) {
    TRY_ASSIGN(fs::path workspace, checked_workspace(around));
    if (around.writes_repository) {
      policy.repository_ = own_repository(workspace, sight);
    }
    policy.writable_.push_back(std::move(workspace));
  }
  policy.roots_ = outermost(policy.writable_);
  std::ranges::for_each(around.obeyed, [&](const fs::path& name) { policy.keep(name); });
  policy.tops_ = checked_out(policy.roots_, sight);
  std::ranges::for_each(obeyed_links(policy.tops_, sight),
                        [&](const fs::path& link) { policy.keep(link); });
  if (auto trouble = sight.trouble()) {
    return agent::fail(*std::move(trouble));
  }
  std::ranges::copy_if(named, std::back_inserter(policy.allowed_), [&](const fs::path& place) {
    return has_obeyed_name(place) || is_git_folder(place) ||
           std::ranges::find(policy.obeyed_, place) != policy.obeyed_.end();
  });
  const auto is_writable = [&](const fs::path& own) { return is_below_any(own, policy.roots_); };
  TRY(check_links(as_named, policy.roots_));
  std::ranges::copy_if(around.own, std::back_inserter(policy.own_), is_writable);
  policy.kept_ = policy.own_;
  std::erase_if(around.own, is_writable);
  const auto add_writable = [&](const Paths& files, Paths& to) {
    for (const fs::path& file : files) {
      std::error_code ignored;
      if (fs::path real = fs::weakly_canonical(file, ignored); is_writable(real)) {
        to.push_back(std::move(real));
      }
    }
  };
  add_writable(around.outputs.meanwhile, policy.kept_);
  add_writable(around.outputs.at_the_end, policy.held_);
  if (!around.temporary.empty()) {
    policy.writable_.push_back(around.temporary);
  }
  std::ranges::copy_if(policy.repository_.folders,
                       std::back_inserter(policy.writable_),
                       [&](const fs::path& git) { return !is_below_any(git, policy.roots_); });
  policy.reading_ = reading_rules(around, shown, policy.writable_);
  policy.homes_ = around.homes.closed;
  std::ranges::copy(around.homes.own, std::back_inserter(policy.whole_));
  std::ranges::copy(around.homes.closed, std::back_inserter(policy.whole_));
  for (const Paths& places : {named, shown}) {
    std::ranges::copy(places, std::back_inserter(policy.named_));
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

// What may be written and decides what the name leads to.
void Policy::keep(const fs::path& name) {
  for (WayPoint& point : way_to(name)) {
    Paths& to = point.kind == WayPoint::Kind::left_again ? crossed_
                : point.kind == WayPoint::Kind::folder   ? on_the_way_
                                                         : obeyed_;
    const bool is_told = is_below_any(point.path, roots_) &&
                         std::ranges::find(roots_, point.path) == roots_.end() &&
                         !is_git_folder(point.path);  // of which only a part is obeyed
    if (is_told && std::ranges::find(to, point.path.native(), &fs::path::native) == to.end()) {
      to.push_back(std::move(point.path));
    }
  }
}

std::vector<agent::Error> Policy::mistakes(const SandboxSpec& spec, const Surroundings& around) {
  std::vector<agent::Error> wrong = private_places(spec, around);
  check_ways(spec, around, wrong);
  existing(spec.write, "write", around, wrong);
  existing(spec.read, "read", around, wrong);
  return wrong;
}

Verdict Policy::reading(const fs::path& path) const {
  return may_read(reading_, path.native()) ? Verdict::allowed : Verdict::closed;
}

Verdict Policy::reading_by_file_tools(const fs::path& path) const {
  return is_of_a_process(path) ? Verdict::closed : reading(path);
}

bool Policy::writes_below(const fs::path& folder) const {
  return std::ranges::any_of(roots_, [&](const fs::path& root) { return is_below(root, folder); });
}

bool Policy::is_opened_by_name(const fs::path& path) const {
  return is_below_any(path, named_) && reading(path) == Verdict::allowed;
}

bool Policy::may_be_named(const fs::path& path) const {
  return !is_of_system(path) &&
         std::ranges::none_of(whole_, [&](const fs::path& home) { return is_below(home, path); });
}

bool Policy::is_obeyed(const fs::path& path) const {
  const auto root =
      std::ranges::find_if(roots_, [&](const fs::path& one) { return is_below(path, one); });
  if (root == roots_.end()) {
    return false;
  }
  const fs::path inner = path.lexically_relative(*root);
  return is_obeyed_file(path.filename().native()) ||
         (path.parent_path() == *root && is_obeyed_name(path.filename().native())) ||
         std::ranges::any_of(
             inner, [](const fs::path& part) { return is_obeyed_anywhere(part.native()); });
}

bool Policy::is_named_by_agent(const fs::path& path) const {
  return is_below_any(path, obeyed_) && !is_obeyed(path) && !is_below_any(path, kept_);
}

Verdict Policy::writing(const fs::path& path) const {
  if (std::ranges::find(harmless_devices(), path.native()) != harmless_devices().end()) {
    return Verdict::allowed;
  }
  if (!is_below_any(path, writable_)) {
    return Verdict::outside;
  }
  if (is_below_any(path, kept_) ||
      (!is_below_any(path, allowed_) && (is_below_any(path, obeyed_) || is_obeyed(path) ||
                                         std::ranges::find(crossed_, path) != crossed_.end()))) {
    return Verdict::locked;
  }
  return reading(path);
}

bool Policy::is_in_git_folder(const fs::path& path) const {
  if (!is_below_any(path, roots_) || is_below_any(path, allowed_)) {
    return false;
  }
  for (fs::path at = path; std::ranges::find(roots_, at) == roots_.end() && at.has_relative_path();
       at = at.parent_path()) {
    const std::array added{at.filename().string()};
    if (is_git_folder(at.parent_path(), added)) {
      return true;
    }
  }
  return false;
}

fs::path Policy::new_git_folder(const fs::path& top, const std::vector<std::string>& files) const {
  std::map<fs::path, std::vector<std::string>> added;  // names that count, by the folder
  for (const std::string& file : files) {
    for (fs::path at = file; at.has_relative_path(); at = at.parent_path()) {
      if (is_name_in_git_folder(at.filename().native())) {
        added[at.parent_path()].push_back(at.filename());
      }
    }
  }
  const auto made = std::ranges::find_if(added, [&](const auto& one) {
    const fs::path folder = top / one.first;
    return !is_below_any(folder, allowed_) && !is_git_folder(folder) &&
           is_git_folder(folder, one.second);
  });
  return made == added.end() ? fs::path() : made->first.empty() ? fs::path(".") : made->first;
}

Verdict Policy::writing_by_file_tools(const fs::path& path) const {
  const Verdict verdict = writing(path);
  return verdict == Verdict::allowed && is_in_git_folder(path) ? Verdict::git_folder : verdict;
}

ProtectedFiles::Options Policy::protection() const {
  Paths folders = crossed_;
  std::ranges::copy(on_the_way_, std::back_inserter(folders));
  return {.roots = sorted(roots_),
          .tops = sorted(tops_),
          .files = sorted(obeyed_),
          .crossed = sorted(std::move(folders)),
          .allowed = sorted(allowed_),
          .is_for_git = is_for_git_};
}

Profile Policy::profile() const {
  Profile profile = limits_;
  profile.writable = texts(writable_);
  Paths locked = obeyed_;
  for (const fs::path& top : tops_) {
    for (const fs::path& place : locked_places(top)) {
      for (fs::path& name : names_on(way_to(place))) {
        if (is_below_any(name, roots_)) {
          locked.push_back(std::move(name));
        }
      }
    }
  }
  std::erase_if(locked, [&](const fs::path& place) {
    return is_below_any(place, allowed_) ||
           std::ranges::find(repository_.folders, place) != repository_.folders.end();
  });
  std::ranges::copy(repository_.obeyed, std::back_inserter(locked));
  profile.locked = texts(locked);
  profile.held = texts(held_);
  std::ranges::transform(crossed_, std::back_inserter(profile.held), [](const fs::path& folder) {
    return (folder / "..").string();  // it is on the way
  });
  profile.reading = reading_;
  profile.homes = texts(homes_);
  return profile;
}

}  // namespace tools::sandbox
