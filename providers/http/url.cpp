#include "providers/http/url.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <memory>

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

CURLUcode read(const CurlUrl& url, const std::string& text) {
  return curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
}

}  // namespace

bool Url::is_loopback() const {
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") ||
         host == "[::1]";
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
      .has_query = !part(url, CURLUPART_QUERY).empty() || !part(url, CURLUPART_FRAGMENT).empty()};
  if (parts.scheme != "http" && parts.scheme != "https") {
    return agent::fail(
        code,
        fmt::format(
            "the scheme `{}` of `{}` is not supported", parts.scheme, without_credentials(text)),
        "Only http and https are spoken.");
  }
  return parts;
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
