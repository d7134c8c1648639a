#include "agent/secrets/redact.h"

#include "agent/json.h"
#include "agent/text.h"
#include "tests/support/linear.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace {

// Put together here, so that no scanner takes this file for a leak.
const std::string k_alnum32 = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA";

std::string pem(std::size_t lines) {
  std::string out = "-----BEGIN RSA PRIVATE KEY-----\n";
  for (std::size_t line = 0; line < lines; ++line) {
    out += k_alnum32 + "/+" + k_alnum32.substr(4) + "\n";
  }
  return out + "-----END RSA PRIVATE KEY-----";
}

std::string streamed(const agent::Redactor& redactor, const std::string& text, std::size_t step) {
  agent::StreamRedactor stream(redactor);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += step) {
    out += stream.feed(text.substr(at, step));
  }
  return out + stream.finish();
}

}  // namespace

TEST_CASE("redact: known shapes go, what stands around them stays", "[agent]") {
  const std::string& x = k_alnum32;
  const std::string digits = "ABCDEFGHIJ012345";
  const auto [text, expected] = GENERATE_COPY(table<std::string, std::string>({
      {"key sk-ant-api03-" + x + "-_AA.", "key [redacted]."},
      {"sk-proj-" + x, "[redacted]"},
      {"(sk-" + x + ")", "([redacted])"},
      {"sk_live_" + x, "[redacted]"},
      {"AIza" + x + "abc", "[redacted]"},
      {"xai-" + x, "[redacted]"},
      {"gsk_" + x, "[redacted]"},
      {"token=ghp_" + x + "abcd\n", "token=[redacted]\n"},
      {"github_pat_11ABCDEFG_" + x, "[redacted]"},
      {"https://oauth2:glpat-" + x + "@host/x", "https://oauth2:[redacted]@host/x"},
      {"xoxb-1234567890-" + x, "[redacted]"},
      {"AKIA" + digits, "[redacted]"},
      {"\"ASIA" + digits + "\"", "\"[redacted]\""},
      {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + x, "[redacted]"},
      {"Authorization: Bearer " + x, "Authorization: Bearer [redacted]"},
      {"-H 'authorization: Basic dXNlcjpwYXNz' https://h",
       "-H 'authorization: Basic [redacted]' https://h"},
      {R"({"Authorization":"Bearer abcdefgh12"})", R"({"Authorization":"Bearer [redacted]"})"},
      {R"("{\"authorization\": \"token )" + x + R"(\"}")",
       R"("{\"authorization\": \"token [redacted]\"}")"},
      {"authorization: " + x, "authorization: [redacted]"},
      {"x-api-key: " + x + "\r\n", "x-api-key: [redacted]\r\n"},
      {"before\n" + pem(5) + "\nafter", "before\n[redacted]\nafter"},
      {"-----BEGIN OPENSSH PRIVATE KEY-----\n" + x, "[redacted]"},  // the end was cut off
      {"-----BEGIN PRIVATE KEY-----\\n" + x + "\\n-----END PRIVATE KEY-----\\n", "[redacted]\\n"},
      {"-----BEGIN PRIVATE KEY-----\n" + x + "\n" + x + "\ncat notes | tee copied",
       "[redacted]\ncat notes | tee copied"},
      {"1: -----BEGIN PRIVATE KEY-----\n2: " + x + "\n3: abc=\n4: -----END PRIVATE KEY-----\nrm x",
       "1: [redacted]\nrm x"},
      {"1: " + x + " sk-" + x + " and sk-" + x, "1: " + x + " [redacted] and [redacted]"},
  }));
  const agent::Redactor redactor({});
  INFO(text);
  CHECK(redactor.apply(text) == expected);
  CHECK_FALSE(redactor.is_clean(text));
  CHECK(redactor.is_clean(expected));
  CHECK(redactor.apply(expected) == expected);
  for (const std::size_t step : {1u, 2u, 3u, 7u, 40u}) {
    CHECK(streamed(redactor, text, step) == expected);
  }
}

TEST_CASE("redact: ids, hashes, images and prose survive", "[agent]") {
  const std::string text = GENERATE(
      "da39a3ee5e6b4b0d3255bfef95601890afd80709",  // a commit
      "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "019aa5c2-79b0-7cc3-98c4-dc0c0c07398f",  // a run id
      "call_aB3dE5gH7jK9mN1pQ2rS4tU6",
      "toolu_01A09q90qw90lq917835lq9",
      "msg_01XFDUDYJgAACzvnptvVoYEL",
      "chatcmpl-AaBbCcDdEeFfGgHhIiJjKkLlMm",
      "req_011CSHoEeqs5C35K2UUqR7Fy",
      "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
      "data:image/"
      "png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
      "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "eyJhIjoxfQ==",  // base64 of JSON, no token
      "task-12345678901234567890 disk-aaaaaaaaaaaaaaaaaaaaaaaa risk-assessment-of-the-plan",
      "pip install sk-learn; sk-estimator-checks-and-some-more-words",
      "Authorization is required. authorization: none",
      "Authorization: Bearer $TOKEN",
      "Authorization: Bearer ${ANTHROPIC_API_KEY}",
      "curl -H \"x-api-key: $ANTHROPIC_API_KEY\"",
      "-----BEGIN "
      "CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----"
      "END CERTIFICATE-----",
      "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC "
      "KEY-----",
      "grep -r -- '-----BEGIN PRIVATE KEY-----' .",
      "echo -----BEGIN PRIVATE KEY-----\ncat notes | tee copied; rm -rf build",
      "echo -----BEGIN PRIVATE KEY-----\\ncurl 127.0.0.1 | sh",
      "authorization:\n  everything-that-follows-here",
      "tool --api-key=/home/me/.config/tool/key.txt --authorization=./somewhere/else/in/here",
      "ghp_ is how a token begins",
      "AKIA and ASIA",
      "the hf_hub_download function",
      "npm_config_registry=https://host/",
      "-----------------------------",
      "max_tokens: 4096, api_key_env: OPENAI_API_KEY",
      "Grüße \xff\xfe 世界",
      "");
  const agent::Redactor redactor({});
  INFO(text);
  CHECK(redactor.apply(text) == text);
  CHECK(redactor.is_clean(text));
  for (const std::size_t step : {1u, 2u, 5u, 64u}) {
    CHECK(streamed(redactor, text, step) == text);
  }
}

TEST_CASE("redact: base64 of images survives, megabytes of it", "[agent]") {
  // A fixed generator; what comes out is what an encoder makes of random pixels.
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string image;
  std::uint64_t state = 7;
  for (std::size_t at = 0; at < 2'000'000; ++at) {
    state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    image += digits[state >> 58];
  }
  const agent::Redactor redactor({});
  CHECK(redactor.apply(image) == image);
  CHECK(streamed(redactor, image.substr(0, 100'000), 1'000) == image.substr(0, 100'000));
}

TEST_CASE("redact: known values go in every form in which they are written", "[agent]") {
  const std::string secret = "p@ss \"wörd\"/1+\n2";
  agent::Redactor redactor({});
  redactor.add(secret);
  const agent::Json once = {{"k", "a " + secret + " b"}};
  const agent::Json twice = {{"arguments", agent::dump(once)}};
  CHECK(redactor.apply("a " + secret + " b") == "a [redacted] b");
  CHECK(redactor.apply(agent::dump(once)) == R"({"k":"a [redacted] b"})");
  CHECK(redactor.apply(agent::dump(twice)) == R"({"arguments":"{\"k\":\"a [redacted] b\"}"})");
  CHECK(redactor.apply(once.dump(-1, ' ', true)) == R"({"k":"a [redacted] b"})");
  CHECK(redactor.apply("?k=p%40ss%20%22w%C3%B6rd%22%2F1%2B%0A2&x") == "?k=[redacted]&x");
  CHECK(redactor.apply("?k=p%40ss%20%22w%c3%b6rd%22%2f1%2b%0a2&x") == "?k=[redacted]&x");
}

TEST_CASE("redact: a known value goes where it is the host of an address", "[agent]") {
  const agent::Redactor redactor(
      agent::Environment{{"GH_TOKEN", "Zq1-Kx.9_Vb"}, {"DB_PASSWORD", "Open Sesame 12"}});
  CHECK(redactor.apply("cannot reach https://zq1-kx.9_vb.example.com/") ==
        "cannot reach https://[redacted].example.com/");
  CHECK(redactor.apply("open sesame 12") == "open sesame 12");  // no host has blanks
}

TEST_CASE("redact: a known value goes where an address has its slashes as they are", "[agent]") {
  const agent::Redactor redactor(agent::Environment{{"GH_TOKEN", "Zq7r/kL4+Bx9"}});
  CHECK(redactor.apply("/a/Zq7r/kL4%2BBx9 /b/Zq7r%2fkL4%2bBx9") == "/a/[redacted] /b/[redacted]");
  CHECK(redactor.apply("/a/Zq7r~1kL4+Bx9 is no property") == "/a/[redacted] is no property");
}

TEST_CASE("redact: a secret goes whichever of its characters are escapes of JSON", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("hunter2-h\u00fcnter2");
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {R"({"k": "hunter\u0032-h\u00FCnter2"} x)", R"({"k": "[redacted]"} x)"},
      {R"({"k": "\u0068unter2-hünter\u0032"})", R"({"k": "[redacted]"})"},
      {R"("{\"k\": \"hunter\\u0032-hünter2\"}")", R"("{\"k\": \"[redacted]\"}")"},
      {R"({"k": "hunter2-h\u00FCnter2"})", R"({"k": "[redacted]"})"},
      {R"(\\\u0068unter2-hünter2\n)", R"([redacted]\n)"},
      {R"(sk\u002dant-aaaaaaaaaaaaaaaaaaaa.)", "[redacted]."},
      {R"(\u0078 hunter\u0033-hünter2 \u)", R"(\u0078 hunter\u0033-hünter2 \u)"},
      {R"(C:\users\u12 \uzzzz \)", R"(C:\users\u12 \uzzzz \)"},
  }));
  CHECK(redactor.apply(text) == expected);
  CHECK(redactor.is_clean(text) == (text == expected));
}

TEST_CASE("redact: escapes take linear time", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("hunter2-hunter2");
  const std::string slashes(2'000'000, '\\');
  CHECK(redactor.apply(R"(\u0041 )" + slashes + "q") == R"(\u0041 )" + slashes + "q");
  std::string many;
  for (int at = 0; at < 200'000; ++at) {
    many += R"(\u0041\n)";
  }
  CHECK(redactor.apply(many + R"(hunter\u0032-hunter2)") == many + "[redacted]");
}

TEST_CASE("redact: of a value with several lines each long one goes, too", "[agent]") {
  const std::string lines =
      "-----BEGIN THING-----\nline-one-Qx72hfLz9\n  line-two-Wm83kdPz0\nshort\n";
  agent::Redactor redactor({});
  redactor.add(lines);
  const auto [text, clean] = GENERATE_COPY(table<std::string, std::string>({
      {"a " + lines + "b", "a [redacted]\nb"},
      {"-----BEGIN THING-----\r\nline-one-Qx72hfLz9\r\n  line-two-Wm83kdPz0\r\nshort\r\n",
       "[redacted]\r\n"},
      {"-----BEGIN THING----- line-one-Qx72hfLz9   line-two-Wm83kdPz0 short", "[redacted]"},
      {"2: line-two-Wm83kdPz0.", "2: [redacted]."},
      {"xline-one-Qx72hfLz9line-two-Wm83kdPz0short", "x[redacted][redacted]short"},
      {"a short -----BEGIN THING-----", "a short -----BEGIN THING-----"},
      {R"(["line-two-Wm83kdPz0\r\nshort"])", R"(["[redacted]\r\nshort"])"},
  }));
  INFO(text);
  CHECK(redactor.apply(text) == clean);
  CHECK(streamed(redactor, std::string(text), 5) == clean);
  CHECK(redactor.is_clean(text) == (text == clean));
}

TEST_CASE("redact: a value of thousands of lines costs as much as one", "[agent]") {
  std::string key;
  for (int line = 0; line < 2'000; ++line) {
    key += "line " + std::to_string(line * 7919) + " of " + k_alnum32 + "\n";
  }
  agent::Redactor redactor({});
  redactor.add(key);
  std::string text;
  while (text.size() < 4'000'000) {
    text += "line 7918 of what is no secret at all, " + std::to_string(text.size()) + "\n";
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(redactor.apply(text) == text);
  CHECK(redactor.apply(text + key) == text + "[redacted]\n");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("redact: the beginning of a known value that was cut goes", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("s3cr3t-value-of-mine");
  CHECK(redactor.apply("`s3cr3t-val…`, s3cr3t-…, …s3cr3t-v…") ==
        "`[redacted]…`, s3cr3t-…, …[redacted]…");
  const std::string cut = agent::head_and_tail("a s3cr3t-value" + std::string(80, '.'), 50);
  REQUIRE(cut.starts_with("a s3cr3t-v"));
  CHECK(redactor.apply(cut).starts_with("a [redacted]\n[… "));
  CHECK_FALSE(redactor.is_clean("s3cr3t-val…"));
  CHECK(streamed(redactor, std::string("a s3cr3t-val… b"), 3) == "a [redacted]… b");
}

TEST_CASE("redact: of a JSON value every text and every name is cleaned, and nothing else changes",
          "[agent]") {
  agent::Redactor redactor({});
  redactor.add("s3cr3t-value-of-mine");
  agent::Json value = agent::Json::parse(
      R"({"z":["a s3cr3t-value-of-mine",{"s3cr3t-value-of-mine":1.50}],"a":null,"b":"clean"})");
  const std::string clean = R"({"z":["a [redacted]",{"[redacted]":1.5}],"a":null,"b":"clean"})";
  CHECK(redactor.dump(value) == clean);
  redactor.redact(value);
  CHECK(agent::dump(value) == clean);
}

TEST_CASE("redact: names that become alike stay apart, in their order", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("s3cr3t-value-of-mine");
  redactor.add("another-value-of-mine");
  const auto value = agent::parse_json(
      R"({"b":{"s3cr3t-value-of-mine":{"x another-value-of-mine":"s3cr3t-value-of-mine"}},)"
      R"("s3cr3t-value-of-mine":1,"[redacted]-2":2,"another-value-of-mine":3,"a":4})");
  REQUIRE(value);
  CHECK(redactor.dump(*value) == R"({"b":{"[redacted]":{"x [redacted]":"[redacted]"}},)"
                                 R"("[redacted]":1,"[redacted]-2":2,"[redacted]-3":3,"a":4})");
}

TEST_CASE("redact: a known value goes where it is written as a number", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("73829104657382910465");
  const auto value = agent::parse_json(R"({"a":73829104657382910465,"b":[1e400,1.50]})");
  REQUIRE(value);
  CHECK(redactor.dump(*value) == R"({"a":"[redacted]","b":[1e400,1.50]})");
}

TEST_CASE("redact: known values go in base64, wherever they stand in it", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("s3cr3t-value-of-mine");
  const auto [encoded, before] = GENERATE(table<std::string, std::string>({
      {"czNjcjN0LXZhbHVlLW9mLW1pbmU=", ""},                // the value alone
      {"dXNlcjpzM2NyM3QtdmFsdWUtb2YtbWluZQ==", "dXNlcj"},  // user:value
      {"YWI6czNjcjN0LXZhbHVlLW9mLW1pbmU6eg==", "YWI6"},    // ab:value:z
      {"YTpzM2NyM3QtdmFsdWUtb2YtbWluZQ", "YT"},            // a:value
  }));
  INFO(encoded);
  const std::string shown = redactor.apply("x " + encoded + " y");
  CHECK(shown.starts_with("x " + before));
  CHECK(shown.find("[redacted]") != std::string::npos);
  CHECK(shown.find("dmFsdW") == std::string::npos);  // "valu", at each of the three places
  CHECK(shown.find("ZhbHVl") == std::string::npos);
  CHECK(shown.find("2YWx1Z") == std::string::npos);
  CHECK(shown.size() < encoded.size() + 4);
}

TEST_CASE("redact: known values go in base64 of what a URL has of them", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("h7Gk2+Vt/9sLq0Zx81bM==");
  // ci:h7Gk2%2BVt%2F9sLq0Zx81bM%3D%3D
  CHECK(redactor.apply("Basic Y2k6aDdHazIlMkJWdCUyRjlzTHEwWng4MWJNJTNEJTNE") ==
        "Basic Y2k6[redacted]");
}

TEST_CASE("redact: secrets come from variables with telling names only", "[agent]") {
  const auto [name, is_secret] = GENERATE(table<std::string, bool>({
      {"ANTHROPIC_API_KEY", true},
      {"OPENAI_API_KEY", true},
      {"openai_api_key", true},
      {"GITHUB_TOKEN", true},
      {"TOKEN", true},
      {"AWS_SECRET_ACCESS_KEY", true},
      {"CLIENT_SECRET", true},
      {"DB_PASSWORD", true},
      {"PGPASSWORD", true},
      {"MYSQL_PWD", true},
      {"GPG_PASSPHRASE", true},
      {"npm_config_//registry.example/:_authToken", true},
      {"PATH", false},
      {"HOME", false},
      {"PWD", false},
      {"OLDPWD", false},
      {"SSH_AUTH_SOCK", false},
      {"SSH_AGENT_PID", false},
      {"SSH_ASKPASS", false},
      {"GIT_ASKPASS", false},
      {"DBUS_SESSION_BUS_ADDRESS", false},
      {"XDG_SESSION_ID", false},
      {"KEYBOARD", false},
      {"MONKEY", false},
      {"MAX_TOKENS", false},
      {"DEPLOY_PUBLIC_KEY", false},
      {"GPG_KEY", false},
      {"PASSWORD_STORE_DIR", false},
      {"TOKENIZERS_PARALLELISM", false},
  }));
  const agent::Redactor redactor({{name, "/tmp/agent.4711 value"}});
  INFO(name);
  CHECK(redactor.is_clean("in /tmp/agent.4711 value out") == !is_secret);
}

TEST_CASE("redact: a password in a URL is a secret, the host is none", "[agent]") {
  const agent::Redactor redactor(
      {{"DATABASE_URL", "postgres://app:hunter22xyz@db.example:5432/app"},
       {"HOMEPAGE", "https://example.org:8443/a@b"}});
  CHECK(redactor.apply("postgres://app:hunter22xyz@db.example:5432/app") ==
        "postgres://app:[redacted]@db.example:5432/app");
  CHECK(redactor.is_clean("https://example.org:8443/a@b"));
}

TEST_CASE("redact: short and common values are left alone", "[agent]") {
  agent::Redactor redactor({{"A_KEY", "true"},
                            {"B_TOKEN", "1234567"},
                            {"C_PASSWORD", "PassWord"},
                            {"D_KEY", ""},
                            {"E_KEY", "        "},
                            {"F_KEY", "xxxxxxxxxxxx"}});
  redactor.add("changeme");
  redactor.add("[redacted]");
  CHECK(redactor.is_clean("true 1234567 password changeme [redacted] xxxxxxxxxxxx         "));
  redactor.add("12345678\n");  // 8 bytes are enough, the end of line is not part of it
  CHECK(redactor.apply("a12345678b") == "a[redacted]b");
}

TEST_CASE("redact: the longest value wins, overlaps go as one", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("abcdefgh");
  redactor.add("abcdefgh-ijkl");
  redactor.add("ijklmnop");
  CHECK(redactor.apply("abcdefgh-ijkl") == "[redacted]");
  CHECK(redactor.apply("abcdefgh-ijklmnop!") == "[redacted]!");
  CHECK(redactor.apply("abcdefgh abcdefgh") == "[redacted] [redacted]");
  redactor.add("xyzxyzxy");
  CHECK(redactor.apply("xyzxyzxyzxy") == "[redacted]");
}

TEST_CASE("redact: a stream never shows the beginning of a secret", "[agent]") {
  agent::Redactor redactor({});
  redactor.add("open sesame, please");
  agent::StreamRedactor stream(redactor);
  CHECK(stream.feed("say: open ses") == "say: ");
  CHECK(stream.feed("ame, pl") == "");
  CHECK(stream.feed("ease. Or ") == "[redacted]. Or ");
  CHECK(stream.feed("open ses") == "");
  CHECK(stream.feed("ame seeds ") == "open sesame seeds ");
  CHECK(stream.feed("Authorization:") == "");
  CHECK(stream.feed(" Bearer ") == "");
  CHECK(stream.feed(k_alnum32) == "");
  CHECK(stream.feed("\nnext") == "Authorization: Bearer [redacted]\n");
  CHECK(stream.finish() == "next");
  CHECK(stream.finish() == "");
}

TEST_CASE("redact: a stream keeps little back, and nothing of a long secret comes out", "[agent]") {
  const agent::Redactor redactor({});
  const std::size_t step = GENERATE(1u, 50u, 3'000u, 100'000u);
  const std::string key = pem(400);  // 25 kB
  const std::string token = "Authorization: Bearer " + [] {
    std::string out;
    for (int count = 0; count < 500; ++count) {
      out += k_alnum32;
    }
    return out;
  }();
  for (const std::string& text : {"a\n" + key + "\n\"b\"", "a\n" + token + "\n\"b\""}) {
    const std::string out = streamed(redactor, text, step);
    CHECK(out.find(k_alnum32.substr(0, 8)) == std::string::npos);
    CHECK(out.starts_with("a\n"));
    CHECK(out.ends_with("\"b\""));
    CHECK(out.find("[redacted]") != std::string::npos);
    CHECK(out.size() < 100);
  }
  agent::StreamRedactor stream(redactor);
  const std::string run(100'000, 'x');
  std::size_t shown = 0;
  for (std::size_t at = 0; at < run.size(); at += 100) {
    shown += stream.feed(run.substr(at, 100)).size();
    CHECK(at + 100 - shown <= 4'096);
  }
}

TEST_CASE("redact: what a stream shows is what the whole text would show", "[agent]") {
  agent::Redactor redactor({{"A_TOKEN", "tok-en with space"}, {"B_KEY", "käse+brot/99"}});
  const std::string text =
      "start tok-en with space, tok-en with, " + pem(3) + " käse+brot/99 sk-" + k_alnum32 +
      ".\n{\"Authorization\": \"Bearer " + k_alnum32 + "\"} task-" + k_alnum32 +
      " k%C3%A4se%2Bbrot%2F99 ----- AKIAABCDEFGHIJKLMNOPQ AKIAABCDEFGHIJKLMNOP end";
  const std::string expected = redactor.apply(text);
  CHECK(expected.find("space") == std::string::npos);
  for (std::size_t step = 1; step < 60; ++step) {
    INFO(step);
    CHECK(streamed(redactor, text, step) == expected);
  }
}

TEST_CASE("redact: a stream shows no secret whose escapes come in pieces", "[agent]") {
  const agent::Redactor redactor(agent::Environment{{"A_TOKEN", "tok-en with space"}});
  const std::string key = "sk-" + k_alnum32;
  std::string all_escaped;
  for (const char c : key) {
    all_escaped += fmt::format("\\u{:04x}", static_cast<int>(c));
  }
  const std::string text = "a \\u0074ok-en with space, \\\\u0073k-" + k_alnum32 + " sk\\u002D" +
                           k_alnum32 + " (" + all_escaped + ") \\u0041uthorization: Bearer " +
                           k_alnum32 + "\\u0061 tok-en\\u0020with sp\\u0061ce \\u00 \\ end\\u0";
  const std::string expected = redactor.apply(text);
  REQUIRE(expected ==
          "a [redacted], [redacted] [redacted] ([redacted]) \\u0041uthorization: Bearer [redacted] "
          "[redacted] \\u00 \\ end\\u0");
  for (std::size_t step = 1; step < 60; ++step) {
    INFO(step);
    CHECK(streamed(redactor, text, step) == expected);
  }
}

TEST_CASE("redact: nothing of a long secret in escapes comes out of a stream", "[agent]") {
  const agent::Redactor redactor({});
  std::string text = "Authorization: Bearer ";
  for (int count = 0; count < 2'000; ++count) {
    text += "\\u0061bcdefgh";
  }
  const std::size_t step = GENERATE(1u, 50u, 3'000u, 100'000u);
  const std::string out = streamed(redactor, text + " next", step);
  CHECK(out == "Authorization: Bearer [redacted] next");
}

TEST_CASE("redact: what may begin a secret costs a stream no more than what may not", "[agent]") {
  const agent::Redactor redactor({});
  const auto seconds_of = [&](char c) {
    return tests::seconds_of([&] { (void)streamed(redactor, std::string(16'000, c), 1); });
  };
  bool is_as_cheap = false;
  for (int attempt = 0; attempt < 3 && !is_as_cheap; ++attempt) {
    is_as_cheap = seconds_of('-') < 8 * std::max(seconds_of('='), 0.002);
  }
  CHECK(is_as_cheap);
}

TEST_CASE("redact: cost", "[.bench]") {
  std::string text;
  while (text.size() < 30'000) {
    text +=
        "The quick brown fox asks a task of the author: say https://example.org/a?b=c, apply 42.\n";
  }
  agent::Environment environment;
  for (int number = 0; number < 4; ++number) {
    environment["K" + std::to_string(number) + "_TOKEN"] = std::to_string(number) + k_alnum32;
  }
  const agent::Redactor bare({});
  const agent::Redactor four(environment);
  const auto time = [](const char* what, auto work) {
    constexpr int k_rounds = 200;
    const auto begin = std::chrono::steady_clock::now();
    std::size_t sum = 0;
    for (int round = 0; round < k_rounds; ++round) {
      sum += work();
    }
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - begin;
    WARN(what << ": " << spent.count() / k_rounds << " us (" << sum << ")");
  };
  time("30 kB, no values", [&] { return bare.apply(text).size(); });
  time("30 kB, 4 values", [&] { return four.apply(text).size(); });
  const auto begin = std::chrono::steady_clock::now();
  bare.is_clean("sk-" + k_alnum32);
  const std::chrono::duration<double, std::micro> first = std::chrono::steady_clock::now() - begin;
  WARN("first use of the shapes: " << first.count() << " us");
  time("30 kB and one key, no values", [&] { return bare.apply(text + "sk-" + k_alnum32).size(); });
  time("20 B, 4 values", [&] { return four.apply("a piece of the answer").size(); });
}
