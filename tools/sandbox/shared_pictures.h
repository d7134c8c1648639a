// What all errand processes of a user go by whose programs may change the same folders: whoever
// begins takes over what was there before the others', so that nobody takes what a program has just
// made for what was there, and brings it back.
#pragma once
#include "agent/descriptor.h"
#include "agent/duration.h"
#include "agent/result.h"
#include "tools/sandbox/picture.h"
#include "tools/sandbox/sight.h"

#include <filesystem>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tools::sandbox {

// One's own, which the others see for as long as it is shown; it is gone with the process.
class ShownPicture {
 public:
  ShownPicture() = default;
  ShownPicture(ShownPicture&& other) noexcept = default;
  ShownPicture& operator=(ShownPicture&& other) = delete;
  ~ShownPicture();

  // All three in one's turn. In place of the last one; os.failed where it cannot be written.
  agent::Result<void> show(const std::filesystem::path& folder, const std::string& bytes);
  bool show_again();  // the last one; false: somebody has tidied it away, or there is none
  void hide();        // it stays until somebody tidies it away
  const std::filesystem::path& file() const { return path_; }

 private:
  void take_away();

  std::filesystem::path path_;
  agent::Descriptor file_;  // locked while it is shown
};

// Not thread-safe: of each object one turn at a time.
class SharedPictures {
 public:
  // In which no program writes; made when it is needed. Where it is empty, or cannot be made, each
  // process goes by itself.
  explicit SharedPictures(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // While it lives, nobody else looks at what is protected there, or puts something back.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(int locked) : locked_(locked) {}
    Turn(Turn&& other) noexcept : locked_(std::exchange(other.locked_, -1)) {}
    Turn& operator=(Turn&& other) = delete;
    ~Turn();
    bool is_shared() const { return locked_ >= 0; }

   private:
    int locked_ = -1;  // borrowed
  };
  // Of what lies in these folders, or around them: others go on meanwhile. os.failed: another
  // process has kept it for too long, or there are no descriptors. run.cancelled: `stop`.
  agent::Result<Turn> take_turn(const std::vector<std::filesystem::path>& roots,
                                agent::Milliseconds patience,
                                const std::stop_token& stop);

  // In one's turn: what the others show of these folders and what is in or around them, but for
  // one's own files, and for what was shown of a folder in whose place another one stands.
  std::vector<OthersPicture> of_others(const std::vector<std::filesystem::path>& roots,
                                       const std::vector<std::filesystem::path>& own,
                                       Sight& sight) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  agent::Descriptor opened_lock() const;

  std::filesystem::path folder_;
  agent::Descriptor lock_;
};

}  // namespace tools::sandbox
