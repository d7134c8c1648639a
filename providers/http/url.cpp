#include "providers/http/url.h"

#include "agent/text.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <memory>
#include <netinet/in.h>

namespace providers {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, FreeUrl>;

struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};

std::string part(const CurlUrl& url, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  curl_url_get(url.get(), what, &text, flags);
  const std::unique_ptr<char, FreeText> owner(text);
  return text == nullptr ? std::string{} : std::string(text);
}

// The host as it is compared; empty where it is not a plain one.
std::string plain_host(const Url& url) {
  if (url.has_zone) {
    return {};
  }
  if (url.host.starts_with('[')) {
    in6_addr address{};
    std::array<char, INET6_ADDRSTRLEN> form{};
    const std::string inside = url.host.substr(1, url.host.size() - 2);
    const bool is_address = ::inet_pton(AF_INET6, inside.c_str(), &address) == 1 &&
                            ::inet_ntop(AF_INET6, &address, form.data(), form.size()) != nullptr;
    return is_address ? fmt::format("[{}]", form.data()) : std::string{};
  }
  const bool is_plain = std::ranges::all_of(url.host, [](char c) {
    const char low = agent::to_lower(c);
    return (low >= 'a' && low <= 'z') || agent::is_digit(c) || c == '-' || c == '_' || c == '.';
  });
  return is_plain && !url.host.ends_with('.') ? agent::to_lower(url.host) : std::string{};
}

CURLUcode read(const CurlUrl& url, const std::string& text) {
  return curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
}

}  // namespace

bool Url::is_loopback() const {
  const std::string name = plain_host(*this);
  in_addr address{};
  return name == "localhost" || name == "[::1]" ||
         (::inet_pton(AF_INET, name.c_str(), &address) == 1 &&
          ntohl(address.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET);
}

agent::Result<Url> parse_url(const std::string& text, agent::Code code) {
  const CurlUrl url(curl_url());
  if (const auto result = read(url, text); result != CURLUE_OK) {
    const auto why = text.find("://") == std::string::npos
                         ? std::string_view("it has no scheme")
                         : std::string_view(curl_url_strerror(result));
    return agent::fail(code,
                       fmt::format("`{}` is not a URL: {}", without_credentials(text), why),
                       "Write it whole, like https://example.com/v1.");
  }
  Url parts{
      .scheme = part(url, CURLUPART_SCHEME),
      .host = part(url, CURLUPART_HOST),
      .port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT),
      .has_credentials =
          !part(url, CURLUPART_USER).empty() || !part(url, CURLUPART_PASSWORD).empty(),
      .has_query = !part(url, CURLUPART_QUERY).empty() || !part(url, CURLUPART_FRAGMENT).empty(),
      .has_path = part(url, CURLUPART_PATH).size() > 1,
      .has_zone = !part(url, CURLUPART_ZONEID).empty()};
  if (parts.scheme != "http" && parts.scheme != "https") {
    return agent::fail(
        code,
        fmt::format(
            "the scheme `{}` of `{}` is not supported", parts.scheme, without_credentials(text)),
        "Only http and https are supported.");
  }
  return parts;
}

agent::Result<Origin> origin_of(const std::string& text, agent::Code code) {
  TRY_ASSIGN(const Url url, parse_url(text, code));
  if (url.has_credentials) {
    return agent::fail(
        code,
        fmt::format("`{}` contains a user name or a password", without_credentials(text)),
        "Leave them out.");
  }
  const std::string host = plain_host(url);
  if (host.empty()) {
    return agent::fail(
        code,
        fmt::format("the host of `{}` can be taken for another one", agent::one_line(text)),
        "Write it with letters, digits, - and . alone, without a dot at its end; other names as "
        "xn--….");
  }
  const bool is_usual = url.port == (url.scheme == "https" ? "443" : "80");
  return Origin{.text = fmt::format("{}://{}{}", url.scheme, host, is_usual ? "" : ":" + url.port),
                .is_loopback = url.is_loopback()};
}

std::string proxy_for(const std::string& text, const std::string& proxy) {
  const auto url = parse_url(text, agent::Code::config_invalid);
  return url && url->is_loopback() ? std::string{} : proxy;
}

std::string without_credentials(const std::string& text) {
  const auto scheme = text.find("://");
  const auto start = scheme == std::string::npos ? 0 : scheme + 3;
  const auto end = text.find_first_of("/?#", start);
  const auto at = text.rfind('@', end);
  if (at == std::string::npos || at < start) {
    return text;
  }
  return text.substr(0, start) + text.substr(at + 1);
}

std::string_view host_of(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  url = url.substr(0, url.find_first_of("/?#"));
  if (const auto user = url.find('@'); user != std::string_view::npos) {
    url.remove_prefix(user + 1);
  }
  return url.substr(0, url.find(':'));
}

}  // namespace providers
