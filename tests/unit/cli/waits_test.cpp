// How long a run waits, and what it says of that: the whole of it, from what a server answers to
// the lines on stderr, in every protocol, with a clock that only this test turns.
#include "agent/duration.h"
#include "agent/loop.h"
#include "cli/terminal/progress.h"
#include "providers/registry.h"
#include "tests/support/event_stream.h"
#include "tests/support/fakes.h"
#include "tools/runner/runner.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace {

using agent::Code;
using agent::Headers;
using std::chrono::milliseconds;
using namespace std::chrono_literals;
using Waits = std::vector<milliseconds>;

// What the generator draws first from this seed, below 500 ms, 1 s and 2 s: the jitter.
constexpr std::uint64_t k_seed = 1;
constexpr milliseconds k_jitter[] = {67ms, 136ms, 902ms};

// What each answer takes; the first one is there at 12:00:00.200.
constexpr auto k_noon = std::chrono::sys_days(std::chrono::year(2026) / 11 / 22) + 12h;
constexpr milliseconds k_failing{200};
constexpr milliseconds k_answering{300};

// Time passes where the run waits, and where servers and tools say that they took it. Whoever
// sleeps for `deadline` is the run's own, and is woken when that time has come.
class PlayedClock final : public agent::Clock {
 public:
  Steady now() const override {
    const std::lock_guard lock(mutex_);
    return Steady(1h + passed_);
  }
  Wall wall() const override {
    const std::lock_guard lock(mutex_);
    return k_noon + passed_;
  }
  bool sleep_for(milliseconds time, std::stop_token stop) override {
    if (time == deadline) {
      return wait_for_the_end(stop);
    }
    slept.push_back(time);
    return pass(time, stop);
  }
  // False where the run was stopped before the time was over.
  bool pass(milliseconds time, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (stop.stop_requested()) {
      return false;
    }
    if (deadline && passed_ + time >= *deadline) {
      passed_ = *deadline;
      is_over_ = true;
      changed_.notify_all();
      changed_.wait_for(lock, stop, k_patience, [] { return false; });  // it stops the run
      return false;
    }
    passed_ += time;
    return true;
  }

  std::optional<milliseconds> deadline;
  Waits slept;

 private:
  static constexpr std::chrono::seconds k_patience{60};

  bool wait_for_the_end(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, stop, k_patience, [this] { return is_over_; });
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  milliseconds passed_{0};
  bool is_over_ = false;
};

struct Answer {
  int status = 200;
  std::string body = {};
  Headers headers = {};
  milliseconds time = k_answering;
  bool breaks_off = false;
  bool is_silent = false;  // until the request's own deadline
};

// A server that takes its time.
class PlayedHttp final : public agent::Http {
 public:
  explicit PlayedHttp(PlayedClock& clock) : clock_(clock) {}

  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token stop) override {
    if (answers.empty()) {
      return agent::fail(Code::replay_miss, "one request too many");
    }
    const Answer answer = std::move(answers.front());
    answers.pop_front();
    const milliseconds longest =
        request.streamed ? request.timeouts.first_byte : request.timeouts.request;
    if (!clock_.pass(answer.is_silent ? longest : answer.time, stop)) {
      return agent::fail(Code::run_cancelled, "stopped");
    }
    if (answer.is_silent) {
      return agent::fail(Code::provider_timeout,
                         "nothing within " + agent::format_duration(longest));
    }
    agent::HttpResponse response{.status = answer.status, .headers = answer.headers};
    if (answer.status >= 300) {
      response.body = answer.body;
      return response;
    }
    on_data(answer.body);
    if (answer.breaks_off) {
      return agent::fail(Code::provider_stream_broken, "the connection was reset");
    }
    return response;
  }

  std::deque<Answer> answers;

 private:
  PlayedClock& clock_;
};

// Takes as long as it is told.
class Work final : public tools::Tool {
 public:
  Work(PlayedClock& clock, milliseconds time) : clock_(clock), time_(time) {}

  const agent::ToolInfo& info() const override { return info_; }
  tools::Output call(const agent::Json&, const tools::CallContext& context) override {
    return clock_.pass(time_, context.stop) ? tools::Output{.text = "done"}
                                            : tools::failure(Code::tool_cancelled, "stopped");
  }

 private:
  PlayedClock& clock_;
  milliseconds time_;
  agent::ToolInfo info_{
      .name = "work", .description = {}, .parameters = R"({"type":"object","properties":{}})"};
};

struct Protocol {
  std::string name;
  std::string text;    // an answer, 10 tokens in, 5 out
  std::string call;    // one that calls `work`
  std::string begun;   // a stream that has said "Hel"
  std::string error;   // with `@` where the message is, and `#` where more members may be
  std::string failed;  // the same in a stream; no `#`: there is no place for them
};

const std::vector<Protocol>& protocols() {
  static const std::vector<Protocol> all{
      {.name = "openai_chat",
       .text = R"({"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}],)"
               R"("usage":{"prompt_tokens":10,"completion_tokens":5}})",
       .call = R"({"choices":[{"message":{"tool_calls":[{"id":"c1","type":"function",)"
               R"("function":{"name":"work","arguments":"{}"}}]},"finish_reason":"tool_calls"}],)"
               R"("usage":{"prompt_tokens":10,"completion_tokens":5}})",
       .begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n",
       .error = R"({"error":{"message":"@"#}})",
       .failed = "data: {\"error\":{\"code\":503,\"message\":\"@\"#}}\n\n"},
      {.name = "openai_responses",
       .text = R"({"status":"completed","output":[{"type":"message","role":"assistant",)"
               R"("content":[{"type":"output_text","text":"Hello"}]}],)"
               R"("usage":{"input_tokens":10,"output_tokens":5}})",
       .call = R"({"status":"completed","output":[{"type":"function_call","call_id":"c1",)"
               R"("name":"work","arguments":"{}"}],"usage":{"input_tokens":10,"output_tokens":5}})",
       .begun = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,"
                "\"delta\":\"Hel\"}\n\n",
       .error = R"({"error":{"message":"@"#}})",
       .failed = "data: {\"type\":\"response.failed\",\"response\":{\"error\":"
                 "{\"code\":\"server_error\",\"message\":\"@\"#}}}\n\n"},
      {.name = "anthropic_messages",
       .text = R"({"type":"message","content":[{"type":"text","text":"Hello"}],)"
               R"("stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}})",
       .call = R"({"type":"message","content":[{"type":"tool_use","id":"c1","name":"work",)"
               R"("input":{}}],"stop_reason":"tool_use",)"
               R"("usage":{"input_tokens":10,"output_tokens":5}})",
       .begun = "data: {\"type\":\"content_block_start\",\"index\":0,"
                "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
                "data: {\"type\":\"content_block_delta\",\"index\":0,"
                "\"delta\":{\"type\":\"text_delta\",\"text\":\"Hel\"}}\n\n",
       .error = R"({"type":"error","error":{"message":"@"#}})",
       .failed = "event: error\ndata: {\"type\":\"error\",\"error\":"
                 "{\"type\":\"overloaded_error\",\"message\":\"@\"#}}\n\n"},
      {.name = "gemini",
       .text = R"({"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}],)"
               R"("usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}})",
       .call = R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"work",)"
               R"("args":{}}}]},"finishReason":"STOP"}],)"
               R"("usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}})",
       .begun = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hel\"}]}}]}\n\n",
       .error = R"([{"error":{"message":"@"#}}])",
       .failed = "data: {\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\",\"message\":\"@\"#}}"
                 "\n\n"},
      {.name = "ollama",
       .text = R"({"message":{"content":"Hello"},"done":true,"done_reason":"stop",)"
               R"("prompt_eval_count":10,"eval_count":5})",
       .call = R"({"message":{"content":"","tool_calls":[{"function":{"name":"work",)"
               R"("arguments":{}}}]},"done":true,"done_reason":"stop",)"
               R"("prompt_eval_count":10,"eval_count":5})",
       .begun = "{\"message\":{\"content\":\"Hel\"},\"done\":false}\n",
       .error = R"({"error":"@"})",
       .failed = "{\"error\":\"@\"}\n"},
      {.name = "bedrock",
       .text = R"({"output":{"message":{"content":[{"text":"Hello"}]}},"stopReason":"end_turn",)"
               R"("usage":{"inputTokens":10,"outputTokens":5}})",
       .call = R"({"output":{"message":{"content":[{"toolUse":{"toolUseId":"c1","name":"work",)"
               R"("input":{}}}]}},"stopReason":"tool_use",)"
               R"("usage":{"inputTokens":10,"outputTokens":5}})",
       .begun =
           tests::frame("contentBlockDelta", R"({"contentBlockIndex":0,"delta":{"text":"Hel"}})"),
       .error = R"({"message":"@"})",
       .failed = ""},  // a frame with checksums: made by failed_stream
  };
  return all;
}

std::string filled(std::string form, std::string_view message, std::string_view members = {}) {
  form.replace(form.find('@'), 1, message);
  if (const auto at = form.find('#'); at != std::string::npos) {
    form.replace(at, 1, members);
  }
  return form;
}

std::string failed_stream(const Protocol& protocol,
                          std::string_view message,
                          std::string_view members = {}) {
  return protocol.name == "bedrock"
             ? tests::frame_of(tests::header(":message-type", "exception") +
                                   tests::header(":exception-type", "serviceUnavailableException"),
                               filled(R"({"message":"@"})", message))
             : filled(protocol.failed, message, members);
}

Answer refusal(const Protocol& protocol,
               int status,
               Headers headers,
               std::string_view message = "slow down",
               std::string_view members = {}) {
  return {.status = status,
          .body = filled(protocol.error, message, members),
          .headers = std::move(headers),
          .time = k_failing};
}

// One run: everything is real but the clock, the server and what the tool does.
struct Stage {
  explicit Stage(const Protocol& protocol) : protocol_(protocol) {
    model.name = "one/m";
    model.protocol = protocol.name;
    model.base_url = "http://one.example.com";
  }

  agent::RunResult run(std::deque<Answer> answers) {
    clock.deadline = plan.limits.timeout;
    http.answers = std::move(answers);
    const std::unique_ptr<tools::Runner> toolbox = open_toolbox();
    const std::unique_ptr<agent::Provider> provider = open_provider();
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
    REQUIRE(file != nullptr);
    agent::Cancellation cancellation;
    agent::RunResult result;
    {
      cli::Progress progress({.descriptor = ::fileno(file.get()), .verbosity = 1}, redactor_);
      std::vector<agent::EventSink*> sinks{&sink, &progress};
      result = agent::run(
          {.run_id = "run-1", .started = {.model = "one/m", .prompt = "hi", .plan = plan}},
          {.provider = *provider, .toolbox = *toolbox, .sinks = sinks, .clock = clock},
          cancellation);
    }
    lines.resize(static_cast<std::size_t>(::lseek(::fileno(file.get()), 0, SEEK_END)));
    REQUIRE(::pread(::fileno(file.get()), lines.data(), lines.size(), 0) ==
            static_cast<ssize_t>(lines.size()));
    CHECK(http.answers.empty());
    return result;
  }

  // Of all events of that type, what `field` says.
  template <typename Body, typename Field>
  std::vector<std::invoke_result_t<Field, const Body&>> each(Field field) const {
    std::vector<std::invoke_result_t<Field, const Body&>> found;
    for (const agent::Event& event : sink.events) {
      if (const auto* body = std::get_if<Body>(&event.body)) {
        found.push_back(std::invoke(field, *body));
      }
    }
    return found;
  }
  Waits announced() const {
    return each<agent::ModelRetrying>([](const auto& event) { return event.delay; });
  }
  std::vector<std::int64_t> answered() const {
    return each<agent::ModelResponded>([](const auto& event) { return event.duration_ms; });
  }
  std::vector<std::int64_t> worked() const {
    return each<agent::ToolFinished>([](const auto& event) { return event.result.duration_ms; });
  }

  PlayedClock clock;
  PlayedHttp http{clock};
  agent::ModelSpec model;
  std::optional<agent::ModelSpec> second;  // that is asked where the first one fails
  agent::RetryPolicy policy;
  agent::RunPlan plan;
  milliseconds work{1'500};
  tests::RecordingSink sink;
  std::string lines;  // on stderr

 private:
  std::unique_ptr<tools::Runner> open_toolbox() {
    std::vector<tools::ConfiguredTool> list;
    list.push_back({.tool = std::make_unique<Work>(clock, work)});
    auto made = tools::Runner::create(std::move(list),
                                      {.cwd = std::filesystem::temp_directory_path(),
                                       .temporary = std::filesystem::temp_directory_path(),
                                       .clock = &clock});
    REQUIRE(made);
    return std::move(*made);
  }

  std::unique_ptr<agent::Provider> open_provider() {
    std::vector<providers::Choice> chain;
    for (const auto& spec : {std::optional(model), second}) {
      if (spec) {
        auto resolved = providers::resolve(*spec, {});
        REQUIRE(resolved);
        chain.push_back({.resolved = *std::move(resolved), .spec = *spec});
      }
    }
    auto made = providers::make_chain(
        chain, {}, policy, {.http = http, .clock = clock, .models = models_, .seed = k_seed});
    REQUIRE(made);
    return std::move(*made);
  }

  const Protocol& protocol_;
  providers::ModelStates models_;
  agent::Redactor redactor_{agent::Environment{}};
};

const Protocol& any_protocol() {
  return GENERATE(from_range(protocols()));
}

struct Row {
  std::string what;
  Headers headers;
  milliseconds wait;
  std::string_view in_words;  // the wait
  std::string_view in_all;    // it and the two answers
  int status = 429;
  std::string message = "slow down";
  std::string members = {};  // of the error object
};

// Where only Gemini and OpenRouter say it; any server of their protocols may.
constexpr std::string_view k_retry_info =
    R"(,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2.5s"}])";
constexpr std::string_view k_reset =
    R"(,"metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1795348809200"}})";

void check_one_wait(const Protocol& protocol, const Row& row, Answer failing) {
  CAPTURE(protocol.name, row.what);
  Stage stage(protocol);
  const auto result = stage.run({std::move(failing), {.body = protocol.text}});
  const auto all = (k_failing + row.wait + k_answering).count();
  CHECK(result.exit_code == 0);
  CHECK(stage.clock.slept == Waits{row.wait});
  CHECK(stage.announced() == Waits{row.wait});
  CHECK(stage.answered() == std::vector{all});
  CHECK(result.duration_ms == all);
  CHECK(stage.lines == fmt::format("retry 1 of 3 in {}: {}\n"
                                   "turn 1: 10 in, 5 out, end_turn, {}\n"
                                   "one/m: 1 turn, 10 in, 5 out, cost unknown\n"
                                   "errand: ok (0): 1 turn, 0 tool calls, 10 tokens in, 5 out, "
                                   "{}\n",
                                   row.in_words,
                                   row.message,
                                   row.in_all,
                                   row.in_all));
}

}  // namespace

TEST_CASE("waits: the jitter of these tests is known", "[cli]") {
  std::mt19937_64 rng(k_seed);
  milliseconds most{500};
  for (const milliseconds drawn : k_jitter) {
    CHECK(std::uniform_int_distribution<milliseconds::rep>(0, most.count())(rng) == drawn.count());
    most *= 2;
  }
}

// The jitter of 67 ms comes on top of what the server asks for.
TEST_CASE("waits: a server that says when is asked again then, in every protocol", "[cli]") {
  const std::vector<Row> rows{
      {"seconds", {{"retry-after", "7"}}, 7'067ms, "7.1 s", "7.6 s"},
      {"seconds of a 503", {{"retry-after", "7"}}, 7'067ms, "7.1 s", "7.6 s", 503},
      {"seconds of a 529", {{"retry-after", "7"}}, 7'067ms, "7.1 s", "7.6 s", 529},
      {"a fraction", {{"retry-after", "1.5"}}, 1'567ms, "1.6 s", "2.1 s"},
      {"the longest", {{"Retry-After", "30"}}, 30'067ms, "30s", "30s"},
      {"milliseconds", {{"retry-after-ms", "1500"}}, 1'567ms, "1.6 s", "2.1 s"},
      {"both", {{"retry-after-ms", "1500"}, {"retry-after", "1"}}, 1'567ms, "1.6 s", "2.1 s"},
      {"both, Azure", {{"retry-after-ms", "0"}, {"retry-after", "1"}}, 1'067ms, "1.1 s", "1.6 s"},
      {"a date", {{"retry-after", "Sun, 22 Nov 2026 12:00:05 GMT"}}, 4'867ms, "4.9 s", "5.4 s"},
      {"a past date", {{"retry-after", "Sun, 22 Nov 2026 12:00:00 GMT"}}, 67ms, "0.1 s", "0.6 s"},
      {"a word", {{"retry-after", "soon"}}, 67ms, "0.1 s", "0.6 s"},
      {"below nothing", {{"retry-after", "-5"}}, 67ms, "0.1 s", "0.6 s"},
      {"nothing", {}, 67ms, "0.1 s", "0.6 s"},
      {"nothing of a 503", {}, 67ms, "0.1 s", "0.6 s", 503},
      {"OpenAI's reset",
       {{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "1.24s"}},
       1'307ms,
       "1.3 s",
       "1.8 s"},
      {"a near one", {{"x-ratelimit-reset-tokens", "17ms"}}, 84ms, "0.1 s", "0.6 s"},
      {"that of the limit that was met",
       {{"x-ratelimit-remaining-requests", "0"},
        {"x-ratelimit-reset-requests", "2s"},
        {"x-ratelimit-remaining-tokens", "9"},
        {"x-ratelimit-reset-tokens", "20s"}},
       2'067ms,
       "2.1 s",
       "2.6 s"},
      {"Azure's seconds", {{"x-ratelimit-reset-tokens", "3"}}, 3'067ms, "3.1 s", "3.6 s"},
      {"OpenRouter's epoch", {{"x-ratelimit-reset", "1795348809200"}}, 9'067ms, "9.1 s", "9.6 s"},
      {"Anthropic's time",
       {{"anthropic-ratelimit-tokens-remaining", "0"},
        {"anthropic-ratelimit-tokens-reset", "2026-11-22T12:00:04Z"}},
       3'867ms,
       "3.9 s",
       "4.4 s"},
      {"that of an outage", {{"x-ratelimit-reset-tokens", "3"}}, 67ms, "0.1 s", "0.6 s", 503},
      {"words", {}, 1'307ms, "1.3 s", "1.8 s", 429, "Please try again in 1.24s."},
      {"Gemini's words", {}, 4'867ms, "4.9 s", "5.4 s", 429, "Please retry in 4.8s."},
      {"a header and words",
       {{"retry-after", "2"}},
       2'067ms,
       "2.1 s",
       "2.6 s",
       429,
       "retry in 20s"},
  };
  const Protocol& protocol = any_protocol();
  for (const Row& row : rows) {
    check_one_wait(protocol, row, refusal(protocol, row.status, row.headers, row.message));
  }
}

TEST_CASE("waits: an error object may say when", "[cli]") {
  const std::vector<Row> rows{
      {"Gemini", {}, 2'567ms, "2.6 s", "3.1 s", 429, "full", std::string(k_retry_info)},
      {"OpenRouter", {}, 9'067ms, "9.1 s", "9.6 s", 429, "full", std::string(k_reset)},
      {"a shorter header",
       {{"retry-after", "1"}},
       2'567ms,
       "2.6 s",
       "3.1 s",
       429,
       "full",
       std::string(k_retry_info)},
      {"a longer header",
       {{"retry-after", "3"}},
       3'067ms,
       "3.1 s",
       "3.6 s",
       429,
       "full",
       std::string(k_retry_info)},
  };
  const Protocol& protocol = any_protocol();
  if (protocol.error.contains('#')) {
    for (const Row& row : rows) {
      check_one_wait(
          protocol, row, refusal(protocol, row.status, row.headers, row.message, row.members));
    }
  }
}

TEST_CASE("waits: so may an error inside an answer, streamed or not", "[cli]") {
  const std::vector<Row> rows{
      {"nothing", {}, 67ms, "0.1 s", "0.6 s", 200, "full"},
      {"words", {}, 3'067ms, "3.1 s", "3.6 s", 200, "full, try again in 3s"},
      {"Gemini", {}, 2'567ms, "2.6 s", "3.1 s", 200, "full", std::string(k_retry_info)},
      {"OpenRouter", {}, 9'067ms, "9.1 s", "9.6 s", 200, "full", std::string(k_reset)},
  };
  const Protocol& protocol = any_protocol();
  for (const Row& row : rows) {
    if (row.members.empty() || protocol.error.contains('#')) {
      for (const std::string& body : {failed_stream(protocol, row.message, row.members),
                                      filled(protocol.error, row.message, row.members)}) {
        check_one_wait(protocol, row, {.body = body, .time = k_failing});
      }
    }
  }
}

TEST_CASE("waits: without a word the wait doubles, and ends after four attempts", "[cli]") {
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name);
  Stage stage(protocol);
  const Answer failing = refusal(protocol, 503, {}, "we are sorry");
  const auto result = stage.run({failing, failing, failing, failing});
  CHECK(result.exit_code == 75);
  CHECK(result.error->attempts == 4);
  CHECK(stage.clock.slept == Waits(std::begin(k_jitter), std::end(k_jitter)));
  CHECK(stage.announced() == stage.clock.slept);
  CHECK(result.duration_ms == 4 * 200 + 67 + 136 + 902);
  CHECK(stage.lines ==
        "retry 1 of 3 in 0.1 s: we are sorry\n"
        "retry 2 of 3 in 0.1 s: we are sorry\n"
        "retry 3 of 3 in 0.9 s: we are sorry\n"
        "error[provider.unavailable]: we are sorry (one, model m, HTTP 503, 4 attempts)\n"
        "errand: provider_unavailable (75), retry: yes: The provider is in trouble; run it again "
        "later.\n");
}

TEST_CASE("waits: what the server asks for is waited for as long as the policy allows", "[cli]") {
  struct Sum {
    std::string seconds;
    Waits waits;
    std::int64_t duration_ms;
    std::string_view left;  // to be waited for by somebody else
  };
  const auto sum = GENERATE(values<Sum>({
      {"31", {}, 200, "31s"},
      {"3600", {}, 200, "1h"},
      {"1e300", {}, 200, "8784h"},
      {"25", {25'067ms, 25'136ms}, 3 * 200 + 50'203, "25s"},
      {"20", {20'067ms, 20'136ms}, 3 * 200 + 40'203, "20s"},
      {"29.9", {29'967ms, 30'033ms}, 3 * 200 + 60'000, "29.9s"},  // no room for all of the jitter
  }));
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name, sum.seconds);
  Stage stage(protocol);
  const std::deque<Answer> answers(sum.waits.size() + 1,
                                   refusal(protocol, 429, {{"retry-after", sum.seconds}}));
  const auto result = stage.run(answers);
  CHECK(result.exit_code == 75);
  CHECK(stage.clock.slept == sum.waits);
  CHECK(stage.announced() == sum.waits);
  CHECK(result.duration_ms == sum.duration_ms);
  CHECK_THAT(
      stage.lines,
      Catch::EndsWith(fmt::format(
          "error[provider.rate_limited]: slow down (one, model m, HTTP 429, {} attempt{}, "
          "try again in {})\n"
          "errand: provider_unavailable (75), retry: yes: Wait as long as the provider says, "
          "or ask it for a higher rate.\n",
          answers.size(),
          answers.size() == 1 ? "" : "s",
          sum.left)));
}

TEST_CASE("waits: a stream that breaks off is asked for again", "[cli]") {
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name);
  Stage stage(protocol);
  const auto result = stage.run(
      {{.body = protocol.begun, .time = k_failing, .breaks_off = true}, {.body = protocol.text}});
  CHECK(result.exit_code == 0);
  CHECK(result.text == "Hello");
  CHECK(stage.announced() == Waits{67ms});
  CHECK(stage.clock.slept == Waits{67ms});
  CHECK(stage.answered() == std::vector<std::int64_t>{200 + 67 + 300});
  CHECK_THAT(stage.lines,
             Catch::StartsWith("the answer so far is void: it is asked for again\n"
                               "retry 1 of 3 in 0.1 s: the connection was reset\n"
                               "turn 1: 10 in, 5 out, end_turn, 0.6 s\n"));
}

TEST_CASE("waits: each deadline of the model is that of its kind of answer", "[cli]") {
  const bool is_streamed = GENERATE(true, false);
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name, is_streamed);
  Stage stage(protocol);
  stage.model.stream = is_streamed;
  stage.model.timeouts = {.first_byte = 20s, .request = 45s};
  const auto result = stage.run({{.is_silent = true}, {.body = protocol.text}});
  const std::int64_t silence = is_streamed ? 20'000 : 45'000;
  CHECK(result.exit_code == 0);
  CHECK(stage.answered() == std::vector{silence + 67 + 300});
  CHECK_THAT(stage.lines,
             Catch::StartsWith(fmt::format("retry 1 of 3 in 0.1 s: nothing within {0}\n"
                                           "turn 1: 10 in, 5 out, end_turn, {0}\n",
                                           is_streamed ? "20s" : "45s")));
}

TEST_CASE("waits: what a turn, a tool and the run took is told to the millisecond", "[cli]") {
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name);
  Stage stage(protocol);
  const auto result =
      stage.run({{.body = protocol.call}, {.body = protocol.text, .time = 12'345ms}});
  CHECK(result.exit_code == 0);
  CHECK(stage.answered() == std::vector<std::int64_t>{300, 12'345});
  CHECK(stage.worked() == std::vector<std::int64_t>{1'500});
  CHECK(result.duration_ms == 300 + 1'500 + 12'345);
  CHECK(stage.lines ==
        "turn 1: 10 in, 5 out, tool_use, 0.3 s\n"
        "▸ work\n"
        "  work: ok, 4 bytes, 1.5 s\n"
        "turn 2: 10 in, 5 out, end_turn, 12s\n"
        "one/m: 2 turns, 20 in, 10 out, cost unknown\n"
        "errand: ok (0): 2 turns, 1 tool call, 20 tokens in, 10 out, 14s\n");
}

TEST_CASE("waits: the run's own time ends it wherever it is", "[cli]") {
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name);
  Stage stage(protocol);
  stage.plan.limits.timeout = 5s;
  agent::RunResult result;
  std::string before;
  std::string bill;
  std::string waiting = "the model, turn 1";
  SECTION("while it waits to ask again") {
    result = stage.run({refusal(protocol, 429, {{"retry-after", "7"}})});
    CHECK(stage.clock.slept == Waits{7'067ms});
    before = "retry 1 of 3 in 7.1 s: slow down\n";
  }
  SECTION("while the server thinks") {
    result = stage.run({{.body = protocol.text, .time = 5'001ms}});
    CHECK(stage.clock.slept.empty());
  }
  SECTION("while a tool runs") {
    stage.work = 10s;
    result = stage.run({{.body = protocol.call}});
    CHECK(stage.worked() == std::vector<std::int64_t>{4'700});
    before =
        "turn 1: 10 in, 5 out, tool_use, 0.3 s\n"
        "▸ work\n"
        "  work: cancelled: stopped\n";
    bill = " (1 turn, 1 tool call, 10 tokens in, 5 out, 5.0 s)";
    waiting = "work";
  }
  CHECK(result.exit_code == 124);
  CHECK(result.duration_ms == 5'000);
  REQUIRE(result.stop);
  CHECK(result.stop->limit == "limits.timeout");
  CHECK(result.stop->used == 5);
  CHECK(result.stop->max == 5);
  CHECK(stage.lines ==
        before + (bill.empty() ? "" : "one/m: 1 turn, 10 in, 5 out, cost unknown\n") +
            "error[run.timeout]: the run took longer than 5s while it waited for " + waiting +
            "\nerrand: timeout (124), retry: maybe: Give it more, `--timeout` (a new run: "
            "`limits.timeout`, too), or a smaller task." +
            bill + "\n");
}

TEST_CASE("waits: the gate holds a request as long as the rate says", "[cli]") {
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name);
  Stage stage(protocol);
  stage.model.requests_per_minute = 1;
  const auto result = stage.run({{.body = protocol.call}, {.body = protocol.text}});
  CHECK(result.exit_code == 0);
  CHECK(stage.clock.slept == Waits{60s - 300ms - 1'500ms});
  CHECK(stage.answered() == std::vector<std::int64_t>{300, 58'200 + 300});
  CHECK(result.duration_ms == 60'300);
  CHECK_THAT(stage.lines,
             Catch::Contains("warning: requests to one/m have to wait, this one 59s: "
                             "`requests_per_minute` is 1\n"
                             "turn 2: 10 in, 5 out, end_turn, 58s\n"));
}

TEST_CASE("waits: a model that failed is left alone for what is left of its cooldown", "[cli]") {
  const Protocol& protocol = any_protocol();
  CAPTURE(protocol.name);
  Stage stage(protocol);
  stage.second = stage.model;
  stage.second->name = "two/m";
  const Answer failing = refusal(protocol, 429, {{"retry-after", "31"}});
  const Answer call{.body = protocol.call};
  const Answer text{.body = protocol.text};

  SECTION("and the other one is asked meanwhile") {
    const auto result = stage.run({failing, call, text});
    CHECK(result.exit_code == 0);
    CHECK(stage.clock.slept.empty());
    CHECK(stage.answered() == std::vector<std::int64_t>{200 + 300, 300});
    CHECK(stage.each<agent::ModelFallback>([](const auto& event) { return event.cooldown; }) ==
          Waits{60s, 60s - 300ms - 1'500ms});
    CHECK_THAT(stage.lines,
               Catch::StartsWith("one/m failed: slow down; two/m is asked instead, for 1m\n"
                                 "turn 1: 10 in, 5 out, tool_use, 0.5 s\n"
                                 "▸ work\n"
                                 "  work: ok, 4 bytes, 1.5 s\n"
                                 "one/m failed before and is skipped for 58s: two/m is asked\n"
                                 "turn 2: 10 in, 5 out, end_turn, 0.3 s\n"));
  }
  SECTION("and is asked again after it") {
    stage.work = 60s;
    const auto result = stage.run({failing, call, text});
    CHECK(result.exit_code == 0);
    CHECK(result.model == "one/m");
    CHECK(stage.clock.slept.empty());
    CHECK(stage.worked() == std::vector<std::int64_t>{60'000});
  }
}
