// The ids of the calls of a reply: each has one of its own, since the log, the approvals and the
// model's next request tell calls apart by nothing else.
#pragma once
#include "agent/message.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace agent {

// Nine letters and digits, which every server takes as the id of a call; always the same ones.
std::string made_call_id(std::string_view seed, std::size_t position, std::uint64_t salt);

// Of the calls of one reply, in their order.
class CallIds {
 public:
  // `may_be`: that none elsewhere has the id already; null: any may be.
  explicit CallIds(std::string_view seed, std::function<bool(std::string_view)> may_be = nullptr)
      : seed_(seed), may_be_(std::move(may_be)) {}

  // `id`; where it cannot be shown as it is, in 256 bytes, or an earlier call has it, one that is
  // made of the call.
  std::string take(std::string id, std::string_view name, std::string_view arguments);

 private:
  bool is_free(std::string_view id) const;

  std::string seed_;
  std::function<bool(std::string_view)> may_be_;
  std::set<std::string, std::less<>> taken_;
  std::size_t position_ = 0;
};

// Whatever the provider says. An id that may not be (null: any may) is replaced, too. What was to
// be sent back of the reply has the old ids: where one is replaced, it is left out.
void give_own_ids(Reply& reply, const std::function<bool(std::string_view)>& may_be = nullptr);

}  // namespace agent
