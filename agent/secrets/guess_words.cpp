#include "agent/secrets/guess_words.h"

#include "agent/base64.h"
#include "agent/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace agent {
namespace {

constexpr std::size_t k_shortest_value = 8;
constexpr std::size_t k_shortest_key = 16;  // the value of SOME_KEY=

// How names end whose values are secret. Small letters, nothing between the words.
constexpr auto k_secret_names = std::to_array<std::string_view>({
    "password",  "passwd",        "passphrase",    "passcode",   "secret",
    "secretkey", "apikey",        "accesskey",     "privatekey", "authkey",
    "token",     "credential",    "credentials",   "signingkey", "sessionkey",
    "masterkey", "encryptionkey", "authorization", "accountkey",
});
// Endings of the above that say the contrary.
constexpr auto k_public_tokens = std::to_array<std::string_view>({
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "synctoken",
    "resumetoken",
    "canceltoken",
});
// How names end whose values are long and random, and for everybody.
constexpr auto k_public_names = std::to_array<std::string_view>({
    "integrity", "etag",          "digest",    "hash",      "checksum", "sha1",
    "sha256",    "sha384",        "sha512",    "md5",       "sig",      "cursor",
    "nonce",     "fingerprint",   "signature", "publickey", "pubkey",   "rev",
    "revision",  "commit",        "h1",        "id",        "xamzid2",  "cachekey",
    "x5t",       "token",         "version",   "base64",    "buildid",  "gpgkey",
    "address",   "codechallenge", "state",     "proof",     "sri",      "cid",
});
// How words begin that are no secret by themselves: ids of providers' calls and answers, hashes,
// public keys and certificates, names that a compiler made.
constexpr auto k_public_beginnings = std::to_array<std::string_view>({
    "toolu_",  "tooluse_", "srvtoolu_", "call_", "chatcmpl-", "cmpl-", "gen-",   "msg_",  "req_",
    "resp_",   "rs_",      "fc_",       "run-",  "run_",      "file-", "batch_", "sha1-", "sha256-",
    "sha384-", "sha512-",  "AAAA",      "MII",   "Qm",        "_Z",    "_R",     "0x",    "arn:",
});
constexpr auto k_placeholders = std::to_array<std::string_view>({
    "process.env",
    "os.environ",
    "getenv",
    "env.",
    "your",
    "example",
    "dummy",
    "changeme",
    "xxx",
    "secrets.",
    "config.",
    "self.",
    "this.",
    "args.",
    "settings.",
});

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}
bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
template <std::size_t N>
bool ends_with_one(std::string_view text, const std::array<std::string_view, N>& endings) {
  return std::ranges::any_of(endings, [&](std::string_view end) { return text.ends_with(end); });
}
template <std::size_t N>
bool begins_with_one(std::string_view text, const std::array<std::string_view, N>& beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view begin) { return text.starts_with(begin); });
}

// Shannon's, in bits for each character.
double entropy(std::string_view text) {
  std::array<std::uint16_t, 256> counts{};
  for (const char c : text) {
    ++counts[static_cast<unsigned char>(c)];
  }
  double bits = 0;
  const auto size = static_cast<double>(text.size());
  for (const std::uint16_t count : counts) {
    if (count > 0) {
      bits -= count * std::log2(count / size);
    }
  }
  return bits / size;
}

// Pairs of letters of which words are made, and random ones are not: there it is one pair in ten,
// in words and names every other.
constexpr std::string_view k_usual_pairs =
    "th he in er an re on at en nd ti es or of ed is it al ar st to nt ng se ha as ou io le ve "
    "co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ke ey ta am et ec na no el ge ns tr "
    "di us pa pe lo la il ad ";

constexpr std::size_t pair_of(char first, char second) {
  return static_cast<std::size_t>(first - 'a') * 26 + static_cast<std::size_t>(second - 'a');
}

bool reads_like_words(std::string_view text) {
  static constexpr auto k_usual = [] {
    std::array<bool, 26 * 26> usual{};
    for (std::size_t at = 0; at < k_usual_pairs.size(); at += 3) {
      usual[pair_of(k_usual_pairs[at], k_usual_pairs[at + 1])] = true;
    }
    return usual;
  }();
  std::size_t pairs = 0;
  std::size_t usual = 0;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (is_letter(text[at]) && is_letter(text[at + 1])) {
      ++pairs;
      usual += k_usual[pair_of(to_lower(text[at]), to_lower(text[at + 1]))] ? 1 : 0;
    }
  }
  return usual * 100 > pairs * 27;
}

// How a word is made.
struct Make {
  std::size_t lower = 0;
  std::size_t upper = 0;
  std::size_t digits = 0;
  std::size_t joints = 0;      // _ - . / and such, which hold names together
  std::size_t signs = 0;       // all else
  std::size_t runs = 0;        // of letters, as the words of camelCase are counted
  std::size_t jumps = 0;       // from one kind of character to another, but for Ab
  std::size_t in_words = 0;    // letters that follow three of their kind, with these
  std::size_t odd_digits = 0;  // before which a small letter goes on, or more than four
  std::size_t letters() const { return lower + upper; }
};

Make make_of(std::string_view text) {
  Make make;
  std::size_t same = 0;  // letters of one case in a row
  std::size_t number = 0;
  char last = '\0';
  for (const char c : text) {
    const bool goes_on = (is_lower(c) && is_lower(last)) || (is_upper(c) && is_upper(last));
    same = goes_on ? same + 1 : is_letter(c) ? 1 : 0;
    make.in_words += same == 4 ? 4 : same > 4 ? 1 : 0;
    number = is_digit(c) ? number + 1 : 0;
    make.odd_digits += (is_lower(c) && is_digit(last)) || number == 5 ? 1 : 0;
    const bool is_title = is_lower(c) && is_upper(last);
    make.runs += is_letter(c) && !goes_on && !is_title ? 1 : 0;
    const auto kind = [](char one) {
      return is_lower(one) ? 1 : is_upper(one) ? 2 : is_digit(one) ? 3 : 4;
    };
    make.jumps += last != '\0' && kind(c) != kind(last) && !is_title ? 1 : 0;
    if (is_lower(c)) {
      ++make.lower;
    } else if (is_upper(c)) {
      ++make.upper;
    } else if (is_digit(c)) {
      ++make.digits;
    } else if (std::string_view("_-./:,+=@").contains(c)) {
      ++make.joints;
    } else {
      ++make.signs;
    }
    last = c;
  }
  return make;
}

bool is_placeholder(std::string_view value) {
  if (std::string_view("$<{%*[(#").contains(value.front()) || value.contains("${") ||
      value.contains("{{") || value.contains("$(") || value.contains("[redacted]")) {
    return true;
  }
  const std::string small = to_lower(value.substr(0, 24));
  return begins_with_one(small, k_placeholders) || small.contains("example") ||
         value.find_first_not_of(value.front()) == std::string_view::npos;
}

bool is_path_or_address(std::string_view value) {
  return value.starts_with('/') || value.starts_with("./") || value.starts_with("../") ||
         value.starts_with("~/") || value.contains("://");
}

// Whether these are the bytes of a text in base64.
bool is_text_in_base64(std::string_view word) {
  std::string padded(word);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  const auto bytes = from_base64(padded);
  return bytes &&
         std::ranges::all_of(*bytes,
                             [](char c) {
                               return static_cast<unsigned char>(c) >= ' ' || c == '\n' ||
                                      c == '\t' || c == '\r';
                             }) &&
         is_valid_utf8(*bytes);
}

// Small letters and digits alone: "x-api-key", "apiKey" and "API_KEY" are one.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (is_letter_or_digit(c)) {
      plain += to_lower(c);
    }
  }
  return plain;
}

// By their last two letters most names are out.
bool may_be_secret_name(std::string_view name) {
  static constexpr auto k_ends = [] {
    std::array<bool, 26 * 26> ends{};
    for (const std::string_view secret : k_secret_names) {
      ends[pair_of(secret[secret.size() - 2], secret.back())] = true;
    }
    return ends;
  }();
  if (name.size() < 3) {
    return false;
  }
  const char first = to_lower(name[name.size() - 2]);
  const char last = to_lower(name.back());
  return is_lower(first) && is_lower(last) && k_ends[pair_of(first, last)];
}

}  // namespace

bool is_secret_name(std::string_view name) {
  if (!may_be_secret_name(name)) {
    return false;
  }
  const std::string plain = plain_name(name);
  return ends_with_one(plain, k_secret_names) && !ends_with_one(plain, k_public_tokens);
}

bool is_key_name(std::string_view name) {
  return name.ends_with("_KEY") && !name.ends_with("PUBLIC_KEY") && !name.ends_with("GPG_KEY") &&
         std::ranges::none_of(name, is_lower);
}

bool is_public_name(std::string_view name) {
  return ends_with_one(plain_name(name), k_public_names) && !is_secret_name(name);
}

bool looks_like_secret(std::string_view value, Ground ground) {
  const std::size_t shortest = ground == Ground::key     ? k_shortest_key
                               : ground == Ground::loose ? 12
                                                         : k_shortest_value;
  if (value.size() < shortest || is_placeholder(value) || is_path_or_address(value)) {
    return false;
  }
  const Make make = make_of(value);
  if (make.letters() < 3) {
    return false;
  }
  // Names have digits at the ends of their words, and words that can be said.
  const bool is_mixed =
      make.digits > 0 && (make.odd_digits > 0 || 10 * make.letters() < 34 * make.runs);
  const bool is_wild =
      make.lower > 0 && make.upper > 0 && value.size() >= 12 && 2 * make.letters() < 5 * make.runs;
  const bool is_signed = ground == Ground::literal && make.signs > 0 &&
                         (make.digits > 0 || (make.signs > 1 && make.lower > 0 && make.upper > 0));
  const bool is_dense = ground == Ground::literal && value.size() >= 20 && make.lower > 0 &&
                        make.upper > 0 && make.digits > 0 && make.joints == 0 &&
                        entropy(value) >= 3.9 && !reads_like_words(value);
  const double least = ground == Ground::literal ? 2.6 : 3.0;
  const bool is_code =
      ground != Ground::literal && (make.digits < 2 || make.jumps < 4 || reads_like_words(value));
  return (is_mixed || is_wild || is_signed || is_dense) && !is_code && entropy(value) >= least;
}

bool is_random(std::string_view word) {
  if (std::ranges::all_of(word, is_hex) || begins_with_one(word, k_public_beginnings)) {
    return false;
  }
  const Make make = make_of(word);
  const std::size_t size = word.size();
  return make.lower >= 3 && make.upper >= 3 && make.digits >= 2 && make.jumps * 4 >= size &&
         make.in_words * 10 <= size * 4 && make.joints * 16 <= size + 16 &&
         !reads_like_words(word) && entropy(word) >= (size < 40 ? 4.2 : 4.4) &&
         !is_text_in_base64(word);
}

bool is_usual_password(std::string_view word, std::string_view user) {
  const Make make = make_of(word);
  return word.size() < k_shortest_value || word == user || is_placeholder(word) ||
         (make.lower == word.size() && word.size() <= 12) ||
         ((make.digits == 0 || make.odd_digits == 0) && make.signs == 0 &&
          make.letters() + make.joints >= 3 * make.runs && make.digits <= 4 && make.runs > 0);
}

}  // namespace agent
