#include "tools/process/supervisor.h"

#include "tests/unit/tools/process/process_support.h"
#include "tools/sandbox/profile.h"

#include <catch2/catch.hpp>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <set>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using tests::is_running;
using tests::pid_in;
using tests::wait_until;
using tools::Report;

namespace {

using agent::Descriptor;

tools::Program shell(const std::string& script, const std::filesystem::path& folder) {
  return {.argv = {"/bin/sh", "-c", script},
          .environment = {"PATH=/usr/local/bin:/usr/bin:/bin"},
          .cwd = folder.string()};
}

agent::Result<tools::Running> spawn(tools::Supervisor& supervisor, const tools::Program& program) {
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  return supervisor.spawn(program, null.get(), null.get(), null.get());
}

Report report_of(tools::Running& running) {
  pollfd event{.fd = running.descriptor(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&event, 1, 30'000) == 1);
  const auto report = running.report();
  REQUIRE(report);
  REQUIRE(report->has_value());
  return **report;
}

Report run(tools::Supervisor& supervisor, const tools::Program& program) {
  auto running = spawn(supervisor, program);
  REQUIRE(running);
  return report_of(*running);
}

}  // namespace

TEST_CASE("supervisor: reports exit status and signal", "[tools]") {
  tests::ProcessWorld world;
  const Report exited = run(*world.supervisor, shell("exit 7", world.folder.path()));
  CHECK(exited.kind == Report::Kind::exited);
  CHECK(exited.value == 7);
  CHECK(exited.survivors == 0);
  const Report signalled = run(*world.supervisor, shell("kill -SEGV $$", world.folder.path()));
  CHECK(signalled.kind == Report::Kind::signalled);
  CHECK(signalled.value == SIGSEGV);
}

TEST_CASE("supervisor: what cannot be run is told apart from exit 127", "[tools]") {
  tests::ProcessWorld world;
  tools::Program program = shell("exit 127", world.folder.path());
  CHECK(run(*world.supervisor, program).kind == Report::Kind::exited);

  program.argv = {"no-such-program-here"};
  Report report = run(*world.supervisor, program);
  CHECK(report.kind == Report::Kind::no_exec);
  CHECK(report.value == ENOENT);

  program.argv = {"/etc/passwd"};
  report = run(*world.supervisor, program);
  CHECK(report.kind == Report::Kind::no_exec);
  CHECK(report.value == EACCES);

  program = shell("exit 0", "/no/such/folder");
  report = run(*world.supervisor, program);
  CHECK(report.kind == Report::Kind::no_folder);
  CHECK(report.value == ENOENT);
}

TEST_CASE("supervisor: the program's own PATH finds the program", "[tools]") {
  tests::ProcessWorld world;
  const std::filesystem::path program = world.file("only-here");
  std::ofstream(program) << "#!/bin/sh\nexit 5\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Report report = run(*world.supervisor,
                            {.argv = {"only-here"},
                             .environment = {"PATH=/bin:" + world.folder.path().string()},
                             .cwd = "/"});
  CHECK(report.kind == Report::Kind::exited);
  CHECK(report.value == 5);
}

TEST_CASE("supervisor: a file without a #! line is never given to a shell", "[tools]") {
  tests::ProcessWorld world;
  const std::filesystem::path program = world.file("plain");
  std::ofstream(program) << "exit 0\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Report report =
      run(*world.supervisor, {.argv = {program.string()}, .environment = {}, .cwd = "/"});
  CHECK(report.kind == Report::Kind::no_exec);
  CHECK(report.value == ENOEXEC);
}

TEST_CASE("supervisor: a program has three descriptors, no signals off, its own session",
          "[tools]") {
  tests::ProcessWorld world;
  const Report report = run(*world.supervisor,
                            shell("ls /proc/self/fd > fds\n"
                                  "grep -E '^Sig(Blk|Ign)' /proc/self/status > signals\n"
                                  "cut -d' ' -f6 /proc/$$/stat > session; echo $$ > pid",
                                  world.folder.path()));
  CHECK(report.kind == Report::Kind::exited);
  CHECK(tests::read_text(world.file("fds")) == "0\n1\n2\n3\n");  // 3 is ls's own
  CHECK(tests::read_text(world.file("signals")) ==
        "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  CHECK(tests::read_text(world.file("session")) == tests::read_text(world.file("pid")));
}

TEST_CASE("supervisor: what a program leaves behind ends with it", "[tools]") {
  tests::ProcessWorld world;
  const std::string script =
      GENERATE(as<std::string>(),
               "sleep 1000 & echo $! > pid",
               "(trap '' TERM HUP; sh -c 'echo $$ > pid; exec sleep 1000' &) ; sleep 0.1",
               "setsid sh -c '(setsid sh -c \"echo \\$\\$ > pid; exec sleep 1000\" &)'; "
               "while [ ! -s pid ]; do sleep 0.01; done");
  INFO(script);
  const Report report = run(*world.supervisor, shell(script, world.folder.path()));
  CHECK(report.kind == Report::Kind::exited);
  CHECK(report.value == 0);
  CHECK(report.survivors == 0);
  const int pid = pid_in(world.file("pid"));
  CHECK(pid > 1);
  CHECK_FALSE(is_running(pid));  // at once: the report comes after
}

TEST_CASE("supervisor: a family that goes on forking is ended too", "[tools]") {
  tests::ProcessWorld world;
  // Each process starts the next and ends, so that every list of them is old when it is made.
  std::ofstream(world.file("hop.sh")) << "echo $$ >> pids\nsleep 0.01\nsh hop.sh &\n";
  const Report report = run(*world.supervisor, shell("sh hop.sh & sleep 0.3", world.folder.path()));
  CHECK(report.survivors == 0);
  const std::string before = tests::read_text(world.file("pids"));
  CHECK_FALSE(before.empty());
  auto probe = spawn(*world.supervisor, shell("sleep 0.2", world.folder.path()));
  REQUIRE(probe);
  report_of(*probe);
  CHECK(tests::read_text(world.file("pids")) == before);
}

TEST_CASE("supervisor: TERM reaches the whole tree, and lets it clean up", "[tools]") {
  tests::ProcessWorld world;
  auto running =
      spawn(*world.supervisor,
            shell("sh -c 'trap \"sleep 0.2; echo clean > done; exit\" TERM; echo $$ > pid; "
                  "while :; do sleep 0.01; done' & wait",
                  world.folder.path()));
  REQUIRE(running);
  pid_in(world.file("pid"));
  running->terminate();
  const Report report = report_of(*running);
  CHECK(report.kind == Report::Kind::signalled);
  CHECK(report.value == SIGTERM);
  CHECK(tests::read_text(world.file("done")) == "clean\n");
}

TEST_CASE("supervisor: KILL ends those who ignore TERM or are stopped", "[tools]") {
  tests::ProcessWorld world;
  auto running = spawn(*world.supervisor,
                       shell("trap '' TERM; sh -c 'echo $$ > pid; kill -STOP $$' & "
                             "while :; do sleep 0.01; done",
                             world.folder.path()));
  REQUIRE(running);
  const int pid = pid_in(world.file("pid"));
  running->kill();
  const Report report = report_of(*running);
  CHECK(report.kind == Report::Kind::signalled);
  CHECK(report.value == SIGKILL);
  CHECK_FALSE(is_running(pid));
}

TEST_CASE("supervisor: letting go of a program kills its tree", "[tools]") {
  tests::ProcessWorld world;
  int pid = 0;
  {
    auto running =
        spawn(*world.supervisor,
              shell("setsid sh -c 'echo $$ > pid; exec sleep 1000' & wait", world.folder.path()));
    REQUIRE(running);
    pid = pid_in(world.file("pid"));
    CHECK(is_running(pid));
  }
  CHECK(wait_until([&] { return !is_running(pid); }));
}

TEST_CASE("supervisor: a program that kills its shim does not get away", "[tools]") {
  tests::ProcessWorld world;
  auto running =
      spawn(*world.supervisor,
            shell("setsid sh -c 'echo $$ > pid; exec sleep 1000' &\n"
                  "while [ ! -s pid ]; do sleep 0.01; done; kill -KILL $PPID; sleep 1000",
                  world.folder.path()));
  REQUIRE(running);
  pollfd event{.fd = running->descriptor(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&event, 1, 30'000) == 1);
  const auto report = running->report();
  REQUIRE_FALSE(report);
  CHECK(report.error().code == agent::Code::os_failed);
  const int pid = pid_in(world.file("pid"));
  CHECK(wait_until([&] { return !is_running(pid); }));
  CHECK(run(*world.supervisor, shell("exit 0", "/")).value == 0);  // the zygote goes on
}

TEST_CASE("supervisor: a shim serves one program at a time, and the next after a clean end",
          "[tools]") {
  tests::ProcessWorld world;
  const auto shim_of = [&](const std::string& script) {
    run(*world.supervisor, shell("echo $PPID > pid; " + script, world.folder.path()));
    return pid_in(world.file("pid"));
  };
  const int first = shim_of("exit 1");
  CHECK(shim_of("sleep 1000 &") == first);  // nothing of it is left
  CHECK(shim_of("kill -SEGV $$") == first);
  CHECK(run(*world.supervisor, shell("exit 0", "/no/such/folder")).kind == Report::Kind::no_folder);
  CHECK(shim_of(":") == first);

  auto running = spawn(*world.supervisor, shell("exec sleep 1000", world.folder.path()));
  REQUIRE(running);
  const int second = shim_of(":");
  CHECK(second != first);  // that one is at work
  running->kill();
  report_of(*running);
  auto third = spawn(*world.supervisor, shell("exec sleep 1000", world.folder.path()));
  REQUIRE(third);
  CHECK(shim_of(":") != first);  // who was given an order is not used again
}

TEST_CASE("supervisor: an idle shim that was killed is replaced", "[tools]") {
  tests::ProcessWorld world;
  run(*world.supervisor, shell("echo $PPID > pid", world.folder.path()));
  const int shim = pid_in(world.file("pid"));
  ::kill(shim, SIGKILL);
  // Reaped, that is: a sanitizer's own thread may hold its socket open for a moment longer.
  CHECK(wait_until([&] { return ::kill(shim, 0) != 0 && errno == ESRCH; }));
  CHECK(run(*world.supervisor, shell("exit 6", "/")).value == 6);
}

TEST_CASE("supervisor: without its zygote it says so", "[tools]") {
  tests::ProcessWorld world;
  ::kill(world.supervisor->zygote(), SIGKILL);
  CHECK(wait_until([&] { return !is_running(world.supervisor->zygote()); }));
  const auto running = spawn(*world.supervisor, shell("exit 0", "/"));
  REQUIRE_FALSE(running);
  CHECK(running.error().code == agent::Code::os_failed);
}

TEST_CASE("supervisor: signals of the terminal do not end the zygote", "[tools]") {
  tests::ProcessWorld world;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) {
    ::kill(world.supervisor->zygote(), number);
  }
  CHECK(run(*world.supervisor, shell("exit 4", "/")).value == 4);
}

TEST_CASE("supervisor: large environments pass, too large ones are refused", "[tools]") {
  tests::ProcessWorld world;
  tools::Program program = shell("printf %s \"$BIG\" | wc -c > size", world.folder.path());
  program.environment.push_back("BIG=" + std::string(100'000, 'x'));
  for (int i = 0; i < 100; ++i) {
    program.environment.push_back("V" + std::to_string(i) + "=" + std::string(2'000, 'y'));
  }
  CHECK(run(*world.supervisor, program).value == 0);
  CHECK(std::stoi(tests::read_text(world.file("size"))) == 100'000);

  program.environment.push_back("HUGE=" + std::string(5u << 20, 'x'));
  const auto refused = spawn(*world.supervisor, program);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == agent::Code::os_failed);
  CHECK(refused.error().message.find("bytes") != std::string::npos);

  program.environment.back() = "LONG=" + std::string(200'000, 'x');  // more than execve(2) takes
  const Report report = run(*world.supervisor, program);
  CHECK(report.kind == Report::Kind::no_exec);
  CHECK(report.value == E2BIG);
}

TEST_CASE("supervisor: an argument with a NUL byte is refused", "[tools]") {
  tests::ProcessWorld world;
  const auto refused = spawn(*world.supervisor, shell(std::string("exit\0 0", 7), "/"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("NUL") != std::string::npos);
}

TEST_CASE("supervisor: SIGKILL of its owner ends every process", "[tools]") {
  tests::TemporaryFolder folder;
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto supervisor = tools::Supervisor::start();
    if (!supervisor) {
      ::_exit(1);
    }
    const auto first = spawn(
        **supervisor, shell("sleep 1000 & echo $! > a; echo $$ > b; sleep 1000", folder.path()));
    const auto second = spawn(
        **supervisor,
        shell("trap '' TERM; setsid sh -c '(sleep 1000 & echo $! > c); echo $$ > d; sleep 1000' & "
              "sleep 1000",
              folder.path()));
    std::ofstream(folder.path() / "zygote") << (*supervisor)->zygote() << '\n';
    for (;;) {
      ::pause();
    }
  }
  REQUIRE(owner > 0);
  std::set<int> pids;
  for (const char* name : {"a", "b", "c", "d", "zygote"}) {
    pids.insert(pid_in(folder.path() / name));
  }
  CHECK(pids.size() == 5);
  for (const int pid : pids) {
    CHECK(is_running(pid));
  }
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  for (const int pid : pids) {
    INFO(pid);
    CHECK(wait_until([&] { return !is_running(pid); }));
  }
}

TEST_CASE("supervisor: the end of the supervisor is the end of the zygote", "[tools]") {
  tests::ProcessWorld world;
  const pid_t zygote = world.supervisor->zygote();
  world.supervisor.reset();
  CHECK_FALSE(is_running(zygote));
}

TEST_CASE("supervisor: a shim that lacks a layer starts nothing", "[tools]") {
  tests::ProcessWorld world;
  tools::Program program = shell("exit 0", world.folder.path());
  program.profile = encode(tools::sandbox::Profile{.writable = {world.folder.path()}});
  CHECK(run(*world.supervisor, program).value == 0);
  program.profile = encode(tools::sandbox::Profile{.writable = {world.file("other")}});
  program.layers.add(tools::sandbox::Layer::hosts);  // nobody has asked for a network of its own
  const auto running = spawn(*world.supervisor, program);
  REQUIRE_FALSE(running);
  CHECK(running.error().code == agent::Code::os_failed);
}
