#include "providers/recording/replaying_http.h"

#include "agent/json.h"
#include "providers/recording/recording_http.h"
#include "tests/unit/providers/recording/recording_support.h"

#include <nlohmann/json.hpp>

using agent::Code;
using providers::Cassette;
using tests::PlayedHttp;
using tests::post;
using tests::send;
using Pieces = std::vector<std::string>;

namespace {

agent::Redactor no_redactor() {
  agent::Redactor redactor{agent::Environment{}};
  redactor.add("a-secret-of-the-test");
  return redactor;
}

// A recording of these requests and their answers, as the recorder writes it and the reader reads.
Cassette recorded(const std::vector<std::string>& bodies, std::deque<PlayedHttp::Answer> answers) {
  const tests::TapeFolder folder;
  const agent::Redactor secrets = no_redactor();
  auto writer = providers::CassetteWriter::create(folder.file(), tests::recorded_run(), secrets);
  REQUIRE(writer);
  PlayedHttp played(std::move(answers));
  providers::RecordingTimings timings;
  providers::RecordingHttp http(played, **writer, timings, secrets);
  for (const std::string& body : bodies) {
    send(http, post(body));
  }
  (*writer)->end(timings.take());
  auto cassette = providers::read_cassette(folder.file());
  REQUIRE(cassette);
  return *std::move(cassette);
}

class Replay {
 public:
  explicit Replay(Cassette cassette) : http(std::move(cassette), timings, secrets, false) {}

  providers::ReplayingTimings timings;
  agent::Redactor secrets = no_redactor();
  providers::ReplayingHttp http;
};

agent::Error miss_of(Replay& replay, const agent::HttpRequest& request) {
  const tests::Sent sent = send(replay.http, request);
  REQUIRE_FALSE(sent.response);
  CHECK(sent.response.error().code == Code::replay_miss);
  CHECK(sent.pieces.empty());
  return sent.response.error();
}

}  // namespace

TEST_CASE("replay: a stream comes in the pieces in which it was recorded", "[providers]") {
  const Pieces pieces = {"data: gr\xC3", "\xBC", "\xC3\x9F", "e\n\ndata: x"};
  Replay replay(recorded({R"({"a":1})"}, {{.pieces = pieces, .headers = {{"x-id", "7"}}}}));
  const tests::Sent sent = send(replay.http, post(R"({"a":1})"));
  REQUIRE(sent.response);
  CHECK(sent.pieces == pieces);
  CHECK(sent.response->status == 200);
  CHECK(agent::header(sent.response->headers, "x-id") == "7");
  CHECK(sent.response->body.empty());
}

TEST_CASE("replay: an answer that nobody streams, and one that is an error, are bodies",
          "[providers]") {
  Replay replay(
      recorded({"{}", "[]"}, {{.pieces = {"one, ", "two"}}, {.status = 503, .pieces = {"busy"}}}));
  const auto whole = replay.http.send(post("{}"), {}, {});
  REQUIRE(whole);
  CHECK(whole->body == "one, two");
  const tests::Sent refused = send(replay.http, post("[]"));
  REQUIRE(refused.response);
  CHECK(refused.response->status == 503);
  CHECK(refused.response->body == "busy");
  CHECK(refused.pieces.empty());
}

TEST_CASE("replay: the same request gets its answers in the recorded order, each once",
          "[providers]") {
  Replay replay(recorded(
      {"{}", "{}", "{}"},
      {{.status = 503, .pieces = {"busy"}}, {.pieces = {"first"}}, {.pieces = {"second"}}}));
  CHECK(send(replay.http, post("{}")).response->status == 503);
  CHECK(send(replay.http, post("{}")).pieces == Pieces{"first"});
  CHECK(send(replay.http, post("{}")).pieces == Pieces{"second"});
  const agent::Error error = miss_of(replay, post("{}"));
  CHECK(error.message ==
        "one request more than was recorded: all 3 answers are used; the nearest is exchange 1 of "
        "3, which is the same and was answered already");
}

TEST_CASE("replay: keys may stand in another order, and secrets may be others", "[providers]") {
  Replay replay(
      recorded({R"({"a":{"b":1,"c":"a-secret-of-the-test"},"d":[1,2]})"}, {{.pieces = {"yes"}}}));
  CHECK(send(replay.http, post(R"({ "d": [1, 2], "a": {"c": "[redacted]", "b": 1} })")).pieces ==
        Pieces{"yes"});
}

TEST_CASE("replay: a broken exchange breaks again, after the same pieces", "[providers]") {
  const agent::Error broken{.code = Code::provider_stream_broken, .message = "cut"};
  Replay replay(recorded({"{}"}, {{.pieces = {"one", "two"}, .error = broken}}));
  const tests::Sent sent = send(replay.http, post("{}"));
  CHECK(sent.pieces == Pieces{"one", "two"});
  REQUIRE_FALSE(sent.response);
  CHECK(sent.response.error().code == Code::provider_stream_broken);
  CHECK(sent.response.error().message == "cut");
}

TEST_CASE("replay: a reader that wants no more gets no more", "[providers]") {
  Replay replay(recorded({"{}"}, {{.pieces = {"one", "two"}}}));
  int calls = 0;
  const auto response = replay.http.send(
      post("{}"),
      [&](std::string_view) { return ++calls > 1 ? agent::Heard::answer : agent::Heard::enough; },
      {});
  CHECK(calls == 1);
  CHECK(response);
}

TEST_CASE("replay: what was stopped while it was recorded is a miss, never an ending",
          "[providers]") {
  const agent::Error stopped{.code = Code::run_cancelled, .message = "stopped"};
  Replay replay(recorded({"{}"}, {{.pieces = {"one"}, .error = stopped}}));
  const tests::Sent sent = send(replay.http, post("{}"));
  REQUIRE_FALSE(sent.response);
  CHECK(sent.response.error().code == Code::replay_miss);
}

TEST_CASE("replay: a miss shows how the nearest recording differs", "[providers]") {
  Replay replay(recorded(
      {R"({"model":"m","messages":[{"role":"user","content":"hi"}]})",
       R"({"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":"more"}]})"},
      {{.pieces = {"one"}}, {.pieces = {"two"}}}));
  const agent::Error error = miss_of(
      replay,
      post(
          R"({"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":"less"}]})"));
  CHECK(error.message ==
        "no answer is recorded for this request; the nearest is exchange 2 of 2\n"
        "body.messages[1].content: recorded \"more\", asked \"less\"");
  REQUIRE(error.where);
  CHECK(error.where->line > 1);
}

TEST_CASE("replay: another address or method is a miss", "[providers]") {
  Replay replay(recorded({"{}"}, {{.pieces = {"one"}}}));
  CHECK(miss_of(replay, post("{}", "https://other.example.com/v1/chat"))
            .message.find("url: recorded \"https://api.example.com/v1/chat\", asked "
                          "\"https://other.example.com/v1/chat\"") != std::string::npos);
  agent::HttpRequest get = post("{}");
  get.method = "GET";
  CHECK(miss_of(replay, get).message.find("method: recorded \"POST\", asked \"GET\"") !=
        std::string::npos);
  CHECK(send(replay.http, post("{}")).pieces == Pieces{"one"});  // a miss uses nothing up
}

TEST_CASE("replay: an empty recording answers nothing", "[providers]") {
  Replay replay(recorded({}, {}));
  CHECK(miss_of(replay, post("{}")).message.find("no exchange at all") != std::string::npos);
}

TEST_CASE("replay: differences are bounded, and in sight where the texts are long", "[providers]") {
  using agent::Json;
  const std::string long_text(500, 'x');
  const auto found = providers::differences(
      Json{{"a", long_text + "old"}, {"b", 1}}, Json{{"a", long_text + "new"}, {"b", 2}}, 1);
  CHECK(found.total == 2);
  REQUIRE(found.lines.size() == 1);
  CHECK(found.lines[0] == "a: recorded …\"" + std::string(20, 'x') + "old\", asked …\"" +
                              std::string(20, 'x') + "new\"");
  const auto types = providers::differences(Json{{"a", {1, 2}}}, Json{{"a", "text"}}, 8);
  CHECK(types.lines == Pieces{"a: recorded [1,2], asked \"text\""});
  CHECK(providers::differences(Json{{"a", 1}}, Json{{"a", 1}}, 8).total == 0);
  CHECK(providers::differences(Json{{"n", 1}}, Json{{"t", 0.5}}, 8).lines ==
        Pieces{"n: recorded 1, asked nothing", "t: recorded nothing, asked 0.5"});
}
