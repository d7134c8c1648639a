// The least that could do the same work: sends recorded request bodies one after the other over
// one kept connection, and between two of them runs `sh -c COMMAND` and reads what it says.
// Usage: bench_baseline URL BODIES [TURN…]
//   BODIES   each body as "LENGTH\n" and its bytes
//   TURN     prints "TURN CPU_NANOSECONDS" on stdout before that request
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void stop(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::vector<std::string> read_bodies(const char* file) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::string> bodies;
  for (std::size_t length = 0; stream >> length;) {
    stream.get();
    std::string body(length, '\0');
    if (!stream.read(body.data(), static_cast<std::streamsize>(length))) {
      stop(file);
    }
    bodies.push_back(std::move(body));
  }
  return bodies;
}

std::size_t take(char* data, std::size_t size, std::size_t count, void* answer) {
  static_cast<std::string*>(answer)->append(data, size * count);
  return size * count;
}

void post(CURL* curl, const std::string& body, std::string& answer) {
  answer.clear();
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK) {
    std::fprintf(stderr, "bench_baseline: %s\n", curl_easy_strerror(code));
    std::exit(1);
  }
}

// The command of the answer, which the server wrote and which holds no escapes but \" itself.
std::string command_of(const std::string& answer) {
  constexpr std::string_view k_start = R"(\"command\":\")";
  const auto start = answer.find(k_start);
  if (start == std::string::npos) {
    return {};
  }
  const auto begin = start + k_start.size();
  return answer.substr(begin, answer.find('\\', begin) - begin);
}

std::string run(std::string command) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    stop("pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::array<char*, 4> arguments{shell.data(), option.data(), command.data(), nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, shell.c_str(), &actions, nullptr, arguments.data(), environ) != 0) {
    stop("posix_spawn");
  }
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  return output;
}

std::int64_t cpu_nanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: bench_baseline URL BODIES [TURN…]\n", stderr);
    return 2;
  }
  const std::vector<std::string> bodies = read_bodies(argv[2]);
  std::vector<std::size_t> marks;
  std::transform(argv + 3, argv + argc, std::back_inserter(marks), [](const char* text) {
    return std::strtoul(text, nullptr, 10);
  });
  std::string answer;
  CURL* curl = curl_easy_init();
  curl_slist* headers = curl_slist_append(nullptr, "content-type: application/json");
  headers = curl_slist_append(headers, "expect:");
  curl_easy_setopt(curl, CURLOPT_URL, argv[1]);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  for (std::size_t turn = 1; turn <= bodies.size(); ++turn) {
    if (std::find(marks.begin(), marks.end(), turn) != marks.end()) {
      std::printf("%zu %lld\n", turn, static_cast<long long>(cpu_nanoseconds()));
    }
    post(curl, bodies[turn - 1], answer);
    if (std::string command = command_of(answer); !command.empty()) {
      run(std::move(command));
    }
  }
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  return 0;
}
