#include "tools/process/local_program_runner.h"

#include "tests/unit/tools/process/process_support.h"
#include "tools/process/program_environment.h"
#include "tools/process/program_result.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using tests::is_running;
using tests::pid_in;
using tools::ProgramRequest;
using tools::ProgramResult;
using End = tools::ProgramResult::End;

namespace {

ProgramRequest script(tests::ProcessWorld& world, std::string text) {
  return {.argv = {"/bin/sh", "-c", std::move(text)},
          .environment = world.environment,
          .cwd = world.folder.path(),
          .temporary = world.temporary,
          .timeout = 60s};
}

ProgramResult run(tests::ProcessWorld& world, const ProgramRequest& request) {
  return world.program_runner->run(request, world.control());
}

// In kB: what this process holds at most, so far.
long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("process: output comes in order, live and at the end", "[tools]") {
  tests::ProcessWorld world;
  const ProgramResult result =
      run(world, script(world, "echo one; echo two >&2; echo three; exit 3"));
  CHECK(result.end == End::exited);
  CHECK(result.exit_status == 3);
  CHECK(result.output.text == "one\ntwo\nthree\n");
  CHECK(result.output.is_whole);
  CHECK(result.output.total_bytes == 14);
  CHECK(world.live_output() == result.output.text);
}

TEST_CASE("process: a line that is heard is not one without an end", "[tools]") {
  tests::ProcessWorld world;
  std::unique_ptr<tools::TalkingProgram> program;
  std::promise<std::string> heard;
  std::promise<void> is_there;
  const ProgramRequest request =
      script(world, "read go; head -c 300000 /dev/zero | tr '\\0' x; echo; cat");
  auto talking = world.program_runner->talk(
      request,
      {.on_line =
           [&](std::string_view line) {
             is_there.get_future().wait();
             heard.set_value(fmt::format("{} and {}", line.size(), program->unfinished_line()));
           },
       .on_end = [](tools::TalkingProgram::Ended) {}});
  REQUIRE(talking);
  program = *std::move(talking);
  is_there.set_value();
  program->write("go");
  CHECK(heard.get_future().get() == "300000 and ");
}

TEST_CASE("process: stderr can be kept apart", "[tools]") {
  tests::ProcessWorld world;
  ProgramRequest request = script(world, "echo out; echo err >&2");
  request.merge_stderr = false;
  const ProgramResult result = run(world, request);
  CHECK(result.output.text == "out\n");
  CHECK(result.errors.text == "err\n");
}

TEST_CASE("process: input is passed on, and stdin is empty without it", "[tools]") {
  tests::ProcessWorld world;
  ProgramRequest request = script(world, "cat");
  CHECK(run(world, request).output.text.empty());
  request.input = std::string(200'000, 'x') + std::string("\0end", 4);
  CHECK(run(world, request).output.text.size() == 200'004);
}

TEST_CASE("process: input that is never read blocks nothing", "[tools]") {
  tests::ProcessWorld world;
  const std::string text = GENERATE(as<std::string>(),
                                    "exec <&-; echo gone; sleep 0.1",
                                    "sleep 0.1; echo gone",
                                    "head -c 1 >/dev/null; echo gone");
  ProgramRequest request = script(world, text);
  request.input = std::string(1u << 20, 'x');
  const ProgramResult result = run(world, request);
  CHECK(result.end == End::exited);
  CHECK(result.output.text == "gone\n");
}

TEST_CASE("process: a grandchild that keeps the pipe open does not keep the call", "[tools]") {
  tests::ProcessWorld world;
  const ProgramResult result =
      run(world, script(world, "setsid sleep 1000 & echo $! > pid; echo done"));
  CHECK(result.end == End::exited);
  CHECK(result.output.text == "done\n");
  CHECK_FALSE(is_running(pid_in(world.file("pid"))));
}

TEST_CASE("process: a program that closes its output early is waited for", "[tools]") {
  tests::ProcessWorld world;
  const ProgramResult result =
      run(world, script(world, "echo early; exec >&- 2>&-; sleep 0.2; echo late > file; exit 9"));
  CHECK(result.exit_status == 9);
  CHECK(result.output.text == "early\n");
  CHECK(tests::read_text(world.file("file")) == "late\n");
}

TEST_CASE("process: a timeout ends even what ignores TERM, and keeps the output", "[tools]") {
  tests::ProcessWorld world;
  ProgramRequest request =
      script(world, "trap '' TERM; echo $$ > pid; echo begun; while :; do sleep 0.05; done");
  request.timeout = 300ms;
  const ProgramResult result = run(world, request);
  CHECK(result.end == End::timed_out);
  CHECK(result.output.text == "begun\n");
  CHECK(result.survivors == 0);
  CHECK_FALSE(is_running(pid_in(world.file("pid"))));
}

TEST_CASE("process: silence is ended, steady output is not", "[tools]") {
  tests::ProcessWorld world;
  ProgramRequest silent = script(world, "echo a; sleep 1000");
  silent.idle_timeout = 200ms;
  const ProgramResult ended = run(world, silent);
  CHECK(ended.end == End::idle);
  CHECK(ended.output.text == "a\n");
  ProgramRequest steady = script(world, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done");
  steady.idle_timeout = 1500ms;
  CHECK(run(world, steady).end == End::exited);
}

TEST_CASE("process: stop lets a program clean up, kill does not", "[tools]") {
  tests::ProcessWorld world;
  const bool is_kill = GENERATE(false, true);
  const ProgramRequest request = script(
      world, "trap 'echo cleaned; exit 0' TERM; echo $$ > pid; while :; do sleep 0.02; done");
  std::jthread stopper([&] {
    pid_in(world.file("pid"));
    (is_kill ? world.kill : world.stop).request_stop();
  });
  const ProgramResult result = run(world, request);
  CHECK(result.end == End::cancelled);
  CHECK(result.output.text.ends_with("cleaned\n") != is_kill);  // sh itself may add a line
  CHECK_FALSE(is_running(pid_in(world.file("pid"))));
}

TEST_CASE("process: kill cuts the second of grace short", "[tools]") {
  tests::ProcessWorld world;
  const ProgramRequest request =
      script(world, "trap 'echo term > got' TERM; echo $$ > pid; while :; do sleep 0.02; done");
  std::jthread stopper([&] {
    pid_in(world.file("pid"));
    world.stop.request_stop();
    CHECK(tests::wait_until([&] { return !tests::read_text(world.file("got")).empty(); }));
    world.kill.request_stop();
  });
  const ProgramResult result = run(world, request);
  CHECK(result.end == End::cancelled);
  CHECK_FALSE(is_running(pid_in(world.file("pid"))));
}

TEST_CASE("process: after a stop nothing is started any more", "[tools]") {
  tests::ProcessWorld world;
  world.stop.request_stop();
  CHECK(run(world, script(world, "echo x > file")).end == End::cancelled);
  CHECK_FALSE(std::filesystem::exists(world.file("file")));
}

TEST_CASE("process: binary output stays as it is", "[tools]") {
  tests::ProcessWorld world;
  const ProgramResult result = run(world, script(world, "printf 'a\\000b\\377\\n'"));
  CHECK(result.output.text == std::string("a\0b\xff\n", 5));
}

TEST_CASE("process: 100 MB of output take little memory, and none is lost", "[tools]") {
  tests::ProcessWorld world;
  tools::ProgramControl control = world.control();
  std::uint64_t live_bytes = 0;
  control.on_output = [&](std::string_view bytes) { live_bytes += bytes.size(); };
  const long before = peak_memory();
  const ProgramResult result = world.program_runner->run(
      script(world, "echo first; yes 0123456789abcde | head -c 100000000; echo last"), control);
  CHECK(result.end == End::exited);
  CHECK_FALSE(result.output.is_whole);
  CHECK(result.output.total_bytes == 100'000'011);
  CHECK(live_bytes == 100'000'011);
  CHECK(result.output.text.size() == 256u << 10);
  CHECK(result.output.text.starts_with("first\n0123456789"));
  CHECK(result.output.text.ends_with("last\n"));
  CHECK(result.output.lost_bytes == 0);
  CHECK(std::filesystem::file_size(result.output.spill_path) == 100'000'011);
  CHECK(peak_memory() - before < 50'000);
}

TEST_CASE("process: what was not started says why", "[tools]") {
  tests::ProcessWorld world;
  ProgramRequest request = script(world, "exit 0");
  request.argv = {"no-such-program-here"};
  ProgramResult result = run(world, request);
  CHECK(result.end == End::not_started);
  CHECK(result.error_number == ENOENT);
  CHECK(result.message == "cannot run `no-such-program-here`: no such program in PATH");

  std::ofstream(world.file("plain")) << "text";
  request.argv = {"./plain"};
  result = run(world, request);
  CHECK(result.error_number == EACCES);
  CHECK(result.message == "cannot run `./plain`: Permission denied");

  std::ofstream(world.file("script")) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(world.file("script"), std::filesystem::perms::owner_all);
  request.argv = {"./script"};
  CHECK(run(world, request).message.find("interpreter") != std::string::npos);

  request = script(world, "exit 0");
  request.cwd = world.file("missing");
  result = run(world, request);
  CHECK(result.end == End::not_started);
  CHECK(result.message.find("cannot enter the working folder") == 0);
  CHECK(result.message.find("missing") != std::string::npos);
}

TEST_CASE("process: eight at once do not disturb each other", "[tools]") {
  tests::ProcessWorld world;
  std::vector<ProgramResult> results(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 5; ++round) {
          const std::string number = std::to_string(i);
          results[i] =
              run(world, script(world, "sleep 0.05 & echo " + number + "; exit " + number));
        }
      });
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].end == End::exited);
    CHECK(results[i].exit_status == static_cast<int>(i));
    CHECK(results[i].output.text == std::to_string(i) + "\n");
  }
}

// It would take with it those that are to end what a program leaves.
TEST_CASE("process: `pkill errand` finds errand alone", "[tools]") {
  tests::ProcessWorld world;
  const std::string shim = run(world, script(world, "cat /proc/$PPID/comm")).output.text;
  CHECK(shim == "tool-shim\n");
  const std::string zygote =
      run(world, script(world, "cat /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/comm")).output.text;
  CHECK(zygote == "tool-zygote\n");
}

TEST_CASE("process: a killed shim is a lost program, not an exit status", "[tools]") {
  tests::ProcessWorld world;
  const ProgramResult result = run(world, script(world, "echo x; kill -KILL $PPID; sleep 1000"));
  CHECK(result.end == End::lost);
  CHECK_FALSE(result.message.empty());
}

TEST_CASE("process: a call that ran out of memory says so", "[tools]") {
  ProgramResult result;
  result.end = End::signalled;
  result.signal = SIGKILL;
  const ProgramRequest request;
  CHECK(failed_end(result, request).message == "ended by signal 9 (SIGKILL)");
  result.is_out_of_memory = true;
  const tools::Output output = failed_end(result, request);
  CHECK(output.message ==
        "ended by signal 9 (SIGKILL): its processes together needed more memory than the sandbox "
        "allows");
  CHECK(output.exit_status == 137);
}

TEST_CASE("process: tools get answers to the questions they would ask, but the user's own first",
          "[tools]") {
  tests::ProcessWorld world;
  world.environment["PAGER"] = "less";
  const agent::Environment environment = tools::tool_environment(world.context());
  CHECK(environment.at("PAGER") == "less");
  CHECK(environment.at("GIT_TERMINAL_PROMPT") == "0");
  CHECK(environment.at("CI") == "1");
  CHECK(environment.at("PWD") == world.folder.path());
  const agent::Environment own =
      tools::tool_environment(world.context(), {{"PAGER", "cat"}, {"MORE", ""}});
  CHECK(own.at("PAGER") == "cat");
  CHECK(own.at("MORE").empty());
  CHECK(own.at("CI") == "1");
}

TEST_CASE("process: what a program is told before it is to end, it can still read", "[tools]") {
  tests::ProcessWorld world;
  for (int count = 0; count < 20; ++count) {
    auto program = world.program_runner->talk(
        script(world, "cat >heard"), {.on_line = [](std::string_view) {}, .on_end = [](auto) {}});
    REQUIRE(program);
    (*program)->write("one");
    (*program)->write(std::string(10'000, 'x'));
    (*program)->write("last");
    program->reset();
    std::ifstream file(world.folder.path() / "heard");
    const std::string heard(std::istreambuf_iterator<char>(file), {});
    CHECK(heard == "one\n" + std::string(10'000, 'x') + "\nlast\n");
  }
}
