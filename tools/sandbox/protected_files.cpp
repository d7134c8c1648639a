#include "tools/sandbox/protected_files.h"

#include "agent/text.h"
#include "tools/sandbox/places.h"
#include "tools/sandbox/repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <ranges>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;
using Status = struct stat;
using Outcome = ProtectedChange::Outcome;

constexpr std::size_t k_most_bytes = 16u << 20;       // of all places together
constexpr std::size_t k_most_of_one_file = 1u << 20;  // of what is compared alone
constexpr std::size_t k_most_refs = 10'000;
constexpr agent::Milliseconds k_patience{30'000};  // with others who look or put back
constexpr agent::Milliseconds k_patience_at_end{5'000};

void note(const fs::path& path, std::vector<struct stat>& all, Sight& sight) {
  if (auto status = sight.lstat(path)) {
    status->st_atim = {};  // who reads it changes nothing
    all.push_back(*status);
  }
}

// Objects by their folders, refs and their logs one by one: enough to see that something was
// written.
std::vector<struct stat> data_of(const fs::path& git, Sight& sight) {
  std::vector<struct stat> all;
  for (const char* name : {"HEAD", "index", "packed-refs", "ORIG_HEAD", "FETCH_HEAD", "shallow"}) {
    note(git / name, all, sight);
    note(git / fmt::format("{}.lock", name), all, sight);
  }
  note(git / "objects" / "pack", all, sight);
  for (int first = 0; first < 256; ++first) {
    note(git / "objects" / fmt::format("{:02x}", first), all, sight);
  }
  std::vector<fs::path> left{git / "reftable", git / "logs", git / "refs"};
  while (!left.empty() && all.size() < k_most_refs) {
    const fs::path at = std::move(left.back());
    left.pop_back();
    for (const Sight::Named& entry : sight.entries_of(at)) {
      note(at / entry.name, all, sight);
      if (entry.type == DT_DIR) {
        left.push_back(at / entry.name);
      }
    }
  }
  return all;
}

std::set<std::pair<fs::path, std::string>> oddities_in(const fs::path& git, Sight& sight) {
  std::set<std::pair<fs::path, std::string>> odd;
  for (const fs::path& index : indexes_of(git, sight)) {
    for (std::string& oddity : oddities_of(index, sight)) {
      odd.emplace(index, std::move(oddity));
    }
  }
  return odd;
}

bool is_same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool is_same_data(const std::vector<struct stat>& a, const std::vector<struct stat>& b) {
  return std::ranges::equal(a, b, [](const struct stat& x, const struct stat& y) {
    return x.st_ino == y.st_ino && x.st_size == y.st_size && is_same(x.st_mtim, y.st_mtim) &&
           is_same(x.st_ctim, y.st_ctim);
  });
}

bool is_as_it_was(const std::pair<const fs::path, struct stat>& folder) {
  struct stat now = {};
  return ::lstat(folder.first.c_str(), &now) == 0 ? is_same_folder(now, folder.second)
                                                  : folder.second.st_ino == 0;
}

ProtectedChange set_aside(const fs::path& path, const fs::path& root) {
  fs::path aside = move_aside(path, root);
  const Outcome outcome = aside.empty() ? Outcome::stays : Outcome::moved_aside;
  return {.path = path, .outcome = outcome, .found_as = std::move(aside)};
}

// Shut over what is in it: root is kept from nothing by that, who comes after it may be.
bool is_shut(const struct stat& now, mode_t before) {
  return S_ISDIR(now.st_mode) && (before & ~now.st_mode & (S_IRUSR | S_IXUSR)) != 0;
}

bool is_link(const fs::path& path, Sight& sight) {
  const auto status = sight.lstat(path);
  return status && S_ISLNK(status->st_mode);
}

// Whether a file has another one, by a hard link, or one in this folder has: no mount is over that.
bool has_other_names(const fs::path& path, Sight& sight) {
  const auto has_some = [&](const fs::path& file) {
    const auto found = sight.lstat(file);
    return found && S_ISREG(found->st_mode) && found->st_nlink > 1;
  };
  bool is_found = has_some(path);
  sight.walk(path, [&](const fs::path& file, unsigned char type) {
    is_found = is_found || (type == DT_REG && has_some(file));
    return !is_found;
  });
  return is_found;
}

// A file system that does not say when something was made says at least when it was changed.
bool is_made_since(const fs::path& path, const timespec& since, Sight& sight) {
  struct statx status = {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_CTIME, &status) !=
      0) {
    sight.failed(errno, path);
    return false;
  }
  const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
  const statx_timestamp& time = has_birth ? status.stx_btime : status.stx_ctime;
  return std::pair(time.tv_sec, static_cast<long>(time.tv_nsec)) >=
         std::pair(static_cast<long long>(since.tv_sec), since.tv_nsec);
}

bool is_folder(const Sight::Named& entry, const fs::path& path, Sight& sight) {
  const auto status = entry.type == DT_UNKNOWN ? sight.lstat(path) : std::nullopt;
  return entry.type == DT_DIR || (status && S_ISDIR(status->st_mode));
}

}  // namespace

// A mount holds a file by the name that it covers: one with other names is changed by these.
bool ProtectedFiles::holds(const FileTree& tree, const Path& place) const {
  return options_.is_mounted(place) && !tree.has_other_names();
}

// What needs no look behind mounts that held.
void ProtectedFiles::look_by_name(State& state,
                                  const State& before,
                                  const Path& top,
                                  Sight& sight) const {
  std::size_t room = k_most_bytes;
  for (const Sight::Named& entry : sight.entries_of(top)) {
    const Path path = top / entry.name;
    const bool was_there = before.places.contains(path) || before.folders.contains(path);
    if (!is_obeyed_name(entry.name) || options_.is_allowed(path) ||
        (was_there && options_.is_mounted(path))) {
      continue;
    }
    if (is_folder(entry, path, sight) && is_obeyed_anywhere(entry.name) && !was_there) {
      state.folders.emplace(path, GitFolder());
    } else {
      state.places.emplace(path, FileTree::read(path, room, sight));
    }
  }
  if (!before.folders.contains(top) && is_git_folder(top, sight)) {
    state.folders.emplace(top, GitFolder());
  }
}

bool ProtectedFiles::is_untouched(const State& state) const {
  Sight sight;
  std::size_t names = 0;
  for (const Path& top : state.tops) {
    for (const Sight::Named& entry : sight.entries_of(top)) {
      const Path path = top / entry.name;
      if (is_obeyed_name(entry.name) && !options_.is_allowed(path)) {
        names += state.places.contains(path) || state.folders.contains(path) ? 0 : 1;
      }
    }
    names += is_git_folder(top, sight) && !state.folders.contains(top) ? 1 : 0;
  }
  names += static_cast<std::size_t>(std::ranges::count_if(options_.files, [&](const Path& file) {
    return !state.places.contains(file) && !options_.is_allowed(file) && sight.is_there(file);
  }));
  names += static_cast<std::size_t>(std::ranges::count_if(
      options_.crossed, [&](const Path& folder) { return is_link(folder, sight); }));
  return names == 0 && sight.is_whole() && !state.tops.empty() &&
         std::ranges::all_of(state.places,
                             [](const auto& one) { return one.second.looks_untouched(); }) &&
         std::ranges::all_of(state.roots, is_as_it_was) &&
         std::ranges::all_of(state.ways, is_as_it_was) &&
         std::ranges::all_of(state.watched, [](const auto& one) {
           struct stat now = {};
           return ::lstat(one.first.c_str(), &now) == 0 ? is_same_data({now}, {one.second})
                                                        : one.second.st_ino == 0;
         });
}

ProtectedFiles::State ProtectedFiles::look(std::vector<Path> tops,
                                           const State* before,
                                           Scope scope,
                                           Sight& sight) const {
  State state;
  if (scope == Scope::by_name) {
    for (const Path& top : tops) {
      look_by_name(state, *before, top, sight);
    }
    std::size_t room = k_most_bytes;
    for (const Path& file : options_.files) {
      if (!before->places.contains(file) && !options_.is_allowed(file) && sight.is_there(file)) {
        state.places.emplace(file, FileTree::read(file, room, sight));
      }
    }
    for (const Path& folder : options_.crossed) {
      if (is_link(folder, sight)) {
        state.places.emplace(folder, FileTree::read(folder, room, sight));
      }
    }
    state.tops = std::move(tops);
    return state;
  }
  std::size_t room = k_most_bytes;
  const auto add_place = [&](const Path& path) {
    if (!options_.has(path) || !sight.is_there(path)) {
      return;
    }
    const auto known = before != nullptr ? before->places.find(path) : state.places.end();
    const bool is_known = before != nullptr && known != before->places.end();
    state.places.emplace(path,
                         FileTree::read(path, room, sight, is_known ? &known->second : nullptr));
  };
  for (std::size_t at = 0; at < tops.size(); ++at) {
    const Repository repository = find_repository(tops[at], sight);
    for (const Path& folder : repository.folders) {
      GitFolder found{.handle = sight.open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW)};
      if (options_.has(folder) && found.handle && ::fstat(found.handle.get(), &found.status) == 0) {
        found.data = scope == Scope::all ? data_of(folder, sight) : std::vector<struct stat>();
        if (scope == Scope::all || !options_.is_mounted(folder)) {
          found.oddities = oddities_in(folder, sight);
        }
        state.folders.emplace(folder, std::move(found));
        std::vector<Path> telling{folder, folder / "modules", folder / "worktrees"};
        if (is_below(folder.parent_path(), tops[at] / ".git")) {
          telling.push_back(folder.parent_path());
        }
        for (const Path& watched : telling) {
          state.watched.emplace_back(watched, sight.lstat(watched).value_or(Status()));
        }
      }
    }
    std::ranges::for_each(repository.obeyed, add_place);
    for (const Path& tree : repository.trees) {
      if (options_.has(tree) && std::ranges::find(tops, tree) == tops.end()) {
        tops.push_back(tree);
      }
    }
    for (const Sight::Named& entry : sight.entries_of(tops[at])) {
      const Path path = tops[at] / entry.name;
      if (is_obeyed_name(entry.name) && !state.folders.contains(path)) {
        add_place(path);
      }
    }
  }
  std::ranges::for_each(options_.files, add_place);
  for (const Path& folder : options_.crossed) {
    if (is_link(folder, sight)) {
      add_place(folder);
    }
  }
  for (const Path& top : tops) {
    state.roots.emplace(top, sight.lstat(top).value_or(Status()));
  }
  state.tops = std::move(tops);
  look_beside_data(state, before, room, scope, sight);
  state.is_behind_mounts = are_all_behind_mounts(state);
  return state;
}

// Or found by their names alone.
bool ProtectedFiles::are_all_behind_mounts(const State& state) const {
  return std::ranges::all_of(state.places, [&](const auto& one) {
    return holds(one.second, one.first) ||
           (std::ranges::find(state.tops, one.first.parent_path()) != state.tops.end() &&
            is_obeyed_name(one.first.filename().native()) && !options_.is_mounted(one.first));
  });
}

// After all else, which then has its room.
void ProtectedFiles::look_beside_data(
    State& state, const State* before, std::size_t& room, Scope scope, Sight& sight) const {
  if (options_.is_for_git) {
    return;
  }
  std::vector<Path> with_other_names;
  const auto add = [&](const Path& path) {
    if (options_.has(path) && !state.places.contains(path) && !aside_.contains(path)) {
      const auto known = before != nullptr ? before->places.find(path) : state.places.end();
      const bool is_known = before != nullptr && known != before->places.end();
      state.places.emplace(path,
                           FileTree::read(path, room, sight, is_known ? &known->second : nullptr));
    }
  };
  for (const auto& [git, folder] : state.folders) {
    const bool is_top = std::ranges::find(state.tops, git) != state.tops.end();
    const bool looks_into_data = scope == Scope::all || !options_.is_mounted(git);
    BesideData beside = beside_data(git, is_top ? git : Path(), looks_into_data, sight);
    std::ranges::for_each(beside.obeyed, add);
    std::ranges::move(beside.with_other_names, std::back_inserter(with_other_names));
  }
  std::set<std::pair<dev_t, ino_t>> obeyed;
  std::ranges::for_each(state.places, [&](const auto& one) { one.second.add_other_names(obeyed); });
  for (const Path& path : with_other_names) {
    const auto status = sight.lstat(path);
    if (status && obeyed.contains({status->st_dev, status->st_ino})) {
      add(path);
    }
  }
}

// Only folders: what a link leads to is not kept by the link's name.
void ProtectedFiles::note_ways(Sight& sight) {
  const auto note_way = [&](const Path& to) {
    Path at = options_.root_of(to);
    for (const Path& part : to.lexically_relative(at).parent_path()) {
      at /= part;
      const auto status = base_.ways.contains(at) ? std::nullopt : sight.lstat(at);
      if (status && S_ISDIR(status->st_mode)) {
        base_.ways.emplace(at, *status);
      } else if (!base_.ways.contains(at)) {
        return;
      }
    }
  };
  for (const auto& [path, tree] : base_.places) {
    note_way(path);
  }
  for (const auto& [path, folder] : base_.folders) {
    note_way(path);
    base_.ways.emplace(path, folder.status);
  }
}

// The outermost: what others hold, programs may make anew.
void ProtectedFiles::note_roots() {
  if (folders_) {
    return;
  }
  auto& folders = folders_.emplace();
  for (const Path& root : options_.roots) {
    const bool is_in_another = std::ranges::any_of(
        options_.roots, [&](const Path& other) { return other != root && is_below(root, other); });
    agent::Descriptor folder(
        is_in_another ? -1 : ::open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder) {
      folders.emplace(root, std::move(folder));
    }
  }
}

// What was made in one that is gone is gone with it; but nothing of it belongs into what may stand
// in its place, where the work goes on.
std::optional<agent::Error> ProtectedFiles::moved_root() const {
  for (const auto& [root, folder] : *folders_) {
    Status then = {};
    Status now = {};
    const bool is_known = ::fstat(folder.get(), &then) == 0;
    const bool is_there = is_known && ::lstat(root.c_str(), &now) == 0 &&
                          now.st_dev == then.st_dev && now.st_ino == then.st_ino;
    std::error_code error;
    const Path moved_to = fs::read_symlink(fmt::format("/proc/self/fd/{}", folder.get()), error);
    const bool is_gone = then.st_nlink == 0 || moved_to.native().ends_with(" (deleted)");
    const bool is_top = std::ranges::find(options_.tops, root) != options_.tops.end();
    if (is_there || (is_gone && !is_top)) {
      continue;
    }
    const std::string what = is_gone            ? "was removed"
                             : moved_to == root ? "was covered by another one"
                             : error            ? "was moved"
                                     : fmt::format("was moved to `{}`", moved_to.string());
    return agent::Error{
        .code = agent::Code::sandbox_violation,
        .message =
            fmt::format("the folder `{}` {} while programs were at work in it{}",
                        root.string(),
                        what,
                        is_gone ? "" : ": nobody has looked there at what they made or changed"),
        .help = is_gone ? "" : "look at it, before git or errand obeys what is there"};
  }
  return std::nullopt;
}

agent::Result<void> ProtectedFiles::check_roots() {
  const std::scoped_lock lock(mutex_);
  note_roots();
  auto moved = moved_root();
  return moved ? agent::fail(*std::move(moved)) : agent::Result<void>();
}

agent::Result<std::uint64_t> ProtectedFiles::begin(bool has_mounts, const std::stop_token& stop) {
  TRY(check_roots());
  const std::scoped_lock lock(mutex_);
  if (running_ > 0) {
    ++running_;
    had_company_ = true;
    return generation_;
  }
  had_company_ = false;
  TRY_ASSIGN(const SharedPictures::Turn turn, take_turn(k_patience, stop));
  Sight sight;
  const bool is_news = !unseen_end_ && (!has_mounts || !is_untouched(base_));
  if (is_news) {
    const State before = std::exchange(base_, {});
    aside_.clear();
    taken_over_.clear();
    base_ = look(options_.tops, &before, has_mounts ? Scope::without_data : Scope::all, sight);
    if (turn.is_shared()) {
      take_over_from_others(sight);
    }
    note_ways(sight);
    note_base(sight);
  }
  for (auto& [path, folder] : base_.folders) {
    if (has_mounts) {
      folder.data.clear();  // of an earlier look
    }
  }
  std::vector<struct stat> mounted;
  for (const Path& top : options_.tops) {
    note(top / ".git", mounted, sight);
    note(top / ".errand", mounted, sight);
  }
  for (const Path& file : options_.files) {
    note(file, mounted, sight);
  }
  auto trouble = sight.trouble();
  if (!trouble && turn.is_shared()) {
    if (auto shown = show(has_mounts, is_news); !shown) {
      trouble = std::move(shown).error();
    }
  }
  if (trouble) {
    if (!unseen_end_) {
      base_ = {};
    }
    return agent::fail(*std::move(trouble));
  }
  const auto is_same_file = [](const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  };
  generation_ += std::ranges::equal(mounted, mounted_, is_same_file) ? 0 : 1;
  mounted_ = std::move(mounted);
  ++running_;
  return generation_;
}

agent::Result<SharedPictures::Turn> ProtectedFiles::take_turn(agent::Milliseconds patience,
                                                              const std::stop_token& stop) {
  return options_.roots.empty() ? SharedPictures::Turn()
                                : pictures_.take_turn(options_.roots, patience, stop);
}

std::vector<OthersPicture> ProtectedFiles::others_at_work(Sight& sight) const {
  return pictures_.of_others(options_.roots, {shown_.file(), shown_survey_.file()}, sight);
}

agent::Result<std::vector<OthersPicture>> ProtectedFiles::others_now(const std::stop_token& stop,
                                                                     Sight& sight) {
  TRY_ASSIGN(const SharedPictures::Turn turn, take_turn(k_patience, stop));
  return turn.is_shared() ? others_at_work(sight) : std::vector<OthersPicture>();
}

void ProtectedFiles::take_over_from_others(Sight& sight) {
  for (const OthersPicture& others : others_at_work(sight)) {
    had_company_ = had_company_ || !others.extent.below;
    taken_over_.merge(take_over(base_, options_, others, sight));
  }
  base_.is_behind_mounts = are_all_behind_mounts(base_);
}

agent::Result<void> ProtectedFiles::show(bool has_mounts, bool is_news) {
  if (!is_news && shown_.show_again()) {
    return {};
  }
  const PictureExtent extent{
      .has_looked_into_git = !has_mounts, .below = std::nullopt, .files = {}};
  return shown_.show(pictures_.folder(), encode(options_, base_, extent));
}

// What others have made was not there, also of those that came, or went, during the look. Those
// that come later take over from this one: what it has seen stays.
agent::Result<void> ProtectedFiles::show_survey(const std::vector<OthersPicture>& before,
                                                const std::stop_token& stop,
                                                Sight& sight) {
  TRY_ASSIGN(const SharedPictures::Turn turn, take_turn(k_patience, stop));
  if (!turn.is_shared()) {
    return {};
  }
  const std::vector<OthersPicture> now = others_at_work(sight);
  for (const auto* others : {&before, &now}) {
    std::ranges::for_each(*others, [this](const auto& one) { take_over(survey_, one); });
  }
  if (auto trouble = sight.trouble()) {
    return agent::fail(*std::move(trouble));
  }
  if (!survey_.is_whole) {
    return {};
  }
  const Options places{.roots = options_.roots,
                       .tops = options_.tops,
                       .files = {},
                       .crossed = {},
                       .allowed = options_.allowed};
  const PictureExtent extent{
      .has_looked_into_git = false, .below = survey_.places, .files = survey_.files};
  Picture folders;
  for (const auto& [root, folder] : *folders_) {
    ::fstat(folder.get(), &folders.roots[root]);
  }
  return shown_survey_.show(pictures_.folder(), encode(places, folders, extent));
}

// One comparison with what was there, and what comes of it.
class ProtectedFiles::Undoing {
 public:
  Undoing(const ProtectedFiles& files, bool have_mounts_held)
      : files_(files), base_(files.base_), have_mounts_held_(have_mounts_held) {}

  ProtectedEnd take() {
    undo();
    return {.changes = std::move(changes_), .trouble = sight_.trouble()};
  }

 private:
  // Nothing is judged by a look that did not see all.
  void undo() {
    for (const auto& [top, before] : base_.roots) {
      open(top, before);
    }
    clear_ways();
    const Scope scope = !have_mounts_held_       ? Scope::all
                        : base_.is_behind_mounts ? Scope::by_name
                                                 : Scope::without_data;
    State now = files_.look(base_.tops, &base_, scope, sight_);
    if (!sight_.is_whole()) {
      return;
    }
    for (const auto& [path, folder] : now.folders) {
      // Also of a repository that the index has come to name: nobody has looked at it before.
      if (!base_.folders.contains(path) &&
          std::ranges::find(now.tops, path.parent_path()) != now.tops.end()) {
        add(moved(path));
      } else if (!base_.folders.contains(path) &&
                 std::ranges::find(base_.tops, path) != base_.tops.end()) {
        add(moved(path / "HEAD"));
      }
    }
    if (!changes_.empty()) {
      now = files_.look(base_.tops, &base_, scope, sight_);
    }
    if (!sight_.is_whole()) {
      return;
    }
    for (const auto& [path, tree] : base_.places) {
      const auto found = now.places.find(path);
      const bool is_held = have_mounts_held_ && files_.holds(tree, path);
      // One in another has come back with that.
      if (!is_held && (found == now.places.end() || !found->second.is_same(tree)) &&
          !is_there_again(path, tree)) {
        add(put_back(path, tree));
      }
    }
    for (const Path& folder : gone_) {
      set_mode(folder, base_.ways.at(folder).st_mode);  // of those that were made anew
    }
    std::set<Path> aside;
    for (const ProtectedChange& change : changes_) {
      aside.insert(change.found_as);
    }
    for (const auto& [path, tree] : now.places) {
      // What was behind a link is gone with it, which comes before it.
      if (!base_.places.contains(path) && !aside.contains(path) && sight_.is_there(path)) {
        add(moved(path));
      }
    }
    move_odd_indexes();
    for (const auto& [path, folder] : base_.folders) {
      const auto found = now.folders.find(path);
      // Behind mounts nobody has looked at them before.
      if (!folder.data.empty() && !is_behind_a_mount(path) && found != now.folders.end() &&
          !is_same_data(found->second.data, folder.data)) {
        add({.path = path, .outcome = Outcome::noticed});
      }
    }
  }

  void add(ProtectedChange change) { changes_.push_back(std::move(change)); }

  static bool is_there_again(const Path& place, const FileTree& tree) {
    Sight sight(Sight::Shut::opened);
    std::size_t room = k_most_bytes;
    return FileTree::read(place, room, sight).is_same(tree);
  }

  // A folder of what is obeyed, and that a program has shut over that.
  void open(const Path& folder, const struct stat& before) {
    const auto now = sight_.lstat(folder);
    if (now && is_shut(*now, before.st_mode) && set_mode(folder, before.st_mode)) {
      add({.path = folder, .outcome = Outcome::put_back});
    }
  }

  // From above, so that nothing is looked at, and nothing put back, through a link that has come to
  // be on the way to it.
  void clear_ways() {
    for (const auto& [path, before] : base_.ways) {
      const auto git = base_.folders.find(path);
      if (!sight_.is_whole()) {
        return;
      }
      if (is_behind_a_mount(path)) {
        continue;
      }
      if (git != base_.folders.end()) {
        check_folder(path, git->second);
      } else {
        clear(path, before);
      }
    }
  }

  // What stands where a folder was: a link, a file, a pipe.
  void clear(const Path& folder, const struct stat& before) {
    open(folder, before);
    const auto now = sight_.lstat(folder);
    const bool is_users = have_mounts_held_ && files_.options_.leads_to_mounts(folder);
    if (is_users || (now && S_ISDIR(now->st_mode))) {
      return;
    }
    if (now) {
      add(moved(folder));
    }
    gone_.push_back(folder);
  }

  // Judged by the settings that are there again.
  void move_odd_indexes() {
    for (const auto& [path, folder] : base_.folders) {
      if (is_behind_a_mount(path) || !folder.oddities) {
        continue;
      }
      const Oddities found = oddities_in(path, sight_);
      if (!sight_.is_whole()) {
        return;
      }
      for (const auto& odd : found) {
        const Path& index = odd.first;
        if (!folder.oddities->contains(odd) && files_.options_.has(index) &&
            sight_.is_there(index)) {
          add(moved(index));
        }
      }
    }
  }

  bool is_behind_a_mount(const Path& path) const {
    return have_mounts_held_ && files_.options_.is_mounted(path);
  }

  ProtectedChange moved(const Path& place) const {
    return set_aside(place, files_.options_.root_of(place));
  }

  ProtectedChange put_back(const Path& place, const FileTree& tree) const {
    Path aside = move_aside(place, files_.options_.root_of(place));
    Sight sight(Sight::Shut::opened);
    const bool is_back = !sight.is_there(place) && sight.is_whole() && tree.put_back() &&
                         is_there_again(place, tree);
    return {.path = place,
            .outcome = is_back ? Outcome::put_back : Outcome::stays,
            .found_as = std::move(aside)};
  }

  // The folder is found again by its handle, wherever it was moved.
  void check_folder(const Path& path, const GitFolder& folder) {
    auto now = sight_.lstat(path);
    if (!sight_.is_whole() || (now && is_same_folder(*now, folder.status))) {
      return;
    }
    const bool is_itself =
        now && now->st_dev == folder.status.st_dev && now->st_ino == folder.status.st_ino;
    ProtectedChange change{.path = path};
    const std::string handle = fmt::format("/proc/self/fd/{}", folder.handle.get());
    if (!is_itself) {
      change.found_as = now ? move_aside(path, files_.options_.root_of(path)) : Path();
      std::error_code error;
      const Path moved_to = fs::read_symlink(handle, error);
      if (!error) {
        move_back(moved_to, folder.status, path);
      }
    }
    ::chmod(handle.c_str(), folder.status.st_mode & 07777);
    now = sight_.lstat(path);
    if (now && is_same_folder(*now, folder.status)) {
      change.outcome = Outcome::put_back;
    }
    add(std::move(change));
  }

  const ProtectedFiles& files_;
  const State& base_;
  bool have_mounts_held_;
  Sight sight_{Sight::Shut::opened};
  std::vector<ProtectedChange> changes_;
  std::vector<Path> gone_;  // folders on the way
};

ProtectedEnd ProtectedFiles::end(bool have_mounts_held) {
  const std::scoped_lock lock(mutex_);
  --running_;
  const auto turn =
      take_turn(k_patience_at_end, {});  // what was changed is put back without it, too
  ProtectedEnd end = compare(have_mounts_held);
  had_company_ = had_company_ || !turn;
  if (!end.changes.empty() && turn && turn->is_shared()) {
    Sight unheeded;
    had_company_ = had_company_ ||
                   std::ranges::any_of(others_at_work(unheeded), [](const OthersPicture& others) {
                     return !others.extent.below;
                   });
  }
  end.was_alone = !had_company_;
  if (running_ == 0 && !unseen_end_) {
    shown_.hide();
  }
  return end;
}

ProtectedEnd ProtectedFiles::compare(bool have_mounts_held) {
  have_mounts_held = have_mounts_held && unseen_end_.value_or(true);
  if (auto moved = moved_root()) {
    unseen_end_ = have_mounts_held;
    return {.changes = {}, .trouble = std::move(moved)};
  }
  ProtectedEnd end = Undoing(*this, have_mounts_held).take();
  for (const ProtectedChange& change : end.changes) {
    aside_.insert(change.found_as);
  }
  Sight sight(Sight::Shut::opened);
  if (!end.changes.empty()) {
    note_base(sight);
  }
  if (!end.trouble) {
    end.trouble = sight.trouble();
  }
  unseen_end_ = end.trouble ? std::optional(have_mounts_held) : std::nullopt;
  return end;
}

namespace {

std::string fingerprint_of(const fs::path& file, Sight& sight) {
  std::size_t room = k_most_of_one_file;
  return FileTree::read(file, room, sight).fingerprint();
}

// Through links.
bool is_reachable(const fs::path& path, Sight& sight) {
  const bool is_it = ::access(path.c_str(), F_OK) == 0;
  sight.failed(is_it ? 0 : errno, path);
  return is_it;
}

// Of what git or errand would obey further below, the file that errand reads; empty: it is git's.
fs::path file_of(const ObeyedPlace& place) {
  const bool is_folder = place.kind == ObeyedPlace::Kind::own_name &&
                         agent::to_lower(place.path.filename().native()) == ".errand";
  return place.kind == ObeyedPlace::Kind::file ? place.path
         : is_folder                           ? place.path / "config.yaml"
                                               : fs::path();
}

}  // namespace

agent::Result<void> ProtectedFiles::survey(const std::stop_token& stop) {
  const std::scoped_lock lock(mutex_);
  if (survey_number_ != 0) {
    return {};
  }
  note_roots();
  Sight sight;
  TRY_ASSIGN(const std::vector<OthersPicture> others, others_now(stop, sight));
  survey_ = {.roots = options_.roots,
             .tops = options_.tops,
             .single = options_.files,
             .allowed = options_.allowed};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &survey_.time);
  survey_.is_whole = find_obeyed_below(
      options_.roots,
      [&](const ObeyedPlace& place) {
        survey_.places.emplace(place.path, place.identity);
        if (const Path file = file_of(place); is_reachable(file, sight)) {
          survey_.files.emplace(file, fingerprint_of(file, sight));
        }
        return Path();
      },
      sight);
  survey_number_ = 1;
  note_base(sight);
  auto trouble = sight.trouble();
  if (!trouble) {
    if (auto shown = show_survey(others, stop, sight); !shown) {
      trouble = std::move(shown).error();
    }
  }
  if (trouble) {
    survey_number_ = 0;
    return agent::fail(*std::move(trouble));
  }
  return {};
}

std::optional<ObeyedSurvey> ProtectedFiles::surveyed_since(std::uint64_t& known) {
  const std::scoped_lock lock(mutex_);
  return std::exchange(known, survey_number_) == survey_number_ ? std::nullopt
                                                                : std::optional(survey_);
}

// The single places that each call looks after: those that are there, or may come to be.
std::set<fs::path> ProtectedFiles::single_places(Sight& sight) const {
  std::set<Path> places(options_.files.begin(), options_.files.end());
  for (const Path& top : options_.tops) {
    for (const Sight::Named& entry : sight.entries_of(top)) {
      if (is_obeyed_name(entry.name) && !is_obeyed_anywhere(entry.name)) {
        places.insert(top / entry.name);
      }
    }
  }
  std::erase_if(places, [this](const Path& place) { return !options_.has(place); });
  return places;
}

// What each call is compared with, as it is before it, and where it was put back.
void ProtectedFiles::note_base(Sight& sight) {
  if (survey_number_ == 0) {
    return;
  }
  std::map<Path, ObeyedPlace::Identity> places;
  std::map<Path, std::string> looked_after;
  for (const auto& [path, tree] : base_.places) {
    const bool stands_otherwise = taken_over_.contains(path) && tree.size() <= k_most_of_one_file;
    looked_after.emplace(path, stands_otherwise ? tree.fingerprint() : fingerprint_of(path, sight));
    places.emplace(path, identity_of(path, sight));
  }
  for (const auto& [path, folder] : base_.folders) {
    places.emplace(path, identity_of(path, sight));
  }
  for (const Path& path : single_places(sight)) {
    if (sight.is_there(path) && !looked_after.contains(path)) {
      looked_after.emplace(path, fingerprint_of(path, sight));
    }
  }
  if (!sight.is_whole()) {
    return;
  }
  bool is_news = looked_after != survey_.looked_after;
  for (const auto& [path, identity] : places) {
    is_news = is_news || survey_.places[path] != identity;
    survey_.places[path] = identity;
  }
  std::map<Path, std::uint32_t> ways;
  for (const auto& [path, status] : base_.ways) {
    ways.emplace(path, status.st_mode);
  }
  is_news = is_news || ways != survey_.ways;
  survey_.ways = std::move(ways);
  survey_.looked_after = std::move(looked_after);
  survey_number_ += is_news ? 1 : 0;
}

// What was moved here with the folder that it is in is as new here as what was made.
bool ProtectedFiles::is_new(const ObeyedPlace& place, Sight& sight) const {
  const auto looked_after = survey_.looked_after.find(place.path);
  if (looked_after != survey_.looked_after.end() &&
      looked_after->second == fingerprint_of(place.path, sight)) {
    return false;  // another run has put it back
  }
  const auto known = survey_.places.find(place.path);
  if (known == survey_.places.end()) {
    const bool is_bare = place.kind == ObeyedPlace::Kind::repository;
    return survey_.is_whole ||
           is_made_since(is_bare ? place.path / "HEAD" : place.path, survey_.time, sight);
  }
  return place.kind != ObeyedPlace::Kind::file && known->second != place.identity;
}

// What is there no more note_lost() tells.
bool ProtectedFiles::is_another_file(const Path& path, Sight& sight) const {
  const auto before = survey_.files.find(path);
  return is_reachable(path, sight) &&
         (before == survey_.files.end() || before->second != fingerprint_of(path, sight)) &&
         sight.is_whole();
}

ProtectedFiles::Sweep ProtectedFiles::sweep() {
  const std::scoped_lock lock(mutex_);
  if (survey_number_ == 0) {
    return {.changes = {}, .is_whole = false};
  }
  if (auto moved = folders_ ? moved_root() : std::nullopt) {
    return {.changes = {}, .trouble = std::move(moved)};
  }
  Sweep sweep;
  if (unseen_end_ && running_ == 0) {
    const auto turn = take_turn(k_patience_at_end, {});
    ProtectedEnd end = compare(true);
    if (!unseen_end_) {
      shown_.hide();
    }
    std::erase_if(end.changes, [](const auto& one) { return one.outcome == Outcome::noticed; });
    sweep = {.changes = std::move(end.changes), .trouble = std::move(end.trouble)};
  }
  Sight sight(Sight::Shut::opened);
  sweep.is_whole = find_obeyed_below(
      options_.roots,
      [&](const ObeyedPlace& place) {
        const Path path =
            place.kind == ObeyedPlace::Kind::repository ? place.path / "HEAD" : place.path;
        if (options_.is_allowed(path) || base_.places.contains(place.path) ||
            base_.folders.contains(place.path)) {
          return Path();
        }
        if (is_new(place, sight)) {
          ProtectedChange change = set_aside(path, path.parent_path());
          change.was_there = survey_.places.contains(place.path);
          return sweep.changes.emplace_back(std::move(change)).found_as;
        }
        if (const Path file = file_of(place); is_another_file(file, sight)) {
          sweep.changes.push_back({.path = file, .outcome = Outcome::noticed});
          survey_.files.insert_or_assign(file, fingerprint_of(file, sight));  // said once
        }
        return Path();
      },
      sight);
  note_lost(sweep, sight);
  if (!sweep.trouble) {
    sweep.trouble = sight.trouble();
  }
  return sweep;
}

ProtectedFiles::Sweep ProtectedFiles::sweep_after_kill(const ObeyedSurvey& survey) {
  ProtectedFiles files({.roots = survey.roots,
                        .tops = survey.tops,
                        .files = survey.single,
                        .crossed = {},
                        .allowed = survey.allowed});
  files.survey_ = survey;
  files.survey_number_ = 1;
  Sight sight;
  std::vector<ProtectedChange> ways = files.sweep_ways(sight);
  Sweep sweep = files.sweep();
  files.sweep_tops(sweep);
  std::ranges::move(ways, std::back_inserter(sweep.changes));
  sweep.is_whole = sweep.is_whole && std::ranges::all_of(survey.tops, [&](const Path& top) {
                     return sight.is_there(top);  // else it is called otherwise now
                   });
  if (!sweep.trouble) {
    sweep.trouble = sight.trouble();
  }
  return sweep;
}

// Before all else, which is behind them. Nothing is opened but for its owner, whatever a survey
// says.
std::vector<ProtectedChange> ProtectedFiles::sweep_ways(Sight& sight) const {
  std::vector<ProtectedChange> changes;
  for (const auto& [path, before] : survey_.ways) {
    const auto now = options_.has(path) ? sight.lstat(path) : std::nullopt;
    if (now && is_shut(*now, before)) {
      const bool is_open = set_mode(path, now->st_mode | (before & S_IRWXU));
      changes.push_back({.path = path, .outcome = is_open ? Outcome::put_back : Outcome::stays});
    } else if (now && !S_ISDIR(now->st_mode) && !survey_.has_mounts) {
      changes.push_back(set_aside(path, options_.root_of(path)));
    }
  }
  return changes;
}

// What each call would have been compared with.
void ProtectedFiles::sweep_tops(Sweep& sweep) {
  Sight sight(Sight::Shut::opened);
  for (const Path& path : single_places(sight)) {
    if (!survey_.looked_after.contains(path) && sight.is_there(path)) {
      sweep.changes.push_back(set_aside(path, path.parent_path()));
    }
  }
  for (const auto& [path, fingerprint] : survey_.looked_after) {
    if (fingerprint_of(path, sight) == fingerprint || !sight.is_whole()) {
      continue;
    }
    if (sight.is_there(path) && (!survey_.has_mounts || has_other_names(path, sight))) {
      // The programs could change it.
      sweep.changes.emplace_back(set_aside(path, path.parent_path())).was_there = true;
    } else if (sight.is_whole()) {
      sweep.changes.push_back({.path = path, .outcome = Outcome::noticed});
    }
  }
  if (!sweep.trouble) {
    sweep.trouble = sight.trouble();
  }
}

void ProtectedFiles::note_lost(Sweep& sweep, Sight& sight) {
  std::erase_if(survey_.files, [&](const auto& one) {
    const Path& path = one.first;
    const bool is_awaited =
        is_tool_lock(path.filename().native()) || path.filename() == "config.yaml";
    const bool is_lost =
        is_awaited && !options_.is_allowed(path) && !is_reachable(path, sight) && sight.is_whole();
    if (is_lost) {
      sweep.changes.push_back({.path = path, .outcome = Outcome::noticed});
    }
    return is_lost;  // said once
  });
}

std::shared_ptr<ProtectedFiles> SharedProtection::of(ProtectedFiles::Options options,
                                                     const fs::path& shared) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(known_, [](const auto& one) { return one.expired(); });
  for (const std::weak_ptr<ProtectedFiles>& one : known_) {
    if (auto known = one.lock(); known && known->options() == options) {
      return known;
    }
  }
  auto made = std::make_shared<ProtectedFiles>(std::move(options), shared);
  known_.push_back(made);
  return made;
}

}  // namespace tools::sandbox
