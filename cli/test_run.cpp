#include "cli/test_run.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/folder_copy.h"
#include "cli/open_sandbox.h"
#include "cli/options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Json;
using Steady = std::chrono::steady_clock;

constexpr std::size_t k_events_bytes = 256u << 20;  // of one run
constexpr std::size_t k_shown_bytes = 300;          // of a text in a failure

// This program, whatever it is called now.
std::string own_program() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return !error && fs::exists(program, error) ? program.string() : "/proc/self/exe";
}

// The case alone says what is run: no ERRAND_MODEL of the caller, no ERRAND_LOG_FILE. What a run
// leaves behind that is killed goes with the folder of all.
agent::Environment environment_of(const TestWorld& world) {
  agent::Environment environment = world.environment;
  environment["TMPDIR"] = world.temporary.string();
  for (const Option& option : find_command("run")->options) {
    environment.erase(std::string(option.environment));
  }
  return environment;
}

std::vector<std::string> command_line(const config::TestCase& test) {
  std::vector<std::string> words{own_program(), "run", "-q", "-o", "jsonl", "--no-session"};
  if (test.recording.empty()) {
    words.insert(words.end(), {"--model", "replay/" + test.replay.string()});
  } else {
    words.insert(words.end(), {"--replay", test.recording.string()});
  }
  for (const auto& [name, value] : test.parameters) {
    words.push_back(fmt::format("--param={}={}", name, value));
  }
  if (test.prompt) {
    words.push_back("--prompt=" + *test.prompt);
  }
  words.push_back(test.agent.string());
  return words;
}

// As it is written, from where the case really is.
fs::path without_links(const fs::path& workspace, const fs::path& folder) {
  std::error_code error;
  const fs::path inside =
      workspace.lexically_normal().lexically_relative(folder.lexically_normal());
  const fs::path path = (fs::canonical(folder, error) / inside).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// What of the folder is closed to tools, itself first; empty: nothing.
agent::Result<fs::path> closed_in(const fs::path& folder, const tools::sandbox::Policy& policy) {
  const auto is_closed = [&](const fs::path& path) {
    return policy.reading_by_file_tools(path) != tools::sandbox::Verdict::allowed;
  };
  if (is_closed(folder)) {
    return folder;
  }
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_closed(entry->path())) {
      return entry->path();
    }
  }
  if (error) {
    return agent::fail(
        agent::Code::config_invalid,
        fmt::format(
            "cannot look through `{}`: {}", agent::one_line(folder.string()), error.message()),
        "check its permissions");
  }
  return fs::path();
}

TestOutcome broken(std::string problem) {
  return {.end = TestOutcome::End::broken, .problem = std::move(problem)};
}

// Into a folder that is not there yet; nullopt: the case can run.
std::optional<TestOutcome> copy_workspace(const config::TestCase& test,
                                          const fs::path& copy,
                                          const CopyLimits& limits) {
  std::error_code error;
  fs::create_directories(copy.parent_path(), error);
  const fs::path workspace = error ? fs::path() : fs::canonical(test.workspace, error);
  if (error) {
    return broken(fmt::format(
        "cannot copy the workspace `{}`: {}", test.workspace.string(), error.message()));
  }
  const auto end = copy_folder(workspace, copy, limits);
  if (!end) {
    return broken(fmt::format("the workspace: {}", end.error().message));
  }
  switch (*end) {
    case CopyEnd::stopped:
      return TestOutcome{.end = TestOutcome::End::stopped};
    case CopyEnd::timed_out:
      return TestOutcome{.end = TestOutcome::End::timed_out};
    case CopyEnd::whole:
      break;
  }
  return std::nullopt;
}

// As a shell tells it: errand dies by the signal that ended its run.
int exit_code_of(const tools::ProgramResult& process) {
  return process.end == tools::ProgramResult::End::signalled ? 128 + process.signal
                                                             : process.exit_status;
}

std::string ending_of(const tools::ProgramResult& process) {
  return process.end == tools::ProgramResult::End::signalled
             ? fmt::format(
                   "it was killed by signal {} ({})", process.signal, ::strsignal(process.signal))
             : fmt::format("it ended with exit status {}", process.exit_status);
}

TestOutcome outcome_from_events(std::string_view events) {
  TestOutcome outcome;
  while (!events.empty()) {
    const std::string_view line = events.substr(0, events.find('\n'));
    events.remove_prefix(std::min(line.size() + 1, events.size()));
    const auto event = agent::parse_json(line);
    if (!event) {
      continue;
    }
    const std::string_view type = agent::text_at(*event, "type");
    if (type == "tool.started") {
      outcome.tools.emplace_back(agent::text_at(*event, "name"));
    }
    if (type == "warning" && agent::text_at(*event, "kind") == "replies_left") {
      outcome.replies_left = agent::text_at(*event, "message");
    }
    const Json* result = type == "run.finished" ? agent::find(*event, "result") : nullptr;
    if (result == nullptr) {
      continue;
    }
    outcome.end = TestOutcome::End::ended;
    outcome.exit_code = static_cast<int>(agent::integer_at(*result, "exit_code"));
    outcome.text = agent::text_at(*result, "text");
    if (const Json* error = agent::find(*result, "error")) {
      outcome.error =
          fmt::format("{}: {}", agent::text_at(*error, "code"), agent::text_at(*error, "message"));
    }
    if (const Json* cost = agent::find(*result, "cost_usd")) {
      outcome.cost_usd = agent::Money::from_json(*cost);
    }
  }
  return outcome;
}

std::string in_quotes(std::string_view text) {
  return agent::dump(Json(agent::head_and_tail(text, k_shown_bytes)));
}

std::string with_name(int exit_code) {
  return fmt::format("{} ({})", exit_code, agent::exit_row(exit_code).name);
}

std::string list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// All digits: rounded ones could be the same on both sides.
std::string dollars(agent::Money amount) {
  return "$" + amount.text();
}

class Judge {
 public:
  Judge(const config::TestCase& test, const TestOutcome& outcome)
      : expect_(test.expect), timeout_(test.timeout), outcome_(outcome) {}

  std::vector<TestFailure> judge() {
    if (ends_as_expected()) {
      judge_text();
      judge_tools();
      judge_schema();
      judge_cost();
      judge_script();
    }
    return std::move(failures_);
  }

 private:
  void fail(std::string expectation, std::string expected, std::string actual) {
    failures_.push_back({std::move(expectation), std::move(expected), std::move(actual)});
  }

  bool ends_as_expected() {
    const std::string expected = with_name(expect_.exit_code);
    switch (outcome_.end) {
      case TestOutcome::End::timed_out:
        fail("time", "at most " + agent::format_duration(timeout_), "it did not end");
        return false;
      case TestOutcome::End::broken:
        fail("exit code", expected, outcome_.problem);
        return false;
      case TestOutcome::End::stopped:
        return false;
      case TestOutcome::End::ended:
        break;
    }
    if (outcome_.exit_code != expect_.exit_code) {
      const std::string reason = outcome_.error.empty() ? "" : "\n" + outcome_.error;
      fail("exit code", expected, with_name(outcome_.exit_code) + reason);
      return false;
    }
    return true;
  }

  void judge_text() {
    if (!expect_.text) {
      return;
    }
    const std::string_view text = agent::trimmed(outcome_.text);
    if (expect_.text->equals && agent::trimmed(*expect_.text->equals) != text) {
      fail("text", in_quotes(agent::trimmed(*expect_.text->equals)), in_quotes(text));
    }
    for (const std::string& part : expect_.text->contains) {
      if (text.find(part) == std::string::npos) {
        fail("text", "to contain " + in_quotes(part), in_quotes(text));
      }
    }
    if (expect_.text->pattern && !expect_.text->pattern->check(Json(text)).empty()) {
      fail("text", "to match " + in_quotes(expect_.text->matches), in_quotes(text));
    }
  }

  void judge_tools() {
    if (expect_.tools && *expect_.tools != outcome_.tools) {
      fail("tools", list(*expect_.tools), list(outcome_.tools));
    }
  }

  void judge_schema() {
    if (!expect_.schema) {
      return;
    }
    const auto answer = agent::parse_json(outcome_.text);
    const std::string expected = answer ? "an answer that fits it" : "an answer that is JSON";
    if (!answer) {
      fail("schema", expected, in_quotes(agent::trimmed(outcome_.text)));
      return;
    }
    for (const auto& violation : expect_.schema->check(*answer)) {
      fail("schema", expected, fmt::format("{}: {}", violation.pointer, violation.message));
    }
  }

  void judge_cost() {
    if (!expect_.max_cost_usd) {
      return;
    }
    if (!outcome_.cost_usd) {
      fail("cost",
           "at most " + dollars(*expect_.max_cost_usd),
           "unknown: there is no price for this model");
    } else if (*outcome_.cost_usd > *expect_.max_cost_usd) {
      fail("cost", "at most " + dollars(*expect_.max_cost_usd), dollars(*outcome_.cost_usd));
    }
  }

  // What was left out was not tested, whatever the rest of the script expects.
  void judge_script() {
    if (!outcome_.replies_left.empty()) {
      fail("script", "all of its replies to be asked for", outcome_.replies_left);
    }
  }

  const config::Expectations& expect_;
  const agent::Milliseconds timeout_;
  const TestOutcome& outcome_;
  std::vector<TestFailure> failures_;
};

}  // namespace

agent::Result<void> check_workspace(const config::TestCase& test, const Context& context) {
  if (test.workspace.empty()) {
    return {};
  }
  const fs::path folder = test.file.parent_path();
  const auto refuse = [&](std::string why) {
    return agent::fail(
        {.code = agent::Code::config_invalid,
         .message = fmt::format("`workspace` cannot be copied for the agent's tools: {}", why),
         .help = "name a folder below that of the case, or run errand test in a folder that has "
                 "both and is not a home folder",
         .where = agent::Where{.file = test.file.string(), .excerpt = {}}});
  };
  const auto shown = [](const fs::path& path) { return agent::one_line(path.string()); };
  std::error_code error;
  const fs::path real = fs::canonical(test.workspace, error);
  if (error) {
    return refuse(error.message());
  }
  if (real != without_links(test.workspace, folder)) {
    return refuse(fmt::format("a link leads to `{}`", shown(real)));
  }
  TRY_ASSIGN(const auto policy, reading_rules(folder, context));
  if (!policy.may_be_named(real)) {
    return refuse(fmt::format("`{}` is a folder of the system, a home, or holds one", shown(real)));
  }
  TRY_ASSIGN(const fs::path closed, closed_in(real, policy));
  return closed.empty() ? agent::Result<void>()
                        : refuse(fmt::format("`{}` is in a home folder or a secret place, which is "
                                             "closed to them",
                                             shown(closed)));
}

TestOutcome outcome_of(const tools::ProgramResult& process) {
  using End = tools::ProgramResult::End;
  switch (process.end) {
    case End::exited:
    case End::signalled: {
      TestOutcome outcome = outcome_from_events(process.output.text);
      const bool has_result = outcome.end == TestOutcome::End::ended;
      if (has_result && outcome.exit_code == exit_code_of(process)) {
        return outcome;
      }
      return broken(ending_of(process) +
                    (has_result
                         ? fmt::format(", but its result says exit code {}", outcome.exit_code)
                         : " and left no result"));
    }
    case End::timed_out:
    case End::idle:
      return {.end = TestOutcome::End::timed_out, .problem = {}};
    case End::cancelled:
      return {.end = TestOutcome::End::stopped, .problem = {}};
    case End::not_started:
    case End::lost:
      break;
  }
  return broken(process.message.empty() ? std::strerror(process.error_number) : process.message);
}

TestOutcome run_test_case(const config::TestCase& test,
                          std::size_t number,
                          const TestWorld& world) {
  const auto begin = Steady::now();
  const auto deadline = begin + test.timeout;
  fs::path folder = test.file.parent_path();
  if (!test.workspace.empty()) {
    folder = world.temporary / fmt::format("case-{}", number);
    if (auto end = copy_workspace(test, folder, {.stop = world.stop, .deadline = deadline})) {
      return *std::move(end);
    }
  }
  const auto left = std::chrono::ceil<agent::Milliseconds>(deadline - Steady::now());
  const tools::ProgramRequest request{.argv = command_line(test),
                                      .environment = environment_of(world),
                                      .cwd = folder,
                                      .temporary = world.temporary,
                                      .input = std::nullopt,
                                      .timeout = std::max(left, agent::Milliseconds(1)),
                                      .idle_timeout = std::nullopt,
                                      .merge_stderr = false,
                                      .limits = {.memory = k_events_bytes}};
  const tools::ProgramResult process =
      world.program_runner.run(request, {.stop = world.stop, .kill = world.kill});
  TestOutcome outcome = outcome_of(process);
  outcome.errors = agent::to_valid_utf8(process.errors.text);
  outcome.duration_ms =
      std::chrono::duration_cast<agent::Milliseconds>(Steady::now() - begin).count();
  return outcome;
}

std::vector<TestFailure> judge(const config::TestCase& test, const TestOutcome& outcome) {
  return Judge(test, outcome).judge();
}

}  // namespace cli
