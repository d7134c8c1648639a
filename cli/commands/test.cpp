// `errand test`: agents against recordings and scripts, in parallel and without a network, or live.
#include "agent/duration.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/known_names.h"
#include "cli/output.h"
#include "cli/run_folder.h"
#include "cli/run_sinks.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "cli/test_baseline.h"
#include "cli/test_report.h"
#include "cli/test_run.h"
#include "config/test_case.h"
#include "config/yaml/source.h"
#include "tools/files/walk.h"
#include "tools/process/local_program_runner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
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

// A server's tools are known when it runs.
bool can_be_of_a_server(const std::string& tool, const std::set<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return name.starts_with("mcp__") && tool.starts_with(name) && tool != name;
  });
}

// A name that nothing bears was never called, and never will be.
Result<void> check_tools_never(const config::TestCase& test, const Context& context) {
  if (test.expect.tools.never.empty()) {
    return {};
  }
  const std::set<std::string> names = names_of_tools_of_all(test.agent, context.environment);
  for (const std::string& name : test.expect.tools.never) {
    const bool is_known = names.contains(name) && !name.starts_with("mcp__");
    if (names.empty() || is_known || can_be_of_a_server(name, names)) {
      continue;
    }
    const auto meant = agent::nearest(name, std::vector(names.begin(), names.end()));
    return agent::fail(
        {.code = agent::Code::config_invalid,
         .message = fmt::format("`expect.tools.never` could not fail: neither the agent nor errand "
                                "has a tool `{}`",
                                agent::one_line(name, 100)),
         .help = meant ? fmt::format("did you mean `{}`?", *meant)
                       : "`errand tools list` shows those that there are",
         .where = agent::Where{.file = test.file.string(), .excerpt = {}}});
  }
  return {};
}

Result<void> check_case(const config::TestCase& test, const Context& context) {
  TRY(check_workspace(test, context));
  return check_tools_never(test, context);
}

// One broken file says nothing of the others: they run.
std::vector<Found> load(const std::vector<std::string>& files, bool is_live, Context& context) {
  std::vector<Found> found;
  for (const std::string& file : files) {
    Found one{.shown = file};
    auto test = config::load_test_case(context.cwd / file);
    std::vector<agent::Error> warnings;
    if (test && !is_live && !test->needs_live.empty()) {
      test = std::unexpected(std::move(test->needs_live));
    }
    const auto allowed = test ? check_case(*test, context) : Result<void>();
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

// Judges are asked last, and only where all else holds: they cost money.
TestRun run_once(const config::TestCase& test, const std::string& number, const TestWorld& world) {
  TestOutcome outcome = run_test_case(test, number, world);
  if (outcome.end == TestOutcome::End::stopped) {
    return {};
  }
  TestRun run{.outcome = std::nullopt, .failures = failures_of(test, outcome)};
  if (run.failures.empty()) {
    for (const config::JudgeExpectation& judge : test.expect.judges) {
      Judgement judgement = ask_judge(judge,
                                      {.prompt = outcome.prompt, .answer = outcome.text},
                                      test.file.parent_path(),
                                      number,
                                      world);
      if (judgement.is_stopped) {
        return {};
      }
      if (judgement.verdict == Judgement::Verdict::does_not_hold) {
        run.failures.push_back(failure_of(judgement));
      }
      run.judgements.push_back(std::move(judgement));
    }
  }
  run.outcome = std::move(outcome);
  return run;
}

// One run of one case.
struct Job {
  std::size_t found;   // which case
  std::size_t number;  // from 0: which of its runs
};

// Runs the cases side by side, each as often as it says, and hands out their reports in the order
// of the cases.
class Pool {
 public:
  Pool(const std::vector<Found>& cases, const TestWorld& world, std::size_t threads)
      : cases_(cases), world_(world), runs_(cases.size()) {
    for (std::size_t index = 0; index < cases.size(); ++index) {
      if (cases[index].errors.empty()) {
        runs_[index].resize(cases[index].test.repeat);
        for (std::size_t number = 0; number < cases[index].test.repeat; ++number) {
          jobs_.push_back({.found = index, .number = number});
        }
      }
    }
    start(std::min(threads, jobs_.size()));
  }

  std::vector<TestReport> collect(const std::function<void(const TestReport&)>& tell) {
    std::vector<TestReport> collected;
    for (std::size_t index = 0; index < cases_.size(); ++index) {
      TestReport report{.file = cases_[index].shown,
                        .name = cases_[index].test.name,
                        .pass = cases_[index].test.pass,
                        .is_live = world_.is_live,
                        .errors = cases_[index].errors};
      for (std::optional<TestRun>& run : runs_[index]) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return run.has_value(); });
        lock.unlock();
        report.runs.push_back(*std::move(run));
      }
      tell(collected.emplace_back(std::move(report)));
    }
    return collected;
  }

 private:
  void start(std::size_t threads) {
    while (threads_.size() < threads) {
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

  void work() {
    for (std::size_t index = next_++; index < jobs_.size(); index = next_++) {
      const Job& job = jobs_[index];
      TestRun run = run_job(job, std::to_string(index + 1));
      const std::lock_guard lock(mutex_);
      runs_[job.found][job.number] = std::move(run);
      changed_.notify_all();
    }
  }

  TestRun run_job(const Job& job, const std::string& number) const {
    if (world_.stop.stop_requested()) {
      return {};
    }
    const config::TestCase& test = cases_[job.found].test;
    try {
      return run_once(test, number, world_);
    } catch (const std::exception& exception) {
      TestOutcome broken{.problem = agent::error_of(exception).message};
      TestRun run{.outcome = {}, .failures = failures_of(test, broken)};
      run.outcome = std::move(broken);
      return run;
    }
  }

  const std::vector<Found>& cases_;
  const TestWorld& world_;
  std::vector<Job> jobs_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::optional<TestRun>>> runs_;  // each under mutex_ until it is there
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

// Every case as often as the command line says.
Result<void> repeat_all(const Parsed& parsed, std::vector<Found>& cases) {
  constexpr std::int64_t k_most = 1'000;
  const auto text = parsed.value("--repeat");
  if (!text) {
    return {};
  }
  const std::int64_t repeat = agent::parse_count(*text).value_or(0);
  if (repeat < 1 || repeat > k_most) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`--repeat {}` is not from 1 to {}", *text, k_most),
                       "a whole number: --repeat 5");
  }
  for (Found& found : cases) {
    found.test.repeat = static_cast<std::size_t>(repeat);
  }
  return {};
}

// Whole percents.
Result<int> tolerance_of(const Parsed& parsed) {
  constexpr int k_default = 5;
  const auto text = parsed.value("--tolerance");
  if (!text) {
    return k_default;
  }
  if (!parsed.has("--baseline")) {
    return agent::fail(
        Code::cli_usage,
        "`--tolerance` says how much worse than a baseline is allowed, and there is none",
        "--baseline FILE --tolerance 5%");
  }
  int percent = 0;
  const std::string_view digits =
      std::string_view(*text).substr(0, text->size() - (text->ends_with('%') ? 1 : 0));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      digits.size() == text->size() || percent < 0 || percent > 100) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`--tolerance {}` is not from 0% to 100%", *text),
                       "a whole number of percent: --tolerance 5%");
  }
  return percent;
}

// A baseline has its cases by their paths from its own folder.
std::string name_in_baseline(const std::string& shown,
                             const std::string& baseline,
                             const fs::path& cwd) {
  const fs::path folder = (cwd / baseline).lexically_normal().parent_path();
  return (cwd / shown).lexically_normal().lexically_relative(folder).string();
}

std::vector<CaseFigures> figures_of(const std::vector<TestReport>& reports,
                                    const std::string& baseline,
                                    const fs::path& cwd) {
  std::vector<CaseFigures> figures;
  for (const TestReport& report : reports) {
    CaseFigures one{.file = name_in_baseline(report.file, baseline, cwd)};
    one.passed = report.count(TestRun::Status::passed);
    one.runs = one.passed + report.count(TestRun::Status::failed);
    if (const auto cost = report.cost(); cost && !report.runs.empty()) {
      one.cost_usd =
          agent::Money::from_picos(cost->picos() / static_cast<std::int64_t>(report.runs.size()));
    }
    figures.push_back(std::move(one));
  }
  return figures;
}

// What the last call came to, and where what this one comes to is written.
struct Baselines {
  std::vector<CaseFigures> old = {};  // empty: not asked for
  int tolerance = 0;
  std::unique_ptr<Output> next = {};  // null: not asked for
};

Result<Baselines> open_baselines(const Parsed& parsed, Context& context) {
  constexpr std::size_t k_largest = 16u << 20;
  Baselines baselines;
  TRY_ASSIGN(baselines.tolerance, tolerance_of(parsed));
  if (const auto file = parsed.value("--baseline")) {
    TRY_ASSIGN(const std::string text, config::read_text_file(context.cwd / *file, k_largest));
    TRY_ASSIGN(baselines.old, parse_baseline(text, *file));
  }
  if (const auto file = parsed.value("--write-baseline")) {
    TRY_ASSIGN(baselines.next, Output::to_file(*file, &context.cancellation.patience()));
  }
  return baselines;
}

// Only of cases of which it is known how they went: one that is left out would never be missed.
Result<void> write_baseline(const Parsed& parsed,
                            const TestSummary& summary,
                            Output& output,
                            Context& context) {
  const bool has_gap = std::ranges::any_of(summary.reports, [](const TestReport& report) {
    return report.is_broken() || report.count(TestRun::Status::unjudged) > 0 ||
           report.count(TestRun::Status::not_run) > 0;
  });
  const std::string file = parsed.value("--write-baseline").value_or("");
  if (has_gap || !summary.worse.empty()) {
    context.err << render_warning(
                       {.code = Code::config_invalid,
                        .message = fmt::format("`{}` is not written: {}",
                                               agent::one_line(file, 200),
                                               has_gap ? "of some runs nobody knows how they went"
                                                       : "cases are worse than the baseline"),
                        .help = "a baseline holds all cases, as they should be from now on"},
                       context.color_err,
                       context.redactor)
                << "\n\n";
    return {};
  }
  output.write(baseline_text(figures_of(summary.reports, file, context.cwd)));
  output.commit();
  TRY(ending_of(output, 0));
  return {};
}

}  // namespace

Result<int> command_test(const Parsed& parsed, Context& context) {
  TRY(check_outputs(parsed));
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(const std::size_t jobs, jobs_of(parsed));
  TRY_ASSIGN(const auto files, find_files(parsed, context.cwd));
  const bool is_live = parsed.has("--live");
  auto cases = load(files, is_live, context);
  TRY(repeat_all(parsed, cases));
  agent::Cancellation& cancellation = context.cancellation;
  TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation));
  std::unique_ptr<Output> junit;
  if (const auto file = parsed.value("--junit")) {
    TRY_ASSIGN(junit, Output::to_file(*file, &cancellation.patience()));
  }
  TRY_ASSIGN(const Baselines baselines, open_baselines(parsed, context));
  // Each case's agent writes in a copy below it alone.
  TRY_ASSIGN(const auto temporary,
             find_temporary(context.environment, [](const auto&) { return false; }));
  const RunFolder folder(temporary, "test-" + agent::new_run_id());
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
                        .is_live = is_live,
                        .key_hosts = parsed.all("--key-host"),
                        .stop = cancellation.stop(),
                        .kill = cancellation.kill()};
  TestSummary summary{.reports = Pool(cases, world, jobs).collect(tell)};
  if (!baselines.old.empty()) {
    const std::string file = parsed.value("--baseline").value_or("");
    summary.worse =
        compare(baselines.old, figures_of(summary.reports, file, context.cwd), baselines.tolerance);
  }

  if (!is_text) {
    out->write(agent::printable_json(context.redactor.dump(to_json(summary))) + "\n");
  } else {
    for (const WorseCase& worse : summary.worse) {
      out->write(to_text(worse, context.color_out));
    }
    if (!parsed.has("--quiet") || !summary.is_ok()) {
      out->write(summary_line(summary, context.color_out));
    }
  }
  if (junit) {
    junit->write(to_junit(summary, context.redactor));
    junit->commit();
    TRY(ending_of(*junit, 0));
  }
  if (baselines.next) {
    TRY(write_baseline(parsed, summary, *baselines.next, context));
  }
  const int signal = cancellation.signal_number();
  if (signal != 0) {
    return ending_of(*out, 128 + signal);
  }
  const int broken = agent::row(Code::config_invalid).exit_code;
  const bool is_broken = std::ranges::any_of(summary.reports, &TestReport::is_broken);
  return ending_of(*out, is_broken ? broken : summary.is_ok() ? 0 : 1);
}

}  // namespace cli
