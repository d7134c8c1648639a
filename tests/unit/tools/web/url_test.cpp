#include "tools/web/url.h"

#include "tools/permissions/url_pattern.h"

#include <catch2/catch.hpp>

#include <string>

using tools::parse_url;
using tools::resolve_url;
using tools::Url;
using tools::UrlPattern;

namespace {

std::string canonical(const std::string& text) {
  const auto url = parse_url(text);
  return url ? url->text() : "refused";
}

std::string resolved(const std::string& base, const std::string& reference) {
  const auto url = resolve_url(*parse_url(base), reference);
  return url ? url->text() : "refused";
}

bool allows(const std::string& pattern, const std::string& url) {
  return UrlPattern::compile(pattern)->allows(*parse_url(url));
}

bool forbids(const std::string& pattern, const std::string& url) {
  return UrlPattern::compile(pattern)->forbids(*parse_url(url)) == tools::Match::yes;
}

}  // namespace

TEST_CASE("urls: one page has one form", "[tools]") {
  struct Row {
    const char* text;
    const char* form;
  };
  const auto row = GENERATE(values<Row>({
      {"https://example.com", "https://example.com/"},
      {" HTTPS://Example.COM:443/a#part ", "https://example.com/a"},
      {"https://example.com.", "https://example.com/"},
      {"https://example.com:8443/", "https://example.com:8443/"},
      {"https://example.com:0443/", "https://example.com/"},
      {"http://example.com:80/", "http://example.com/"},
      {"http://example.com:443/", "http://example.com:443/"},
      {"https://example.com?q=1", "https://example.com/?q=1"},
      {"https://example.com/a/./b/../c", "https://example.com/a/c"},
      {"https://example.com/a/%2e%2E/b", "https://example.com/b"},
      {"https://example.com/../../a/..", "https://example.com/"},
      {"https://example.com/a/b/.", "https://example.com/a/b/"},
      {"https://example.com/a?b=/../c", "https://example.com/a?b=/../c"},
      {"https://example.com/%7euser/%c3%a9", "https://example.com/~user/%C3%A9"},
      {"https://example.com/é x", "https://example.com/%C3%A9%20x"},
      {"https://example.com/100%", "https://example.com/100%25"},
      {"https://example.com/a%2fb%5c", "https://example.com/a%2Fb%5C"},
      {"http://127.1/", "http://127.0.0.1/"},
      {"http://2130706433/", "http://127.0.0.1/"},
      {"http://0x7f.1/", "http://127.0.0.1/"},
      {"http://0X7F000001/", "http://127.0.0.1/"},
      {"http://0177.0.0.1./", "http://127.0.0.1/"},
      {"http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"},
      {"http://[::FFFF:7f00:1]/", "http://[::ffff:127.0.0.1]/"},
      {"https://a_b.example.com/", "https://a_b.example.com/"},
      {"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"},
  }));
  INFO(row.text);
  CHECK(canonical(row.text) == row.form);
  CHECK(canonical(canonical(row.text)) == row.form);
}

TEST_CASE("urls: what clients read in different ways is refused", "[tools]") {
  const std::string text = GENERATE(as<std::string>(),
                                    "",
                                    "example.com",
                                    "//example.com/",
                                    "https:example.com",
                                    "https:/example.com/",
                                    "https:///example.com/",
                                    "file:///etc/passwd",
                                    "ftp://example.com/",
                                    "gopher://127.0.0.1:6379/_x",
                                    "javascript://example.com/%0aalert(1)",
                                    "https://user@example.com/",
                                    "https://user:word@example.com/",
                                    "https://example.com@127.0.0.1/",
                                    "https://example.com\\@127.0.0.1/",
                                    "https://example.com\\.evil.example/",
                                    "https://exa mple.com/",
                                    "https://example.com\t/",
                                    "https://example.com/a\nb",
                                    "https://exam%70le.com/",
                                    "https://bücher.example/",
                                    "https://ⓔxample.com/",
                                    "https://example..com/",
                                    "https://.example.com/",
                                    "https://example.com../",
                                    "https://example.com:/",
                                    "https://example.com:0/",
                                    "https://example.com:65536/",
                                    "https://example.com:80:443/",
                                    "https://example.com:-1/",
                                    "https://256.0.0.1/",
                                    "https://1.2.3.4.5/",
                                    "https://0x7g/",
                                    "https://[::1/",
                                    "https://[::1]x/",
                                    "https://[fe80::1%25eth0]/",
                                    "https://[127.0.0.1]/");
  INFO(text);
  CHECK(canonical(text) == "refused");
}

TEST_CASE("urls: they end somewhere", "[tools]") {
  const std::string start = "https://example.com/";
  CHECK(canonical(start + std::string(8'192 - start.size(), 'a')) != "refused");
  CHECK(canonical(start + std::string(8'193 - start.size(), 'a')) == "refused");
  const std::string label(63, 'a');
  CHECK(canonical("https://" + label + ".com") != "refused");
  CHECK(canonical("https://" + label + "a.com") == "refused");
}

TEST_CASE("urls: a redirect or a link is resolved from its page", "[tools]") {
  const std::string page = "https://example.com/docs/page?x=1";
  CHECK(resolved(page, "other") == "https://example.com/docs/other");
  CHECK(resolved(page, "../up") == "https://example.com/up");
  CHECK(resolved(page, "/root") == "https://example.com/root");
  CHECK(resolved(page, "?y=2") == "https://example.com/docs/page?y=2");
  CHECK(resolved(page, "#part") == "https://example.com/docs/page?x=1");
  CHECK(resolved(page, "") == "https://example.com/docs/page?x=1");
  CHECK(resolved(page, "//other.example/a") == "https://other.example/a");
  CHECK(resolved(page, "http://other.example/a:b") == "http://other.example/a:b");
  CHECK(resolved(page, "a/b:c") == "https://example.com/docs/a/b:c");
  CHECK(resolved(page, "mailto:me@example.com") == "refused");
  CHECK(resolved(page, "javascript:alert(1)") == "refused");
  CHECK(resolved(page, "/\\127.0.0.1/") == "refused");
}

TEST_CASE("url patterns: they allow the host and the path that they name", "[tools]") {
  const std::string docs = "https://docs.example.com/*";
  CHECK(allows(docs, "https://docs.example.com/"));
  CHECK(allows(docs, "https://DOCS.example.com:443/a/b?c=d"));
  CHECK_FALSE(allows(docs, "http://docs.example.com/"));
  CHECK_FALSE(allows(docs, "https://docs.example.com:8443/"));
  CHECK_FALSE(allows(docs, "https://docs.example.com.evil.example/"));
  CHECK_FALSE(allows(docs, "https://evil.example/docs.example.com/"));
  CHECK(allows("https://Docs.Example.com", "https://docs.example.com/any"));
  CHECK(allows("https://example.com/a/*", "https://example.com/a/b"));
  CHECK_FALSE(allows("https://example.com/a/*", "https://example.com/a/../b"));
  CHECK_FALSE(allows("https://example.com/a/*", "https://example.com/a/..%2fb"));
  CHECK_FALSE(allows("https://example.com/a/*", "https://example.com/a/%2e%2e%5cb"));
  CHECK(allows("https://example.com/a/*", "https://example.com/a/x%2Fy"));
  CHECK(allows("https://example.com/caf%c3%a9", "https://example.com/café"));
  CHECK(allows("http://127.0.0.1:8080", "http://0x7f.1:8080/x"));
}

TEST_CASE("url patterns: a wildcard of the host ends at the host", "[tools]") {
  CHECK(allows("https://*.example.com/*", "https://a.b.example.com/"));
  CHECK_FALSE(allows("https://*.example.com/*", "https://example.com/"));
  CHECK_FALSE(allows("https://*.example.com/*", "https://badexample.com/"));
  CHECK_FALSE(allows("https://*.example.com/*", "https://evil.example/x.example.com/"));
  CHECK(allows("https://*", "https://anything.example/at/all"));
  CHECK(allows("https://*:8443/x", "https://anything.example:8443/x"));
  CHECK_FALSE(allows("https://*:8443/x", "https://anything.example/x"));
}

TEST_CASE("url patterns: what is forbidden is so in other spellings, too", "[tools]") {
  const std::string rule = "https://example.com/private/*";
  CHECK(forbids(rule, "https://example.com/private/a"));
  CHECK(forbids(rule, "http://example.com/private/a"));
  CHECK(forbids(rule, "https://example.com//private//a"));
  CHECK(forbids(rule, "https://example.com/Private/a"));
  CHECK(forbids(rule, "https://example.com/%70rivate%2fa"));
  CHECK(forbids(rule, "https://example.com/x/..%2fprivate/a"));
  CHECK(forbids(rule, "https://example.com/x%5c..%5cprivate%5ca"));
  CHECK_FALSE(forbids(rule, "https://example.com/public/a"));
  CHECK_FALSE(forbids(rule, "https://other.example/private/a"));
}

TEST_CASE("url patterns: the rule for one URL is for that one alone", "[tools]") {
  const std::string url = GENERATE(as<std::string>(),
                                   "https://example.com/a?b=*&c=d",
                                   "https://example.com/a/..%2Fb",
                                   "https://example.com/%2A%3F/é",
                                   "https://example.com/(x)");
  INFO(url);
  const Url parsed = *parse_url(url);
  const auto pattern = UrlPattern::compile(parsed.origin() + tools::literal_pattern(parsed.path));
  REQUIRE(pattern);
  CHECK(pattern->allows(parsed));
  CHECK_FALSE(pattern->allows(*parse_url("https://example.com/axb=1&c=d")));
}

TEST_CASE("url patterns: what is none says so", "[tools]") {
  const std::string pattern = GENERATE(as<std::string>(),
                                       "docs.example.com",
                                       "ftp://example.com/*",
                                       "https://",
                                       "https://docs.*.com/",
                                       "https://example.com*",
                                       "https://exa?ple.com/",
                                       "https://*:x/",
                                       "https://user@example.com/");
  INFO(pattern);
  CHECK_FALSE(UrlPattern::compile(pattern));
}

TEST_CASE("hosts: a host without a port is on the two usual ones", "[tools]") {
  const auto plain = *tools::parse_host("Intranet.Example.");
  CHECK(plain.covers(*parse_url("http://intranet.example/")));
  CHECK(plain.covers(*parse_url("https://intranet.example/")));
  CHECK_FALSE(plain.covers(*parse_url("http://intranet.example:8080/")));
  const auto exact = *tools::parse_host("127.1:8080");
  CHECK(exact.covers(*parse_url("http://127.0.0.1:8080/")));
  CHECK_FALSE(exact.covers(*parse_url("http://127.0.0.1/")));
  CHECK_FALSE(tools::parse_host("a:99999"));
}
