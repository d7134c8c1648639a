#include "providers/wire/classify.h"

#include "agent/json.h"
#include "providers/wire/retry_after.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace {

using agent::Code;
using namespace std::chrono_literals;

// 2026-11-21 12:00:00 UTC
const agent::Clock::Wall k_now =
    std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + std::chrono::hours(12);

agent::Error classify(int status, std::string_view body, const agent::Headers& headers = {}) {
  return providers::classify_answer(status, headers, body, k_now, "http://server/v1");
}

struct Row {
  const char* why;
  int status;
  std::string body;
  Code code;
};

}  // namespace

TEST_CASE("classify: the code follows words, then texts, then the status", "[providers]") {
  const auto row = GENERATE(values<Row>({
      {"401", 401, R"({"error":{"message":"no"}})", Code::provider_auth},
      {"401 without a body", 401, "", Code::provider_auth},
      {"a wrong key as a 400",
       400,
       R"({"code":"invalid-argument","error":"Incorrect API key"})",
       Code::provider_auth},
      {"403", 403, R"({"error":{"message":"country"}})", Code::provider_auth},
      {"a 403 whose code names the model",
       403,
       R"({"error":{"code":"model_permission_blocked_org","message":"no"}})",
       Code::provider_model_not_found},
      {"402", 402, R"({"error":{"message":"pay","code":402}})", Code::provider_quota},
      {"a 429 with an exhausted quota",
       429,
       R"({"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"x"}})",
       Code::provider_quota},
      {"a spend limit in details",
       429,
       R"({"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"contract_spend_limit_reached"}}})",
       Code::provider_quota},
      {"a credit balance in a 400",
       400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}})",
       Code::provider_quota},
      {"a daily quota",
       429,
       R"([{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"violations":[{"quotaId":"RequestsPerDay"}]}]}}])",
       Code::provider_quota},
      {"a quota of a minute, in the words of all quotas",
       429,
       R"([{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"21s"}]}}])",
       Code::provider_rate_limited},
      {"a quota of a minute without a delay",
       429,
       R"([{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"violations":[{"quotaId":"RequestsPerMinute"}]}]}}])",
       Code::provider_quota},
      {"quotas of a minute and of a day",
       429,
       R"([{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"violations":[{"quotaId":"RequestsPerMinute"},{"quotaId":"RequestsPerDay"}]},{"retryDelay":"21s"}]}}])",
       Code::provider_quota},
      {"429", 429, R"({"error":{"message":"slower"}})", Code::provider_rate_limited},
      {"a 429 that speaks of too many tokens",
       429,
       R"({"error":{"message":"maximum context length of tokens per minute"}})",
       Code::provider_rate_limited},
      {"529",
       529,
       R"({"type":"error","error":{"type":"overloaded_error","message":"x"}})",
       Code::provider_unavailable},
      {"500", 500, "", Code::provider_unavailable},
      {"408", 408, "", Code::provider_unavailable},
      {"a lock in a 409",
       409,
       R"({"error":{"message":"could not lock"}})",
       Code::provider_unavailable},
      {"another 409",
       409,
       R"({"error":{"message":"already there"}})",
       Code::provider_invalid_request},
      {"a model that loads",
       503,
       R"({"error":{"code":503,"message":"Loading model"}})",
       Code::provider_model_loading},
      {"no memory",
       500,
       R"({"error":"model requires more system memory, 8 GiB"})",
       Code::provider_other},
      {"a context code",
       400,
       R"({"error":{"code":"context_length_exceeded","message":"x"}})",
       Code::context_overflow},
      {"a context text",
       400,
       R"({"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}})",
       Code::context_overflow},
      {"a context text inside a gateway's error",
       400,
       R"({"error":{"message":"Provider returned error","metadata":{"raw":"This model's maximum context length is 8"}}})",
       Code::context_overflow},
      {"a context that ran out while generating",
       500,
       R"({"error":{"message":"Context size has been exceeded."}})",
       Code::context_overflow},
      {"a content filter",
       400,
       R"({"error":{"code":"x","message":"m","innererror":{"code":"ResponsibleAIPolicyViolation"}}})",
       Code::provider_refused},
      {"an unknown model",
       404,
       R"({"error":{"code":"model_not_found","message":"x"}})",
       Code::provider_model_not_found},
      {"a model text as error string",
       404,
       R"({"error":"model \"x\" not found"})",
       Code::provider_model_not_found},
      {"a model text in a 400",
       400,
       R"({"code":"invalid-argument","error":"Model not found: x"})",
       Code::provider_model_not_found},
      {"an unknown path", 404, R"({"detail":"Not Found"})", Code::provider_invalid_request},
      {"a call that broke its schema",
       400,
       R"({"error":{"type":"invalid_request_error","code":"tool_use_failed","message":"x"}})",
       Code::provider_bad_response},
      {"422",
       422,
       R"({"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]})",
       Code::provider_invalid_request},
      {"a 4xx that no row names", 418, "", Code::provider_invalid_request},
  }));
  INFO(row.why);
  const agent::Error error = classify(row.status, row.body);
  CHECK(agent::row(error.code).name == agent::row(row.code).name);
  CHECK(error.http_status == row.status);
  CHECK_FALSE(error.message.empty());
}

TEST_CASE("classify: the message is what the provider said, in any body shape", "[providers]") {
  const auto said = [](std::string_view body) { return classify(400, body).message; };
  CHECK(said(R"({"error":{"message":"a"}})") == "a");
  CHECK(said(R"({"error":"b"})") == "b");
  CHECK(said(R"({"object":"error","message":"c","code":"1500"})") == "c");
  CHECK(said(R"({"detail":"d"})") == "d");
  CHECK(said(R"({"detail":[{"msg":"e"},{"msg":"f"}]})") == "e; f");
  CHECK(said(R"([{"error":{"code":400,"message":"g"}}])") == "g");
  CHECK(said("data: {\"error\":{\"message\":\"h\"}}\n\n") == "h");
  CHECK(said(R"({"message":{"detail":[{"msg":"i"}]},"type":"x"})") == "i");
  CHECK(said(R"({"error":{"message":"j","metadata":{"raw":"k"}}})") == "j: k");
  CHECK(said("<html><head><title>Bad Gateway</title></head></html>") == "HTTP 400: Bad Gateway");
  CHECK(said("out of order") == "HTTP 400: out of order");
  CHECK(said("") == "HTTP 400 with an empty body");
}

TEST_CASE("classify: a message is at most 512 bytes and ends between characters", "[providers]") {
  std::string long_text;
  for (int i = 0; i < 400; ++i) {
    long_text += "\xC3\xA4";
  }
  const agent::Error error = classify(400, R"({"error":{"message":"x)" + long_text + R"("}})");
  CHECK(error.message.size() == 512);
  CHECK_THAT(error.message, Catch::StartsWith("x\xC3\xA4") && Catch::EndsWith("\xC3\xA4…"));
}

TEST_CASE("classify: what is no answer of HTTP is no redirect", "[providers]") {
  const int status = GENERATE(0, 101, 199);
  CHECK(classify(status, "").code == Code::provider_bad_response);
}

TEST_CASE("classify: a redirect names where it points", "[providers]") {
  const agent::Error error = classify(308, "", {{"Location", "https://other/v1"}});
  CHECK(error.code == Code::provider_invalid_request);
  CHECK(error.message ==
        "http://server/v1 answered with a redirect (HTTP 308) to https://other/v1");
}

TEST_CASE("classify: a page that is not there hints at the address", "[providers]") {
  const agent::Error error = classify(404, "<html><title>404</title></html>");
  CHECK(error.code == Code::provider_invalid_request);
  CHECK_THAT(error.help, Catch::Contains("http://server/v1"));
}

TEST_CASE("classify: request ids come from the body, then from the known headers", "[providers]") {
  CHECK(classify(400, R"({"error":{"message":"x"},"request_id":"b"})", {{"Request-Id", "h"}})
            .request_id == "b");
  CHECK(classify(400, "", {{"apim-request-id", "a"}, {"X-Request-Id", "x"}}).request_id == "x");
  CHECK(classify(400, "", {{"x-ds-trace-id", "t"}, {"cf-ray", "r"}}).request_id == "t");
  CHECK(classify(400, "", {{"date", "now"}}).request_id.empty());
}

TEST_CASE("classify: x-should-retry is the server's own word", "[providers]") {
  CHECK(classify(400, "", {{"x-should-retry", "true"}}).server_says_retry == true);
  CHECK(classify(500, "", {{"x-should-retry", "false"}}).server_says_retry == false);
  CHECK(classify(500, "").server_says_retry == std::nullopt);
}

TEST_CASE("classify: all of 5xx may heal", "[providers]") {
  const int status = GENERATE(500, 501, 503, 507, 529, 530, 599, 999);
  const auto error = classify(status, "");
  CHECK(error.code == Code::provider_unavailable);
  CHECK_FALSE(error.server_says_retry.has_value());
}

TEST_CASE("classify: the server's delay is found in all its forms", "[providers]") {
  struct Wait {
    const char* why;
    agent::Headers headers;
    std::string body;
    std::optional<std::chrono::milliseconds> expected;
  };
  const auto wait = GENERATE(values<Wait>({
      {"seconds", {{"Retry-After", "7"}}, "", 7s},
      {"parts of seconds", {{"retry-after", "0.25"}}, "", 250ms},
      {"milliseconds", {{"retry-after-ms", "1500"}}, "", 1500ms},
      {"the longer of both", {{"retry-after-ms", "0"}, {"retry-after", "1"}}, "", 1s},
      {"a date", {{"retry-after", "Sat, 21 Nov 2026 12:00:30 GMT"}}, "", 30s},
      {"a date that has passed",
       {{"retry-after", "Sat, 21 Nov 2026 11:00:00 GMT"}},
       "",
       std::nullopt},
      {"a negative one", {{"retry-after", "-5"}}, "", std::nullopt},
      {"one beyond all bounds", {{"retry-after", "1e300"}}, "", 366 * 24h},
      {"a date beyond all bounds",
       {{"retry-after", "Thu, 01 Jan 2099 00:00:00 GMT"}},
       "",
       366 * 24h},
      {"nonsense", {{"retry-after", "soon"}}, "", std::nullopt},
      {"a reset time of an empty limit",
       {{"anthropic-ratelimit-requests-remaining", "0"},
        {"anthropic-ratelimit-requests-reset", "2026-11-21T12:00:09Z"},
        {"anthropic-ratelimit-tokens-remaining", "500"},
        {"anthropic-ratelimit-tokens-reset", "2026-11-21T12:30:00Z"}},
       "",
       9s},
      {"a reset duration of an empty limit",
       {{"x-ratelimit-remaining-requests", "0"},
        {"x-ratelimit-reset-requests", "6m0s"},
        {"x-ratelimit-remaining-tokens", "5"},
        {"x-ratelimit-reset-tokens", "9h"}},
       "",
       6min},
      {"a reset in whole seconds", {{"x-ratelimit-reset", "3"}}, "", 3s},
      {"a reset in milliseconds", {{"x-ratelimit-reset-tokens", "17ms"}}, "", 17ms},
      {"the text", {}, R"({"error":{"message":"Please try again in 1.24s. Visit us"}})", 1240ms},
      {"the text in minutes", {}, R"({"error":{"message":"try again in 6m0s."}})", 6min},
      {"the text in words", {}, R"({"error":{"message":"Retry after 20 seconds"}})", 20s},
      {"an epoch inside the body",
       {},
       R"({"error":{"code":429,"message":"x","metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1795262405000"}}}})",
       5s},
      {"RetryInfo",
       {},
       R"({"error":{"code":429,"message":"x","details":[{"@type":"RetryInfo","retryDelay":"34.4s"}]}})",
       34400ms},
      {"the text in days", {}, R"({"error":{"message":"try again in 1 day"}})", 24h},
      {"text beyond all bounds", {}, R"({"error":{"message":"try again in 9999999h"}})", 366 * 24h},
      {"RetryInfo beyond all bounds",
       {},
       R"({"error":{"code":429,"message":"x","details":[{"retryDelay":"99999999s"}]}})",
       366 * 24h},
      {"milliseconds beyond all bounds", {{"retry-after-ms", "99999999999999"}}, "", 366 * 24h},
      {"a reset beyond all bounds is a slip",
       {{"x-ratelimit-reset", "99999999"}},
       "",
       std::nullopt},
      {"none", {}, "", std::nullopt},
  }));
  INFO(wait.why);
  CHECK(classify(429, wait.body, wait.headers).retry_after == wait.expected);
}

TEST_CASE("classify: limits that are not the reason do not delay other errors", "[providers]") {
  CHECK(classify(500, "", {{"x-ratelimit-reset-requests", "1h"}}).retry_after == std::nullopt);
}

TEST_CASE("classify: an error inside an answer carries its own status", "[providers]") {
  const auto inside = [](std::string_view text) {
    const auto error = providers::error_inside(*agent::parse_json(text));
    return error ? std::optional(agent::row(error->code).name) : std::nullopt;
  };
  CHECK(inside(R"({"error":{"code":400,"message":"Token limit reached"},"choices":[]})") ==
        "provider.invalid_request");
  CHECK(inside(R"({"error":{"code":502,"message":"x"}})") == "provider.unavailable");
  CHECK(inside(R"({"error":{"message":"boom"}})") == "provider.unavailable");
  CHECK(inside(R"({"type":"error","error":{"type":"rate_limit_error","message":"x"}})") ==
        "provider.rate_limited");
  CHECK(inside(R"({"error":{"type":"invalid_request_error","message":"x"}})") ==
        "provider.invalid_request");
  CHECK(inside(R"({"error":null,"choices":[]})") == std::nullopt);
  CHECK(inside(R"({"error":"","choices":[]})") == std::nullopt);
  CHECK(inside(R"({"type":"message_stop"})") == std::nullopt);
  CHECK(inside(R"({"type":"message_start","message":{"role":"assistant"}})") == std::nullopt);
}

TEST_CASE("classify: an error inside an answer may say when to come back", "[providers]") {
  const agent::Clock::Wall now{std::chrono::seconds(1'795'348'800)};
  const auto inside = [&](std::string_view text) {
    return providers::wait_inside(*agent::parse_json(text), now);
  };
  CHECK(inside(R"({"error":{"message":"x","details":[{"retryDelay":"2.5s"}]}})") ==
        std::chrono::milliseconds(2'500));
  CHECK(inside(R"({"error":{"metadata":{"headers":{"X-RateLimit-Reset":"1795348809200"}}}})") ==
        std::chrono::milliseconds(9'200));
  CHECK(inside(R"({"error":{"message":"try again in 3s"}})") == std::nullopt);  // retry_after's
  CHECK(inside(R"({"choices":[],"details":[{"retryDelay":"2.5s"}]})") == std::nullopt);
  CHECK(inside("null") == std::nullopt);
}
