// Runs that wait for people, over several processes: each is a fresh one that knows the log alone.
#include "agent/approval_desk.h"

#include "agent/sha256.h"
#include "tests/support/fakes.h"
#include "tests/support/folded.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Answer;
using agent::Code;
using tests::ScriptedProvider;

// Asks for every call that it is told to, before any runs, and parks as the real one does.
class AskingToolbox final : public agent::Toolbox {
 public:
  std::span<const agent::ToolInfo> tools() const override { return infos; }
  std::vector<agent::ToolResult> run(std::span<const agent::ToolCall> calls,
                                     agent::ToolWatcher& watcher,
                                     std::stop_token,
                                     std::stop_token) override {
    std::vector<agent::ApprovalRequest> unanswered;
    std::vector<agent::WaitingCall> others;
    std::map<std::string, std::string> denied;
    for (const agent::ToolCall& call : calls) {
      agent::ApprovalRequest request{.call = call, .reason = reason, .rule = call.name};
      if (auto refusal = watcher.judge(call).refusal) {
        denied[call.id] = *refusal;
      } else if (call.name == "deploy" && watcher.ask(request) == Answer::nobody) {
        unanswered.push_back(request);
        continue;
      }
      others.push_back({.call_id = call.id, .name = call.name, .verdict = "runs", .reason = {}});
    }
    if (!unanswered.empty()) {
      watcher.parked(unanswered,
                     others,
                     {.code = Code::tool_confirmation_required, .message = "no", .help = {}});
      return {};
    }
    for (const agent::ToolCall& call : calls) {
      agent::ToolResult result{.call_id = call.id, .name = call.name, .content = "done"};
      if (const auto why = denied.find(call.id); why != denied.end()) {
        result.content = why->second;
        result.status = agent::ToolStatus::denied;
      } else if (!watcher.started(call)) {
        break;
      } else {
        ran.push_back(call.id);
      }
      watcher.finished(result);
    }
    return {};
  }

  std::vector<agent::ToolInfo> infos;
  std::string reason = "`ask: deploy`";
  std::vector<std::string> ran;
};

class Person final : public agent::Approver {
 public:
  explicit Person(Answer answer, agent::Clock* clock = nullptr) : answer_(answer), clock_(clock) {}
  Answer ask(const agent::ApprovalRequest&, std::stop_token) override {
    ++asked;
    if (clock_ != nullptr) {
      clock_->sleep_for(std::chrono::hours(1), {});  // thinks
    }
    return answer_;
  }
  std::string_view name() const override { return "person"; }

  int asked = 0;

 private:
  Answer answer_;
  agent::Clock* clock_;
};

agent::Result<agent::Reply> two_calls(const agent::ModelRequest&, const agent::Emit&) {
  return agent::Reply{.text = {},
                      .tool_calls = {{"look", "read", "{}"},
                                     {"c1", "deploy", R"({"to":"a"})"},
                                     {"c2", "deploy", R"({"to":"b"})"}},
                      .stop_reason = agent::StopReason::tool_use};
}
agent::Result<agent::Reply> an_answer(const agent::ModelRequest&, const agent::Emit&) {
  return agent::Reply{.text = "all done"};
}

// A run with its log, carried on by one process after the other.
struct WaitingRun {
  agent::RunResult go(std::map<std::string, agent::GivenAnswer> answers,
                      agent::Approver* approver = nullptr) {
    tests::MemoryJournal journal;
    journal.capacity = capacity;
    std::deque<ScriptedProvider::Answer> script;
    const auto kept = tests::kept(events);
    agent::Past past{.state = tests::folded(kept), .seq = static_cast<std::int64_t>(events.size())};
    if (past.state.turns == 0) {
      script.emplace_back(two_calls);
    }
    script.emplace_back(an_answer);
    ScriptedProvider provider(script);
    agent::Cancellation cancellation;
    agent::RunRequest request{.run_id = "r",
                              .started = {.cwd = cwd,
                                          .prompt = past.seq == 0 ? "go" : "",
                                          .sandbox = {.mode = sandbox},
                                          .made_from = {.agent_text = agent_text}},
                              .resume = {.words = "errand resume r"},
                              .answers = std::move(answers)};
    request.started.plan.approval_deadline = deadline;
    request.started.plan.limits.max_tool_calls = max_tool_calls;
    if (past.seq > 0) {
      request.started.resumes = past.seq;
    }
    request.past = std::move(past);
    auto result = agent::run(
        request,
        {.provider = provider,
         .toolbox = toolbox,
         .sinks = {},
         .journal = &journal,
         .clock = clock,
         .approver = approver,
         .seal = [this](std::string_view text) { return agent::hmac_sha256_hex(key, text); }},
        cancellation);
    requests += provider.conversations.size();
    events.insert(events.end(), journal.events.begin(), journal.events.end());
    return result;
  }

  std::vector<std::string> types_from(std::size_t begin) const {
    std::vector<std::string> types;
    for (std::size_t at = begin; at < events.size(); ++at) {
      types.emplace_back(agent::type_name(events[at].body));
    }
    return types;
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> messages;
    for (const agent::Event& event : events) {
      if (const auto* warning = std::get_if<agent::Warning>(&event.body)) {
        messages.push_back(warning->message);
      }
    }
    return messages;
  }
  std::vector<std::string> pending() const {
    std::vector<std::string> ids;
    const agent::State state = tests::folded(events);
    for (const agent::ParkedCall* call : state.approvals.pending()) {
      ids.push_back(call->request.call.id);
    }
    return ids;
  }

  AskingToolbox toolbox;
  tests::FakeClock clock;
  std::vector<agent::Event> events;
  std::string cwd = "/work";
  std::string agent_text = "name: a";
  std::string sandbox = "workspace_write";
  std::string key = "key";
  std::optional<agent::Milliseconds> deadline;
  std::optional<std::int64_t> max_tool_calls;
  std::size_t capacity = static_cast<std::size_t>(-1);
  std::size_t requests = 0;
};

const agent::GivenAnswer k_yes{.answer = Answer::once, .reason = {}};
const agent::GivenAnswer k_no{.answer = Answer::no, .reason = "not today"};
using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("approvals: a run waits for answers, and the model is asked no sooner", "[agent]") {
  WaitingRun run;
  CHECK(run.go({}).exit_code == 92);
  CHECK(run.pending() == Ids{"c1", "c2"});
  const std::size_t before = run.events.size();
  const auto again = run.go({});
  CHECK(again.exit_code == 92);
  CHECK(again.resume_cmd == "errand resume r --approve c1 --approve c2");
  CHECK(
      run.types_from(before) ==
      Ids{"run.started", "approval.requested", "approval.requested", "run.parked", "run.finished"});
  CHECK(run.requests == 1);
  CHECK(run.toolbox.ran.empty());
  const auto result = run.go({{"c1", k_yes}, {"c2", k_no}});
  CHECK(result.exit_code == 0);
  CHECK(result.text == "all done");
  CHECK(run.requests == 2);
  CHECK(run.toolbox.ran == Ids{"look", "c1"});
  CHECK(run.pending().empty());
}

TEST_CASE("approvals: answers that come one by one are kept", "[agent]") {
  WaitingRun run;
  run.go({});
  CHECK(run.go({{"c2", k_yes}}).resume_cmd == "errand resume r --approve c1");
  CHECK(run.toolbox.ran.empty());
  SECTION("until the others are there") {
    CHECK(run.go({{"c1", k_yes}}).exit_code == 0);
    CHECK(run.toolbox.ran == Ids{"look", "c1", "c2"});
  }
  SECTION("a yes is taken back") {
    CHECK(run.go({{"c1", k_yes}, {"c2", k_no}}).exit_code == 0);
    CHECK(run.toolbox.ran == Ids{"look", "c1"});
  }
  SECTION("not for another folder") {
    run.cwd = "/elsewhere";
    CHECK(run.go({{"c1", k_yes}}).exit_code == 92);
    CHECK(run.pending() == Ids{"c1", "c2"});
  }
  SECTION("not by another agent file") {
    run.agent_text = "name: b";
    CHECK(run.go({{"c1", k_yes}}).exit_code == 92);
    CHECK(run.pending() == Ids{"c1", "c2"});
    CHECK(
        run.warnings() ==
        Ids{"the approval of `c1` does not count: the agent file has changed since it was shown",
            "the earlier approval of `c2` does not count: the agent file has changed since it was "
            "given"});
  }
  SECTION("not in another sandbox") {
    run.sandbox = "off";
    CHECK(run.go({{"c1", k_yes}}).exit_code == 92);
    CHECK(run.pending() == Ids{"c1", "c2"});
    CHECK(
        run.warnings().back() ==
        "the earlier approval of `c2` does not count: the sandbox has changed since it was given");
  }
  SECTION("whatever words the reason has") {
    run.toolbox.reason = "`ask: deploy` (./agent.yaml)";
    CHECK(run.go({{"c1", k_yes}}).exit_code == 0);
    CHECK(run.warnings().empty());
  }
  SECTION("not where somebody else's errand has written them") {
    run.key = "another key";
    CHECK(run.go({{"c1", k_yes}}).exit_code == 92);
    CHECK(run.pending() == Ids{"c2"});
  }
}

TEST_CASE("approvals: a person who is there is asked for what nobody has answered", "[agent]") {
  WaitingRun run;
  run.go({});
  Person person(Answer::once);
  CHECK(run.go({{"c1", k_yes}}, &person).exit_code == 0);
  CHECK(person.asked == 1);
  CHECK(run.toolbox.ran == Ids{"look", "c1", "c2"});
}

TEST_CASE("approvals: while a person thinks, the run is not at work", "[agent]") {
  WaitingRun run;
  Person person(Answer::once, &run.clock);
  CHECK(run.go({}, &person).duration_ms == 0);
  CHECK(person.asked == 2);
}

TEST_CASE("approvals: answers that a run ends before are not lost without a word", "[agent]") {
  WaitingRun run;
  run.go({});
  run.max_tool_calls = 0;
  CHECK(run.go({{"c1", k_yes}, {"c2", k_no}}).exit_code == 83);
  CHECK(run.warnings() == Ids{"the answer to `c1` was not used, for the run ended before it, and "
                              "is not kept"});  // the no is
}

TEST_CASE("approvals: a call that waits too long ends the run, and is closed", "[agent]") {
  WaitingRun run;
  run.deadline = agent::Milliseconds{1'000};
  run.go({});
  run.clock.sleep_for(agent::Milliseconds{999}, {});
  CHECK(run.go({}).exit_code == 92);  // which is no new beginning
  run.clock.sleep_for(agent::Milliseconds{1}, {});
  const auto late = run.go({{"c1", k_yes}, {"c2", k_yes}});
  CHECK(late.exit_code == 97);
  CHECK(late.stop->config_path == "approval.deadline");
  CHECK(late.resume_cmd == "errand resume r");
  CHECK(run.pending().empty());
  CHECK(run.go({}).exit_code == 0);
  CHECK(run.toolbox.ran.empty());
}

TEST_CASE("approvals: a deadline that no clock reaches is none that is over", "[agent]") {
  WaitingRun run;
  run.deadline = agent::Milliseconds{100LL * 366 * 24 * 3600 * 1000};
  run.go({});
  for (agent::Event& event : run.events) {
    if (auto* parked = std::get_if<agent::RunParked>(&event.body)) {
      parked->calls.front().since = "2199-01-01T00:00:00.000Z";
      CHECK_FALSE(parked->calls.back().deadline.empty());
    }
  }
  CHECK(run.go({}).exit_code == 92);
}

TEST_CASE("approvals: killed at any point, nothing is asked or done twice", "[agent]") {
  WaitingRun whole;
  whole.go({});
  whole.go({{"c1", k_yes}});
  whole.go({{"c2", k_yes}});
  REQUIRE(whole.toolbox.ran == Ids{"look", "c1", "c2"});
  for (std::size_t length = 1; length < whole.events.size(); ++length) {
    INFO("after " << length << " events, the last one "
                  << agent::type_name(whole.events[length - 1].body));
    WaitingRun run;
    run.events.assign(whole.events.begin(),
                      whole.events.begin() + static_cast<std::ptrdiff_t>(length));
    const agent::State state = tests::folded(run.events);
    const std::size_t requests = state.turns == 0 ? 2 : state.turns == 1 ? 1 : 0;
    if (state.answer != nullptr && state.turns == 2) {
      continue;  // it is over
    }
    // What needs an answer has one before it runs; what has begun does not begin again.
    Ids begun;
    for (const agent::Event& event : run.events) {
      if (const auto* started = std::get_if<agent::ToolStarted>(&event.body)) {
        begun.push_back(started->call_id);
      }
    }
    auto result = run.go({{"c1", k_yes}, {"c2", k_yes}});
    if (result.exit_code == 92) {  // it had not been parked before
      result = run.go({{"c1", k_yes}, {"c2", k_yes}});
    }
    CHECK(result.exit_code == 0);
    CHECK(run.requests == requests);
    Ids all = begun;
    all.insert(all.end(), run.toolbox.ran.begin(), run.toolbox.ran.end());
    std::ranges::sort(all);
    CHECK(all == Ids{"c1", "c2", "look"});
    const agent::State end = tests::folded(run.events);
    CHECK(end.conversation.messages.size() == 6);
    CHECK(tests::text_of(tests::folded(tests::kept(run.events))) == tests::text_of(end));
  }
}

TEST_CASE("approvals: a journal that takes no more parks nothing", "[agent]") {
  WaitingRun run;
  run.capacity = 5;
  const auto result = run.go({});
  CHECK(result.exit_code == 74);
  CHECK(result.resume_cmd.empty());
}

TEST_CASE("approvals: what is sealed is told apart", "[agent]") {
  const agent::ApprovalRequest request{
      .call = {"c1", "deploy", R"({"a":1})"}, .reason = "why", .rule = "deploy"};
  const agent::ApprovalSetting setting{.cwd = "/work", .agent = "a", .sandbox = "s"};
  const auto within = [&](auto change) {
    agent::ApprovalSetting other = setting;
    change(other);
    return agent::sealed_yes("r", other, request);
  };
  const auto with = [&](auto change) {
    agent::ApprovalRequest other = request;
    change(other);
    return agent::sealed_yes("r", setting, other);
  };
  const std::string sealed = agent::sealed_yes("r", setting, request);
  CHECK(with([](auto& other) { other.call.arguments = R"( {"a": 1} )"; }) == sealed);
  CHECK(with([](auto& other) { other.call.arguments = R"({"a":2})"; }) != sealed);
  CHECK(with([](auto& other) { other.call.id = "c2"; }) != sealed);
  CHECK(with([](auto& other) { other.call.name = "x"; }) != sealed);
  CHECK(with([](auto& other) { other.call.arguments_sha256 = "x"; }) != sealed);
  CHECK(with([](auto& other) { other.rule = "deploy*"; }) != sealed);
  CHECK(with([](auto& other) { other.by_hook = true; }) != sealed);
  CHECK(with([](auto& other) { other.tool_sha256 = "t"; }) != sealed);
  CHECK(with([](auto& other) { other.changes = "-a\n+b\n"; }) != sealed);
  CHECK(with([](auto& other) { other.changes = "@@ -1 +1 @@\n beside\n"; }) == sealed);
  CHECK(with([](auto& other) { other.reason = "because"; }) == sealed);
  CHECK(agent::sealed_yes("q", setting, request) != sealed);
  CHECK(within([](auto& other) { other.cwd = "/wor"; }) != sealed);
  CHECK(within([](auto& other) { other.agent = "b"; }) != sealed);
  CHECK(within([](auto& other) { other.sandbox = "t"; }) != sealed);
  CHECK(agent::sealed_no("r", 1, "c1") != agent::sealed_no("r", 2, "c1"));
  const auto grant = [&](std::string cwd, std::string_view rule) {
    return agent::sealed_grant("r", {.cwd = std::move(cwd), .agent = {}, .sandbox = {}}, rule, "");
  };
  CHECK(grant("/a", "b") != grant("/ab", ""));
  CHECK(agent::sealed_grant("r", setting, "b", "") != grant("/work", "b"));
  CHECK(agent::sealed_grant("r", setting, "b", "") != agent::sealed_grant("r", setting, "b", "t"));
}

TEST_CASE("approvals: what a server says of a tool is its results, too", "[agent]") {
  const agent::ToolInfo tool{
      .name = "mcp__s__f", .description = "Does f.", .parameters = "{}", .name_elsewhere = "f"};
  agent::ToolInfo other = tool;
  other.results = R"({"type":"object"})";
  CHECK(agent::definition_sha256(other) != agent::definition_sha256(tool));
  other.results.clear();
  CHECK(agent::definition_sha256(other) == agent::definition_sha256(tool));
}
