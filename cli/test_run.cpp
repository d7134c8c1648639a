#include "cli/test_run.h"

#include "agent/json.h"
#include "agent/text.h"
#include "cli/folder_copy.h"
#include "cli/open_sandbox.h"
#include "config/replay_script.h"
#include "config/yaml/source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Json;
using Steady = std::chrono::steady_clock;

constexpr std::size_t k_events_bytes = 256u << 20;  // of one run
constexpr std::size_t k_largest_file = 16u << 20;   // that a case looks at

std::vector<std::string> command_line(const config::TestCase& test, const TestWorld& world) {
  std::vector<std::string> words = run_command(world, "jsonl");
  if (!world.is_live && !test.recording.empty()) {
    words.insert(words.end(), {"--replay", test.recording.string()});
  } else if (!world.is_live) {
    words.insert(words.end(), {"--model", "replay/" + test.replay.string()});
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
    if (type == "run.started" && outcome.prompt.empty()) {
      outcome.prompt = agent::text_at(*event, "prompt");
    }
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
    const Json* error = agent::find(*result, "error");
    outcome.error =
        error == nullptr || error->is_null()
            ? ""
            : fmt::format(
                  "{}: {}", agent::text_at(*error, "code"), agent::text_at(*error, "message"));
    outcome.cost_usd = agent::money_at(*result, "cost_usd");
  }
  return outcome;
}

// The names of all that have worked in the run, at whatever remove.
std::set<std::string> names_of_members(std::string_view events) {
  std::set<std::string> names;
  for (const std::string_view line : agent::split_lines(events)) {
    const auto event = agent::parse_json(line);
    if (event && agent::text_at(*event, "type") == "member.started") {
      names.emplace(agent::text_at(*event, "step"));
    }
  }
  return names;
}

// What the script of the case has for one who has not worked, in a sentence: whoever has worked
// says himself what he did not ask for. Empty: nothing.
std::string replies_of_the_absent(const config::TestCase& test, std::string_view events) {
  const auto script = config::load_replay_script(test.replay);
  if (!script || script->members.empty()) {
    return {};
  }
  const std::set<std::string> worked = names_of_members(events);
  for (const auto& [name, steps] : script->members) {
    std::int64_t left = 0;
    for (const agent::ReplayStep& step : steps) {
      left += step.repeat;
    }
    if (left > 0 && !worked.contains(name)) {
      return fmt::format("replies of the script {} of `{}` that were not asked for: {}",
                         script->file,
                         agent::one_line(name, 60),
                         left);
    }
  }
  return {};
}

// What the run has left of the files that the case looks at.
std::map<std::string, FileSeen> look_at_files(const config::TestCase& test,
                                              const fs::path& folder) {
  std::map<std::string, FileSeen> seen;
  for (const auto& [path, expected] : test.expect.files) {
    auto text = config::read_file_inside(folder, fs::path(path).lexically_normal(), k_largest_file);
    FileSeen& file = seen[path];
    if (!text) {
      file.problem = std::move(text).error().message;
    } else if (*text) {
      file.text = agent::to_valid_utf8(**text);
    }
  }
  return seen;
}

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
    case End::idle: {
      TestOutcome outcome = outcome_from_events(process.output.text);  // it may say what it cost
      return {.end = TestOutcome::End::timed_out, .problem = {}, .cost_usd = outcome.cost_usd};
    }
    case End::cancelled:
      return {.end = TestOutcome::End::stopped, .problem = {}};
    case End::not_started:
    case End::lost:
      break;
  }
  return broken(process.message.empty() ? std::strerror(process.error_number) : process.message);
}

TestOutcome run_test_case(const config::TestCase& test,
                          const std::string& number,
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
  const tools::ProgramRequest request{.argv = command_line(test, world),
                                      .environment = run_environment(world),
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
  if (!test.replay.empty() && outcome.replies_left.empty()) {
    outcome.replies_left = replies_of_the_absent(test, process.output.text);
  }
  outcome.files = look_at_files(test, folder);
  outcome.duration_ms =
      std::chrono::duration_cast<agent::Milliseconds>(Steady::now() - begin).count();
  return outcome;
}

}  // namespace cli
