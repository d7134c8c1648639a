// The least that could speak MCP on pipes: a server with one tool, and a client that calls it.
// Usage: bench_mcp serve [MILLISECONDS]      it takes so long to start
//        bench_mcp call COUNT COMMAND…       starts the server, and calls one by one
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

[[noreturn]] void stop(const char* what) {
  std::perror(what);
  std::exit(1);
}

void put(std::FILE* file, const std::string& line) {
  if (std::fputs((line + "\n").c_str(), file) == EOF || std::fflush(file) != 0) {
    stop("write");
  }
}

// What stands behind `"KEY":`, up to the end of a number or a text without escapes.
std::string_view value_of(std::string_view line, std::string_view key) {
  const std::size_t found = line.find("\"" + std::string(key) + "\":");
  if (found == std::string_view::npos) {
    return {};
  }
  std::string_view rest = line.substr(found + key.size() + 3);
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    return rest.substr(0, rest.find('"'));
  }
  return rest.substr(0, rest.find_first_of(",}"));
}

int serve(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  for (std::string line; std::getline(std::cin, line);) {
    const std::string_view id = value_of(line, "id");
    const std::string_view method = value_of(line, "method");
    if (id.empty()) {
      continue;
    }
    std::string answer = R"("error":{"code":-32601,"message":"no"})";
    if (method == "initialize") {
      answer = R"("result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},)"
               R"("serverInfo":{"name":"bench","version":"1"}})";
    } else if (method == "tools/list") {
      answer = R"("result":{"tools":[{"name":"f","inputSchema":{"type":"object"}}]})";
    } else if (method == "tools/call") {
      answer = R"("result":{"content":[{"type":"text","text":"did it"}]})";
    }
    put(stdout, R"({"jsonrpc":"2.0","id":)" + std::string(id) + "," + answer + "}");
  }
  return 0;
}

struct Server {
  std::FILE* in = nullptr;
  std::FILE* out = nullptr;
  pid_t process = -1;
};

Server start(char** command) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
    stop("pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  Server server;
  if (posix_spawn(&server.process, command[0], &actions, nullptr, command, environ) != 0) {
    stop(command[0]);
  }
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  server.in = fdopen(in[1], "w");
  server.out = fdopen(out[0], "r");
  return server;
}

void ask(const Server& server, int id, const char* method, const char* params) {
  put(server.in,
      R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method +
          R"(","params":)" + params + "}");
  std::array<char, 4096> line{};
  do {
    if (std::fgets(line.data(), line.size(), server.out) == nullptr) {
      stop("the server has ended");
    }
  } while (value_of(line.data(), "id") != std::to_string(id));
}

int call(int count, char** command) {
  const Server server = start(command);
  int id = 0;
  ask(server, ++id, "initialize", R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  put(server.in, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  ask(server, ++id, "tools/list", "{}");
  for (int at = 0; at < count; ++at) {
    ask(server, ++id, "tools/call", R"({"name":"f","arguments":{}})");
  }
  std::fclose(server.in);
  return waitpid(server.process, nullptr, 0) == server.process ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view role = count > 1 ? words[1] : "";
  if (role == "serve") {
    return serve(count > 2 ? std::atoi(words[2]) : 0);
  }
  if (role == "call" && count > 3) {
    return call(std::atoi(words[2]), words + 3);
  }
  std::fputs("bench_mcp: serve [MILLISECONDS], or call COUNT COMMAND\n", stderr);
  return 2;
}
