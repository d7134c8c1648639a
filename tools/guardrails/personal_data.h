// What belongs to a person, by its shape: one table. Keys and tokens are agent/secrets/redact.h's.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// One kind of it.
struct PersonalData {
  std::string_view name;      // "email", as `find` has it
  std::string_view singular;  // "an e-mail address"
  std::string_view plural;    // "e-mail addresses"
  std::string_view pattern;   // RE2, where one may begin
  // How long the one is that begins at `at`, where the pattern matched `length` bytes; 0: it is
  // none.
  std::size_t (*measure)(std::string_view text, std::size_t at, std::size_t length);
};
std::span<const PersonalData> personal_data();

struct Found {
  const PersonalData* kind = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// All of the kind `name`, or of every kind where it is "pii"; in the order of the text, none
// inside another.
std::vector<Found> find_personal_data(std::string_view name, std::string_view text);

// "2 e-mail addresses, a phone number": what there is, not what it says.
std::string describe(std::span<const Found> found);
// The text with "[redacted email]" and the like in their places.
std::string without(std::string_view text, std::span<const Found> found);

}  // namespace tools
