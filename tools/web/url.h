// The address of a web page in its one canonical form, so that rules and checks see what will be
// asked for. Refuses what clients read in different ways. No network here.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tools {

struct Url {
  std::string scheme;  // "https" or "http"
  std::string host;    // in lower case; addresses as "127.0.0.1" and "[::1]"
  int port = 0;
  std::string path;  // begins with /, with the query; no `.` and `..`; %XX only where needed

  std::string origin() const;  // "https://host", and the port where it is not the scheme's
  std::string text() const { return origin() + path; }
  std::string without_query() const { return origin() + path.substr(0, path.find('?')); }
  bool has_standard_port() const { return port == (scheme == "https" ? 443 : 80); }

  bool operator==(const Url&) const = default;
};

// tool.invalid_parameters: no absolute http or https URL, a user name or password in it, a host
// that is no plain ASCII name or address. What follows # is left out.
agent::Result<Url> parse_url(std::string_view text);

// What a link or a redirect on the page `base` means.
agent::Result<Url> resolve_url(const Url& base, std::string_view reference);

// HOST or HOST:PORT as a host's canonical form; port 0 where none was written.
struct HostPort {
  std::string host;
  int port = 0;

  bool covers_port(int other) const {
    return port == 0 ? other == 80 || other == 443 : other == port;
  }
  bool covers(const Url& url) const { return host == url.host && covers_port(url.port); }
};
agent::Result<HostPort> parse_host(std::string_view text);

// The byte that %XX at `at` stands for; nullopt where there is none.
std::optional<char> escaped_byte(std::string_view text, std::size_t at);
// The path with %XX written in one way: capitals, and not where the character itself will do.
std::string canonical_escapes(std::string_view path);
// As servers may read it that are lax: %XX and dot segments resolved, one / for many and for \, in
// lower case.
std::string lax_path(std::string_view path);

}  // namespace tools
