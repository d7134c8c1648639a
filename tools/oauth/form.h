// Parameters in addresses and in bodies (application/x-www-form-urlencoded), and what OAuth makes
// of random bytes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools::oauth {

using Form = std::vector<std::pair<std::string, std::string>>;

// One value: what is neither a letter, a digit nor one of -._~ is %XX.
std::string form_encoded(std::string_view text);
// "a=1&b=2"
std::string to_text(const Form& form);
// The address with these behind what query it has.
std::string with_query(std::string_view url, const Form& form);
// nullopt: broken escapes, or a name that comes twice.
std::optional<std::map<std::string, std::string, std::less<>>> parse_form(std::string_view text);

// Proof Key for Code Exchange (RFC 7636), with S256.
struct Pkce {
  std::string verifier;
  std::string challenge;
};
Pkce pkce_of(std::string_view random);  // 32 bytes of it

}  // namespace tools::oauth
