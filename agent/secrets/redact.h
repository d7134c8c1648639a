// Secrets out of everything that leaves the process: known values first, known shapes second; out
// of what tools say also what only looks like one.
#pragma once
#include "agent/environment.h"
#include "agent/json.h"
#include "agent/secrets/known_values.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent {

class Redactor {
 public:
  // The values of variables whose names say that they are secret (*_KEY, *_TOKEN, *_SECRET,
  // *_PASSWORD, …) and which are at least 8 bytes long.
  explicit Redactor(const Environment& environment);

  // Adds the values of such variables, and the passwords in addresses of others.
  void add(const Environment& environment);
  // Adds a value that must never appear; one shorter than 8 bytes is left out. Of one with several
  // lines each line of 12 bytes or more goes by itself, too.
  void add(std::string_view value);
  // Adds the values of HTTP headers that carry a credential, by what they are usually called.
  void add_headers(std::span<const std::pair<std::string, std::string>> headers);

  // A copy that also takes out what looks like a secret (guess_secrets.h). For the output of tools,
  // before anybody has seen it: the model, the journal and every sink then hold the same text, and
  // a run that is resumed or replayed goes on from what it was. What the model says is never
  // guessed at: the seals of its thoughts are as random as any key.
  Redactor guessing() const;

  // Each secret becomes "[redacted]", and so does the beginning of a known value that was cut for
  // people: 8 bytes or more of it in front of a `…`. Known shapes: provider keys (sk-…, sk-ant-…,
  // AIza…, xai-…, gsk_…), GitHub, GitLab, Slack and AWS keys, JWTs, private-key blocks,
  // Authorization headers. Never shas, UUIDs or ids. Thread-safe.
  std::string apply(std::string_view text) const;
  bool is_clean(std::string_view text) const;
  // Takes the secrets out of every string in the value, and out of the names of its members.
  void redact(Json& value) const;
  // The value as text, redacted.
  std::string dump(const Json& value) const;
  // The same where the value is there as text already; it is only asked for where the text holds a
  // secret.
  std::string dump(std::string text, const std::function<Json()>& value) const;

  // How many bytes at the start of a growing text no later byte can make part of a secret: they
  // are not, or they belong to one that is complete.
  std::size_t settled(std::string_view text) const { return settled({}, text); }

 private:
  friend class StreamRedactor;

  void redact_names(Json& object) const;
  std::size_t most_kept_back() const;  // bytes of what may become a secret
  // `before` is what came before the text: it may say what the text begins with.
  std::string apply(std::string_view before, std::string_view text, std::size_t limit) const;
  std::size_t settled(std::string_view before, std::string_view text) const;

  KnownValues values_;  // in every written form
  bool guesses_ = false;
};

// Redacts a stream piece by piece: keeps back what may be the start of a secret (at most 4 KiB, or
// the longest known value). The rest of a secret that is longer is dropped as it comes.
class StreamRedactor {
 public:
  explicit StreamRedactor(const Redactor& redactor) : redactor_(redactor) {}
  std::string feed(std::string_view piece);
  std::string finish();
  // In place of finish() where the text goes no further than it has come: of a known value that has
  // only begun, no more is shown than of one that was cut.
  std::string break_off();

 private:
  enum class Inside : std::uint8_t { nothing, token, key_block };

  std::size_t go_inside(std::size_t cut, std::string_view out);
  void move_on(std::size_t count);

  const Redactor& redactor_;
  std::string before_;  // the end of what is out
  std::string pending_;
  std::size_t word_ = 0;             // bytes at the end of pending_ that may be of one token
  Inside inside_ = Inside::nothing;  // a secret whose beginning was already redacted
};

}  // namespace agent
