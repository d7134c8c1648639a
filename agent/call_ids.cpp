#include "agent/call_ids.h"

#include "agent/text.h"

#include <utility>

namespace agent {
namespace {

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t fnv1a(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = seed;
  for (const char c : text) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return value;
}

// People read it, and write it on command lines as it was shown to them.
bool can_be_shown(std::string_view id) {
  constexpr std::size_t k_longest = 256;
  return !id.empty() && id == one_line(id, k_longest) && !id.contains(k_redacted);
}

}  // namespace

std::string made_call_id(std::string_view seed, std::size_t position, std::uint64_t salt) {
  constexpr std::string_view k_letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::uint64_t value = fnv1a(std::to_string(position), fnv1a(seed, 0xcbf29ce484222325 + salt));
  std::string id;
  for (int i = 0; i < 9; ++i) {
    id += k_letters[value % k_letters.size()];
    value /= k_letters.size();
  }
  return id;
}

std::string CallIds::take(std::string id, std::string_view name, std::string_view arguments) {
  if (!can_be_shown(id) || taken_.contains(id)) {
    id.clear();
    std::string seed = seed_;
    seed += '\n';
    seed += name;
    seed += '\n';
    seed += arguments;
    for (std::uint64_t salt = 0; id.empty() || taken_.contains(id); ++salt) {
      id = made_call_id(seed, position_, salt);
    }
  }
  ++position_;
  taken_.insert(id);
  return id;
}

void give_own_ids(Reply& reply, const std::function<bool(std::string_view)>& keeps_whole) {
  CallIds ids("");
  for (ToolCall& call : reply.tool_calls) {
    const bool is_kept = keeps_whole == nullptr || keeps_whole(call.id);
    std::string id = ids.take(is_kept ? call.id : "", call.name, call.arguments);
    if (id != call.id) {
      call.id = std::move(id);
      reply.raw.clear();
    }
  }
}

}  // namespace agent
