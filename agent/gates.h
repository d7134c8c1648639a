// Several gates as one: each sees the text as the ones before it left it.
#pragma once
#include "agent/gate.h"

#include <span>

namespace agent {

class Gates final : public Gate {
 public:
  // Borrowed, in the order in which they are asked.
  explicit Gates(std::span<Gate* const> gates) : gates_(gates) {}

  // Asked one after the other until one ends the run or refuses. What they add for the model is put
  // together; a question of any outweighs that another allows.
  Ruling judge(const Occasion& occasion, const Emit& emit, std::stop_token stop) override;
  std::optional<Error> killed() override;

 private:
  std::span<Gate* const> gates_;
};

}  // namespace agent
