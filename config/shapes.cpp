#include "config/shapes.h"

#include "agent/spec.h"
#include "agent/text.h"
#include "config/pass_rule.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

namespace config {
namespace {

constexpr std::size_t k_longest_name = 64;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}

// A word of `first` characters at its beginning and `rest` characters after it.
template <typename First, typename Rest>
bool is_word(std::string_view text, std::size_t longest, First first, Rest rest) {
  return !text.empty() && text.size() <= longest && first(text.front()) &&
         std::ranges::all_of(text.substr(1), rest);
}

bool is_agent_name(std::string_view text) {
  return is_word(
      text,
      k_longest_name,
      [](char c) { return is_lower(c) || agent::is_digit(c); },
      [](char c) { return is_lower(c) || agent::is_digit(c) || c == '_' || c == '-'; });
}

bool is_tool_name(std::string_view text) {
  const auto allowed = [](char c) {
    return is_letter(c) || agent::is_digit(c) || c == '_' || c == '-';
  };
  return is_word(text, k_longest_name, allowed, allowed);
}

bool is_identifier(std::string_view text, std::size_t longest) {
  return is_word(
      text,
      longest,
      [](char c) { return is_letter(c) || c == '_'; },
      [](char c) { return is_letter(c) || agent::is_digit(c) || c == '_'; });
}

bool is_header_name(std::string_view text) {
  const auto allowed = [](char c) {
    return is_letter(c) || agent::is_digit(c) || std::string_view("!#$%&'*+.^_`|~-").contains(c);
  };
  return is_word(text, 256, allowed, allowed);
}

constexpr std::string_view k_below = "*.";

bool is_model(std::string_view text) {
  if (text == "auto") {
    return true;
  }
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < text.size() &&
         std::ranges::none_of(text, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end;
}

// A host, and what follows it from the colon on. nullopt: no host begins with that.
struct HostAndPort {
  std::string_view name;  // without the brackets of an IPv6 address
  std::string_view port;  // empty: there is none
  bool is_six = false;
};
std::optional<HostAndPort> host_and_port(std::string_view text) {
  const bool is_six = text.starts_with('[');
  const std::size_t end = is_six ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  HostAndPort parts{.name = text.substr(is_six ? 1 : 0, is_six ? end - 1 : end),
                    .port = text.substr(is_six ? end + 1 : end),
                    .is_six = is_six};
  const bool is_separate = parts.port.empty() || parts.port.front() == ':';
  return !parts.name.empty() && is_separate ? std::optional(parts) : std::nullopt;
}

bool is_url(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) {
      continue;
    }
    std::string_view server = text.substr(scheme.size());
    server = server.substr(0, server.find_first_of("/?#"));
    server.remove_prefix(server.rfind('@') == server.npos ? 0 : server.rfind('@') + 1);
    const auto parts = host_and_port(server);
    return parts && (parts->port.size() < 2 || is_port(parts->port.substr(1))) &&
           std::ranges::none_of(text, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
  }
  return false;
}

bool is_host(std::string_view text) {
  const auto parts = host_and_port(text);
  const auto in_name = [&](char c) {
    return is_letter(c) || agent::is_digit(c) || c == '.' ||
           (parts->is_six ? c == ':' : c == '-' || c == '_');
  };
  const auto is_number = [](std::string_view number) {  // who uses it says which it may be
    return is_word(number, 5, [](char c) { return c >= '1' && c <= '9'; }, agent::is_digit);
  };
  return parts && std::ranges::all_of(parts->name, in_name) &&
         (parts->port.empty() || is_number(parts->port.substr(1)));
}

// Every server, one, or all below a domain.
bool is_origin(std::string_view text) {
  if (!is_url(text)) {
    return text == "*";
  }
  std::string_view rest = text.substr(text.find("://") + 3);
  if (rest.starts_with(k_below)) {
    rest.remove_prefix(k_below.size());
  }
  if (rest.ends_with('/')) {
    rest.remove_suffix(1);
  }
  return is_host(rest);
}

}  // namespace

bool fits(Shape shape, std::string_view text) {
  switch (shape) {
    case Shape::any:
      return true;
    case Shape::filled:
      return text.find_first_not_of(" \t\n") != std::string_view::npos;
    case Shape::agent_name:
      return is_agent_name(text);
    case Shape::tool_name:
      return is_tool_name(text);
    case Shape::parameter_name:
      return is_identifier(text, k_longest_name);
    case Shape::header_name:
      return is_header_name(text);
    case Shape::variable:
      return is_identifier(text, 1'024);
    case Shape::variables:
      return is_identifier(text.substr(0, text.size() - (text.ends_with('*') ? 1 : 0)), 1'024);
    case Shape::model:
      return is_model(text);
    case Shape::named_model:
      return text != "auto" && is_model(text);
    case Shape::url:
      return is_url(text);
    case Shape::origin:
      return is_origin(text);
    case Shape::host:
      return is_host(text);
    case Shape::host_pattern:
      return is_host(text.starts_with(k_below) ? text.substr(k_below.size()) : text);
    case Shape::sandbox_mode:
      return agent::sandbox_mode_from(text).has_value();
    case Shape::off:
    case Shape::switched_off:
      return text == "off";
    case Shape::percent:
      return text.size() == 3 && text[0] >= '1' && text[0] <= '9' && agent::is_digit(text[1]) &&
             text[2] == '%' && text.substr(0, 2) <= "95";
    case Shape::pass_rule:
      return PassRule::parse(text).has_value();
  }
  return false;
}

std::string_view pattern(Shape shape) {
  switch (shape) {
    case Shape::any:
      return "";
    case Shape::filled:
      return R"([^ \t\n])";
    case Shape::agent_name:
      return "^[a-z0-9][a-z0-9_-]{0,63}$";
    case Shape::tool_name:
      return "^[a-zA-Z0-9_-]{1,64}$";
    case Shape::parameter_name:
      return "^[a-zA-Z_][a-zA-Z0-9_]{0,63}$";
    case Shape::header_name:
      return "^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$";
    case Shape::variable:
      return "^[a-zA-Z_][a-zA-Z0-9_]*$";
    case Shape::variables:
      return R"(^[a-zA-Z_][a-zA-Z0-9_]*\*?$)";
    case Shape::model:
      return R"(^auto$|^[^/ \t\n]+/[^ \t\n]+$)";
    case Shape::named_model:
      return R"(^[^/ \t\n]+/[^ \t\n]+$)";
    case Shape::url:
      return R"(^https?://[^/ \t\n][^ \t\n]*$)";
    case Shape::origin:
      return R"(^\*$|^https?://((\*\.)?[a-zA-Z0-9._-]+|\[[a-zA-Z0-9:.]+\])(:[1-9][0-9]{0,4})?/?$)";
    case Shape::host:
      return R"(^([a-zA-Z0-9._-]+|\[[a-zA-Z0-9:.]+\])(:[1-9][0-9]{0,4})?$)";
    case Shape::host_pattern:
      return R"(^((\*\.)?[a-zA-Z0-9._-]+|\[[a-zA-Z0-9:.]+\])(:[1-9][0-9]{0,4})?$)";
    case Shape::sandbox_mode:
      return "^(read_only|workspace_write|off)$";
    case Shape::off:
    case Shape::switched_off:
      return "^off$";
    case Shape::percent:
      return "^([1-8][0-9]|9[0-5])%$";
    case Shape::pass_rule:
      return "^(all|any|([1-9][0-9]?|100)%)$";
  }
  return "";
}

std::string_view describe(Shape shape) {
  switch (shape) {
    case Shape::any:
      return "text";
    case Shape::filled:
      return "text that is not empty";
    case Shape::agent_name:
      return "at most 64 lower-case letters, digits, `-` and `_`, and begin with a letter or digit";
    case Shape::tool_name:
      return "at most 64 letters, digits, `-` and `_`";
    case Shape::parameter_name:
      return "at most 64 letters, digits and `_`, and not begin with a digit";
    case Shape::header_name:
      return "the name of an HTTP header";
    case Shape::variable:
      return "the name of an environment variable: letters, digits and `_`";
    case Shape::variables:
      return "the name of an environment variable, or how several begin: GH_TOKEN, GH_*";
    case Shape::model:
      return "PROVIDER/NAME, or `auto`";
    case Shape::named_model:
      return "PROVIDER/NAME";
    case Shape::url:
      return "an address that begins with http:// or https://, then a host (and a port up to "
             "65535)";
    case Shape::origin:
      return "a server's address without a path: https://llm.example, http://10.0.0.5:8000; or "
             "\"*\"";
    case Shape::host:
      return "a host, or a host and a port: intranet.example, 127.0.0.1:8080";
    case Shape::host_pattern:
      return "a host, or what is below one: pypi.org, *.pypi.org, 127.0.0.1:8080";
    case Shape::sandbox_mode:
      return "read_only, workspace_write or off";
    case Shape::switched_off:
      return "off, or a map of its keys";
    case Shape::percent:
      return "a share of the window from 10% to 95%: 60%";
    case Shape::pass_rule:
      return "all, any, or a share from 1% to 100%: 80%";
    case Shape::off:
      return "off, or a map with `network`, `read` and `write`";
  }
  return "";
}

std::string_view duration_pattern() {
  return R"(^([0-9]+(\.[0-9]+)?d)?([0-9]+(\.[0-9]+)?h)?([0-9]+(\.[0-9]+)?m)?)"
         R"(([0-9]+(\.[0-9]+)?s)?([0-9]+(\.[0-9]+)?ms)?$)";
}

std::string_view count_pattern() {
  return R"(^[0-9]+(\.[0-9]+)?[kKMG]?$)";
}

std::string_view money_pattern() {
  return R"(^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$)";
}

}  // namespace config
