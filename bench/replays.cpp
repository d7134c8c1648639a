// Many runs at once in one process, each in a thread of its own: a script of two replies with a
// tool call between them, each reply 300 ms away. Prints how many ended well, KB of memory and ms
// of CPU a run, and the wall time in ms. Usage: bench_replays [RUNS]
#include "agent/cancellation.h"
#include "agent/clock.h"
#include "agent/loop.h"
#include "agent/secrets/redact.h"
#include "providers/http/http_client.h"
#include "providers/registry.h"
#include "providers/resilience/model_states.h"
#include "tools/runner/runner.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace {

agent::ReplayScript script() {
  const std::chrono::milliseconds pause(300);
  agent::ReplayScript script;
  script.steps.push_back({.reply = {.tool_calls = {{.id = "c",
                                                    .name = "list_directory",
                                                    .arguments = R"({"path":"."})"}},
                                    .stop_reason = agent::StopReason::tool_use},
                          .delay = pause});
  script.steps.push_back(
      {.reply = {.text = "Done.", .stop_reason = agent::StopReason::end_turn}, .delay = pause});
  return script;
}

// What all runs share.
struct Shared {
  agent::Environment environment;
  agent::SystemClock clock;
  providers::HttpClient http{environment};
  providers::ModelStates models;
  agent::Redactor redactor{environment};
};

bool run(Shared& shared, std::size_t number) {
  const std::string name = "replay/" + std::to_string(number);
  const auto resolved = providers::resolve({.name = name}, shared.environment);
  auto provider = providers::make({.resolved = *resolved, .spec = {.name = name}},
                                  {},
                                  {.http = shared.http,
                                   .clock = shared.clock,
                                   .models = shared.models,
                                   .load_script = [](const std::string&) {
                                     return agent::Result<agent::ReplayScript>(script());
                                   }});
  const std::vector<agent::ToolSpec> tools = {{.name = "list_directory"}};
  auto toolbox = tools::Runner::create(tools,
                                       {.cwd = std::filesystem::current_path(),
                                        .temporary = {},
                                        .environment = shared.environment,
                                        .scrub = {},
                                        .redactor = &shared.redactor,
                                        .clock = &shared.clock});
  if (!provider || !toolbox) {
    return false;
  }
  agent::Cancellation cancellation;
  const agent::RunRequest request{
      .run_id = name, .started = {.agent_name = "bench", .model = name, .prompt = "go"}};
  return agent::run(
             request,
             {.provider = **provider, .toolbox = **toolbox, .sinks = {}, .clock = shared.clock},
             cancellation)
             .exit_code == 0;
}

long peak_kb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

double cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

}  // namespace

int main(int count, char** arguments) {
  const auto runs = static_cast<std::size_t>(count > 1 ? std::atoi(arguments[1]) : 1000);
  Shared shared;
  run(shared, runs);  // what is done once is done now
  const long memory = peak_kb();
  const double cpu = cpu_ms();
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::size_t> ended_well = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < runs; ++number) {
      threads.emplace_back([&, number] { ended_well += run(shared, number) ? 1 : 0; });
    }
  }
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  const auto each = static_cast<double>(runs);
  std::printf("%zu %.1f %.3f %.0f\n",
              ended_well.load(),
              static_cast<double>(peak_kb() - memory) / each,
              (cpu_ms() - cpu) / each,
              wall.count());
  return ended_well == runs ? 0 : 1;
}
