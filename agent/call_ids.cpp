#include "agent/call_ids.h"

#include "agent/fnv1a.h"
#include "agent/text.h"

#include <utility>

namespace agent {
namespace {

// People read it, and write it on command lines as it was shown to them.
bool can_be_shown(std::string_view id) {
  constexpr std::size_t k_longest = 256;
  return !id.empty() && id == one_line(id, k_longest) && !id.contains(k_redacted);
}

}  // namespace

std::string made_call_id(std::string_view seed, std::size_t position, std::uint64_t salt) {
  constexpr std::string_view k_letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::uint64_t value = fnv1a(std::to_string(position), fnv1a(seed, k_fnv1a_of_nothing + salt));
  std::string id;
  for (int i = 0; i < 9; ++i) {
    id += k_letters[value % k_letters.size()];
    value /= k_letters.size();
  }
  return id;
}

bool CallIds::is_free(std::string_view id) const {
  return !taken_.contains(id) && (may_be_ == nullptr || may_be_(id));
}

std::string CallIds::take(std::string id, std::string_view name, std::string_view arguments) {
  if (!can_be_shown(id) || !is_free(id)) {
    id.clear();
    std::string seed = seed_;
    seed += '\n';
    seed += name;
    seed += '\n';
    seed += arguments;
    for (std::uint64_t salt = 0; id.empty() || !is_free(id); ++salt) {
      id = made_call_id(seed, position_, salt);
    }
  }
  ++position_;
  taken_.insert(id);
  return id;
}

void give_own_ids(Reply& reply, const std::function<bool(std::string_view)>& may_be) {
  CallIds ids("", may_be);
  for (ToolCall& call : reply.tool_calls) {
    std::string id = ids.take(call.id, call.name, call.arguments);
    if (id != call.id) {
      call.id = std::move(id);
      reply.raw.clear();
    }
  }
}

}  // namespace agent
