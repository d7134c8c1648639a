// Finds what looks like a secret though no list knows it: by what stands before it (`password=`,
// "api_key":, user:password@host), and alone where its characters are as good as random. It
// guesses: for text from outside that nobody has seen yet, not for what must come back exactly as
// it was.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace agent {

struct Guess {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Guesses {
  std::vector<Guess> found;  // in order, apart
  std::size_t open = 0;      // where a value begins that may go on behind the end of the text
};

// How far back what stands before a word tells what it is.
constexpr std::size_t k_guess_context = 256;

// Hashes, ids, paths, identifiers, placeholders and base64 of files are left alone. What begins
// before `from` only serves as context. In time linear in the text.
Guesses guess_secrets(std::string_view text, std::size_t from = 0);

}  // namespace agent
