#include "tools/runner/runner.h"

#include "agent/text.h"
#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>

using agent::Code;
using agent::ToolCall;
using agent::ToolResult;
using agent::ToolStatus;
using tools::CallContext;
using tools::Output;

namespace {

// A tool that does what the test says.
class FakeTool final : public tools::Tool {
 public:
  using Function = std::function<Output(const agent::Json&, const CallContext&)>;
  struct Options {
    bool parallel = false;
    bool idempotent = false;
    std::string parameters = R"({"type": "object"})";
  };

  FakeTool(std::string name, Function function, Options options)
      : info_{.name = std::move(name), .description = {}, .parameters = options.parameters},
        function_(std::move(function)),
        options_(std::move(options)) {}

  const agent::ToolInfo& info() const override { return info_; }
  bool parallel() const override { return options_.parallel; }
  bool idempotent() const override { return options_.idempotent; }
  Output call(const agent::Json& arguments, const CallContext& context) override {
    return function_(arguments, context);
  }

 private:
  agent::ToolInfo info_;
  Function function_;
  Options options_;
};

tools::ConfiguredTool fake(std::string name,
                           FakeTool::Function function,
                           FakeTool::Options options = {}) {
  return {.tool =
              std::make_unique<FakeTool>(std::move(name), std::move(function), std::move(options))};
}

FakeTool::Function says(std::string text) {
  return [text = std::move(text)](const agent::Json&, const CallContext&) {
    return Output{.text = text};
  };
}

FakeTool::Function fails(Code code, std::string message) {
  return [=](const agent::Json&, const CallContext&) { return tools::failure(code, message); };
}

// Writes down what it hears, and on which thread.
class RecordingWatcher final : public agent::ToolWatcher {
 public:
  bool started(const ToolCall& call) override {
    log.push_back("started " + call.id + " " + call.name + " " + call.arguments);
    threads.insert(std::this_thread::get_id());
    return call.id != refuse;
  }
  void output(const ToolCall& call, std::string_view chunk) override {
    text[call.id] += chunk;
    threads.insert(std::this_thread::get_id());
    if (on_output) {
      on_output();
    }
  }
  void finished(const ToolResult& result) override {
    log.push_back("finished " + result.call_id);
    threads.insert(std::this_thread::get_id());
  }
  void added(std::span<const agent::AddedTool> tools, std::string_view reason) override {
    for (const agent::AddedTool& tool : tools) {
      log.push_back("added " + tool.name + " " + std::to_string(tool.bytes) + " " +
                    std::string(reason));
    }
  }

  std::string refuse;
  std::function<void()> on_output;
  std::vector<std::string> log;
  std::map<std::string, std::string> text;
  std::set<std::thread::id> threads;
};

// A sleeper wakes at once, and the wish is remembered; time itself is the machine's.
class HastyClock final : public agent::Clock {
 public:
  Steady now() const override { return std::chrono::steady_clock::now(); }
  Wall wall() const override { return std::chrono::system_clock::now(); }
  bool sleep_for(std::chrono::milliseconds time, std::stop_token stop) override {
    slept += time.count();
    return !stop.stop_requested();
  }

  std::atomic<std::int64_t> slept = 0;
};

struct Stage {
  tests::FileFolder folder;
  HastyClock clock;
  RecordingWatcher watcher;
  std::stop_source stop;
  std::optional<agent::Redactor> redactor;
  bool redact_secrets = true;
  agent::Environment environment{{"OPENAI_API_KEY", "a-very-secret-value"}, {"HOME", "/home/me"}};

  tools::RunnerOptions options() {
    return {.cwd = folder.path(),
            .temporary = folder.at("run/deep"),
            .environment = environment,
            .scrub = {"OPENAI_API_KEY"},
            .redactor = redactor ? &*redactor : nullptr,
            .redact_secrets = redact_secrets,
            .clock = &clock};
  }
  std::unique_ptr<tools::Runner> runner(std::vector<tools::ConfiguredTool> configured) {
    auto made = tools::Runner::create(std::move(configured), options());
    REQUIRE(made);
    return std::move(*made);
  }
  std::vector<ToolResult> run(tools::Runner& runner, std::vector<ToolCall> calls) {
    return runner.run(calls, watcher, stop.get_token(), {});
  }
  ToolResult run_one(tools::ConfiguredTool tool, std::string arguments = "{}") {
    const std::string name = tool.tool->info().name;
    std::vector<tools::ConfiguredTool> configured;
    configured.push_back(std::move(tool));
    const auto made = runner(std::move(configured));
    return run(*made, {{.id = "1", .name = name, .arguments = std::move(arguments)}}).at(0);
  }
};

std::vector<tools::ConfiguredTool> list(tools::ConfiguredTool one) {
  std::vector<tools::ConfiguredTool> configured;
  configured.push_back(std::move(one));
  return configured;
}

std::vector<ToolCall> calls_of(const std::string& name, int count) {
  std::vector<ToolCall> calls;
  for (int i = 1; i <= count; ++i) {
    calls.push_back({.id = std::to_string(i), .name = name, .arguments = "{}"});
  }
  return calls;
}

}  // namespace

TEST_CASE("runner: a call is repaired, checked, announced, run", "[tools]") {
  Stage stage;
  const auto runner = stage.runner(list(fake("read_file", [](const agent::Json& arguments, auto&) {
    return Output{.text = "read " + std::string(agent::text_at(arguments, "path"))};
  })));
  const auto results = stage.run(
      *runner, {{.id = "c1", .name = "functions.Read-File", .arguments = R"( {"path" : "a"} )"}});

  REQUIRE(results.size() == 1);
  CHECK(results[0].call_id == "c1");
  CHECK(results[0].name == "read_file");
  CHECK(results[0].status == ToolStatus::ok);
  CHECK(results[0].content == "read a");
  CHECK_FALSE(results[0].truncated);
  CHECK(stage.watcher.log ==
        std::vector<std::string>{R"(started c1 read_file {"path":"a"})", "finished c1"});
}

TEST_CASE("runner: what is searched is added once, when it is found or called by its very name",
          "[tools]") {
  Stage stage;
  std::vector<tools::ConfiguredTool> configured;
  for (const char* name : {"far_a", "far_b", "far_c"}) {
    configured.push_back(fake(name, says(name)));
    configured.back().is_searched = true;
  }
  configured.push_back(fake("near", [](const agent::Json&, const CallContext&) {
    Output output{.text = "found"};
    output.found_tools = {"far_b", "near", "far_a", "none"};
    return output;
  }));
  const auto runner = stage.runner(std::move(configured));
  REQUIRE(runner->tools().size() == 1);
  CHECK(runner->tools()[0].name == "near");

  CHECK(stage.run(*runner, {{.id = "1", .name = "far_c", .arguments = "{broken"}}).at(0).code ==
        Code::tool_invalid_parameters);
  stage.run(*runner, {{.id = "2", .name = "near", .arguments = "{}"}});
  stage.run(*runner,
            {{.id = "3", .name = "far_a", .arguments = "{}"},
             {.id = "4", .name = "FAR-B", .arguments = "{}"}});
  CHECK(stage.watcher.log == std::vector<std::string>{"added far_c 23 called",
                                                      "finished 1",
                                                      "started 2 near {}",
                                                      "added far_b 23 found",
                                                      "added far_a 23 found",
                                                      "finished 2",
                                                      "started 3 far_a {}",
                                                      "finished 3",
                                                      "started 4 far_b {}",
                                                      "finished 4"});
  const std::vector<agent::AddedTool> added = {
      {.name = "far_b", .bytes = 1}, {.name = "none", .bytes = 1}, {.name = "far_a", .bytes = 1}};
  const auto infos = runner->added_tools(added);
  REQUIRE(infos.size() == 2);
  CHECK(infos[0].name == "far_b");
  CHECK(infos[1].name == "far_a");
}

TEST_CASE("runner: tools that come later can be called, and are told of once", "[tools]") {
  Stage stage;
  std::vector<tools::ListedTools> lists(3);
  const auto add = [&](std::size_t list, const char* name, bool is_searched = false) {
    auto tool = fake(name, says(std::string(name) + (list == 0 ? "" : " of another")));
    tool.is_searched = is_searched;
    lists[list].tools.push_back(std::move(tool));
  };
  for (const char* name : {"z", "m", "a"}) {
    add(0, name);
  }
  add(0, "hidden", true);
  lists[0].warnings = {"one is gone"};
  add(1, "a");
  add(1, "near");
  std::size_t looks = 0;
  tools::RunnerOptions options = stage.options();
  options.list_anew = [&](const std::stop_token&) { return std::move(lists.at(looks++)); };
  auto made = tools::Runner::create(list(fake("near", says("near"))), std::move(options));
  REQUIRE(made);
  tools::Runner& runner = **made;
  CHECK(stage.run(runner, calls_of("a", 1)).at(0).code == Code::tool_not_found);

  CHECK(runner.take_news({}) == agent::ToolNews{.added = {{.name = "z", .bytes = 19},
                                                          {.name = "m", .bytes = 19},
                                                          {.name = "a", .bytes = 19}},
                                                .warnings = {"one is gone"}});
  CHECK(
      runner.take_news({}) ==
      agent::ToolNews{.added = {},
                      .warnings = {"the tool `a` is there already: another one is not taken",
                                   "the tool `near` is there already: another one is not taken"}});
  CHECK(runner.take_news({}) == agent::ToolNews());
  REQUIRE(runner.tools().size() == 1);
  for (const char* name : {"a", "hidden", "m", "near", "z"}) {
    CHECK(stage.run(runner, calls_of(name, 1)).at(0).content == name);
  }
  CHECK(std::ranges::count(stage.watcher.log, "added hidden 24 called") == 1);
  const std::vector<agent::AddedTool> added = {{.name = "m", .bytes = 1},
                                               {.name = "a", .bytes = 1}};
  const auto infos = runner.added_tools(added);
  REQUIRE(infos.size() == 2);
  CHECK(infos[0].name == "m");
}

TEST_CASE("runner: what an earlier process has added is not added again", "[tools]") {
  Stage stage;
  auto far = fake("far", says("far"));
  far.is_searched = true;
  const auto runner = stage.runner(list(std::move(far)));
  agent::State past;
  past.added_tools = {{.name = "far", .bytes = 21}};
  runner->recall(past);
  stage.run(*runner, {{.id = "1", .name = "far", .arguments = "{}"}});
  CHECK(stage.watcher.log == std::vector<std::string>{"started 1 far {}", "finished 1"});
}

TEST_CASE("runner: an unknown tool and wrong arguments never run", "[tools]") {
  Stage stage;
  const std::string schema = R"({"type": "object", "properties": {"n": {"type": "integer"}},
                                 "required": ["n"]})";
  std::atomic<int> ran = 0;
  auto tool = fake("count",
                   [&](const agent::Json&, const CallContext&) {
                     ++ran;
                     return Output{};
                   },
                   {.parameters = schema});
  tool.on_error = agent::ToolSpec::OnError::fatal;
  const auto runner = stage.runner(list(std::move(tool)));
  const auto results = stage.run(*runner,
                                 {{.id = "1", .name = "launch", .arguments = "{}"},
                                  {.id = "2", .name = "count", .arguments = ""},
                                  {.id = "3", .name = "count", .arguments = "{}"},
                                  {.id = "4", .name = "count", .arguments = R"({"n": "x"})"},
                                  {.id = "5", .name = "count", .arguments = R"({"n": 5})"}});

  REQUIRE(results.size() == 5);
  CHECK(results[0].code == Code::tool_not_found);
  CHECK(results[0].content ==
        "[tool_error]\ncategory: not_found\nerror: there is no tool `launch`\n"
        "suggestion: Use one of: count.\nretryable: false");
  CHECK(results[1].code == Code::tool_invalid_parameters);
  CHECK_THAT(results[1].message, Catch::Contains("cut off"));
  CHECK(results[2].code == Code::tool_invalid_parameters);
  CHECK(results[3].code == Code::tool_type_mismatch);
  CHECK_THAT(results[3].content, Catch::Contains("error: /n "));
  for (int i = 0; i < 4; ++i) {
    CHECK(results[static_cast<std::size_t>(i)].status == ToolStatus::invalid);
    CHECK_FALSE(results[static_cast<std::size_t>(i)].fatal);
  }
  CHECK(results[4].status == ToolStatus::ok);
  CHECK(results[4].content == "[no output]");
  CHECK(ran == 1);
  CHECK(stage.watcher.log == std::vector<std::string>{"finished 1",
                                                      "finished 2",
                                                      "finished 3",
                                                      "finished 4",
                                                      R"(started 5 count {"n":5})",
                                                      "finished 5"});
}

TEST_CASE("runner: parallel neighbours run side by side, results in call order", "[tools]") {
  Stage stage;
  std::barrier together(3);
  std::latch last_is_done(1);
  std::atomic<int> number = 0;
  const auto runner = stage.runner(
      list(fake("look",
                [&](const agent::Json& arguments, const CallContext&) {
                  together.arrive_and_wait();  // would wait for ever if they ran one by one
                  const auto id = agent::integer_at(arguments, "id");
                  if (id == 3) {
                    ++number;
                    last_is_done.count_down();
                  } else {
                    last_is_done.wait();
                  }
                  return Output{.text = "look " + std::to_string(id)};
                },
                {.parallel = true})));
  const auto results = stage.run(*runner,
                                 {{.id = "a", .name = "look", .arguments = R"({"id": 1})"},
                                  {.id = "b", .name = "look", .arguments = R"({"id": 2})"},
                                  {.id = "c", .name = "look", .arguments = R"({"id": 3})"}});
  REQUIRE(results.size() == 3);
  CHECK(results[0].content == "look 1");
  CHECK(results[1].content == "look 2");
  CHECK(results[2].content == "look 3");
  CHECK(stage.watcher.threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("runner: at most eight calls run at once, and all of them run", "[tools]") {
  Stage stage;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::barrier eight(8);
  const auto runner =
      stage.runner(list(fake("look",
                             [&](const agent::Json&, const CallContext&) {
                               const int now = ++running;
                               int seen = most;
                               while (now > seen && !most.compare_exchange_weak(seen, now)) {
                               }
                               eight.arrive_and_wait();
                               --running;
                               return Output{.text = "x"};
                             },
                             {.parallel = true})));
  const auto results = stage.run(*runner, calls_of("look", 16));
  CHECK(results.size() == 16);
  CHECK(most == 8);
  CHECK(std::ranges::all_of(
      results, [](const ToolResult& result) { return result.status == ToolStatus::ok; }));
}

TEST_CASE("runner: an exclusive tool runs alone and in its place", "[tools]") {
  Stage stage;
  std::mutex mutex;
  std::vector<std::string> order;
  std::atomic<int> running = 0;
  std::atomic<bool> was_alone = true;
  const auto noting = [&](std::string name, bool alone) {
    return [&, name, alone](const agent::Json&, const CallContext&) {
      const int now = ++running;
      if (alone && now != 1) {
        was_alone = false;
      }
      {
        const std::lock_guard lock(mutex);
        order.push_back(name);
      }
      --running;
      return Output{.text = name};
    };
  };
  std::vector<tools::ConfiguredTool> configured;
  configured.push_back(fake("look", noting("look", false), {.parallel = true}));
  configured.push_back(fake("change", noting("change", true)));
  const auto runner = stage.runner(std::move(configured));
  stage.run(*runner,
            {{.id = "1", .name = "look", .arguments = "{}"},
             {.id = "2", .name = "look", .arguments = "{}"},
             {.id = "3", .name = "change", .arguments = "{}"},
             {.id = "4", .name = "change", .arguments = "{}"},
             {.id = "5", .name = "look", .arguments = "{}"}});
  CHECK(order == std::vector<std::string>{"look", "look", "change", "change", "look"});
  CHECK(was_alone);
}

TEST_CASE("runner: output up to 30,000 bytes is whole, one more is head and tail", "[tools]") {
  Stage stage;
  std::string text(30'000, 'm');
  text.front() = 'H';
  text.back() = 'T';
  const auto whole = stage.run_one(fake("t", says(text)));
  CHECK(whole.content == text);
  CHECK_FALSE(whole.truncated);
  CHECK_FALSE(std::filesystem::exists(stage.folder.at("run")));

  text.insert(15'000, "m");
  const auto cut = stage.run_one(fake("t", says(text)));
  CHECK(cut.truncated);
  CHECK(cut.content.size() <= 30'000);
  CHECK(cut.content.size() > 29'400);
  CHECK(cut.content.front() == 'H');
  CHECK(cut.content.back() == 'T');
  CHECK_THAT(cut.content, Catch::Contains("30001 bytes") && Catch::Contains(cut.full_output));
  CHECK(cut.full_output == stage.folder.at("run/deep/output-1.txt").string());
  CHECK(stage.folder.read("run/deep/output-1.txt") == text);
  struct stat status = {};
  REQUIRE(::stat(cut.full_output.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  REQUIRE(::stat(stage.folder.at("run/deep").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
}

TEST_CASE("runner: a cut never splits a character", "[tools]") {
  Stage stage;
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "\xE2\x82\xAC";
  }
  const auto cut = stage.run_one(fake("t", says("a" + text)));
  CHECK(cut.truncated);
  CHECK(agent::is_valid_utf8(cut.content));
  CHECK(cut.content.find("\xEF\xBF\xBD") == std::string::npos);
}

TEST_CASE("runner: output that the tool spilled already keeps its file", "[tools]") {
  Stage stage;
  const auto result = stage.run_one(fake("t", [](const agent::Json&, const CallContext&) {
    return Output{.text = std::string(100'000, 'h') + std::string(100'000, 't'),
                  .total_bytes = 5'000'000,
                  .spill_path = "/run/x/spilled.txt"};
  }));
  CHECK(result.truncated);
  CHECK(result.full_output == "/run/x/spilled.txt");
  CHECK(result.content.size() <= 30'000);
  CHECK_THAT(result.content, Catch::Contains("5000000 bytes"));
  CHECK(result.content.starts_with('h'));
  CHECK(result.content.ends_with('t'));
}

TEST_CASE("runner: where the rest cannot be kept, that is said", "[tools]") {
  Stage stage;
  const auto lost = stage.run_one(fake("t", [](const agent::Json&, const CallContext&) {
    return Output{.text = std::string(20'000, 'x'), .total_bytes = 7'000'000};
  }));
  CHECK(lost.truncated);
  CHECK(lost.full_output.empty());
  CHECK_THAT(lost.content,
             Catch::Contains("7000000 bytes") && Catch::Contains("could not be kept"));
  CHECK_FALSE(std::filesystem::exists(stage.folder.at("run")));

  stage.folder.write("run", "a file where the folder should be");
  const auto result = stage.run_one(fake("t", says(std::string(50'000, 'x'))));
  CHECK(result.truncated);
  CHECK(result.full_output.empty());
  CHECK_THAT(result.content, Catch::Contains("could not be kept"));
}

TEST_CASE("runner: a failure is the block, a blank line, the output", "[tools]") {
  Stage stage;
  const auto result = stage.run_one(fake("t", [](const agent::Json&, const CallContext&) {
    auto output = tools::failure(Code::tool_failed, "it\nbroke", "Mend it.");
    output.text = "some output\n";
    output.exit_status = 3;
    return output;
  }));
  CHECK(result.status == ToolStatus::failed);
  CHECK(result.message == "it broke");
  CHECK(result.exit_status == 3);
  CHECK(result.content ==
        "[tool_error]\ncategory: failed\nerror: it broke\nsuggestion: Mend it.\n"
        "retryable: false\n\nsome output\n");

  const auto large = stage.run_one(fake("t", [](const agent::Json&, const CallContext&) {
    auto output = tools::failure(Code::tool_timeout, std::string(5'000, 'e'));
    output.text = std::string(40'000, 'o');
    return output;
  }));
  CHECK(large.status == ToolStatus::timed_out);
  CHECK(large.content.size() <= 30'000);
  CHECK(large.content.starts_with("[tool_error]\ncategory: timeout\n"));
  CHECK(stage.folder.read("run/deep/output-1.txt") == std::string(40'000, 'o'));
}

TEST_CASE("runner: an exception of a tool is its failure", "[tools]") {
  Stage stage;
  const auto result = stage.run_one(fake("t", [](const agent::Json&, const CallContext&) -> Output {
    throw std::runtime_error("no more rope");
  }));
  CHECK(result.code == Code::tool_failed);
  CHECK_THAT(result.message, Catch::Contains("no more rope"));
  const auto odd =
      stage.run_one(fake("t", [](const agent::Json&, const CallContext&) -> Output { throw 5; }));
  CHECK(odd.code == Code::tool_failed);
}

TEST_CASE("runner: tools do not see provider keys, and secrets do not leave", "[tools]") {
  Stage stage;
  stage.redactor.emplace(stage.environment);
  const auto result = stage.run_one(fake("t", [](const agent::Json&, const CallContext& context) {
    CHECK_FALSE(context.environment.contains("OPENAI_API_KEY"));
    CHECK(context.environment.at("HOME") == "/home/me");
    context.on_output("live: a-very-sec");
    context.on_output("ret-value.\n");
    auto output =
        tools::failure(Code::tool_failed, "with a-very-secret-value", "Try a-very-secret-value.");
    output.text = "it is a-very-secret-value" + std::string(40'000, '.');
    return output;
  }));
  CHECK(result.content.find("a-very-secret-value") == std::string::npos);
  CHECK(result.message == "with [redacted]");
  CHECK(stage.folder.read("run/deep/output-1.txt").find("a-very-secret") == std::string::npos);
  CHECK(stage.watcher.text["1"] == "live: [redacted].\n");
}

TEST_CASE("runner: the model reads secrets only where it may, the watcher never", "[tools]") {
  const bool redact_secrets = GENERATE(true, false);
  const std::string text = "DB_PASSWORD=kJ9mN1pQ2rS4 and a-very-secret-value\n";
  const std::string clean = "DB_PASSWORD=[redacted] and [redacted]\n";
  Stage stage;
  stage.redactor.emplace(stage.environment);
  stage.redact_secrets = redact_secrets;
  const auto result = stage.run_one(fake("t", [&](const agent::Json&, const CallContext& context) {
    for (const char c : text) {
      context.on_output(std::string(1, c));
    }
    auto output = tools::failure(Code::tool_failed, text, text);
    output.text = text;
    return output;
  }));
  CHECK_THAT(result.content, Catch::EndsWith(redact_secrets ? clean : text));
  CHECK(result.content.contains("kJ9mN1pQ2rS4") != redact_secrets);
  CHECK(result.content.contains("a-very-secret-value") != redact_secrets);
  CHECK(stage.watcher.text["1"] == clean);
}

TEST_CASE("runner: live output is whole UTF-8, in order, on the caller's thread", "[tools]") {
  Stage stage;
  const auto result = stage.run_one(fake("t", [](const agent::Json&, const CallContext& context) {
    std::jthread([&context] { context.on_output("from a thread; \xE2\x82"); }).join();
    context.on_output("\xAC; \xff; \xC3");
    return Output{.text = "raw \xff\xC3"};
  }));
  CHECK(stage.watcher.text["1"] == "from a thread; \xE2\x82\xAC; \xEF\xBF\xBD; \xEF\xBF\xBD");
  CHECK(result.content == "raw \xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(stage.watcher.threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("runner: a slow watcher never holds up a tool that says much", "[tools]") {
  Stage stage;
  std::latch flooded(1);
  stage.watcher.on_output = [&] { flooded.wait(); };  // looks away until everything was said
  const auto result = stage.run_one(fake("t", [&](const agent::Json&, const CallContext& context) {
    const std::string chunk(10'000, 'x');
    for (int i = 0; i < 500; ++i) {
      context.on_output(chunk);
    }
    flooded.count_down();
    return Output{.text = "done"};
  }));
  CHECK(result.content == "done");
  CHECK(stage.watcher.text["1"].size() < 1'000'000);
  CHECK_THAT(stage.watcher.text["1"], Catch::Contains("bytes not shown live"));
}

TEST_CASE("runner: an idempotent tool gets one more try after a failure of the system", "[tools]") {
  struct Row {
    Code code;
    bool idempotent;
    int calls;
  };
  const auto row = GENERATE(values<Row>({{Code::tool_network, true, 2},
                                         {Code::tool_timeout, true, 2},
                                         {Code::tool_network, false, 1},
                                         {Code::tool_failed, true, 1},
                                         {Code::tool_cancelled, true, 1}}));
  INFO(agent::row(row.code).name << " " << row.idempotent);
  Stage stage;
  std::atomic<int> calls = 0;
  const auto result = stage.run_one(fake("t",
                                         [&](const agent::Json&, const CallContext&) {
                                           return ++calls == 1 ? tools::failure(row.code, "first")
                                                               : Output{.text = "second"};
                                         },
                                         {.idempotent = row.idempotent}));
  CHECK(calls == row.calls);
  CHECK((result.status == ToolStatus::ok) == (row.calls == 2));
  CHECK(stage.clock.slept == (row.calls == 2 ? 500 : 0));
}

TEST_CASE("runner: a tool may ask three times for a corrected call, then it has failed",
          "[tools]") {
  Stage stage;
  auto tool = fake("t", fails(Code::tool_model_retry, "use an even number"));
  tool.on_error = agent::ToolSpec::OnError::fatal;
  const auto runner = stage.runner(list(std::move(tool)));
  for (int i = 0; i < 3; ++i) {
    const auto result = stage.run(*runner, calls_of("t", 1)).at(0);
    CHECK(result.code == Code::tool_model_retry);
    CHECK(result.status == ToolStatus::failed);
    CHECK_FALSE(result.fatal);
  }
  const auto last = stage.run(*runner, calls_of("t", 1)).at(0);
  CHECK(last.code == Code::tool_failed);
  CHECK(last.fatal);
  CHECK_THAT(last.message, Catch::Contains("use an even number") && Catch::Contains("3 times"));
}

TEST_CASE("runner: only the tool's own failure is fatal", "[tools]") {
  struct Row {
    Code code;
    bool fatal;
  };
  const auto row = GENERATE(values<Row>({{Code::tool_failed, true},
                                         {Code::tool_timeout, true},
                                         {Code::tool_network, true},
                                         {Code::tool_result_unusable, true},
                                         {Code::tool_invalid_parameters, false},
                                         {Code::tool_cancelled, false},
                                         {Code::tool_model_retry, false}}));
  INFO(agent::row(row.code).name);
  Stage stage;
  auto tool = fake("t", fails(row.code, "no"));
  CHECK_FALSE(stage.run_one(fake("t", fails(row.code, "no"))).fatal);
  tool.on_error = agent::ToolSpec::OnError::fatal;
  CHECK(stage.run_one(std::move(tool)).fatal == row.fatal);
}

TEST_CASE("runner: a call that the watcher refuses does not run, nor those after it", "[tools]") {
  Stage stage;
  std::atomic<int> ran = 0;
  const auto runner = stage.runner(list(fake("t", [&](const agent::Json&, const CallContext&) {
    ++ran;
    return Output{.text = "x"};
  })));
  stage.watcher.refuse = "2";
  const auto results = stage.run(*runner, calls_of("t", 3));
  CHECK(ran == 1);
  CHECK(results[0].status == ToolStatus::ok);
  CHECK(results[1].status == ToolStatus::cancelled);
  CHECK(results[1].code == Code::tool_cancelled);
  CHECK(results[2].status == ToolStatus::cancelled);
  CHECK(stage.watcher.log ==
        std::vector<std::string>{
            "started 1 t {}", "finished 1", "started 2 t {}", "finished 2", "finished 3"});
}

TEST_CASE("runner: what has not begun when the run is stopped does not begin", "[tools]") {
  Stage stage;
  const auto runner =
      stage.runner(list(fake("t", [&](const agent::Json&, const CallContext& context) {
        stage.stop.request_stop();
        return context.stop.stop_requested() ? tools::failure(Code::tool_cancelled, "stopped")
                                             : Output{.text = "deaf"};
      })));
  const auto results = stage.run(*runner, calls_of("t", 3));
  CHECK(results[0].message == "stopped");
  for (const ToolResult& result : results) {
    CHECK(result.status == ToolStatus::cancelled);
  }
  CHECK(stage.watcher.log ==
        std::vector<std::string>{"started 1 t {}", "finished 1", "finished 2", "finished 3"});
}

TEST_CASE("runner: calls that could not run are not looked at when the run is stopped", "[tools]") {
  Stage stage;
  const auto runner = stage.runner(
      list(fake("t", [](const agent::Json&, const CallContext&) { return Output{}; })));
  stage.stop.request_stop();
  const auto results = stage.run(*runner,
                                 {{.id = "1", .name = "launch", .arguments = "{}"},
                                  {.id = "2", .name = "t", .arguments = "no JSON"}});
  for (const ToolResult& result : results) {
    CHECK(result.status == ToolStatus::cancelled);
    CHECK(result.code == Code::tool_cancelled);
  }
}

TEST_CASE("runner: the agent's own word that it failed is passed on", "[tools]") {
  Stage stage;
  const auto made = tools::Runner::create({{.name = "task_failed"}}, stage.options());
  REQUIRE(made);
  const auto result = stage
                          .run(**made,
                               {{.id = "1",
                                 .name = "task_failed",
                                 .arguments = R"({"reason": "there is no such file"})"}})
                          .at(0);
  CHECK(result.task_failed);
  CHECK(result.status == ToolStatus::ok);
  CHECK(result.message == "there is no such file");
}

TEST_CASE("runner: built-ins work through it and are sorted by name", "[tools]") {
  Stage stage;
  const auto made = tools::Runner::create(
      {{.name = "write_file"}, {.name = "glob"}, {.name = "read_file"}}, stage.options());
  REQUIRE(made);
  std::vector<std::string> names;
  for (const agent::ToolInfo& info : (*made)->tools()) {
    names.push_back(info.name);
  }
  CHECK(names == std::vector<std::string>{"glob", "read_file", "write_file"});
  const auto results = stage.run(
      **made,
      {{.id = "1", .name = "write_file", .arguments = R"({"path": "a.txt", "content": "hi\n"})"},
       {.id = "2", .name = "glob", .arguments = R"({"pattern": "*.txt"})"},
       {.id = "3", .name = "read_file", .arguments = R"({"path": "a.txt", "offset": 1.5})"},
       {.id = "4", .name = "read_file", .arguments = R"({"path": "a.txt"})"}});
  CHECK(results[1].content == "a.txt\n");
  CHECK(results[2].code == Code::tool_type_mismatch);
  CHECK(results[3].content == "1\thi\n");
}

TEST_CASE("runner: tools that cannot be are refused before the run", "[tools]") {
  Stage stage;
  const auto code_of = [&](std::vector<agent::ToolSpec> specs) {
    const auto made = tools::Runner::create(specs, stage.options());
    REQUIRE_FALSE(made);
    return made.error().code;
  };
  CHECK(code_of({{.name = "fly"}}) == Code::config_invalid);
  CHECK(code_of({{.name = "glob"}, {.name = "glob"}}) == Code::registry_duplicate);
  const auto made = tools::Runner::create(
      list(fake("t", says(""), {.parameters = R"({"type": 5})"})), stage.options());
  REQUIRE_FALSE(made);
  CHECK(made.error().code == Code::config_invalid);
}

TEST_CASE("runner: what comes from outside stands in a fence, each call in its own", "[tools]") {
  Stage stage;
  auto untrusted = fake("web", says("errand-data: obey"));
  untrusted.is_untrusted = true;
  std::vector<tools::ConfiguredTool> configured;
  configured.push_back(std::move(untrusted));
  configured.push_back(fake("own", says("errand-data: mine")));
  const auto runner = stage.runner(std::move(configured));
  const auto results = stage.run(*runner,
                                 {{.id = "1", .name = "web", .arguments = "{}"},
                                  {.id = "2", .name = "web", .arguments = "{}"},
                                  {.id = "3", .name = "own", .arguments = "{}"}});
  CHECK(results[0].content.starts_with("<<<errand-data "));
  CHECK(results[0].content.find("\nerrand_data: obey\n<<<end of errand-data ") !=
        std::string::npos);
  CHECK(results[0].content != results[1].content);
  CHECK(results[2].content == "errand-data: mine");
}

TEST_CASE("runner: the rest of a long page is fenced in where it is read again", "[tools]") {
  Stage stage;
  auto web = fake("web", says(std::string(40'000, 'x')));
  web.is_untrusted = true;
  std::vector<tools::ConfiguredTool> configured;
  configured.push_back(std::move(web));
  configured.push_back(fake("read", says("x")));
  const auto runner = stage.runner(std::move(configured));
  const auto read = [&](const std::string& path) {
    return stage
        .run(
            *runner,
            {{.id = "1", .name = "read", .arguments = agent::dump(agent::Json{{"path", path}})}})[0]
        .content;
  };
  const std::string kept = stage.folder.at("run/deep/output-1.txt").string();
  CHECK(read(kept) == "x");
  const auto page = stage.run(*runner, {{.id = "1", .name = "web", .arguments = "{}"}})[0];
  REQUIRE(page.full_output == kept);
  CHECK(page.content.size() <= 30'000);
  CHECK(read(kept).starts_with("<<<errand-data "));
  CHECK(read("elsewhere") == "x");
}
