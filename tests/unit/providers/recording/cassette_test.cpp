#include "providers/recording/cassette.h"

#include "agent/base64.h"
#include "agent/json.h"
#include "tests/unit/providers/recording/recording_support.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using agent::Code;
using agent::Json;
using providers::Cassette;
using providers::CassetteWriter;
using providers::RecordedExchange;

namespace {

const std::string k_secret = "a-secret-of-the-test";

agent::Redactor redactor() {
  agent::Redactor redactor{agent::Environment{}};
  redactor.add(k_secret);
  return redactor;
}

RecordedExchange exchange() {
  return {.before = {.clock = {0, 1}, .tools = {{"b", 7}, {"a", 5}}, .tools_end = 1},
          .method = "POST",
          .url = "https://api.example.com/v1/chat",
          .request_headers = {{"content-type", "application/json"}},
          .request_body = {{"model", "m"},
                           {"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})}},
          .status = 200,
          .headers = {{"content-type", "text/event-stream"}},
          .pieces = {{3, "data: gr\xC3"}, {0, "\xBC\xC3\x9F"}, {12, "e\n\n"}},
          .clock = {4, 9}};
}

Cassette written(const std::vector<RecordedExchange>& exchanges, const tests::TapeFolder& folder) {
  const agent::Redactor secrets = redactor();
  auto writer = CassetteWriter::create(folder.file(), tests::recorded_run(), secrets);
  REQUIRE(writer);
  for (const RecordedExchange& one : exchanges) {
    (*writer)->add(one);
  }
  (*writer)->end({.clock = {10}, .tools = {{"c", 1}}});
  CHECK_FALSE((*writer)->failure());
  auto cassette = providers::read_cassette(folder.file());
  REQUIRE(cassette);
  return *std::move(cassette);
}

agent::Error error_of(const std::string& text) {
  const auto cassette = providers::parse_cassette(text, "f.cassette");
  REQUIRE_FALSE(cassette);
  return cassette.error();
}

const std::string k_run =
    R"({"schema": "errand.cassette/1", "run_id": "r", "start": "2026-01-01T00:00:00.000Z"})";

const std::string k_member =
    R"({"member": "a", "run_id": "r", "start": "2026-01-01T00:00:00.000Z"})";

// An exchange with that response.
std::string with(const std::string& response) {
  return R"({"request": {"method": "POST", "url": "u", "body": 1}, "response": )" + response + "}";
}

}  // namespace

TEST_CASE("cassette: what was written is read back", "[providers]") {
  const tests::TapeFolder folder;
  const Cassette cassette = written({exchange(), exchange()}, folder);

  const providers::RecordedRun run = tests::recorded_run();
  CHECK(cassette.run.run_id == run.run_id);
  CHECK(cassette.run.start == run.start);
  CHECK(cassette.run.seed == run.seed);
  CHECK(cassette.run.key_variable == run.key_variable);
  CHECK(cassette.run.folder == run.folder);
  CHECK(cassette.cut.empty());
  CHECK(cassette.after.clock == std::vector<std::int64_t>{10});
  CHECK(cassette.after.tools == std::vector<providers::Timings::ToolTime>{{"c", 1}});
  REQUIRE(cassette.exchanges.size() == 2);
  const RecordedExchange& read = cassette.exchanges[1];
  const RecordedExchange expected = exchange();
  CHECK(read.before.clock == expected.before.clock);
  CHECK(read.before.tools == expected.before.tools);
  CHECK(read.before.tools_end == 1);
  CHECK(read.method == expected.method);
  CHECK(read.url == expected.url);
  CHECK(read.request_body == expected.request_body);
  CHECK(read.status == expected.status);
  CHECK(read.headers == expected.headers);
  CHECK(read.clock == expected.clock);
  CHECK_FALSE(read.error);
}

TEST_CASE("cassette: pieces keep their bytes, also where they cut a character", "[providers]") {
  const tests::TapeFolder folder;
  RecordedExchange binary = exchange();
  binary.pieces = {{0, "\xFF"}, {1, std::string("\0\x01", 2)}, {2, ""}, {3, "\xC3"}, {4, "\xBC"}};
  const Cassette cassette = written({exchange(), binary}, folder);

  REQUIRE(cassette.exchanges[0].pieces.size() == 3);
  CHECK(cassette.exchanges[0].pieces[0].bytes == "data: gr\xC3");
  CHECK(cassette.exchanges[0].pieces[1].bytes == "\xBC\xC3\x9F");
  CHECK(cassette.exchanges[0].pieces[2].bytes == "e\n\n");
  for (std::size_t index = 0; index < binary.pieces.size(); ++index) {
    CHECK(cassette.exchanges[1].pieces[index].bytes == binary.pieces[index].bytes);
  }
}

TEST_CASE("cassette: an error is read back with what decides over the next attempt",
          "[providers]") {
  const tests::TapeFolder folder;
  RecordedExchange broken = exchange();
  broken.status = 0;
  broken.error = agent::Error{
      .code = Code::provider_network, .message = "refused", .help = "start it", .retry_once = true};
  const Cassette cassette = written({broken}, folder);
  const auto& error = cassette.exchanges[0].error;
  REQUIRE(error);
  CHECK(error->code == Code::provider_network);
  CHECK(error->message == "refused");
  CHECK(error->help == "start it");
  CHECK(error->retry_once);
}

TEST_CASE("cassette: each member's exchanges are its own", "[providers]") {
  const tests::TapeFolder folder;
  const agent::Redactor secrets = redactor();
  auto writer = CassetteWriter::create(folder.file(), tests::recorded_run(), secrets);
  REQUIRE(writer);
  providers::RecordedRun one = tests::recorded_run();
  one.member = "fix[1]";
  one.run_id = "1";
  one.key_variable = "OTHER_KEY";
  providers::RecordedRun two = one;
  two.member = "fix[1]/helper[2]";
  (*writer)->begin(one);
  (*writer)->begin(two);
  RecordedExchange said = exchange();
  said.member = two.member;
  (*writer)->add(exchange());
  (*writer)->add(said);
  (*writer)->end({.clock = {3}}, two.member);
  (*writer)->end({.clock = {7}});

  const auto cassette = providers::read_cassette(folder.file());
  REQUIRE(cassette);
  CHECK(cassette->run.member.empty());
  CHECK(cassette->exchanges.size() == 1);
  CHECK(cassette->after.clock == std::vector<std::int64_t>{7});
  REQUIRE(cassette->members.size() == 2);
  CHECK(cassette->members[0].run.member == "fix[1]");
  CHECK(cassette->members[0].run.run_id == "1");
  CHECK(cassette->members[0].run.start == one.start);
  CHECK(cassette->members[0].exchanges.empty());
  CHECK(cassette->members[1].exchanges.size() == 1);
  CHECK(cassette->members[1].after.clock == std::vector<std::int64_t>{3});
  CHECK(cassette->key_variables() ==
        std::vector<std::string>{"TEST_KEY", "OTHER_KEY", "OTHER_KEY"});
}

TEST_CASE("cassette: no secret reaches the file", "[providers]") {
  const tests::TapeFolder folder;
  const agent::Redactor secrets = redactor();
  const auto request = tests::post(R"({"model":"m","content":"my key is a-secret-of-the-test"})",
                                   "https://api.example.com/v1?key=a-secret-of-the-test");
  const providers::ShownRequest shown = providers::shown(request, secrets);
  CHECK(providers::telling_headers(request.headers) ==
        agent::Headers{{"content-type", "application/json"}});

  RecordedExchange one = exchange();
  one.url = shown.url;
  one.request_headers = {{"accept", k_secret}};
  one.request_body = shown.body;
  one.headers = {{"Set-Cookie", "session=a-secret-of-the-test"},
                 {"x-echo", "a-secret-of-the-test"},
                 {"OpenAI-Organization", "acme"},
                 {"x-ratelimit-remaining-tokens", "12"}};
  one.pieces = {{5, "data: a-secret-of"}, {6, "-the-test and "}, {7, "the rest"}};
  one.error = agent::Error{.code = Code::provider_other, .message = k_secret, .help = k_secret};
  const Cassette cassette = written({one}, folder);

  const std::string text = folder.text();
  for (const std::string& part : {k_secret, std::string("a-secret-of"), std::string("acme")}) {
    INFO(text);
    CHECK(text.find(part) == std::string::npos);
  }
  CHECK(agent::header(cassette.exchanges[0].headers, "x-ratelimit-remaining-tokens") == "12");
  REQUIRE(cassette.exchanges[0].pieces.size() == 1);  // a secret lay across two
  CHECK(text.find("\"after_ms\": 18") != std::string::npos);
  CHECK(cassette.exchanges[0].pieces[0].bytes.starts_with("data: [redacted] and"));
}

TEST_CASE("cassette: a request that is no JSON is a text", "[providers]") {
  const agent::Redactor secrets = redactor();
  CHECK(providers::shown(tests::post("plain \xFF a-secret-of-the-test"), secrets).body ==
        Json("plain \xEF\xBF\xBD [redacted]"));
}

TEST_CASE("cassette: what takes part in no text is kept as it came", "[providers]") {
  const tests::TapeFolder folder;
  const std::string frame = std::string("\0\0\1\0", 4) + "It is a-secret-of-the-test.\xFF";
  const std::string latin = "caf\xE9 a-secret-of-the-test";
  RecordedExchange frames = exchange();
  frames.pieces = {{0, frame}, {5, frame}};
  RecordedExchange text = exchange();
  text.pieces = {{0, latin}};
  const Cassette cassette = written({frames, text}, folder);
  REQUIRE(cassette.exchanges[0].pieces.size() ==
          2);  // else the checksums of Bedrock's frames broke
  CHECK(cassette.exchanges[0].pieces[0].bytes == frame);
  CHECK(cassette.exchanges[0].pieces[1].bytes == frame);
  CHECK(cassette.exchanges[1].pieces[0].bytes == "caf\xE9 [redacted]");
}

TEST_CASE("cassette: people can read it, and other programs too", "[providers]") {
  const tests::TapeFolder folder;
  written({exchange()}, folder);
  const std::string text = folder.text();
  INFO(text);
  CHECK(text.find("\n        {\"role\": \"user\", \"content\": \"hi\"}\n") != std::string::npos);
  CHECK(text.find("{\"after_ms\": 12, \"text\": \"e\\n\\n\"}") != std::string::npos);
  CHECK(text.find("\"clock\": [4, 9]") != std::string::npos);
}

TEST_CASE("cassette: the layout is nobody's business", "[providers]") {
  const tests::TapeFolder folder;
  written({exchange(), exchange()}, folder);
  std::string text = folder.text();
  std::ranges::replace(text, '\n', ' ');
  const auto cassette = providers::parse_cassette(text, "f");
  REQUIRE(cassette);
  CHECK(cassette->exchanges.size() == 2);
}

TEST_CASE("cassette: whatever a kill leaves can be read up to the last whole exchange",
          "[providers]") {
  const tests::TapeFolder folder;
  written({exchange(), exchange()}, folder);
  const std::string text = folder.text();
  const std::size_t run_ends = text.find("\n}\n") + 3;
  for (std::size_t size = run_ends; size < text.size(); ++size) {
    const auto cassette = providers::parse_cassette(std::string_view(text).substr(0, size), "f");
    INFO("cut to " << size << " bytes");
    REQUIRE(cassette);
    const bool is_cut_inside =
        text[size - 1] != '\n' || text[size - 2] != '}' || text[size - 3] != '\n';
    const bool is_end_of_object = text[size - 1] == '}' && text[size - 2] == '\n';
    CHECK(cassette->cut.empty() == (!is_cut_inside || is_end_of_object));
  }
}

TEST_CASE("cassette: what is no recording is refused, with its place", "[providers]") {
  struct Row {
    std::string text;
    int line;
    std::string message;
  };
  const auto row = GENERATE(values<Row>({
      {"", 1, "it is empty"},
      {" \n\n", 1, "it is empty"},
      {"version: 1\n", 1, "it is not a recording of errand"},
      {"{\"schema\": \"errand.cass", 1, "it is not a recording of errand"},
      {"[1, 2]", 1, "it is not a recording of errand"},
      {R"({"schema": "errand.result/1"})", 1, "it is not a recording of errand"},
      {R"({"schema": "errand.cassette/2", "errand": "7.0"})", 1, "errand 7.0 wrote it"},
      {R"({"schema": "errand.cassette/1", "run_id": "r"})", 1, "`start` or `run_id`"},
      {k_run + "\n\n7\n", 3, "not a JSON object"},
      {k_run + "\n{\"response\": {\"body\": []}}", 2, "lacks its `request` or its `response`"},
      {k_run + "\n{\"a\": 1,}", 2, "not a JSON object"},
      {k_run + "\n" + with(R"({"body": []})"), 2, "no HTTP `status`"},
      {k_run + with(R"({"status": 200, "body": [{}]})"), 1, "a piece"},
      {k_run + with(R"({"status": 200, "body": [{"base64": "?"}]})"), 1, "a piece"},
      {k_run + with(R"({"body": []}, "error": {"code": "no.such"})"), 1, "unknown `code`"},
      {k_run + k_member + k_member, 1, "the run `a` begins a second time"},
      {k_run + k_run, 1, "the whole begins a second time"},
      {k_run + R"({"member": "a", "after": {}})", 1, "the run `a` has not begun"},
      {k_run + R"({"member": "a", "run_id": "r"})", 1, "`start` or `run_id`"},
  }));
  INFO(row.text);
  const agent::Error error = error_of(row.text);
  CHECK(error.code == Code::storage_corrupt);
  CHECK(error.message.find(row.message) != std::string::npos);
  REQUIRE(error.where);
  CHECK(error.where->file == "f.cassette");
  CHECK(error.where->line == row.line);
}

TEST_CASE("cassette: what has another shape is refused, with its place", "[providers]") {
  const auto [record, message] = GENERATE(table<std::string, std::string>({
      {R"({"request": 1, "response": {}})", "`/request` must be an object, is an integer"},
      {R"({"request": "x", "response": {}})", "`/request` must be an object"},
      {R"({"request": {"method": "POST", "url": 7, "body": 1}, "response": {"body": []}})",
       "`/request/url` must be a string"},
      {R"({"request": {"method": "POST", "url": "u"}, "response": {"body": []}})",
       "`/request` must have the property `body`"},
      {with("7"), "`/response` must be an object"},
      {with("{}"), "`/response` must have the property `body`"},
      {with(R"({"body": {"text": "x"}})"), "`/response/body` must be an array"},
      {with(R"({"body": ["x"]})"), "`/response/body/0` must be an object"},
      {with(R"({"body": [{"text": 1}]})"), "`/response/body/0/text` must be a string"},
      {with(R"({"body": [{"base64": 1}]})"), "`/response/body/0/base64` must be a string"},
      {with(R"({"body": [], "status": "200"})"), "`/response/status` must be an integer"},
      {with(R"({"body": [], "status": 4294967496})"), "`/response/status` must be at most 999"},
      {with(R"({"body": [], "headers": [1]})"), "`/response/headers` must be an object"},
      {with(R"({"body": [], "headers": {"a": 1}})"), "`/response/headers/a` must be a string"},
      {with(R"({"body": []}, "error": "x")"), "`/error` must be an object"},
      {with(R"({"body": []}, "error": {"code": 1})"), "`/error/code` must be a string"},
      {with(R"({"body": []}, "before": 1)"), "`/before` must be an object"},
      {with(R"({"body": []}, "before": {"tools": [1]})"), "`/before/tools` must be an object"},
      {with(R"({"body": []}, "before": {"tools": {"a": "b"}})"), "`/before/tools/a` must be"},
      {with(R"({"body": []}, "before": {"tools_end": -1})"), "`/before/tools_end` must be"},
      {with(R"({"body": []}, "clock": {})"), "`/clock` must be an array"},
      {with(R"({"body": []}, "clock": [1e300])"), "`/clock/0` must be at most 1000000000000"},
      {R"({"after": 1})", "`/after` must be an object"},
      {R"({"after": null})", "`/after` must be an object"},
      {R"({"after": {"clock": ["x"]}})", "`/after/clock/0` must be an integer"},
  }));
  INFO(record);
  const agent::Error error = error_of(k_run + "\n" + record);
  CHECK(error.code == Code::storage_corrupt);
  CHECK_THAT(error.message, Catch::Contains(message));
  REQUIRE(error.where);
  CHECK(error.where->line == 2);

  std::string run = k_run;
  run.insert(1, R"("seed": "x", )");
  CHECK_THAT(error_of(run).message, Catch::Contains("`/seed` must be an integer"));
}

TEST_CASE("cassette: hostile texts neither crash nor hang", "[providers]") {
  for (const std::string& text : {k_run + std::string(100'000, '{'),
                                  k_run + std::string(100'000, '['),
                                  k_run + std::string(100'000, '}'),
                                  k_run + "{\"" + std::string(100'000, '\\'),
                                  k_run + std::string("\0\0", 2)}) {
    const auto cassette = providers::parse_cassette(text, "f");
    CHECK((!cassette || !cassette->cut.empty()));
  }
}

TEST_CASE("cassette: a file that is there is left alone", "[providers]") {
  const tests::TapeFolder folder;
  const agent::Redactor secrets = redactor();
  written({}, folder);
  const std::string before = folder.text();
  const auto writer = CassetteWriter::create(folder.file(), tests::recorded_run(), secrets);
  REQUIRE_FALSE(writer);
  CHECK(writer.error().code == Code::cli_cannot_create);
  CHECK(folder.text() == before);
}

TEST_CASE("cassette: base64 both ways", "[providers]") {
  const auto row = GENERATE(table<std::string, std::string>({
      {"", ""},
      {"a", "YQ=="},
      {"ab", "YWI="},
      {"abc", "YWJj"},
      {"abcd", "YWJjZA=="},
      {"\xFF\xFE\xFD", "//79"},
  }));
  CHECK(agent::to_base64(std::get<0>(row)) == std::get<1>(row));
  CHECK(agent::from_base64(std::get<1>(row)) == std::get<0>(row));
  for (const char* wrong : {"Zg=", "Zg", "Z===", "Zm9v!", "Z=g=", "===="}) {
    INFO(wrong);
    CHECK_FALSE(agent::from_base64(wrong));
  }
}
