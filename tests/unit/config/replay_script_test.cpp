#include "config/replay_script.h"

#include "agent/error.h"
#include "agent/message.h"

#include "load_support.h"
#include <catch2/catch.hpp>

#include <chrono>

using namespace config_test;
using namespace std::chrono_literals;

namespace {

agent::ReplayScript read(const std::string& text) {
  auto script = config::parse_replay_script("version: 1\n" + text, "s.yaml");
  INFO((script ? "" : line_of(script.error())));
  REQUIRE(script);
  return *std::move(script);
}

}  // namespace

TEST_CASE("replay script: every key reaches the steps", "[config]") {
  const auto script = read(R"(replies:
  - text: Let me look.
    reasoning: Hm.
    tool_calls:
      - read_file: {path: notes.txt, limit: 3}
      - {name: grep, arguments: {pattern: x}, id: c7}
      - {name: shell, arguments: '{"command": '}
      - {name: list}
    usage: {input: 120, output: 30, cache_read: 100, cache_write: 5, reasoning: 7}
  - error: rate_limited
    status: 429
    message: slow down
    retry_after: 1s
  - {text: The notes, error: stream_broken, delay: 200ms, chunk_delay: 20ms}
  - {text: Done., stop_reason: max_tokens, expect: [notes, "3 lines"], repeat: 2}
  - Just text.
  - {text: again, expect: x, repeat: forever}
)");
  REQUIRE(script.steps.size() == 6);
  CHECK(script.file == "s.yaml");
  const auto& first = script.steps[0];
  CHECK(first.line == 3);
  CHECK(first.repeat == 1);
  CHECK(first.reply ==
        agent::Reply{.text = "Let me look.",
                     .reasoning = "Hm.",
                     .tool_calls = {{"call_1", "read_file", R"({"path":"notes.txt","limit":3})"},
                                    {"c7", "grep", R"({"pattern":"x"})"},
                                    {"call_2", "shell", R"({"command": )"},
                                    {"call_3", "list", "{}"}},
                     .stop_reason = agent::StopReason::tool_use,
                     .usage = {120, 30, 100, 5, 7}});
  REQUIRE(script.steps[1].fault);
  CHECK(script.steps[1].fault->code == agent::Code::provider_rate_limited);
  CHECK(script.steps[1].fault->http_status == 429);
  CHECK(script.steps[1].fault->message == "slow down");
  CHECK(script.steps[1].fault->retry_after == 1s);
  CHECK(script.steps[2].reply.text == "The notes");
  CHECK(script.steps[2].fault->code == agent::Code::provider_stream_broken);
  CHECK(script.steps[2].delay == 200ms);
  CHECK(script.steps[2].chunk_delay == 20ms);
  CHECK(script.steps[3].reply.stop_reason == agent::StopReason::max_tokens);
  CHECK(script.steps[3].repeat == 2);
  CHECK(script.steps[3].expect == std::vector<std::string>{"notes", "3 lines"});
  CHECK(script.steps[4].reply.text == "Just text.");
  CHECK(script.steps[4].reply.stop_reason == agent::StopReason::end_turn);
  CHECK(script.steps[4].reply.usage == agent::Usage{});
  CHECK(script.steps[5].repeat == 0);
  CHECK(script.steps[5].expect == std::vector<std::string>{"x"});
}

TEST_CASE("replay script: each short name is a code that exists", "[config]") {
  for (const config::Key& key : config::replay_keys()) {
    if (key.path != "replies[].error") {
      continue;
    }
    for (const std::string_view name : key.words()) {
      INFO(name);
      const auto script = read("replies: [{error: " + std::string(name) + "}]");
      const auto row = agent::row(script.steps[0].fault->code);
      CHECK(row.name.substr(row.name.find('.') + 1) ==
            (name == "context_overflow" ? "overflow" : name));
    }
  }
}

TEST_CASE("replay script: each stop reason is one that exists", "[config]") {
  for (const config::Key& key : config::replay_keys()) {
    if (key.path == "replies[].stop_reason") {
      CHECK(key.words().size() == 12);
      for (const std::string_view name : key.words()) {
        CHECK(agent::to_string(agent::stop_reason_from(name)) == name);
      }
    }
  }
}

TEST_CASE("replay script: texts are taken as they are", "[config]") {
  const auto script = read("replies: ['{{ x }} ${env:HOME} sk-ant-api03-0123456789abcdefghij']");
  CHECK(script.steps[0].reply.text == "{{ x }} ${env:HOME} sk-ant-api03-0123456789abcdefghij");
}

TEST_CASE("replay script: an empty list is a script without replies", "[config]") {
  CHECK(read("replies: []").steps.empty());
}

TEST_CASE("replay script: mistakes have their place", "[config]") {
  struct Row {
    std::string text;  // below `version: 1`
    std::string line;
  };
  const auto row = GENERATE(values<Row>({
      {"", "1:1 `replies` is missing"},
      {"replies: x", "2:10 `replies` must be a list, not text"},
      {"replies: [5]", "2:11 `replies[]` must be text or map, not a whole number"},
      {"replies: [{}]", "2:11 the reply says nothing"},
      {"replies: [{txt: x, error: other}]", "2:12 unknown key `txt` in `replies[]`"},
      {"replies: [{error: rate_limit}]", "2:19 `replies[].error` cannot be `rate_limit`"},
      {"replies: [{text: x, status: 429}]",
       "2:21 `status` describes a fault, but there is no `error`"},
      {"replies: [{error: auth, status: 42}]", "2:33 `replies[].status` must be from 100 to 599"},
      {"replies: [{text: x, delay: 5}]", "2:28 `replies[].delay` needs a unit"},
      {"replies: [{text: x, repeat: 0}]", "2:29 `replies[].repeat` cannot be 0"},
      {"replies: [{text: x, repeat: 2000000}]",
       "2:29 `replies[].repeat` must be at most 1000000, or `forever`"},
      {"replies: [{text: x, repeat: forever}, y]",
       "2:39 this reply is never played: the one before it repeats forever"},
      {"replies: [{text: x, stop_reason: end}]", "2:34 `replies[].stop_reason` cannot be `end`"},
      {"replies: [{text: x, usage: {input: -1}}]",
       "2:36 `replies[].usage.input` must be from 0 to 1000000000000000"},
      {"replies: [{tool_calls: [shell]}]", "2:25 `replies[].tool_calls[]` must be a map, not text"},
      {"replies: [{tool_calls: [{arguments: {}}]}]",
       "2:25 `replies[].tool_calls[].name` is missing"},
      {"replies: [{tool_calls: [{name: a, arguments: [1]}]}]",
       "2:46 `arguments` must be a map or text, not a list"},
      {"replies: [{text: x, expect: [5]}]",
       "2:30 `replies[].expect[]` must be text, not a whole number"},
      {"replies: [{txt: x}, {delay: 1}]", "2:11 the reply says nothing (and 3 mistakes more)"},
  }));
  INFO(row.text);
  const auto script = config::parse_replay_script("version: 1\n" + row.text + "\n", "s.yaml");
  REQUIRE_FALSE(script);
  CHECK(script.error().code == agent::Code::config_invalid);
  CHECK(line_of(script.error()) == row.line);
}

TEST_CASE("replay script: an empty file is told what it needs", "[config]") {
  const auto* const text = GENERATE("", "# nothing\n", "---\n");
  const auto script = config::parse_replay_script(text, "s.yaml");
  REQUIRE_FALSE(script);
  CHECK(line_of(script.error()) == "1:1 the file is empty");
  CHECK(script.error().help == "it needs `version` and `replies`");
}

TEST_CASE("replay script: a file that is not there", "[config]") {
  const auto script = config::load_replay_script("/nonexistent/s.yaml");
  REQUIRE_FALSE(script);
  CHECK(script.error().code == agent::Code::config_invalid);
  CHECK(script.error().message == "there is no file `/nonexistent/s.yaml`");
}

TEST_CASE("replay script: a long reply is read whole", "[config]") {
  const Folder folder;
  const std::string line(99, 'x');
  std::string text = "version: 1\nreplies:\n  - text: |\n";
  for (int count = 0; count < 20'000; ++count) {
    text += "      " + line + "\n";
  }
  const auto script = config::load_replay_script(folder.write("s.yaml", text));
  REQUIRE(script);
  CHECK(script->steps.at(0).reply.text.size() == 2'000'000);
}
