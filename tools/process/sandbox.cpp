#include "tools/process/sandbox.h"

#include "tools/process/cache_variables.h"
#include "tools/process/program_result.h"
#include "tools/sandbox/mounts.h"
#include "tools/sandbox/places.h"
#include "tools/sandbox/repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
using sandbox::Layer;
using sandbox::LayerSet;
namespace fs = std::filesystem;

Result<fs::path> made_temporary(const fs::path& run_folder) {
  std::error_code error;
  fs::create_directories(run_folder.parent_path(), error);
  const fs::path folder = programs_temporary(run_folder);
  for (const fs::path& each : {run_folder, folder}) {
    if (::mkdir(each.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(
          Code::sandbox_setup,
          fmt::format(
              "cannot create the temporary folder `{}`: {}", each.string(), std::strerror(errno)),
          "set TMPDIR to a folder that can be written");
    }
  }
  fs::path real = fs::canonical(folder, error);
  return error ? folder : real;
}

std::vector<fs::path> search_path(const agent::Environment& environment) {
  std::vector<fs::path> folders;
  for (const auto part : std::views::split(agent::value_of(environment, "PATH"), ':')) {
    if (const std::string_view folder(part.begin(), part.end()); folder.starts_with('/')) {
      folders.emplace_back(folder);
    }
  }
  return folders;
}

// A virtual environment is a prefix: its programs look for `pyvenv.cfg` and `lib` beside their own
// folder. One that PATH does not name is not the one that is used.
std::vector<fs::path> active_prefixes(const agent::Environment& environment) {
  std::vector<fs::path> prefixes;
  const std::vector<fs::path> folders = search_path(environment);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const fs::path prefix = agent::value_of(environment, name);
    if (prefix.is_absolute() && std::ranges::find(folders, prefix / "bin") != folders.end()) {
      prefixes.push_back(prefix);
    }
  }
  return prefixes;
}

// Readable folders with something closed in them: what comes to stand there is open to the next
// program alone.
std::vector<fs::path> partly_closed(const sandbox::ReadingRules& reading) {
  std::map<std::string_view, bool> are_open;  // each asked for once: most rules are of few folders
  for (const std::string_view rule : reading.closed) {
    for (std::string_view at = rule; at.size() > 1;) {
      at = at.substr(0, std::max<std::size_t>(at.rfind('/'), 1));
      const auto [known, is_new] = are_open.try_emplace(at);
      if (!is_new) {
        break;
      }
      known->second = sandbox::may_read(reading, at);
      if (!known->second) {
        break;
      }
    }
  }
  std::vector<fs::path> folders;
  for (const auto& [folder, is_open] : are_open) {
    if (is_open) {
      folders.emplace_back(folder);
    }
  }
  return folders;
}

bool holds_the_same_names(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// What programs have to know of the sandbox that they are in. Leak checks want ptrace, which is
// refused, and would end each program with an error of their own; the user's own options stand
// after it and win. fakeroot only pretends, and fails where a user namespace lacks the owner.
void tell_programs(const agent::Environment& environment, agent::Environment& variables) {
  for (const std::string_view name : {"ASAN_OPTIONS", "LSAN_OPTIONS"}) {
    const std::string_view own = agent::value_of(environment, name);
    variables.emplace(name, fmt::format("detect_leaks=0{}{}", own.empty() ? "" : ":", own));
  }
  variables.emplace("FAKEROOTDONTTRYCHOWN", "1");
}

bool is_the_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool holds_any(const fs::path& folder, const std::vector<std::string>& places) {
  return std::ranges::any_of(places,
                             [&](const auto& place) { return sandbox::is_below(place, folder); });
}

// Without it no program would start.
bool is_of_the_system(const fs::path& place) {
  constexpr auto k_folders = std::to_array<const char*>(
      {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/sys", "/dev", "/run"});
  return place == "/" || std::ranges::any_of(k_folders, [&](const char* folder) {
           return sandbox::is_below(place, folder);
         });
}

Result<std::vector<std::string>> writable_by_git(const fs::path& workspace,
                                                 const sandbox::Policy& policy) {
  std::vector<std::string> named;
  std::error_code error;
  const fs::path top = fs::weakly_canonical(workspace, error);
  sandbox::Sight sight;
  for (const sandbox::NamedByGit& one : sandbox::named_by_git(top, sight)) {
    if (policy.writing(one.path) == sandbox::Verdict::allowed) {
      named.push_back(
          fmt::format("`{}` names `{}`", one.setting, one.path.lexically_proximate(top).string()));
    }
  }
  if (auto trouble = sight.trouble()) {
    return fail(*std::move(trouble));
  }
  return named;
}

LayerSet wanted_layers(const agent::SandboxSpec& spec) {
  LayerSet wanted;
  for (const Layer layer : {Layer::files, Layer::mounts, Layer::system_calls, Layer::signals}) {
    wanted.add(layer);
  }
  const auto add_if = [&](bool is_asked, Layer layer) {
    if (is_asked) {
      wanted.add(layer);
    }
  };
  add_if(!spec.network, Layer::network);
  add_if(!spec.allow_hosts.empty(), Layer::hosts);
  add_if(spec.memory || spec.processes, Layer::control_group);
  add_if(spec.memory.has_value(), Layer::memory);
  add_if(spec.processes.has_value(), Layer::processes);
  add_if(spec.cpu_time.has_value(), Layer::cpu_time);
  return wanted;
}

}  // namespace

fs::path programs_temporary(const fs::path& run_folder) {
  return run_folder / "tmp";
}

namespace {

sandbox::Surroundings surroundings_of(const SandboxOptions& options) {
  return {.workspace = options.workspace,
          .temporary = {},
          .run_folder = options.temporary,
          .agent_folder = options.agent_folder,
          .agent_file = options.agent_file,
          .homes = sandbox::find_homes(options.environment),
          .search_path = search_path(options.environment),
          .prefixes = active_prefixes(options.environment),
          .own = options.secrets,
          .obeyed = options.obeyed,
          .other_runs = options.other_runs,
          .outputs = options.outputs,
          .writes = options.writes,
          .writes_repository = options.is_for_git};
}

}  // namespace

Result<sandbox::Policy> policy_of(const agent::SandboxSpec& spec, const SandboxOptions& options) {
  return sandbox::Policy::create(spec, surroundings_of(options));
}

std::vector<agent::Error> mistakes_in_places(const agent::SandboxSpec& spec,
                                             const SandboxOptions& options) {
  return sandbox::Policy::mistakes(spec, surroundings_of(options));
}

Sandbox::Sandbox(sandbox::Policy policy, Supervisor* supervisor, const SandboxOptions& options)
    : policy_(std::move(policy)),
      supervisor_(supervisor),
      stop_(options.stop),
      protected_(supervisor != nullptr
                     ? supervisor->protection().of(policy_.protection(), options.shared)
                     : std::make_shared<sandbox::ProtectedFiles>(policy_.protection())) {}

Result<std::unique_ptr<Sandbox>> Sandbox::create(const agent::SandboxSpec& spec,
                                                 const SandboxOptions& options) {
  sandbox::Surroundings around = surroundings_of(options);
  if (options.runs_programs) {
    TRY_ASSIGN(around.temporary, made_temporary(options.temporary));
  }
  TRY_ASSIGN(auto policy, sandbox::Policy::create(spec, around));
  std::unique_ptr<Sandbox> sandbox(new Sandbox(
      std::move(policy), options.runs_programs ? options.supervisor : nullptr, options));
  sandbox->is_swept_ = !options.is_for_git;  // git itself makes none of that below
  sandbox->variables_ = cache_variables(options.environment, sandbox->policy_, around.temporary);
  sandbox->variables_.insert_or_assign("TMPDIR", around.temporary.string());
  tell_programs(options.environment, sandbox->variables_);
  if (options.runs_programs && !spec.allow_hosts.empty()) {
    TRY_ASSIGN(sandbox->hosts_, HostList::create(spec.allow_hosts));
  }
  if (options.writes) {
    TRY_ASSIGN(sandbox->named_by_git_, writable_by_git(options.workspace, sandbox->policy_));
  }
  if (options.runs_programs) {
    TRY(sandbox->try_out(spec));
  }
  sandbox->kept_in_ = options.temporary;
  return sandbox;
}

// Other runs of this process go on, and have no use for its processes.
Sandbox::~Sandbox() {
  if (supervisor_ != nullptr) {
    supervisor_->retire(encoded_);
  }
  if (kept_survey_ != 0) {  // a run that could not begin
    sandbox::forget_survey(kept_in_, name_of_survey());
  }
}

Result<void> Sandbox::try_out(const agent::SandboxSpec& spec) {
  profile_ = policy_.profile();
  always_locked_ = profile_.locked;
  profile_.untouchable = {::getpid(), supervisor_->zygote()};
  neighbours_ = partly_closed(profile_.reading);
  in_force_.add(Layer::mounts);  // as long as nothing else is known
  TRY_ASSIGN(const std::string profile, next_profile());
  sandbox::ProtectedEnd looked = end(profile, true);
  if (looked.trouble) {
    return fail(*std::move(looked.trouble));
  }
  for (const sandbox::ProtectedChange& change : looked.changes) {
    undone_.push_back(
        fmt::format("undone as this run began, for a program of another run that is "
                    "at work has made or changed it: {}",
                    change_text(change)));
  }
  auto layers = supervisor_->try_profile(profile);
  if (!layers) {
    layers = supervisor_->try_profile(profile);
  }
  if (!layers) {
    return fail(std::move(layers).error());
  }
  wanted_ = wanted_layers(spec);
  in_force_ = *layers;
  for (const sandbox::LayerRow& row : sandbox::k_layers) {
    const bool is_required = row.layer == Layer::hosts ||
                             std::ranges::find(spec.required, row.name) != spec.required.end();
    if (is_required && wanted_.has(row.layer) && !in_force_.has(row.layer)) {
      return fail(Code::sandbox_setup,
                  fmt::format("this machine cannot enforce the sandbox layer `{}`: without it, {}",
                              row.name,
                              row.without),
                  row.layer == Layer::hosts
                      ? "run where network namespaces can be made (as root, or as a user who may "
                        "make user namespaces), or take `sandbox.allow_hosts` out"
                      : "run where the kernel has it, or take it out of `sandbox.required`");
    }
  }
  if (!policy_.kept().empty() && !in_force_.has(Layer::mounts)) {
    return fail(Code::cli_cannot_create,
                fmt::format("errand would write `{}`, and so could the programs of the tools",
                            policy_.kept().front().string()),
                "this machine has no private mounts, which would keep them from it: name a place "
                "outside of the working folder and of what `sandbox.write` names");
  }
  return make_own_folders();
}

// A mount needs something to cover: what is not there, a program could make and fill.
Result<void> Sandbox::make_own_folders() const {
  for (const fs::path& folder : policy_.own_folders()) {
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(
          Code::sandbox_setup,
          fmt::format("cannot create errand's own folder `{}`, which programs of the tools "
                      "could: {}",
                      folder.string(),
                      std::strerror(errno)),
          "set XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME to folders outside of what "
          "tools may write");
    }
    if (!fs::is_directory(fs::symlink_status(folder, error))) {
      return fail(Code::sandbox_setup,
                  fmt::format("errand's own folder `{}` is not a folder", folder.string()),
                  "remove it, or set the XDG variable that names it to another place");
    }
  }
  return {};
}

bool Sandbox::has_own(const fs::path& path) const {
  return in_force_.has(Layer::mounts) &&
         std::ranges::any_of(
             std::to_array(
                 {sandbox::k_shared_memory, sandbox::k_terminals, sandbox::k_terminal_maker}),
             [&](const char* place) { return sandbox::is_below(path, place); });
}

void Sandbox::close(std::vector<fs::path> reading, std::vector<fs::path> writing) {
  const std::scoped_lock lock(mutex_);
  denied_reading_ = std::move(reading);
  denied_writing_ = std::move(writing);
}

bool Sandbox::keeps(const fs::path& place, bool is_writing) const {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(place, error);
  if (error) {
    return false;
  }
  using sandbox::Verdict;
  const Verdict writing = policy_.writing(real);
  const auto& open = profile_.reading.open;
  const bool is_closed = is_writing
                             ? writing == Verdict::outside && !holds_any(real, profile_.writable)
                             : policy_.reading(real) == Verdict::closed && !holds_any(real, open);
  return is_closed || (in_force_.has(Layer::mounts) && can_be_covered(real) &&
                       (!is_writing || fs::exists(real, error)));
}

// Not what the work goes on in, and not what programs are started from.
bool Sandbox::can_be_covered(const fs::path& real) const {
  return !is_of_the_system(real) && !holds_any(real, profile_.writable);
}

// Puts what is there of them into the profile, and says which files they are.
std::vector<struct stat> Sandbox::find_denied() {
  std::vector<struct stat> found;
  const auto add = [&](const fs::path& real, std::vector<std::string>& to) {
    struct stat status = {};
    if (::lstat(real.c_str(), &status) == 0) {
      to.push_back(real.string());
      found.push_back(status);
    }
  };
  const auto add_all = [&](const std::vector<fs::path>& places, std::vector<std::string>& to) {
    for (const fs::path& place : places) {
      std::error_code error;
      if (const fs::path real = fs::canonical(place, error); !error && can_be_covered(real)) {
        add(real, to);
      }
    }
  };
  if (!denied_reading_.empty() || !denied_writing_.empty() || !policy_.kept().empty()) {
    profile_.hidden.clear();
    profile_.locked = always_locked_;
    add_all(denied_reading_, profile_.hidden);
    add_all(denied_writing_, profile_.locked);
    for (const fs::path& place : policy_.kept()) {
      add(place, profile_.locked);
    }
  }
  for (const std::string& place : profile_.held) {
    struct stat folder = {};
    ::lstat(fs::path(place).parent_path().c_str(), &folder);
    found.push_back(folder);
  }
  return found;
}

// One that was not there still is not where nothing came into the folder above it, which stands
// before it.
std::vector<struct stat> Sandbox::look_at_neighbours() const {
  std::vector<struct stat> now(neighbours_.size());
  bool are_the_same = neighbours_then_.size() == now.size();
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (are_the_same && neighbours_then_[at].st_ino == 0) {
      continue;
    }
    ::stat(neighbours_[at].c_str(), &now[at]);
    are_the_same = are_the_same && holds_the_same_names(now[at], neighbours_then_[at]);
  }
  return now;
}

Result<std::string> Sandbox::begin() {
  TRY(note_writing());
  TRY_ASSIGN(std::string profile, next_profile());
  keep_survey();
  return profile;
}

Result<void> Sandbox::note_writing() {
  if (is_swept_) {
    is_written_ = true;
    TRY(protected_->check_roots());
    TRY(protected_->survey(stop_));
    keep_survey();
  }
  return {};
}

void Sandbox::keep_survey() {
  if (!is_swept_ || kept_in_.empty()) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (auto survey = protected_->surveyed_since(kept_survey_)) {
    survey->has_mounts = in_force_.has(Layer::mounts);
    sandbox::keep_survey(*survey, kept_in_, name_of_survey());
  }
}

Result<std::string> Sandbox::next_profile() {
  if (supervisor_ == nullptr) {  // an empty profile would confine nothing
    throw std::logic_error("a program for a sandbox that was opened for file tools alone");
  }
  TRY_ASSIGN(const std::uint64_t files, protected_->begin(in_force_.has(Layer::mounts), stop_));
  const std::scoped_lock lock(mutex_);
  std::vector<struct stat> denied = find_denied();
  std::vector<struct stat> neighbours = look_at_neighbours();
  if (files != files_then_ || !std::ranges::equal(denied, denied_then_, is_the_same_file) ||
      !std::ranges::equal(neighbours, neighbours_then_, holds_the_same_names)) {
    supervisor_->retire(encoded_);
    ++profile_.generation;
    encoded_ = sandbox::encode(profile_);
    files_then_ = files;
    denied_then_ = std::move(denied);
    neighbours_then_ = std::move(neighbours);
  }
  return encoded_;
}

sandbox::ProtectedEnd Sandbox::end(const std::string& profile, bool have_locks_held) {
  {
    const std::scoped_lock lock(mutex_);
    if (profile != encoded_) {  // it became another one while the program ran
      supervisor_->retire(profile);
    }
  }
  sandbox::ProtectedEnd end = protected_->end(have_locks_held);
  if (!end.changes.empty()) {
    keep_survey();  // what was put back is another file or folder
  }
  return end;
}

sandbox::ProtectedFiles::Sweep Sandbox::sweep() {
  if (!is_written_.exchange(false)) {
    return {};
  }
  sandbox::ProtectedFiles::Sweep sweep = protected_->sweep();
  const std::scoped_lock lock(mutex_);
  if (std::exchange(kept_survey_, 0) != 0) {
    sandbox::forget_survey(kept_in_, name_of_survey());
  }
  return sweep;
}

std::vector<std::string> Sandbox::names_of(bool are_in_force) const {
  std::vector<std::string> names;
  for (const sandbox::LayerRow& row : sandbox::k_layers) {
    if (wanted_.has(row.layer) && in_force_.has(row.layer) == are_in_force) {
      names.emplace_back(row.name);
    }
  }
  return names;
}

std::vector<std::string> Sandbox::layers() const {
  return names_of(true);
}

std::vector<std::string> Sandbox::missing() const {
  return names_of(false);
}

std::vector<std::string> Sandbox::warnings() const {
  std::vector<std::string> sentences;
  for (const sandbox::LayerRow& row : sandbox::k_layers) {
    if (wanted_.has(row.layer) && !in_force_.has(row.layer) && !row.has_substitute) {
      sentences.push_back(
          fmt::format("the sandbox has no layer `{}` on this machine: {}", row.name, row.without));
    }
  }
  if (!named_by_git_.empty()) {
    sentences.push_back(
        fmt::format("git's settings here obey files that tools may change ({}): read what a run "
                    "changed there before you call git",
                    fmt::join(named_by_git_, ", ")));
  }
  std::ranges::copy(undone_, std::back_inserter(sentences));
  return sentences;
}

}  // namespace tools
