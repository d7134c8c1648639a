#include "agent/compaction.h"

#include "agent/context_view.h"
#include "agent/step.h"
#include "tests/support/folded.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using agent::ContextCompacted;
using agent::State;

constexpr std::int64_t k_window = 10'000;

agent::RunPlan plan(agent::ContextPlan context = {}) {
  context.windows = {{"a/1", k_window}};
  context.reader = "read_result";
  context.kept_tools = {"todo"};
  context.writing_tools = {"write"};
  return {.context = std::move(context)};
}

// A run of turns, each a call with a result of so many bytes; a token for four bytes.
class LongRun {
 public:
  explicit LongRun(agent::ContextPlan context = {}) {
    advance(agent::RunStarted{.model = "a/1",
                              .cwd = "/w",
                              .instructions = "be brief",
                              .prompt = "hi",
                              .plan = plan(std::move(context))});
  }

  void advance(agent::EventBody body) {
    agent::advance(state, body);
    events_.push_back(tests::numbered(std::move(body)));
  }

  // What a process makes of it that reads it from the journal.
  State read_back() const { return tests::folded(tests::kept(events_)); }

  void turn(std::size_t bytes, const std::string& tool = "read", bool is_error = false) {
    const std::string id = fmt::format("c{}", ++turns_);
    std::int64_t sent = state.fixed_bytes;
    for (const agent::Message& message : agent::seen_by_model(state).messages) {
      sent += agent::weight(message);
    }
    agent::Reply reply{.text = "I look.",
                       .tool_calls = {{.id = id, .name = tool, .arguments = "{}"}},
                       .stop_reason = agent::StopReason::tool_use,
                       .usage = {.input = sent / 4, .output = 4}};
    advance(agent::ModelResponded{.turn = turns_, .reply = std::move(reply)});
    agent::ToolResult result{.call_id = id, .name = tool, .content = std::string(bytes, 'x')};
    result.status = is_error ? agent::ToolStatus::failed : agent::ToolStatus::ok;
    result.seen = {{.path = "/w/" + tool}};
    advance(agent::ToolFinished{.turn = turns_, .result = std::move(result)});
  }

  // As the loop does it, with a summary where one is asked for.
  void compact(ContextCompacted pass) {
    if (pass.action == "summarized") {
      pass.summary = "## Goal\nGo on.";
    }
    pass.after = agent::estimated_input(state, agent::view_after(state, pass));
    advance(std::move(pass));
  }

  std::string next() const {
    const auto pass = agent::next_compaction(state);
    return !pass ? "nothing"
           : !pass->results.empty()
               ? fmt::format("{} {}-{}", pass->action, pass->results.front(), pass->results.back())
               : fmt::format("{} {}", pass->action, pass->messages);
  }

  State state;

 private:
  std::int64_t turns_ = 0;
  std::vector<agent::Event> events_;
};

std::vector<std::string> texts(const std::vector<agent::Message>& messages) {
  std::vector<std::string> lines;
  std::ranges::transform(messages, std::back_inserter(lines), [](const auto& message) {
    return tests::text_of(message);
  });
  return lines;
}

// Whether each call has its results right behind it, and each result its call.
bool is_in_pairs(const std::vector<agent::Message>& messages) {
  std::vector<std::string> open;
  for (const agent::Message& message : messages) {
    if (const auto* result = std::get_if<agent::ToolMessage>(&message)) {
      if (open.empty() || open.front() != result->call_id) {
        return false;
      }
      open.erase(open.begin());
      continue;
    }
    if (!open.empty()) {
      return false;
    }
    if (const auto* said = std::get_if<agent::AssistantMessage>(&message)) {
      for (const agent::ToolCall& call : said->reply->tool_calls) {
        open.push_back(call.id);
      }
    }
  }
  return open.empty();
}

std::vector<std::string> users_words(const std::vector<agent::Message>& messages) {
  std::vector<std::string> words;
  for (const agent::Message& message : messages) {
    if (const auto* said = std::get_if<agent::UserMessage>(&message);
        said != nullptr && !said->is_programs) {
      words.push_back(said->text);
    }
  }
  return words;
}

TEST_CASE("compaction: nothing is done below the first mark, or without a window", "[agent]") {
  LongRun run;
  for (int at = 0; at < 7; ++at) {
    run.turn(3'000);
  }
  CHECK(run.next() == "nothing");  // 5,300 of 10,000
  run.turn(3'000);
  CHECK(run.next() == "cleared 1-3");
  run.state.plan.context.windows.clear();
  CHECK(run.next() == "nothing");
}

TEST_CASE("compaction: results go only where that frees a fifth", "[agent]") {
  LongRun run;
  for (int at = 0; at < 5; ++at) {
    run.turn(5'000);
  }
  run.turn(100);
  CHECK(agent::estimated_input(run.state) > 6'000);
  CHECK(run.next() == "nothing");  // but the newest five there is one
  run.turn(100);
  run.turn(100);
  CHECK(run.next() == "cleared 1-3");
  run.compact(*agent::next_compaction(run.state));
  CHECK(agent::estimated_input(run.state) < 3'000);
  CHECK(run.next() == "nothing");
}

TEST_CASE("compaction: what a kept tool said last stays", "[agent]") {
  LongRun run({.keep_results = 0});
  run.turn(1'000, "todo");
  run.turn(12'000, "todo");
  run.turn(12'000);
  run.turn(1'000, "todo", true);
  const auto pass = agent::next_compaction(run.state);
  REQUIRE(pass);
  CHECK(pass->results == std::vector<std::int64_t>{1, 3, 4});
}

TEST_CASE("compaction: older turns are summed up where that is not enough", "[agent]") {
  LongRun run({.clear_at = 0, .keep_recent = 1'000});
  for (int at = 0; at < 11; ++at) {
    run.turn(3'000);
  }
  CHECK(run.next() == "nothing");  // 8,300
  run.turn(3'000);
  CHECK(run.next() == "summarized 23");  // all but the newest turn
  run.compact(*agent::next_compaction(run.state));
  const auto& seen = agent::seen_by_model(run.state).messages;
  REQUIRE(seen.size() == 4);
  CHECK(tests::text_of(seen[0]).starts_with("user: hi"));
  CHECK(tests::text_of(seen[1]).contains("## Goal"));
  CHECK(tests::text_of(seen[1]).contains("Files read so far:\n- read"));
  CHECK(run.next() == "nothing");
}

TEST_CASE(
    "compaction: after two failures whole turns are left out, and the next time one more summary "
    "is tried",
    "[agent]") {
  LongRun run({.clear_at = 0, .keep_recent = 1'000});
  while (run.next() == "nothing") {
    run.turn(200);
  }
  for (int failure = 0; failure < 2; ++failure) {
    auto pass = *agent::next_compaction(run.state);
    CHECK(pass.action == "summarized");
    pass.action = "failed";
    pass.messages = 0;
    pass.after = pass.before;
    run.advance(std::move(pass));
  }
  // No single result frees much; all of them do.
  const auto harder = *agent::next_compaction(run.state);
  CHECK(harder.action == "cleared");
  run.state.plan.context.reader =
      "a_tool_with_a_name_that_is_so_long_that_no_result_is_worth_clearing_any_more"
      "_whatever_it_is_that_the_model_may_have_read_from_the_files_of_this_folder_so_far";
  const auto pass = *agent::next_compaction(run.state);
  CHECK(pass.action == "left_out");
  CHECK(pass.after <= k_window * 62 / 100);
  run.compact(pass);
  CHECK(run.state.failed_summaries == 1);
  CHECK(is_in_pairs(agent::seen_by_model(run.state).messages));
}

TEST_CASE("compaction: a summary that frees too little has failed", "[agent]") {
  LongRun run({.clear_at = 0, .keep_recent = 1'000});
  for (int at = 0; at < 12; ++at) {
    run.turn(3'000);
  }
  auto pass = *agent::next_compaction(run.state);
  pass.summary = std::string(32'000, '.');
  pass.after = agent::estimated_input(run.state, agent::view_after(run.state, pass));
  run.advance(pass);
  CHECK(run.state.failed_summaries == 1);
}

TEST_CASE("compaction: the newest turn stays, and what is larger than the window ends the run",
          "[agent]") {
  LongRun run;
  run.turn(1'000);
  run.turn(60'000);
  CHECK(run.next() == "cleared 1-2");  // it can be read again, page by page
  run.compact(*agent::next_compaction(run.state));
  CHECK(run.next() == "nothing");
  CHECK(std::holds_alternative<agent::AskModel>(agent::next(run.state)));

  LongRun other;
  other.advance(agent::RunStarted{.model = "a/1",
                                  .instructions = std::string(60'000, 'i'),
                                  .prompt = "more",
                                  .resumes = 1,
                                  .plan = plan()});
  other.turn(10);
  CHECK(other.next() == "nothing");
  const auto step = agent::next(other.state);
  REQUIRE(std::holds_alternative<agent::Finish>(step));
  CHECK(agent::exit_code(std::get<agent::Finish>(step).ending) == 84);
}

TEST_CASE("compaction: a request that was refused says how large the window is", "[agent]") {
  LongRun run({.keep_results = 1});
  run.turn(4'000);
  run.turn(4'000);
  run.turn(4'000);
  CHECK(run.next() == "nothing");
  auto pass = agent::compaction_after_overflow(run.state);
  REQUIRE(pass);
  CHECK(pass->reason == "overflow");
  CHECK(pass->window == agent::estimated_input(run.state));
  CHECK(pass->results == std::vector<std::int64_t>{1, 2});
  run.compact(*pass);
  CHECK(agent::window_of(run.state) == pass->window);
  CHECK(run.state.overflows == 1);
  run.turn(10);
  CHECK(run.state.overflows == 0);
}

TEST_CASE("compaction: the answer may fill what is left of the window", "[agent]") {
  LongRun run({.clear_at = 0, .summarize_at = 0});
  const auto room = [&] {
    return std::get<agent::AskModel>(agent::next(run.state)).max_output_tokens;
  };
  run.turn(16'000);
  CHECK(room() == std::nullopt);
  run.turn(8'000);
  REQUIRE(room());
  CHECK(*room() == k_window - agent::estimated_input(run.state));
}

TEST_CASE("context view: messages that come later are seen as if the view were made anew",
          "[agent]") {
  LongRun run({.keep_results = 2, .keep_recent = 500});
  int passes = 0;
  for (int at = 0; at < 60; ++at) {
    run.turn(static_cast<std::size_t>(500 + at * 37 % 2'000), at % 7 == 0 ? "write" : "read");
    if (at % 20 == 19) {
      run.advance(agent::RunStarted{.model = "a/1",
                                    .prompt = fmt::format("more {}", at),
                                    .resumes = at,
                                    .plan = run.state.plan});
    }
    while (auto pass = agent::next_compaction(run.state)) {
      pass->pinned = {{.path = "plan.md", .content = fmt::format("step {}", at)}};
      run.compact(*std::move(pass));
      ++passes;
    }
    const auto& seen = agent::seen_by_model(run.state).messages;
    CHECK(texts(seen) == texts(agent::seen(run.state.conversation.messages, run.state.view)));
    CHECK(is_in_pairs(seen));
    CHECK(users_words(seen) == users_words(run.state.conversation.messages));
    CHECK(agent::estimated_input(run.state) < k_window);
  }
  CHECK(passes > 3);
  const auto is_seen = [&](std::int64_t number) {
    return run.state.results_at[static_cast<std::size_t>(number) - 1] >= run.state.view.covered();
  };
  CHECK(std::ranges::all_of(run.state.view.cleared, is_seen));
  CHECK(tests::text_of(run.state) == tests::text_of(run.read_back()));
  CHECK(run.state.conversation.messages.size() == 124);
}

TEST_CASE("context view: no call is split from its results, wherever a view ends", "[agent]") {
  LongRun run;
  for (int at = 0; at < 4; ++at) {
    run.turn(10);
  }
  const auto& whole = run.state.conversation.messages;
  for (std::size_t at = 0; at <= whole.size() + 1; ++at) {
    INFO(at);
    CHECK(is_in_pairs(agent::seen(whole, {.summarized = at, .summary = "s"})));
    CHECK(is_in_pairs(agent::seen(whole, {.left_out = at})));
    CHECK(is_in_pairs(agent::seen(whole, {.cleared = {1}, .pinned = {{}}, .pinned_at = at})));
  }
}

TEST_CASE("context view: an event that says nonsense does no harm", "[agent]") {
  const auto number = GENERATE(as<std::int64_t>(), INT64_MIN, -1, 0, 3, 1'000, INT64_MAX);
  const std::string action =
      GENERATE("cleared", "summarized", "left_out", "failed", "", "something");
  LongRun run;
  run.turn(10);
  run.turn(10);
  run.advance(ContextCompacted{.turn = number,
                               .action = action,
                               .reason = "overflow",
                               .window = number,
                               .before = number,
                               .after = number,
                               .results = {number, number},
                               .messages = number});
  run.turn(10);
  CHECK(is_in_pairs(agent::seen_by_model(run.state).messages));
  CHECK(agent::estimated_input(run.state) >= 0);
  agent::next(run.state);
}

}  // namespace
