// Secrets out of everything that leaves the process: known values first, known shapes second.
#pragma once
#include "agent/environment.h"
#include "agent/json.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

class Redactor {
 public:
  // The values of variables whose names say that they are secret (*_KEY, *_TOKEN, *_SECRET,
  // *_PASSWORD, …) and which are at least 8 bytes long.
  explicit Redactor(const Environment& environment);

  // Adds a value that must never appear; one shorter than 8 bytes is left out.
  void add(std::string_view value);

  // Each secret becomes "[redacted]". Known shapes: provider keys (sk-…, sk-ant-…, AIza…, xai-…,
  // gsk_…), GitHub, GitLab, Slack and AWS keys, JWTs, private-key blocks, Authorization headers.
  // Never shas, UUIDs or ids. Thread-safe.
  std::string apply(std::string_view text) const;
  bool is_clean(std::string_view text) const;
  // Takes the secrets out of every string in the value; keys stay.
  void redact(Json& value) const;
  // The value as text, redacted.
  std::string dump(const Json& value) const;

  // How many bytes at the start of a growing text no later byte can make part of a secret: they
  // are not, or they belong to one that is complete.
  std::size_t settled(std::string_view text) const;

 private:
  std::vector<std::string> values_;  // in every written form; longest first
};

// Redacts a stream piece by piece: keeps back what may be the start of a secret (at most 4 KiB, or
// the longest known value). The rest of a secret that is longer is dropped as it comes.
class StreamRedactor {
 public:
  explicit StreamRedactor(const Redactor& redactor) : redactor_(redactor) {}
  std::string feed(std::string_view piece);
  std::string finish();

 private:
  enum class Inside : std::uint8_t { nothing, token, key_block };

  const Redactor& redactor_;
  std::string pending_;
  Inside inside_ = Inside::nothing;  // a secret whose beginning was already redacted
};

}  // namespace agent
