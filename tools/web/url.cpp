#include "tools/web/url.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <system_error>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;

constexpr std::size_t k_longest_url = 8'192;
constexpr std::size_t k_longest_host = 253;
constexpr std::size_t k_longest_label = 63;
constexpr const char* k_form = "Write it like https://example.com/page?x=1.";

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

std::optional<int> hex_digit(char c) {
  const char low = agent::to_lower(c);
  if (agent::is_digit(low)) {
    return low - '0';
  }
  return low >= 'a' && low <= 'f' ? std::optional(low - 'a' + 10) : std::nullopt;
}

bool is_unreserved(char c) {
  return agent::is_digit(c) || is_letter(agent::to_lower(c)) ||
         std::string_view("-._~").contains(c);
}

auto no_url(std::string_view text, std::string_view why) {
  return fail(
      Code::tool_invalid_parameters,
      fmt::format("`{}` is not a URL that can be fetched: {}", agent::one_line(text, 200), why),
      k_form);
}

// Why it is no host; the canonical form is put in `host`.
std::string_view read_name(std::string_view text, std::string& host) {
  host = agent::to_lower(text);
  if (host.ends_with('.')) {
    host.pop_back();
  }
  if (host.empty() || host.size() > k_longest_host) {
    return host.empty() ? "it has no host" : "its host is too long";
  }
  std::string_view last;
  for (std::string_view rest = host;;) {
    last = rest.substr(0, rest.find('.'));
    if (last.empty() || last.size() > k_longest_label) {
      return "a part of its host is empty or too long";
    }
    if (last.size() == rest.size()) {
      break;
    }
    rest.remove_prefix(last.size() + 1);
  }
  if (!std::ranges::all_of(host, [](char c) {
        return is_letter(c) || agent::is_digit(c) || c == '-' || c == '_' || c == '.';
      })) {
    return "its host has characters beside letters, digits, - and . (write other names as xn--…)";
  }
  // 2130706433, 0x7f.1 and 017700000001 are addresses, too.
  if (agent::is_digit(last.front())) {
    const bool is_number = std::ranges::all_of(last, agent::is_digit) || last.starts_with("0x");
    in_addr address{};
    if (is_number && ::inet_aton(host.c_str(), &address) == 0) {
      return "its host ends in a number but is not an address";
    }
    if (is_number) {
      std::array<char, INET_ADDRSTRLEN> dotted{};
      host = ::inet_ntop(AF_INET, &address, dotted.data(), dotted.size());
    }
  }
  return {};
}

std::string_view read_six(std::string_view text, std::string& host) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> form{};
  if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1 ||
      ::inet_ntop(AF_INET6, &address, form.data(), form.size()) == nullptr) {
    return "what is between [ and ] is not an IPv6 address";
  }
  host = fmt::format("[{}]", form.data());
  return {};
}

// HOST[:PORT]. Why it is none; port 0 where there is none.
std::string_view read_authority(std::string_view text, std::string& host, int& port) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) {
    return "a [ has no ]";
  }
  const std::size_t colon = text.find(':', bracket);
  const std::string_view name = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65'535) {
      return "its port is not a number from 1 to 65535";
    }
  }
  if (bracket == 0) {
    return read_name(name, host);
  }
  return name.ends_with(']') ? read_six(name.substr(1, name.size() - 2), host)
                             : "something is between ] and the port";
}

// Of a path that begins with /.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> parts;
  bool is_folder = false;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    is_folder = part == "." || part == "..";
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!is_folder) {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string clean = fmt::format("/{}", fmt::join(parts, "/"));
  return is_folder && !clean.ends_with('/') ? clean + "/" : clean;
}

std::string canonical_path(std::string_view text) {
  text = text.substr(0, text.find('#'));
  const std::size_t query = std::min(text.find('?'), text.size());
  const std::string path = canonical_escapes(text.substr(0, query));
  return without_dots(path.starts_with('/') ? path : "/" + path) +
         canonical_escapes(text.substr(query));
}

}  // namespace

std::optional<char> escaped_byte(std::string_view text, std::size_t at) {
  if (text[at] != '%' || at + 2 >= text.size()) {
    return std::nullopt;
  }
  const auto high = hex_digit(text[at + 1]);
  const auto low = hex_digit(text[at + 2]);
  return high && low ? std::optional(static_cast<char>(*high * 16 + *low)) : std::nullopt;
}

std::string canonical_escapes(std::string_view path) {
  constexpr std::string_view k_as_they_are = "!$&'()*+,;=:@/?[]|\\";
  std::string clean;
  for (std::size_t at = 0; at < path.size(); ++at) {
    const auto byte = escaped_byte(path, at);
    const char c = byte.value_or(path[at]);
    if (is_unreserved(c) || (!byte && k_as_they_are.contains(c))) {
      clean += c;
    } else {
      clean += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    at += byte ? 2 : 0;
  }
  return clean;
}

std::string lax_path(std::string_view path) {
  std::string flat;
  for (std::size_t at = 0; at < path.size(); ++at) {
    const auto byte = escaped_byte(path, at);
    const char c = byte.value_or(path[at]) == '\\' ? '/' : byte.value_or(path[at]);
    at += byte ? 2 : 0;
    if (c != '/' || !flat.ends_with('/')) {
      flat += agent::to_lower(c);
    }
  }
  const std::size_t query = std::min(flat.find('?'), flat.size());
  return without_dots(flat.substr(0, query)) + flat.substr(query);
}

std::string Url::origin() const {
  return has_standard_port() ? fmt::format("{}://{}", scheme, host)
                             : fmt::format("{}://{}:{}", scheme, host, port);
}

Result<Url> parse_url(std::string_view text) {
  text = agent::trimmed(text);
  if (text.size() > k_longest_url) {
    return no_url(text, fmt::format("it has over {} bytes", k_longest_url));
  }
  if (std::ranges::any_of(text, [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\\';
      })) {
    return no_url(text, "it has a control character or a \\ in it");
  }
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) {
    return no_url(text, "it does not begin with https://");
  }
  Url url{.scheme = agent::to_lower(text.substr(0, colon)), .host = {}, .path = {}};
  if (url.scheme != "https" && url.scheme != "http") {
    return no_url(text, "only https is supported, and http where the agent file allows it");
  }
  const std::string_view rest = text.substr(colon + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.contains('@')) {
    return fail(Code::tool_invalid_parameters,
                "a URL with a user name or a password is not fetched",
                k_form);
  }
  if (const auto why = read_authority(authority, url.host, url.port); !why.empty()) {
    return no_url(text, why);
  }
  url.port = url.port != 0 ? url.port : url.scheme == "https" ? 443 : 80;
  url.path = canonical_path(rest.substr(authority.size()));
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  reference = agent::trimmed(reference);
  const std::size_t end = reference.find_first_of(":/?#");
  if (end != std::string_view::npos && reference[end] == ':') {
    return parse_url(reference);
  }
  if (reference.starts_with("//")) {
    return parse_url(base.scheme + ":" + std::string(reference));
  }
  const std::string_view old = base.path;
  const std::size_t query = std::min(old.find('?'), old.size());
  const std::string_view kept = reference.starts_with('/')   ? ""
                                : reference.starts_with('?') ? old.substr(0, query)
                                : reference.empty() || reference.starts_with('#')
                                    ? old
                                    : old.substr(0, old.substr(0, query).rfind('/') + 1);
  return parse_url(base.origin() + std::string(kept) + std::string(reference));
}

Result<HostPort> parse_host(std::string_view text) {
  HostPort parsed;
  if (const auto why = read_authority(text, parsed.host, parsed.port); !why.empty()) {
    return fail(Code::config_invalid,
                fmt::format("`{}` is not a host: {}", agent::one_line(text), why),
                "write a host, and its port where it is not 80 or 443: 127.0.0.1:8080");
  }
  return parsed;
}

}  // namespace tools
