// Keeps an eye on what git and errand obey in the folders that programs may write: what a program
// has changed there is put back after its call, what it has made is given another name. Nothing is
// lost: what was found stands beside it as NAME.untrusted.
#pragma once
#include "agent/descriptor.h"
#include "agent/duration.h"
#include "agent/error.h"
#include "agent/result.h"
#include "tools/sandbox/obeyed_below.h"
#include "tools/sandbox/obeyed_survey.h"
#include "tools/sandbox/picture.h"
#include "tools/sandbox/shared_pictures.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace tools::sandbox {

// What became of a place that a program has changed or made.
struct ProtectedChange {
  enum class Outcome : std::uint8_t {
    put_back,
    moved_aside,
    stays,    // it could not be undone
    noticed,  // git's own data, test cases and locks below the top: it is not undone
  };
  std::filesystem::path path;
  Outcome outcome = Outcome::stays;
  std::filesystem::path found_as = {};  // the other name of what was found; empty: nothing was
  bool was_there = false;               // of a sweep: something stood there before
};

struct ProtectedEnd {
  std::vector<ProtectedChange> changes;
  bool was_alone = true;  // else another program, that was at work meanwhile, may have made them
  // It could not look (os.failed), or a root is another folder now (sandbox.violation): what a
  // program has changed beside these, nobody knows. The next look still compares with what stood
  // there before it.
  std::optional<agent::Error> trouble = {};
};

// Thread-safe. Calls may overlap: what stood there before the first of them is what counts.
class ProtectedFiles {
 public:
  using Options = ProtectedPlaces;
  // Not shared with others where `shared` is empty: SharedPictures' folder.
  explicit ProtectedFiles(Options options, std::filesystem::path shared = {})
      : options_(std::move(options)), pictures_(std::move(shared)) {}

  const Options& options() const { return options_; }

  // Before a program. Another number than the last: where mounts are, another file or folder
  // stands. os.failed where it could not look, sandbox.violation where a root is another folder
  // now: then the program must not be started, and nothing has begun. run.cancelled: `stop` came
  // while it waited for others.
  agent::Result<std::uint64_t> begin(bool has_mounts = false, const std::stop_token& stop = {});

  // After it. Where the mounts held all the time, what stood behind them is as it was.
  ProtectedEnd end(bool have_mounts_held);

  // sandbox.violation: as begin(). Before what is written by no program.
  agent::Result<void> check_roots();

  // Before the first program, and for those that come while it works: what stands below the roots,
  // wherever it is. os.failed where it could not look: it does when it is called again.
  // As begin() fails, too.
  agent::Result<void> survey(const std::stop_token& stop = {});
  // What is to be kept for whoever carries this run on; nullopt: nothing else than `known`, which
  // becomes the number of what it is.
  std::optional<ObeyedSurvey> surveyed_since(std::uint64_t& known);

  // At the run's end: what stands there that did not then, which test cases and locks are
  // others, and which locks are gone.
  // `is_whole` is false where it could not look at everything.
  struct Sweep {
    std::vector<ProtectedChange> changes;
    bool is_whole = true;
    std::optional<agent::Error> trouble = {};  // ProtectedEnd's; what it hid is not judged
  };
  Sweep sweep();

  // Of a process that was killed, before anything is started again: what has come to stand there
  // since, whoever made it, has another name then, and what was changed of what each call is
  // compared with, where no mounts kept programs from it. What else was changed stays, and is told.
  static Sweep sweep_after_kill(const ObeyedSurvey& survey);

 private:
  using Path = std::filesystem::path;
  using Oddities = Picture::Oddities;
  using GitFolder = Picture::GitFolder;
  using State = Picture;
  enum class Scope : std::uint8_t { all, without_data, by_name };
  class Undoing;

  State look(std::vector<Path> tops, const State* before, Scope scope, Sight& sight) const;
  void look_by_name(State& state, const State& before, const Path& top, Sight& sight) const;
  void look_beside_data(
      State& state, const State* before, std::size_t& room, Scope scope, Sight& sight) const;
  void note_roots();
  std::optional<agent::Error> moved_root() const;
  agent::Result<SharedPictures::Turn> take_turn(agent::Milliseconds patience,
                                                const std::stop_token& stop);
  std::vector<OthersPicture> others_at_work(Sight& sight) const;  // in one's turn
  void take_over_from_others(Sight& sight);
  agent::Result<void> show(bool has_mounts, bool is_news);
  agent::Result<std::vector<OthersPicture>> others_now(const std::stop_token& stop, Sight& sight);
  agent::Result<void> show_survey(const std::vector<OthersPicture>& before,
                                  const std::stop_token& stop,
                                  Sight& sight);
  bool are_all_behind_mounts(const State& state) const;
  void note_ways(Sight& sight);
  ProtectedEnd compare(bool have_mounts_held);
  bool is_untouched(const State& state) const;
  bool holds(const FileTree& tree, const Path& place) const;
  std::set<Path> single_places(Sight& sight) const;
  void note_base(Sight& sight);
  std::vector<ProtectedChange> sweep_ways(Sight& sight) const;
  void sweep_tops(Sweep& sweep);
  bool is_new(const ObeyedPlace& place, Sight& sight) const;
  bool is_another_file(const Path& path, Sight& sight) const;
  void note_lost(Sweep& sweep, Sight& sight);

  Options options_;
  std::mutex mutex_;
  SharedPictures pictures_;
  ShownPicture shown_;                                        // while programs are at work
  ShownPicture shown_survey_;                                 // once there is a survey
  std::optional<std::map<Path, agent::Descriptor>> folders_;  // the roots, when the first came
  State base_;
  std::set<Path> aside_;       // what was moved since then, by its other name
  std::set<Path> taken_over_;  // what stands there otherwise than in `base_`: others are at work
  ObeyedSurvey survey_;
  std::uint64_t survey_number_ = 0;   // another one whenever it is another survey; 0: there is none
  std::vector<struct stat> mounted_;  // what stood at the places of mounts
  int running_ = 0;
  bool had_company_ = false;  // since the first of those that are running, of whatever process
  // The last end could not look: whether the mounts had held until then. `base_` is what stood
  // there before.
  std::optional<bool> unseen_end_;
  std::uint64_t generation_ = 0;
};

// One for all of a process who protect the same: what one of them has made is nobody's state from
// before. Thread-safe.
class SharedProtection {
 public:
  // As ProtectedFiles' constructor takes them.
  std::shared_ptr<ProtectedFiles> of(ProtectedFiles::Options options,
                                     const std::filesystem::path& shared);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<ProtectedFiles>> known_;
};

}  // namespace tools::sandbox
