// Where nothing but a look keeps programs of tools from what the user's own commands run, these do
// not run at the same time: many of one side, or many of the other.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <utility>

namespace tools {

// Thread-safe.
class ProgramTurns {
 public:
  enum class Side : std::uint8_t { tools, user };

  // From take() to its end, the other side waits.
  class Turn {
   public:
    Turn() = default;  // nobody's
    Turn(ProgramTurns& turns, Side side) : turns_(&turns), side_(side) {}
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), side_(other.side_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    ProgramTurns* turns_ = nullptr;
    Side side_ = Side::tools;
  };

  // Waits until the other side has nothing at work; the user's side is let in first. Once `stop` is
  // requested, it does not wait.
  Turn take(Side side, const std::stop_token& stop);

 private:
  struct Count {
    int at_work = 0;
    int waiting = 0;
  };
  Count& of(Side side) { return side == Side::tools ? tools_ : user_; }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Count tools_;
  Count user_;
};

}  // namespace tools
