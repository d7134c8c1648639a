#include "cli/terminal/answer_sink.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

// A sink whose output is read back from a pipe.
struct Stage {
  explicit Stage(cli::AnswerSink::Options options) {
    ::signal(SIGPIPE, SIG_IGN);
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    output = cli::Output::to_descriptor(ends[1], "standard output");
    sink = std::make_unique<cli::AnswerSink>(options, *output, redactor, cancellation);
  }
  ~Stage() {
    ::close(ends[0]);
    ::close(ends[1]);
  }

  void tell(agent::EventBody body) {
    sink->on({.run_id = "r", .seq = ++seq, .time = {}, .body = std::move(body)});
  }
  std::string shown() {
    std::array<char, 65536> buffer;
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const ssize_t count = ::read(ends[0], buffer.data(), buffer.size());
    return {buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }

  std::array<int, 2> ends{-1, -1};
  std::int64_t seq = 0;
  agent::Redactor redactor{agent::Environment{{"SOME_API_KEY", "topsecretvalue"}}};
  agent::Cancellation cancellation;
  std::unique_ptr<cli::Output> output;
  std::unique_ptr<cli::AnswerSink> sink;
};

agent::RunFinished finished(int code, std::string text) {
  return {.result = {.exit_code = code, .text = std::move(text)}};
}

}  // namespace

TEST_CASE("answer: text is the final answer, once, with a line end", "[cli]") {
  Stage stage({.format = cli::Format::text});
  stage.tell(agent::ModelDelta{.text = "hel"});
  stage.tell(agent::ModelDelta{.text = "lo"});
  CHECK(stage.shown().empty());
  stage.tell(finished(0, "hello"));
  CHECK(stage.shown() == "hello\n");
}

TEST_CASE("answer: text stays silent where there is no final answer", "[cli]") {
  const int code = GENERATE(75, 80, 85, 124, 130);
  Stage stage({.format = cli::Format::text});
  stage.tell(finished(code, "partial"));
  CHECK(stage.shown().empty());
}

TEST_CASE("answer: the agent's own verdict is an answer", "[cli]") {
  Stage stage({.format = cli::Format::text});
  stage.tell(finished(1, "it does not build"));
  CHECK(stage.shown() == "it does not build\n");
}

TEST_CASE("answer: on a terminal it appears as it comes, and not again", "[cli]") {
  Stage stage({.format = cli::Format::text, .streams = true});
  stage.tell(agent::TurnStarted{.turn = 1});
  stage.tell(agent::ModelDelta{.text = "hello there "});
  CHECK(stage.shown() == "hello there ");
  CHECK(stage.sink->is_mid_line());
  stage.tell(agent::ModelDelta{.text = "you"});
  stage.tell(agent::ModelResponded{.reply = agent::Reply{.text = "hello there you"}});
  stage.tell(finished(0, "hello there you"));
  CHECK(stage.shown() == "you\n");
}

TEST_CASE("answer: on a terminal what broke off is shown to its end", "[cli]") {
  cli::AnswerSink::Options options{
      .format = cli::Format::text, .is_for_terminal = true, .streams = true};
  if (GENERATE(false, true)) {
    options.columns = [] { return std::size_t{80}; };
  }
  Stage stage(options);
  stage.tell(agent::TurnStarted{.turn = 1});
  SECTION("with the run") {
    stage.tell(agent::ModelDelta{.text = "the reason is 42"});
    stage.tell(finished(75, "the reason is 42"));
    CHECK(stage.shown() == "the reason is 42\n");
  }
  SECTION("where it is asked for again") {
    stage.tell(agent::ModelDelta{.text = "漢字/path/without/blanks"});
    stage.tell(agent::ModelReset{});
    CHECK(stage.shown() == "漢字/path/without/blanks\n");
  }
  SECTION("but no secret that has begun") {
    stage.tell(agent::ModelDelta{.text = "it is topsecretval"});
    stage.tell(finished(130, "it is topsecretval"));
    CHECK(stage.shown() == "it is [redacted]\n");
  }
}

TEST_CASE("answer: marks that fall away put no secret together", "[cli]") {
  const std::string text = GENERATE(as<std::string>{},
                                    "It is top\\_secret\\_value ok",
                                    "It is top_secret**_value** ok",
                                    "| a |\n|---|\n| top\\_secret\\_value |\n| b |");
  const std::size_t columns = GENERATE(0, 12, 80);
  Stage stage(
      {.format = cli::Format::text, .is_for_terminal = true, .streams = true, .columns = [columns] {
         return columns;
       }});
  stage.redactor.add("top_secret_value");
  for (const char c : text) {
    stage.tell(agent::ModelDelta{.text = std::string(1, c)});
  }
  stage.tell(agent::ModelResponded{});
  std::string seen;  // without styles and the ends of lines
  const std::string shown = stage.shown();
  for (std::size_t at = 0; at < shown.size(); ++at) {
    if (shown[at] == '\x1b') {
      at = shown.find('m', at);
    } else if (shown[at] != '\n') {
      seen += shown[at];
    }
  }
  CHECK(seen.find("top_secret_value") == std::string::npos);
}

TEST_CASE("answer: escape sequences of a model never reach the terminal", "[cli]") {
  Stage stage({.format = cli::Format::text, .streams = true});
  stage.tell(agent::ModelDelta{.text = "a\x1b[2Jb "});
  stage.tell(agent::ModelResponded{});
  CHECK(stage.shown().find('\x1b') == std::string::npos);
}

TEST_CASE("answer: json is one object, jsonl one line an event", "[cli]") {
  SECTION("json") {
    Stage stage({.format = cli::Format::json});
    stage.tell(agent::TurnStarted{.turn = 1});
    stage.tell(finished(80, "so far"));
    const auto json = agent::parse_json(stage.shown());
    REQUIRE(json);
    CHECK((*json)["exit_name"] == "max_turns");
    CHECK((*json)["text"] == "so far");
  }
  SECTION("jsonl") {
    Stage stage({.format = cli::Format::jsonl});
    stage.tell(agent::TurnStarted{.turn = 1});
    stage.tell(finished(0, "done"));
    const std::string lines = stage.shown();
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
    CHECK(lines.find(R"("type":"run.finished")") != std::string::npos);
  }
}

TEST_CASE("answer: known secrets are taken out of every format", "[cli]") {
  const auto format = GENERATE(cli::Format::text, cli::Format::json, cli::Format::jsonl);
  Stage stage({.format = format});
  stage.tell(finished(0, "the key is topsecretvalue, keep it"));
  const std::string shown = stage.shown();
  CHECK(shown.find("topsecretvalue") == std::string::npos);
  CHECK(shown.find("[redacted]") != std::string::npos);
}

TEST_CASE("answer: a reader that went away ends the run as SIGPIPE would", "[cli]") {
  Stage stage({.format = cli::Format::jsonl});
  ::close(stage.ends[0]);
  stage.ends[0] = ::open("/dev/null", O_RDONLY);
  stage.tell(agent::TurnStarted{.turn = 1});
  CHECK(stage.cancellation.signal_number() == SIGPIPE);
  CHECK(stage.sink->failure() == nullptr);
}
