#include "tools/process/program_turns.h"

namespace tools {

ProgramTurns::Turn ProgramTurns::take(Side side, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  Count& own = of(side);
  const Count& other = side == Side::tools ? user_ : tools_;
  ++own.waiting;
  changed_.wait(
      lock, stop, [&] { return other.at_work == 0 && (side == Side::user || other.waiting == 0); });
  --own.waiting;
  ++own.at_work;
  return {*this, side};
}

ProgramTurns::Turn::~Turn() {
  if (turns_ == nullptr) {
    return;
  }
  const std::lock_guard lock(turns_->mutex_);
  --turns_->of(side_).at_work;
  turns_->changed_.notify_all();
}

}  // namespace tools
