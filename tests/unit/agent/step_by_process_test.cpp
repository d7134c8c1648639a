// A run without a loop, as a durable engine drives one: every step is taken by a process of its
// own, which knows the log alone.
#include "agent/event.h"
#include "agent/json.h"
#include "agent/state.h"
#include "agent/step.h"
#include "tests/support/folded.h"
#include "tests/support/journal.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;

// What a process makes of its step.
enum Said : int { said_more = 0, said_end = 1, said_nonsense = 2 };

class LogFile {
 public:
  explicit LogFile(fs::path file) : file_(std::move(file)) {}

  std::vector<agent::Event> read() const {
    std::vector<agent::Event> events;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      events.push_back(agent::event_from_json(agent::parse_json(line).value()).value());
    }
    return events;
  }
  void add(agent::EventBody body) const {
    const auto next = static_cast<std::int64_t>(read().size()) + 1;
    std::ofstream(file_, std::ios::app)
        << agent::dump(tests::numbered(std::move(body), next), agent::Detail::kept) << "\n";
  }

 private:
  fs::path file_;
};

agent::Reply answer_to(std::int64_t turn) {
  agent::Reply reply{.text = "turn " + std::to_string(turn),
                     .stop_reason = agent::StopReason::tool_use,
                     .usage = {.input = 10, .output = 5}};
  switch (turn) {
    case 1:
      reply.tool_calls = {{"a", "x", "{}"}, {"b", "x", "{}"}};
      break;
    case 2:
      reply.stop_reason = agent::StopReason::max_tokens;  // the next one goes on from there
      break;
    case 3:
      reply.tool_calls = {{"c", "x", "{}"}};
      break;
    default:
      reply.stop_reason = agent::StopReason::end_turn;
  }
  return reply;
}

Said take(const LogFile& log) {
  const agent::State state = tests::folded(log.read());
  agent::Step step = agent::next(state);
  if (std::holds_alternative<agent::AskModel>(step)) {
    const std::int64_t turn = state.turns + 1;
    log.add(agent::TurnStarted{.turn = turn});
    log.add(agent::ModelResponded{.turn = turn, .reply = answer_to(turn)});
  } else if (auto* tools = std::get_if<agent::RunTools>(&step)) {
    const agent::ToolCall call = tools->calls.front();  // one a process
    log.add(agent::ToolStarted{.turn = state.turns, .call_id = call.id, .name = call.name});
    log.add(agent::ToolFinished{
        .turn = state.turns,
        .result = {.call_id = call.id, .name = call.name, .content = "result of " + call.id}});
  } else if (auto* say = std::get_if<agent::Say>(&step)) {
    log.add(std::move(say->message));
  } else if (auto* warn = std::get_if<agent::Warn>(&step)) {
    log.add(std::move(warn->warning));
  } else if (auto* end = std::get_if<agent::Finish>(&step)) {
    log.add(agent::RunFinished{.result = agent::make_result(state, end->ending)});
    return said_end;
  } else {
    return said_nonsense;
  }
  return said_more;
}

int in_a_process(const LogFile& log) {
  const pid_t child = ::fork();
  if (child == 0) {
    int said = said_nonsense;
    try {
      said = take(log);
    } catch (const std::exception&) {
    }
    ::_exit(said);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                    : said_nonsense;
}

}  // namespace

TEST_CASE("step: a run whose every step is another process's ends as it should", "[agent]") {
  const tests::TemporaryFolder folder;
  const LogFile log(folder / "log.jsonl");
  log.add(agent::RunStarted{.model = "test/model", .prompt = "hello"});
  std::vector<int> said;
  while ((said.empty() || said.back() == said_more) && said.size() < 50) {
    said.push_back(in_a_process(log));
  }
  REQUIRE(said.back() == said_end);

  const std::vector<agent::Event> events = log.read();
  std::vector<std::string> types;
  for (const agent::Event& event : events) {
    types.emplace_back(agent::type_name(event.body));
  }
  CHECK(types == std::vector<std::string>{"run.started",
                                          "turn.started",
                                          "model.responded",
                                          "tool.started",
                                          "tool.finished",
                                          "tool.started",
                                          "tool.finished",
                                          "turn.started",
                                          "model.responded",
                                          "user.said",
                                          "turn.started",
                                          "model.responded",
                                          "tool.started",
                                          "tool.finished",
                                          "turn.started",
                                          "model.responded",
                                          "run.finished"});
  const auto& result = std::get<agent::RunFinished>(events.back().body).result;
  CHECK(result.exit_code == 0);
  CHECK(result.text == "turn 4");
  CHECK(result.turns == 4);
  CHECK(result.tool_calls == 3);
  CHECK(result.usage.input == 40);
  const agent::State state = tests::folded(events);
  REQUIRE(state.conversation.messages.size() == 9);
  CHECK(tests::text_of(state.conversation.messages[2]) == "tool a x: result of a false");
  CHECK(tests::text_of(state.conversation.messages[7]) == "tool c x: result of c false");
}
