// What starting /bin/true costs, four ways: a plain posix_spawn, a shim forked for each call from
// a process with threads and N MB in use, and the supervisor, whose shims the zygote forks and who
// serve call after call, without and with a sandbox. In turn, 200 times; prints for each way the
// median in microseconds, then the median, the least and the most (without one call in twenty) of
// what the sandbox costs as a ratio, call by call, and what it takes to set it up.
// Usage: spawn_cost [MB [THREADS]]
#include "tools/process/process_table.h"
#include "tools/process/sandbox.h"
#include "tools/process/shim.h"
#include "tools/process/supervisor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int k_calls = 200;
constexpr std::string_view k_body{"/\0/bin/true\0PATH=/bin\0", 22};

[[noreturn]] void stop(const char* what) {
  std::perror(what);
  std::exit(1);
}

double time_us(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

// The value below which that share of all lies.
double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void plain_spawn() {
  std::string name = "/bin/true";
  std::string variable = "PATH=/bin";
  std::array<char*, 2> arguments{name.data(), nullptr};
  std::array<char*, 2> variables{variable.data(), nullptr};
  pid_t pid = 0;
  int status = 0;
  if (::posix_spawn(&pid, name.c_str(), nullptr, nullptr, arguments.data(), variables.data()) !=
          0 ||
      ::waitpid(pid, &status, 0) != pid || status != 0) {
    stop("posix_spawn");
  }
}

void wait_for_report(int control) {
  tools::Report report;
  if (::recv(control, &report, sizeof report, 0) != sizeof report ||
      report.kind != tools::Report::Kind::exited || report.value != 0) {
    stop("report");
  }
}

void send_request(int control) {
  const tools::SpawnHeader header{
      .bytes = static_cast<std::uint32_t>(k_body.size()), .arguments = 1, .variables = 1};
  const std::array<int, 3> standard{0, 1, 2};
  std::array<char, sizeof header> data{};
  std::memcpy(data.data(), &header, sizeof header);
  iovec part{.iov_base = data.data(), .iov_len = data.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof standard)> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof standard);
  std::memcpy(CMSG_DATA(rights), standard.data(), sizeof standard);
  if (::sendmsg(control, &message, 0) < 0 || ::send(control, k_body.data(), header.bytes, 0) < 0) {
    stop("sendmsg");
  }
}

// What a shim a call would do without a zygote: the fork copies the page tables of all of errand.
void direct_shim() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    stop("socketpair");
  }
  const pid_t shim = ::fork();
  if (shim == 0) {
    ::dup2(ends[1], 3);
    tools::close_from(4);
    tools::run_shim(3, tools::Birth::plain);
  }
  ::close(ends[1]);
  send_request(ends[0]);
  wait_for_report(ends[0]);
  ::close(ends[0]);
  ::waitpid(shim, nullptr, 0);
}

// As for an agent in a repository of its own, with the user's home as it is.
std::unique_ptr<tools::Sandbox> sandbox(const std::filesystem::path& folder,
                                        tools::Supervisor& supervisor,
                                        const agent::Environment& environment) {
  for (const char* name : {".git/hooks", ".git/objects", ".git/refs"}) {
    std::filesystem::create_directories(folder / "work" / name);
  }
  auto opened = tools::Sandbox::create({.required = {}},
                                       {.workspace = folder / "work",
                                        .agent_folder = folder / "work",
                                        .agent_file = {},
                                        .temporary = folder / "run",
                                        .environment = environment,
                                        .supervisor = &supervisor});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    std::exit(1);
  }
  return std::move(*opened);
}

void supervised(tools::Supervisor& supervisor, const std::string& profile) {
  auto running = supervisor.spawn(
      {.argv = {"/bin/true"}, .environment = {"PATH=/bin"}, .cwd = "/", .profile = profile},
      0,
      1,
      2);
  if (!running) {
    stop("spawn");
  }
  pollfd event{.fd = running->descriptor(), .events = POLLIN, .revents = 0};
  ::poll(&event, 1, -1);
  const auto report = running->report();
  if (!report || !*report || (*report)->kind != tools::Report::Kind::exited) {
    stop("report");
  }
}

// Threads that wait, as errand's own do.
class Sleepers {
 public:
  explicit Sleepers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this](std::stop_token token) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, token, [] { return false; });
      });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<std::jthread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 25;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 4;
  auto supervisor = tools::Supervisor::start();
  if (!supervisor) {
    std::fprintf(stderr, "%s\n", supervisor.error().message.c_str());
    return 1;
  }
  const std::vector<char> memory(megabytes << 20, 'x');  // touched
  const Sleepers sleepers(threads);
  std::string folder = (std::filesystem::temp_directory_path() / "spawn-cost-XXXXXX").string();
  ::mkdtemp(folder.data());
  const char* const home = std::getenv("HOME");
  const agent::Environment environment{{"HOME", home != nullptr ? home : "/"}};
  std::unique_ptr<tools::Sandbox> confined;
  const double first = time_us([&] { confined = sandbox(folder, **supervisor, environment); });
  const std::array<std::function<void()>, 4> ways = {
      plain_spawn,
      direct_shim,
      [&] { supervised(**supervisor, ""); },
      [&] {
        const auto profile = confined->begin();
        if (!profile) {
          stop(profile.error().message.c_str());
        }
        supervised(**supervisor, *profile);
        confined->end(*profile, true);
      },
  };
  std::array<std::vector<double>, ways.size()> times;
  std::vector<double> ratios;
  for (int call = 0; call <= k_calls; ++call) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      times[way].push_back(time_us(ways[way]));
    }
    ratios.push_back(times[3].back() / times[2].back());
    if (call == 0) {  // a warm-up
      ratios.clear();
      times = {};
    }
  }
  std::filesystem::remove_all(folder);
  for (const std::vector<double>& way : times) {
    std::printf("%.0f ", quantile(way, 0.5));
  }
  std::printf("%.2f %.2f %.2f %.0f\n",
              quantile(ratios, 0.5),
              quantile(ratios, 0.05),
              quantile(ratios, 0.95),
              first);
}
