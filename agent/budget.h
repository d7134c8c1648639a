// What the limits of a run leave for a request to a model: asked before each, be it the loop's own
// or that of a judge.
#pragma once
#include "agent/money.h"
#include "agent/outcome.h"
#include "agent/price.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>

namespace agent {

// A request that is about to be made. Borrowed.
struct Asking {
  const std::string& model;                    // PROVIDER/NAME
  const std::map<std::string, Price>& prices;  // of all models that may answer; others are unknown
  std::int64_t input = 0;                      // tokens, estimated
  ModelUse unrecorded = {};                    // what is used up, and in no event yet
};

// What is used up, of one run or of several together.
struct Spending {
  std::int64_t tokens = 0;
  std::optional<Money> cost = Money{};  // nullopt: unknown
};

class Budget {
 public:
  virtual ~Budget() = default;
  // How many tokens the answer may have, nullopt: any number; or what the run ends with, and the
  // request is not made.
  virtual std::expected<std::optional<std::int64_t>, Ending> room_for(
      const Asking& asking) const = 0;
};

// Of two rooms; nullopt: any number.
inline std::optional<std::int64_t> least(std::optional<std::int64_t> one,
                                         std::optional<std::int64_t> other) {
  return one && other ? std::min(*one, *other) : one ? one : other;
}

// Where nobody has measured them.
constexpr std::int64_t k_bytes_per_token = 4;
constexpr std::int64_t tokens_of(std::int64_t bytes) {
  return (bytes + k_bytes_per_token - 1) / k_bytes_per_token;
}

}  // namespace agent
