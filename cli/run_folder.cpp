#include "cli/run_folder.h"

#include "agent/absence.h"
#include "agent/id.h"
#include "config/yaml/source.h"
#include "tools/process/sandbox.h"
#include "tools/sandbox/shared_pictures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <ranges>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Descriptor;
using tools::sandbox::Sight;
using Sweep = tools::sandbox::ProtectedFiles::Sweep;

constexpr std::string_view k_prefix = "errand-";
constexpr mode_t k_folder_mode = 0700;
constexpr mode_t k_kept =
    S_ISVTX;  // on a folder that a session names; on one's own it means nothing

// In a kept one: the id of the run whose session names it and, on a line of its own, the journal.
constexpr const char* k_whose = "run";
constexpr std::size_t k_most_of_it = 8'192;  // bytes

// The bounds of one sweep.
constexpr int k_most_entries = 2'000;
constexpr int k_most_removed = 4;

// What this program calls its folders: no other is ever touched.
bool is_run_folder(std::string_view name) {
  if (!name.starts_with(k_prefix)) {
    return false;
  }
  name.remove_prefix(k_prefix.size());
  if (name.starts_with("test-")) {
    name.remove_prefix(5);
  }
  return agent::is_run_id(name);
}

// The folder, locked against every other process; none where somebody has it, or it is another
// user's, or no folder.
Descriptor locked(const fs::path& folder) {
  Descriptor opened(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      ::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    return {};
  }
  return opened;
}

bool is_there(const fs::path& folder, const Descriptor& opened) {
  struct stat by_name{};
  struct stat by_number{};
  return ::lstat(folder.c_str(), &by_name) == 0 && ::fstat(opened.get(), &by_number) == 0 &&
         by_name.st_dev == by_number.st_dev && by_name.st_ino == by_number.st_ino;
}

bool is_marked_as_kept(const Descriptor& folder) {
  struct stat status{};
  return ::fstat(folder.get(), &status) == 0 && (status.st_mode & k_kept) != 0;
}

// But for whose it is. Every run asks that of every folder that was kept, and one may hold
// thousands of outputs: what tells is the first that is something else.
bool holds_nothing(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() != k_whose) {
      return false;
    }
  }
  return !error;
}

fs::path start_in(const fs::path& folder) {
  return folder / "start";
}

// What nobody will read again.
void remove(const fs::path& folder, bool is_kept) {
  std::error_code ignored;
  if (!is_kept) {
    fs::remove_all(folder, ignored);  // once: from then on another one may have its name
    return;
  }
  fs::remove_all(tools::programs_temporary(folder), ignored);
  fs::remove_all(start_in(folder), ignored);
  if (holds_nothing(folder)) {
    fs::remove(folder / k_whose, ignored);
    fs::remove(folder, ignored);
  }
}

struct Keeper {
  std::string run_id;
  fs::path journal;  // empty: it does not say
};

// Who names what is in it; of one that does not say it, the run whose folder it is.
Keeper keeper_of(const fs::path& folder) {
  const auto text = config::read_text_file(folder / k_whose, k_most_of_it);
  if (!text) {
    return {.run_id = folder.filename().string().substr(k_prefix.size()), .journal = {}};
  }
  const std::size_t end = std::min(text->find('\n'), text->size());
  return {.run_id = text->substr(0, end), .journal = text->substr(std::min(end + 1, text->size()))};
}

// Another journal that is still there.
bool is_kept_elsewhere(const fs::path& folder, const fs::path& journal) {
  const fs::path kept_in = keeper_of(folder).journal;
  std::error_code error;
  return !kept_in.empty() && fs::exists(kept_in, error) && !error &&
         !fs::equivalent(kept_in, journal, error);
}

bool is_own(const fs::path& folder) {
  struct stat status{};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
}

// A sweep may come between making it and locking it: it holds the folder for a moment, and removes
// it. None: it cannot be made, or is somebody else's.
Descriptor made_and_locked(const fs::path& folder) {
  constexpr std::chrono::seconds k_most{5};  // that a sweeper may be kept from going on
  constexpr std::chrono::milliseconds k_pause{1};
  const auto until = std::chrono::steady_clock::now() + k_most;
  for (;;) {
    if (::mkdir(folder.c_str(), k_folder_mode) != 0 && errno != EEXIST) {
      return {};
    }
    Descriptor opened = locked(folder);
    if (opened && is_there(folder, opened)) {
      return opened;
    }
    const bool is_swept = opened || is_own(folder) || agent::is_absent(folder);
    if (!is_swept || std::chrono::steady_clock::now() >= until) {
      return {};
    }
    std::this_thread::sleep_for(k_pause);
  }
}

void sweep(const fs::path& temporary) {
  std::error_code error;
  int seen = 0;
  int removed = 0;
  for (fs::directory_iterator entry(temporary, error), end; !error && entry != end;
       entry.increment(error)) {
    if (++seen > k_most_entries || removed == k_most_removed) {
      return;
    }
    const fs::path& folder = entry->path();
    if (!is_run_folder(folder.filename().string())) {
      continue;
    }
    const Descriptor dead = locked(folder);
    const bool is_kept = dead && is_marked_as_kept(dead);
    std::error_code ignored;
    if (dead && (!is_kept || fs::exists(tools::programs_temporary(folder), ignored) ||
                 fs::exists(start_in(folder), ignored) || holds_nothing(folder))) {
      remove(folder, is_kept);
      ++removed;
    }
  }
}

// Where they may be, the best first.
std::vector<fs::path> temporary_folders(const agent::Environment& environment) {
  std::vector<fs::path> folders;
  const auto named = agent::value_of(environment, "TMPDIR");
  for (const fs::path& folder : {fs::path(named), fs::path("/tmp"), fs::path("/var/tmp")}) {
    std::error_code error;
    const fs::path real = folder.is_absolute() ? fs::canonical(folder, error) : fs::path();
    const fs::path& one = error ? folder : real;
    if (!one.empty() && std::ranges::find(folders, one) == folders.end()) {
      folders.push_back(one);
    }
  }
  return folders;
}

}  // namespace

std::vector<std::string> run_folders(const agent::Environment& environment) {
  std::vector<std::string> patterns;
  for (const fs::path& folder : temporary_folders(environment)) {
    for (const std::string_view kind : {"", "test-"}) {  // an id begins with the time
      patterns.push_back((folder / fmt::format("{}{}0*", k_prefix, kind)).string());
    }
  }
  return patterns;
}

agent::Result<fs::path> find_temporary(const agent::Environment& environment,
                                       const IsWritten& is_written) {
  const std::vector<fs::path> folders = temporary_folders(environment);
  const auto safe = std::ranges::find_if_not(folders, is_written);
  if (safe == folders.end()) {
    return agent::fail(
        agent::Code::sandbox_setup,
        fmt::format("tools could put something else in the place of the run's own "
                    "folder, for they may write in each of {}",
                    fmt::join(std::views::transform(folders, &fs::path::native), ", ")),
        "set TMPDIR to a folder where they may not write");
  }
  return *safe;
}

RunFolder::RunFolder(const fs::path& temporary, const std::string& run_id) {
  path_ = temporary / (std::string(k_prefix) + run_id);
  lock_ = made_and_locked(path_);
  sweep(temporary);
}

RunFolder::~RunFolder() {
  remove(path_, is_kept_ || is_left_);
}

agent::Result<fs::path> RunFolder::made_start() const {
  fs::path folder = start_in(path_);
  std::error_code ignored;
  fs::remove_all(folder, ignored);  // of a process that was killed
  if (::mkdir(folder.c_str(), k_folder_mode) != 0) {
    return agent::fail(
        agent::Code::sandbox_setup,
        fmt::format("cannot create the folder `{}`, in which programs outside of the "
                    "sandbox start: {}",
                    folder.string(),
                    std::strerror(errno)),
        "set TMPDIR to a folder that can be written");
  }
  return folder;
}

void RunFolder::keep(const std::string& run_id, const fs::path& journal) {
  is_kept_ = true;
  if (lock_) {
    ::fchmod(lock_.get(), k_folder_mode | k_kept);
    const Descriptor whose(
        ::openat(lock_.get(), k_whose, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    std::error_code error;
    const std::string text = run_id + '\n' + fs::canonical(journal, error).string();
    if (!whose || agent::write_all(whose.get(), text) != 0) {
      return;  // it is the folder of the run that has its name
    }
  }
}

namespace {

// Of this user's.
std::vector<fs::path> all_folders(const agent::Environment& environment) {
  std::vector<fs::path> folders;
  for (const fs::path& temporary : temporary_folders(environment)) {
    std::error_code error;
    int seen = 0;
    for (fs::directory_iterator entry(temporary, error), end;
         !error && entry != end && ++seen <= k_most_entries;
         entry.increment(error)) {
      const fs::path& folder = entry->path();
      if (is_run_folder(folder.filename().string()) && is_own(folder)) {
        folders.push_back(folder);
      }
    }
  }
  return folders;
}

}  // namespace

std::vector<fs::path> kept_folders(const agent::Environment& environment,
                                   std::span<const std::string> run_ids) {
  std::vector<fs::path> folders;
  if (run_ids.empty()) {
    return folders;  // of a new run, there are none to look for
  }
  for (fs::path& folder : all_folders(environment)) {
    if (std::ranges::find(run_ids, keeper_of(folder).run_id) != run_ids.end()) {
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

namespace {

void add_sweep(Sweep& all, Sweep more) {
  std::ranges::move(more.changes, std::back_inserter(all.changes));
  all.is_whole = all.is_whole && more.is_whole;
  if (!all.trouble) {
    all.trouble = std::move(more.trouble);
  }
}

// What programs of others that are at work have taken for what was there, they would put back.
std::optional<agent::Error> others_at_work(const fs::path& pictures,
                                           const tools::sandbox::ObeyedSurvey& survey) {
  if (pictures.empty() || survey.roots.empty()) {
    return std::nullopt;
  }
  constexpr agent::Milliseconds k_patience{5'000};
  tools::sandbox::SharedPictures shared(pictures);
  auto turn = shared.take_turn(survey.roots, k_patience, {});
  if (!turn) {
    return std::move(turn).error();
  }
  Sight sight;
  const bool has_others =
      turn->is_shared() &&
      std::ranges::any_of(shared.of_others(survey.roots, {}, sight),
                          [](const auto& others) { return !others.extent.below; });
  if (!has_others) {
    return std::nullopt;
  }
  return agent::Error{
      .code = agent::Code::cli_usage,
      .message = fmt::format("a process of this run was killed, and what its tools have left is to "
                             "be renamed in `{}`, where a program of another run is at work",
                             survey.roots.front().string()),
      .help = "carry it on when that has ended"};
}

// By the surveys in it, which are done with then; where it could not look, or not rename, they
// stay.
Sweep sweep_by_surveys(const fs::path& folder, const fs::path& pictures, Sight& sight) {
  Sweep all;
  for (const tools::sandbox::ObeyedSurvey& survey : tools::sandbox::read_surveys(folder, sight)) {
    if (auto others = others_at_work(pictures, survey)) {
      all.trouble = std::move(others);
      return all;
    }
    add_sweep(all, tools::sandbox::ProtectedFiles::sweep_after_kill(survey));
  }
  if (!all.trouble) {
    all.trouble = sight.trouble();
  }
  using tools::sandbox::ProtectedChange;
  const bool stays = std::ranges::any_of(all.changes, [](const ProtectedChange& change) {
    return change.outcome == ProtectedChange::Outcome::stays;
  });
  if (!all.trouble && !stays) {
    tools::sandbox::forget_surveys(folder);
  }
  return all;
}

// Where nobody can see whose it is, for want of descriptors or on a broken disk, its name says it.
bool is_kept_for(const fs::path& folder,
                 const fs::path& journal,
                 const std::function<bool(const std::string& run_id)>& is_theirs,
                 Sight& sight) {
  const Keeper keeper = keeper_of(folder);
  if (keeper.journal.empty()) {
    sight.open(folder / k_whose, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);  // notes why
  }
  std::error_code error;
  const bool is_in_journal = keeper.journal.empty()
                                 ? !sight.is_whole()
                                 : fs::equivalent(keeper.journal, journal, error) && !error;
  return is_in_journal && is_theirs(keeper.run_id);
}

}  // namespace

Sweep sweep_after_kill(const agent::Environment& environment,
                       const fs::path& journal,
                       const IsWritten& is_written,
                       const std::function<bool(const std::string& run_id)>& is_theirs,
                       const fs::path& pictures) {
  Sweep all;
  for (const fs::path& folder : all_folders(environment)) {
    Sight sight;  // of each its own: what ails the folder of another run is not theirs
    const bool has_surveys = tools::sandbox::has_surveys(folder, sight);
    if (!has_surveys && sight.is_whole()) {
      continue;
    }
    const Descriptor dead = locked(folder);
    if ((dead || !sight.is_whole()) && is_kept_for(folder, journal, is_theirs, sight) &&
        !is_written(folder)) {
      add_sweep(all,
                dead ? sweep_by_surveys(folder, pictures, sight)
                     : Sweep{.changes = {}, .is_whole = true, .trouble = sight.trouble()});
    }
  }
  return all;
}

void remove_kept(const agent::Environment& environment,
                 std::span<const std::string> run_ids,
                 const fs::path& journal) {
  for (const fs::path& folder : kept_folders(environment, run_ids)) {
    if (const Descriptor dead = locked(folder); dead && !is_kept_elsewhere(folder, journal)) {
      remove(folder, false);
    }
  }
}

}  // namespace cli
