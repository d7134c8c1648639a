#include "agent/http.h"
#include "tests/unit/tools/file_support.h"
#include "tools/builtin/registry.h"
#include "tools/web/web_page.h"

#include <catch2/catch.hpp>

#include <deque>
#include <string>
#include <utility>
#include <vector>

using agent::Code;

namespace {

// Answers what the test says, and remembers what it was asked.
class FakeHttp final : public agent::Http {
 public:
  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token) override {
    urls.push_back(request.url);
    headers = request.headers;
    REQUIRE(request.may_connect != nullptr);
    REQUIRE_FALSE(answers.empty());
    agent::HttpResponse answer = std::move(answers.front());
    answers.pop_front();
    if (answer.status / 100 == 2) {
      on_data(std::exchange(answer.body, {}));
    }
    return answer;
  }

  std::deque<agent::HttpResponse> answers;
  std::vector<std::string> urls;
  agent::Headers headers;
};

agent::HttpResponse redirect(std::string to, int status = 302) {
  return {.status = status, .headers = {{"Location", std::move(to)}}, .body = "moved"};
}

agent::HttpResponse page(std::string body, std::string type = "text/plain") {
  return {.status = 200, .headers = {{"Content-Type", std::move(type)}}, .body = std::move(body)};
}

struct Web {
  FakeHttp http;
  tests::FileFolder folder;
  std::vector<std::string> hosts;
  std::function<std::optional<std::string>(const std::string&, bool)> refuses;

  tools::Output fetch(const std::string& url, const std::string& more = {}) {
    const auto tool = tools::make_builtin({.name = "web_fetch", .allow_hosts = hosts});
    const std::filesystem::path temporary = folder.at("run");
    const agent::Environment environment;
    return tool->call(*agent::parse_json(R"({"url":")" + url + "\"" + more + "}"),
                      {.cwd = folder.path(),
                       .temporary = temporary,
                       .environment = environment,
                       .http = &http,
                       .refuses_redirect = refuses});
  }
};

}  // namespace

TEST_CASE("web_fetch: shows the page that it was led to", "[tools]") {
  Web web;
  web.http.answers = {redirect("/b"), redirect("https://other.example/c", 308), page("Hello.")};
  const auto output = web.fetch("https://example.com/a#x");

  CHECK_FALSE(output.code);
  CHECK(output.text == "URL: https://other.example/c\n\nHello.");
  CHECK(web.http.urls == std::vector<std::string>{"https://example.com/a",
                                                  "https://example.com/b",
                                                  "https://other.example/c"});
  CHECK(web.http.headers.size() == 1);
  CHECK(web.http.headers.front().first == "Accept");
}

TEST_CASE("web_fetch: follows five redirects and no sixth", "[tools]") {
  Web web;
  web.http.answers.assign(5, redirect("/again"));
  web.http.answers.push_back(page("There."));
  CHECK_FALSE(web.fetch("https://example.com/").code);
  web.http.answers.assign(6, redirect("/again"));
  CHECK(web.fetch("https://example.com/").code == Code::tool_failed);
}

TEST_CASE("web_fetch: refuses before anything is sent", "[tools]") {
  struct Row {
    const char* url;
    Code code;
  };
  const auto row = GENERATE(values<Row>({
      {"http://example.com/", Code::tool_policy_blocked},
      {"https://example.com:22/", Code::tool_policy_blocked},
      {"http://127.0.0.1:9/", Code::tool_policy_blocked},
      {"https://me:word@example.com/", Code::tool_invalid_parameters},
      {"file:///etc/passwd", Code::tool_invalid_parameters},
      {"example.com", Code::tool_invalid_parameters},
  }));
  Web web;
  web.hosts = {"127.0.0.1:8080", "intranet.example"};
  INFO(row.url);
  CHECK(web.fetch(row.url).code == row.code);
  CHECK(web.http.urls.empty());
}

TEST_CASE("web_fetch: a redirect is held to the same, and never from https to http", "[tools]") {
  const std::string to = GENERATE(as<std::string>(),
                                  "http://example.com/",
                                  "http://intranet.example/",
                                  "https://example.com:8443/",
                                  "file:///etc/passwd",
                                  "https://me@example.com/",
                                  "//127.0.0.1:8080/",
                                  "https://bücher.example/");
  Web web;
  web.hosts = {"intranet.example"};
  web.http.answers = {redirect(to), page("secret")};
  INFO(to);
  const auto output = web.fetch("https://example.com/");
  CHECK(output.code == Code::tool_policy_blocked);
  CHECK(web.http.urls.size() == 1);
}

TEST_CASE("web_fetch: permissions hear of every redirect", "[tools]") {
  Web web;
  std::vector<std::pair<std::string, bool>> asked;
  web.refuses = [&](const std::string& url, bool is_same_host) {
    asked.emplace_back(url, is_same_host);
    return is_same_host ? std::nullopt : std::optional<std::string>("`deny: x` forbids it");
  };
  web.http.answers = {redirect("/b"), redirect("https://evil.example/obey-me")};
  const auto output = web.fetch("https://example.com/a");

  CHECK(output.code == Code::tool_policy_blocked);
  CHECK(output.message.find("`deny: x` forbids it") != std::string::npos);
  CHECK(output.message.find("obey") == std::string::npos);
  CHECK(output.text == "Redirected to: https://evil.example/obey-me");
  CHECK(asked == std::vector<std::pair<std::string, bool>>{
                     {"https://example.com/b", true}, {"https://evil.example/obey-me", false}});
}

TEST_CASE("web_fetch: what only strangers named is for the fence alone", "[tools]") {
  const std::string strange = "https://obey-me.example/";
  const auto answers = GENERATE_COPY(values<std::deque<agent::HttpResponse>>({
      {redirect(strange), {.status = 404, .headers = {}, .body = "gone"}},
      {redirect(strange), redirect("http://example.com/")},
      {redirect("http://obey-me.example/x"), page("")},
      {redirect("https://obey-me.example:81/"), page("")},
      {page("x", "obey/me")},
  }));
  Web web;
  web.http.answers = answers;
  const auto output = web.fetch("https://example.com/");
  REQUIRE(output.code);
  INFO(output.message);
  const bool is_clean = output.message.find("obey") == std::string::npos;
  CHECK((output.quotes || is_clean));
  CHECK((!output.quotes || output.text.empty() || output.text.starts_with(output.message)));

  web.http.answers = {{.status = 404, .headers = {}, .body = "gone"}};
  CHECK_FALSE(web.fetch("https://example.com/").quotes);
}

TEST_CASE("web_fetch: reads as much as it is told to", "[tools]") {
  Web web;
  web.http.answers = {page("12345"), page("123456"), page(std::string(1'000'001, 'x'))};
  CHECK(web.fetch("https://example.com/", R"(,"max_bytes":5)").text ==
        "URL: https://example.com/\n\n12345");
  CHECK(web.fetch("https://example.com/", R"(,"max_bytes":5)").text ==
        "URL: https://example.com/\n[only the first 5 bytes were read]\n\n12345");
  CHECK(web.fetch("https://example.com/").text.find("first 1000000 bytes") != std::string::npos);
}

TEST_CASE("web_fetch: a status that is no success is a failure with its page", "[tools]") {
  struct Row {
    int status;
    Code code;
  };
  const auto row = GENERATE(values<Row>({{404, Code::tool_failed},
                                         {401, Code::tool_failed},
                                         {429, Code::tool_rate_limited},
                                         {503, Code::tool_server_error},
                                         {304, Code::tool_failed}}));
  Web web;
  web.http.answers = {{.status = row.status, .headers = {}, .body = std::string(9'000, 'x')}};
  const auto output = web.fetch("https://example.com/");
  CHECK(output.code == row.code);
  CHECK(output.message ==
        "example.com answered with the HTTP status " + std::to_string(row.status));
  CHECK(output.text.size() <= 4'000);
  CHECK(output.text.starts_with("xxx"));
}

TEST_CASE("web_fetch: text is shown by its type, and nothing else", "[tools]") {
  struct Row {
    const char* type;
    const char* body;
    const char* text;  // "": refused
  };
  const auto row = GENERATE(values<Row>({
      {"text/html; charset=ISO-8859-1", "<p>caf\xe9", "café"},
      {"Text/HTML", "<meta charset=gbk><p>\xc4\xe3", "你"},
      {"application/xhtml+xml", "<p>x</p>", "x"},
      {"application/json", "{\"a\": 1}", "{\"a\": 1}"},
      {"application/problem+json; charset=\"utf-8\"", "{}", "{}"},
      {"text/plain", "<p>x", "<p>x"},
      {"", "bare", "bare"},
      {"image/png", "x", ""},
      {"application/octet-stream", "x", ""},
      {"application/pdf", "%PDF", ""},
      {"text/plain; charset=x-secret", "x", ""},
  }));
  INFO(row.type);
  const auto text = tools::page_text(*tools::parse_url("https://example.com/"),
                                     {{"content-type", row.type}, {"Content-Length", "12345"}},
                                     row.body,
                                     {});
  CHECK(text.value_or("") == row.text);
  if (!text) {
    CHECK(text.error().code == Code::tool_result_unusable);
    CHECK(text.error().message.find("12345 bytes") != std::string::npos);
  }
}

TEST_CASE("web_fetch: bytes under a false name are no text", "[tools]") {
  const std::string bytes(
      "\x7f"
      "ELF\0\0",
      6);
  const auto text = tools::page_text(*tools::parse_url("https://example.com/"), {}, bytes, {});
  REQUIRE_FALSE(text);
  CHECK(text.error().message == "the content is not text: of an unknown type, 6 bytes");
}
