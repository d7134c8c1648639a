// The runner between a model and a person: what is asked, in which order, and what then runs.
#include "tests/unit/tools/file_support.h"
#include "tools/permissions/permissions.h"
#include "tools/runner/runner.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Answer;
using agent::Code;
using agent::ToolCall;
using agent::ToolResult;
using agent::ToolStatus;

class Person final : public agent::ToolWatcher {
 public:
  explicit Person(std::deque<Answer> answers) : answers_(std::move(answers)) {}

  Answer ask(const agent::ApprovalRequest& request) override {
    log.push_back("ask " + request.call.id + " " + request.rule);
    if (answers_.empty()) {
      return Answer::nobody;
    }
    const Answer answer = answers_.front();
    answers_.pop_front();
    return answer;
  }
  void parked(std::span<const agent::ApprovalRequest> requests,
              std::span<const agent::WaitingCall> others,
              const agent::Error& why) override {
    for (const agent::ApprovalRequest& request : requests) {
      log.push_back("parked " + request.call.id);
    }
    for (const agent::WaitingCall& call : others) {
      log.push_back(call.verdict + " " + call.call_id);
    }
    ending = why;
  }
  bool started(const ToolCall& call) override {
    log.push_back("start " + call.id);
    return true;
  }
  void output(const ToolCall&, std::string_view) override {}
  void finished(const ToolResult& result) override {
    log.push_back("end " + result.call_id);
    if (after_first) {
      std::exchange(after_first, nullptr)();
    }
  }

  std::vector<std::string> log;
  agent::Error ending;                // where calls were parked
  std::function<void()> after_first;  // what the first call does beside its work

 private:
  std::deque<Answer> answers_;
};

struct Case {
  explicit Case(bool fail_on_denied = false) {
    agent::PermissionSpec spec{.standard = agent::PermissionSpec::Standard::ask};
    spec.allow = {{"read_file", "test"}};
    spec.deny = {
        {"write_file(locked)", "test"}, {"write_file(secret/**)", "test"}, {"Read-File", "test"}};
    auto made = tools::Permissions::create(
        spec, {.cwd = folder.path(), .temporary = {}, .home = {}, .confined = {}, .guarded = {}});
    permissions = std::make_unique<tools::Permissions>(std::move(*made));
    auto created = tools::Runner::create(
        {agent::ToolSpec{.name = "read_file"}, agent::ToolSpec{.name = "write_file"}},
        {.cwd = folder.path(),
         .temporary = folder.path() / "tmp",
         .environment = {},
         .scrub = {},
         .clock = &clock,
         .permissions = permissions.get(),
         .fail_on_denied = fail_on_denied});
    runner = std::move(*created);
    folder.write("notes", "text");
  }

  std::vector<ToolResult> run(const std::vector<ToolCall>& calls, Person& person) const {
    return runner->run(calls, person, {}, {});
  }

  static ToolCall write(const char* id, const std::string& path) {
    return {
        .id = id, .name = "write_file", .arguments = R"({"path":")" + path + R"(","content":"x"})"};
  }
  static ToolCall read(const char* id) {
    return {.id = id, .name = "read_file", .arguments = R"({"path":"notes"})"};
  }

  tests::FileFolder folder;
  agent::SystemClock clock;
  std::unique_ptr<tools::Permissions> permissions;
  std::unique_ptr<tools::Runner> runner;
};

using Log = std::vector<std::string>;

}  // namespace

TEST_CASE("approval: everything is asked before anything runs", "[tools]") {
  const Case world;
  Person person({Answer::once, Answer::no});
  const auto results =
      world.run({Case::read("1"), Case::write("2", "a"), Case::write("3", "b")}, person);

  CHECK(person.log == Log{"ask 2 write_file(a)",
                          "ask 3 write_file(b)",
                          "start 1",
                          "end 1",
                          "start 2",
                          "end 2",
                          "end 3"});
  CHECK(results[1].status == ToolStatus::ok);
  CHECK(results[2].status == ToolStatus::denied);
  CHECK(results[2].code == Code::tool_policy_blocked);
  CHECK_FALSE(results[2].fatal);
  CHECK(world.folder.read("a") == "x");
  CHECK_FALSE(std::filesystem::exists(world.folder.at("b")));
}

TEST_CASE("approval: a yes for the run covers the same call again, and no other", "[tools]") {
  const Case world;
  Person person({Answer::run, Answer::no});
  world.run({Case::write("1", "a"), Case::write("2", "./a"), Case::write("3", "b")}, person);
  world.run({Case::write("4", "a")}, person);

  CHECK(std::ranges::count_if(person.log,
                              [](const auto& line) { return line.starts_with("ask"); }) == 2);
  CHECK(std::ranges::count(person.log, "start 2") == 1);
  CHECK(std::ranges::count(person.log, "start 4") == 1);
}

TEST_CASE("approval: where nobody is there, nothing of the reply runs, and all of it is judged",
          "[tools]") {
  const Case world;
  Person person({});
  const auto results = world.run(
      {Case::read("1"), Case::write("2", "a b"), Case::write("3", "locked"), Case::write("4", "c")},
      person);

  CHECK(person.log == Log{"ask 2 write_file(a b)",
                          "ask 4 write_file(c)",
                          "parked 2",
                          "parked 4",
                          "runs 1",
                          "rejected 3"});
  CHECK(person.ending.code == Code::tool_confirmation_required);
  CHECK_THAT(person.ending.message, Catch::EndsWith("(and 1 more call)"));
  CHECK(
      person.ending.help ==
      R"_(--allow 'write_file(a b)', or in the agent file: permissions: {allow: ["write_file(a b)"]})_");
  CHECK(std::ranges::all_of(
      results, [](const auto& result) { return result.status == ToolStatus::not_run; }));
}

TEST_CASE("approval: where only some are answered, all of them wait", "[tools]") {
  const Case world;
  Person person({Answer::once});
  world.run({Case::write("1", "a"), Case::write("2", "b")}, person);
  CHECK(person.log == Log{"ask 1 write_file(a)", "ask 2 write_file(b)", "parked 2", "runs 1"});
}

TEST_CASE("approval: a run that is stopped by a person does not wait", "[tools]") {
  const Case world;
  Person person({Answer::nobody, Answer::stop});
  const auto results = world.run({Case::write("1", "a"), Case::write("2", "b")}, person);
  CHECK(person.log == Log{"ask 1 write_file(a)", "ask 2 write_file(b)", "end 1", "end 2"});
  CHECK(results[1].code == Code::run_declined);
}

TEST_CASE("approval: stop means stop", "[tools]") {
  const Case world;
  Person person({Answer::stop});
  const auto results = world.run({Case::write("1", "a"), Case::write("2", "b")}, person);

  CHECK(person.log == Log{"ask 1 write_file(a)", "end 1", "end 2"});
  CHECK(results[0].code == Code::run_declined);
  CHECK(results[0].fatal);
  CHECK(results[1].code == Code::tool_cancelled);
}

TEST_CASE("approval: what is denied is never asked", "[tools]") {
  const bool fails = GENERATE(false, true);
  const Case world(fails);
  Person person({Answer::once});
  const auto results = world.run({Case::write("1", "locked")}, person);

  CHECK(person.log == Log{"end 1"});
  CHECK(results[0].status == ToolStatus::denied);
  CHECK(results[0].fatal == fails);
}

TEST_CASE("approval: a name that a rule is about is not repaired", "[tools]") {
  const Case world;
  Person person({});
  ToolCall denied = Case::read("1");
  denied.name = "Read-File";
  ToolCall odd = Case::read("2");
  odd.name = "READ-FILE";
  const auto results = world.run({denied, odd}, person);
  CHECK(results[0].code == Code::tool_not_found);
  CHECK(results[0].name == "Read-File");
  CHECK(results[1].name == "read_file");
  CHECK(results[1].code != Code::tool_not_found);
}

TEST_CASE("approval: what a call has changed counts for the next one", "[tools]") {
  const Case world;
  world.folder.write("secret/key", "mine");
  const auto link_to = [&](const char* target) {
    return [&world, target] { std::filesystem::create_symlink(target, world.folder.at("x")); };
  };

  SECTION("a path that comes to be a denied one is denied") {
    Person person({Answer::once, Answer::once});
    person.after_first = link_to("secret/key");
    const auto results = world.run({Case::write("1", "a"), Case::write("2", "x")}, person);
    CHECK(person.log ==
          Log{"ask 1 write_file(a)", "ask 2 write_file(x)", "start 1", "end 1", "end 2"});
    CHECK(results[1].status == ToolStatus::denied);
    CHECK(world.folder.read("secret/key") == "mine");
  }
  SECTION("a yes is to what was asked for, not to what stands there now") {
    Person person({Answer::once, Answer::run, Answer::once});
    person.after_first = link_to("other");
    const auto results = world.run({Case::write("1", "a"), Case::write("2", "x")}, person);
    CHECK(person.log == Log{"ask 1 write_file(a)",
                            "ask 2 write_file(x)",
                            "start 1",
                            "end 1",
                            "ask 2 write_file(other)",
                            "start 2",
                            "end 2"});
    CHECK(results[1].status == ToolStatus::ok);
  }
  SECTION("where nobody answers then, it ends there") {
    Person person({Answer::once, Answer::once});
    person.after_first = link_to("other");
    const auto results =
        world.run({Case::write("1", "a"), Case::write("2", "x"), Case::read("3")}, person);
    CHECK(results[0].status == ToolStatus::ok);
    CHECK(person.log.at(person.log.size() - 2) == "parked 2");
    CHECK(person.log.back() == "runs 3");
    CHECK(person.ending.code == Code::tool_confirmation_required);
    CHECK_FALSE(std::filesystem::exists(world.folder.at("other")));
  }
  SECTION("a name is not repaired into it either") {
    Person person({Answer::once});
    person.after_first = link_to("secret/key");
    world.permissions->grant("write_file(x)").value();
    ToolCall odd = Case::write("2", "x");
    odd.name = "Write-File";
    const auto results = world.run({Case::write("1", "a"), odd}, person);
    CHECK(results[1].code == Code::tool_not_found);
    CHECK(results[1].name == "Write-File");
    CHECK(world.folder.read("secret/key") == "mine");
  }
}
