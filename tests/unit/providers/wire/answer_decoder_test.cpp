#include "providers/wire/answer_decoder.h"

#include "agent/json.h"
#include "tests/support/linear.h"
#include "tests/support/play.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using agent::Heard;

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);

struct HeardRow {
  Make make;
  std::string_view bytes;
  Heard heard;
};

std::string heard_name(Heard heard) {
  constexpr std::string_view k_names[] = {"nothing", "keep_alive", "answer", "last", "enough"};
  return std::string(k_names[static_cast<std::size_t>(heard)]);
}

}  // namespace

TEST_CASE("wire: what is heard in a piece of an answer", "[providers]") {
  const Make openai = providers::make_openai_chat;
  const Make anthropic = providers::make_anthropic_messages;
  const Make responses = providers::make_openai_responses;
  const Make gemini = providers::make_gemini;
  const Make ollama = providers::make_ollama;
  const auto row = GENERATE_COPY(values<HeardRow>({
      {openai, "\n\n\r\n", Heard::nothing},
      {openai, ": OPENROUTER PROCESSING\n\n", Heard::keep_alive},
      {openai, ":\n", Heard::keep_alive},
      {openai, "data: {\"choi", Heard::nothing},
      {openai, "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n", Heard::nothing},
      {openai, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", Heard::answer},
      {openai, "data: {\"choices\":[{\"delta\":{\"reasoning\":\"a\"}}]}\n\n", Heard::answer},
      {openai,
       "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
       Heard::answer},
      {openai,
       "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\"}]}}]}\n\n",
       Heard::answer},
      {openai, "data: [DONE]\n\n", Heard::enough},
      {anthropic, "event: ping\ndata: {\"type\":\"ping\"}\n\n", Heard::keep_alive},
      {anthropic, "data: {\"type\":\"something_new\"}\n\n", Heard::nothing},
      {anthropic, "data: {\"type\":\"message_start\",\"message\":{}}\n\n", Heard::answer},
      {anthropic, "data: {\"type\":\"message_stop\"}\n\n", Heard::enough},
      {responses, "data: {\"type\":\"keepalive\"}\n\n", Heard::keep_alive},
      {responses, "data: {\"type\":\"response.queued\",\"response\":{}}\n\n", Heard::keep_alive},
      {responses,
       "data: {\"type\":\"response.output_text.delta\",\"delta\":\"\"}\n\n",
       Heard::nothing},
      {responses,
       "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n",
       Heard::answer},
      {gemini,
       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]}}]}\n\n",
       Heard::nothing},
      {gemini,
       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\","
       "\"thoughtSignature\":\"\"}]}}]}\n\n",
       Heard::nothing},
      {gemini,
       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\","
       "\"thoughtSignature\":\"c2ln\"}]}}]}\n\n",
       Heard::answer},
      {gemini,
       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n",
       Heard::answer},
      {gemini,
       "data: {\"candidates\":[{\"content\":{},\"finishReason\":\"STOP\"}]}\n\n",
       Heard::last},
      {ollama, "{\"message\":{\"content\":\"\"},\"done\":false}\n", Heard::nothing},
      {ollama, "{\"message\":{\"content\":\"a\"},\"done\":false}\n", Heard::answer},
      {ollama, "{\"message\":{\"content\":\"\"},\"done\":true}\n", Heard::enough},
  }));
  const auto wire = row.make({.provider = "local", .model = "m", .base_url = "http://h"});
  const auto heard = wire->decoder()->feed(row.bytes, {});
  REQUIRE(heard);
  CAPTURE(row.bytes);
  CHECK(heard_name(*heard) == heard_name(row.heard));
}

// On a slow line a long event is no silence; byte by byte it would be one without an end.
TEST_CASE("wire: an event that is not yet whole is heard of every 4 kB", "[providers]") {
  const auto wire =
      providers::make_openai_chat({.provider = "local", .model = "m", .base_url = "http://h"});
  const auto decoder = wire->decoder();
  CHECK(*decoder->feed("data: {\"choices\":[{\"delta\":{\"content\":\"", {}) == Heard::nothing);
  int alive = 0;
  for (int i = 0; i < 40'960; ++i) {
    alive += *decoder->feed("a", {}) == Heard::keep_alive ? 1 : 0;
  }
  CHECK(alive == 10);
  CHECK(*decoder->feed("\"}}]}\n\n", {}) == Heard::answer);
}

TEST_CASE("wire: blanks before an answer are looked through once", "[providers]") {
  CHECK(tests::grows_linearly(2'000'000, [](std::size_t n) {
    const auto wire =
        providers::make_openai_chat({.provider = "local", .model = "m", .base_url = "http://h"});
    const std::string body(n, '\n');
    return tests::seconds_of([&] { tests::play(*wire, body, {}, [] { return 16'384; }); });
  }));
}

TEST_CASE("wire: a count of tokens is a whole number, however it is written", "[providers]") {
  const auto [written, count] = GENERATE(table<std::string_view, std::int64_t>({
      {"7", 7},
      {"7.0", 7},
      {"7e2", 700},
      {"-7", -7},
      {"7.5", -1},
      {"1e400", 1'000'000'000'000},
      {"18446744073709551617", 1'000'000'000'000},
      {"-1e400", -1'000'000'000'000},
      {"\"7\"", -1},
      {"null", 0},
      {"true", -1},
      {"[7]", -1},
  }));
  CAPTURE(written);
  const auto usage = agent::parse_json(R"({"tokens":)" + std::string(written) + "}");
  REQUIRE(usage);
  CHECK(providers::token_count(*usage, "tokens") == count);
}

TEST_CASE("wire: an answer has at most 50,000 calls, and keeps its text beyond", "[providers]") {
  const auto wire =
      providers::make_ollama({.provider = "local", .model = "m", .base_url = "http://h"});
  const auto played_with = [&](std::size_t calls) {
    std::string body = R"({"message":{"content":"Here they are.","tool_calls":[)";
    for (std::size_t at = 0; at < calls; ++at) {
      body += at == 0 ? "" : ",";
      body += R"({"function":{"name":"t","arguments":{}}})";
    }
    return tests::play(*wire, body + "]},\"done\":true}\n");
  };
  const auto most = played_with(50'000);
  REQUIRE(most.reply);
  CHECK(most.reply->tool_calls.size() == 50'000);
  const auto more = played_with(50'001);
  REQUIRE_FALSE(more.reply);
  CHECK(more.reply.error().code == agent::Code::provider_bad_response);
  CHECK(more.reply.error().message.contains("has more than 50000 calls"));
}
