#include "tools/mcp/asking.h"

#include <algorithm>

namespace tools::mcp {
namespace {

constexpr agent::Milliseconds k_first_asking_pause{500};
constexpr agent::Milliseconds k_longest_asking_pause{60'000};

}  // namespace

void keep_asking(const std::function<bool()>& ask,
                 const std::function<bool(agent::Milliseconds)>& wait) {
  for (agent::Milliseconds pause = k_first_asking_pause; ask() && wait(pause);
       pause = std::min(2 * pause, k_longest_asking_pause)) {
  }
}

}  // namespace tools::mcp
