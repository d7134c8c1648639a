#include "tools/permissions/url_pattern.h"

#include "agent/text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;

constexpr const char* k_form =
    "write https://HOST/PATH with wildcards in the path, as in https://docs.example.com/*; a host "
    "may be *.example.com or *";

auto no_pattern(std::string_view text, std::string_view why) {
  return fail(Code::config_invalid,
              fmt::format("`{}` is not a URL pattern: {}", agent::one_line(text, 200), why),
              k_form);
}

// As lax_path() writes what it stands for; a character that %XX stands for is no wildcard.
std::string lax_pattern(std::string_view path) {
  std::string pattern;
  const auto append = [&](char c, bool is_literal) {
    if (c == '/' && pattern.ends_with('/')) {
      return;
    }
    if (is_literal && std::string_view("*?").contains(c)) {
      pattern += '\\';
    }
    pattern += agent::to_lower(c);
  };
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] == '\\' && at + 1 < path.size()) {
      append(path[++at], true);
    } else if (const auto byte = escaped_byte(path, at)) {
      append(*byte == '\\' ? '/' : *byte, true);
      at += 2;
    } else {
      append(path[at], false);
    }
  }
  return pattern;
}

// The paths, as lax_path() writes them, under which a server may have the same page: with and
// without the query, a slash at the end or none.
std::array<std::string, 4> same_pages(std::string_view path) {
  std::string whole = lax_path(path);
  std::string page = whole.substr(0, whole.find('?'));
  std::string bare = page;
  while (bare.ends_with('/')) {
    bare.pop_back();
  }
  std::string folder = bare + "/";
  return {std::move(whole), std::move(page), std::move(bare), std::move(folder)};
}

// The path in the characters that all servers read alike.
bool is_plain_path(std::string_view path) {
  static const RE2 pattern(R"((?:/|[a-zA-Z0-9._~!$&'()*,=@-]*[a-zA-Z0-9_~!$&'()*,=@-])*)");
  return RE2::FullMatch(path.substr(0, path.find('?')), pattern);
}

}  // namespace

UrlPattern::UrlPattern(std::string_view path)
    : path_(canonical_escapes(path)), lax_(lax_pattern(canonical_escapes(path))) {}

Result<UrlPattern> UrlPattern::compile(std::string_view pattern) {
  const std::size_t colon = pattern.find("://");
  const std::string scheme =
      colon == std::string_view::npos ? "" : agent::to_lower(pattern.substr(0, colon));
  if (scheme != "https" && scheme != "http") {
    return no_pattern(pattern, "it does not begin with https://");
  }
  const std::string_view rest = pattern.substr(colon + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  UrlPattern made(slash < rest.size() ? rest.substr(slash) : "/*");
  made.scheme_ = scheme;
  made.is_wide_ = authority.starts_with("*.") || authority == "*" || authority.starts_with("*:");
  if (made.is_wide_) {
    authority.remove_prefix(authority.starts_with("*.") ? 2 : 1);
  }
  if (authority.contains('*') || authority.contains('?')) {
    return no_pattern(pattern, "only the whole beginning of a host can be a wildcard");
  }
  const bool is_any = made.is_wide_ && (authority.empty() || authority.starts_with(':'));
  auto host = parse_host((is_any ? "any" : "") + std::string(authority));
  if (!host) {
    return no_pattern(pattern, host.error().message);
  }
  made.host_ = is_any ? std::string() : std::move(host->host);
  made.port_ = host->port;
  return made;
}

bool UrlPattern::is_host(const Url& url) const {
  if (!is_wide_) {
    return url.host == host_;
  }
  return host_.empty() || url.host.ends_with("." + host_);
}

bool UrlPattern::is_place(const Url& url) const {
  return (port_ == 0 ? url.has_standard_port() : url.port == port_) && is_host(url);
}

bool UrlPattern::allows(const Url& url) const {
  return url.scheme == scheme_ && is_place(url) && path_.covers(url.path) &&
         (path_.is_literal() || lax_.covers(lax_path(url.path)));
}

Match UrlPattern::forbids(const Url& url) const {
  if (!is_place(url)) {
    return Match::no;
  }
  const auto is_covered = [&](const std::string& path) { return lax_.covers(path); };
  if (path_.covers(url.path) || std::ranges::any_of(same_pages(url.path), is_covered)) {
    return Match::yes;
  }
  return is_plain_path(url.path) ? Match::no : Match::maybe;
}

}  // namespace tools
