// Judges single words and names for guess_secrets.h: which names say that a value is secret, and
// which words are made as secrets are. Where they stand is not looked at here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agent {

constexpr std::size_t k_longest_guess = 256;  // what is longer is data, no secret

// "x-api-key", "apiKey" and "API_KEY" are one name.
bool is_secret_name(std::string_view name);
bool is_key_name(std::string_view name);     // SOME_KEY
bool is_public_name(std::string_view name);  // of hashes and ids: what is random there is no secret

// What stands around a value.
enum class Ground : std::uint8_t {
  literal,  // in quotes, behind an equals sign without blanks, alone behind a colon
  loose,    // may as well be code
  key,      // of SOME_KEY, which names many things
};

bool looks_like_secret(std::string_view value, Ground ground);
// Whether the characters of a word are as good as random, and it is none of the things that are so
// for everybody.
bool is_random(std::string_view word);
// Words that say nothing as a password.
bool is_usual_password(std::string_view word, std::string_view user);

}  // namespace agent
