// `errand test`: agents against recordings and scripts, in parallel, without a network.
#include "agent/duration.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/output.h"
#include "cli/run_folder.h"
#include "cli/run_sinks.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "cli/test_report.h"
#include "cli/test_run.h"
#include "config/test_case.h"
#include "tools/files/walk.h"
#include "tools/process/local_program_runner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

struct Found {
  std::string shown;  // as it was asked for
  config::TestCase test = {};
  std::vector<agent::Error> errors = {};  // the case is broken
};

// The case files under a folder, in path order; hidden ones are left out, linked folders not
// entered. What is called a case and is no file is told of when it is read.
Result<std::vector<std::string>> files_in(const fs::path& cwd, const std::string& folder) {
  std::vector<std::string> files;
  const auto end = tools::walk(
      {.shown = folder, .path = cwd / folder},
      {},
      {},
      [&](const std::string& relative, const tools::FolderEntry&) {
        std::string file = tools::join_shown(folder, relative);
        std::error_code error;
        if (file.ends_with(config::k_test_suffix) && !fs::is_directory(cwd / file, error)) {
          files.push_back(std::move(file));
        }
        return tools::Walk::go_on;
      });
  const std::string gaps = end ? end->notes() : end.error().message;
  if (!gaps.empty()) {  // a case that was not seen has not passed
    return agent::fail(
        Code::cli_no_input,
        fmt::format("cannot look through all of `{}`: {}", folder, agent::trimmed(gaps)),
        "Check the path and its permissions.");
  }
  return files;
}

// A file in the folder where its paths start: a link in another folder is another case.
using Identity = std::pair<fs::path, fs::path>;

Identity identity_of(const fs::path& file) {
  std::error_code error;
  return {fs::canonical(file, error), fs::canonical(file.parent_path(), error)};
}

// Each case once, however often the paths lead to it.
Result<std::vector<std::string>> find_files(const Parsed& parsed, const fs::path& cwd) {
  std::vector<std::string> files;
  std::set<Identity> seen;
  const auto add = [&](const std::string& file) {
    if (seen.insert(identity_of(cwd / file)).second) {
      files.push_back(file);
    }
  };
  const std::vector<std::string> here{"."};
  for (const std::string& path : parsed.positionals.empty() ? here : parsed.positionals) {
    std::error_code error;
    const auto status = fs::status(cwd / path, error);
    if (!fs::exists(status)) {
      return agent::fail(Code::cli_no_input,
                         fmt::format("there is no `{}`", path),
                         "Name a case file, or a folder with *.test.yaml files in it.");
    }
    if (fs::is_directory(status)) {
      TRY_ASSIGN(const auto inside, files_in(cwd, path));
      std::ranges::for_each(inside, add);
    } else {
      add(path);
    }
  }
  if (files.empty()) {
    return agent::fail(Code::cli_no_input,
                       "no test case was found",
                       "A case is a file whose name ends in .test.yaml; errand-test(5) shows one.");
  }
  return files;
}

// One broken file says nothing of the others: they run.
std::vector<Found> load(const std::vector<std::string>& files, Context& context) {
  std::vector<Found> found;
  for (const std::string& file : files) {
    Found one{.shown = file};
    auto test = config::load_test_case(context.cwd / file);
    std::vector<agent::Error> warnings;
    const auto allowed = test ? check_workspace(*test, context) : Result<void>();
    if (test && allowed) {
      one.test = *std::move(test);
      warnings = std::exchange(one.test.warnings, {});
    } else {
      one.test.name = fs::path(file).filename().string();
      one.errors = test ? std::vector{allowed.error()} : std::move(test).error();
    }
    for (auto* errors : {&one.errors, &warnings}) {
      for (agent::Error& error : *errors) {
        if (error.where) {
          error.where->file = file;
        }
      }
    }
    for (const agent::Error& warning : warnings) {
      context.err << render_warning(warning, context.color_err, context.redactor) << "\n\n";
    }
    found.push_back(std::move(one));
  }
  return found;
}

// Runs the cases side by side and hands out their reports in the order of the cases.
class Pool {
 public:
  Pool(const std::vector<Found>& cases, const TestWorld& world, std::size_t jobs)
      : cases_(cases), world_(world), reports_(cases.size()) {
    for (std::size_t job = 0; job < std::min(jobs, cases.size()); ++job) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        if (threads_.empty()) {
          throw;
        }
        break;  // with fewer it takes longer
      }
    }
  }

  std::vector<TestReport> collect(const std::function<void(const TestReport&)>& tell) {
    std::vector<TestReport> collected;
    for (std::optional<TestReport>& report : reports_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return report.has_value(); });
      lock.unlock();
      tell(collected.emplace_back(*std::move(report)));
    }
    return collected;
  }

 private:
  void work() {
    for (std::size_t index = next_++; index < cases_.size(); index = next_++) {
      TestReport report = run(index);
      const std::lock_guard lock(mutex_);
      reports_[index] = std::move(report);
      changed_.notify_all();
    }
  }

  TestReport run(std::size_t index) const {
    const Found& found = cases_[index];
    TestReport report{
        .file = found.shown, .name = found.test.name, .outcome = std::nullopt, .failures = {}};
    report.errors = found.errors;
    if (report.is_broken() || world_.stop.stop_requested()) {
      return report;
    }
    TestOutcome outcome = run_test_case(found.test, index + 1, world_);
    if (outcome.end != TestOutcome::End::stopped) {
      report.failures = judge(found.test, outcome);
      report.outcome = std::move(outcome);
    }
    return report;
  }

  const std::vector<Found>& cases_;
  const TestWorld& world_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<TestReport>> reports_;  // each under mutex_ until it is there
  std::vector<std::jthread> threads_;
};

Result<std::size_t> jobs_of(const Parsed& parsed) {
  constexpr std::int64_t k_most_jobs = 64;
  if (const auto text = parsed.value("--jobs")) {
    const std::int64_t jobs = agent::parse_count(*text).value_or(1);
    if (jobs > k_most_jobs) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`--jobs {}` is more than {}", *text, k_most_jobs),
                         "a whole number from 1 to 64");
    }
    return static_cast<std::size_t>(jobs);
  }
  return std::max(std::thread::hardware_concurrency(), 1u);
}

}  // namespace

Result<int> command_test(const Parsed& parsed, Context& context) {
  TRY(check_outputs(parsed));
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(const std::size_t jobs, jobs_of(parsed));
  TRY_ASSIGN(const auto files, find_files(parsed, context.cwd));
  const auto cases = load(files, context);
  agent::Cancellation& cancellation = context.cancellation;
  TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation));
  std::unique_ptr<Output> junit;
  if (const auto file = parsed.value("--junit")) {
    TRY_ASSIGN(junit, Output::to_file(*file, &cancellation.patience()));
  }
  const RunFolder folder(context.environment, "test-" + agent::new_run_id());
  const auto out =
      Output::to_descriptor(STDOUT_FILENO, "standard output", &cancellation.patience());
  const bool is_text = parsed.value("--output") != "json";
  const auto tell = [&](const TestReport& report) {
    if (is_text && !(parsed.has("--quiet") && report.has_passed())) {
      out->write(to_text(report, context.color_out, context.redactor));
    }
  };

  tools::LocalProgramRunner program_runner(*supervisor);
  const TestWorld world{.program_runner = program_runner,
                        .environment = context.environment,
                        .temporary = folder.path(),
                        .stop = cancellation.stop(),
                        .kill = cancellation.kill()};
  const auto reports = Pool(cases, world, jobs).collect(tell);

  const TestCounts counts = count(reports);
  if (!is_text) {
    out->write(agent::printable_json(context.redactor.dump(to_json(reports))) + "\n");
  } else if (!parsed.has("--quiet") || counts.passed < reports.size()) {
    out->write(to_text(counts, context.color_out));
  }
  if (junit) {
    junit->write(to_junit(reports, context.redactor));
    junit->commit();
    TRY(ending_of(*junit, 0));
  }
  const int signal = cancellation.signal_number();
  if (signal != 0) {
    return ending_of(*out, 128 + signal);
  }
  const int broken = agent::row(Code::config_invalid).exit_code;
  return ending_of(*out, counts.broken > 0 ? broken : counts.passed == reports.size() ? 0 : 1);
}

}  // namespace cli
