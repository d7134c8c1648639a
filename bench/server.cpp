// A loopback model for measurements: answers Chat Completions as a stream, as fast as it can.
// POST /N/… asks for a shell call `echo K` until N calls have a result, then says "Done.".
// Usage: bench_server [RECORD]; prints its port. Bodies are appended to RECORD as "LENGTH\n" and
// their bytes.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <strings.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace {

[[noreturn]] void stop(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string chunk(const std::string& delta, const char* finish, const char* usage) {
  return "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
         "\"choices\":[{\"index\":0,\"delta\":" +
         delta + ",\"finish_reason\":" + finish + "}]" + usage + "}\n\n";
}

constexpr const char* k_usage =
    ",\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110}";

std::string tool_call(long number) {
  const std::string id = std::to_string(number);
  return chunk(
             "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":"
             "\"call_" +
                 id +
                 "\",\"type\":\"function\",\"function\":{\"name\":\"shell\","
                 "\"arguments\":\"\"}}]}",
             "null",
             "") +
         chunk(
             "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
             "\"{\\\"command\\\":\\\"echo " +
                 id + "\\\"}\"}}]}",
             "null",
             "") +
         chunk("{}", "\"tool_calls\"", k_usage) + "data: [DONE]\n\n";
}

std::string final_answer() {
  return chunk("{\"role\":\"assistant\",\"content\":\"Done.\"}", "null", "") +
         chunk("{}", "\"stop\"", k_usage) + "data: [DONE]\n\n";
}

// The number in the newest result's call id; 0 where there is none.
long results_in(std::string_view body) {
  constexpr std::string_view k_id = "\"tool_call_id\":\"call_";
  const auto at = body.rfind(k_id);
  return at == std::string_view::npos ? 0
                                      : std::strtol(body.data() + at + k_id.size(), nullptr, 10);
}

class Connection {
 public:
  Connection(int descriptor, std::FILE* record) : descriptor_(descriptor), record_(record) {
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Connection() { ::close(descriptor_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void serve() {
    for (;;) {
      std::size_t head = std::string::npos;
      while ((head = input_.find("\r\n\r\n")) == std::string::npos) {
        if (!read_more()) {
          return;
        }
      }
      const std::size_t length = content_length(head);
      while (input_.size() < head + 4 + length) {
        if (!read_more()) {
          return;
        }
      }
      const std::string body = input_.substr(head + 4, length);
      const long wanted = std::strtol(input_.c_str() + input_.find('/') + 1, nullptr, 10);
      input_.erase(0, head + 4 + length);
      keep(body);
      const long results = results_in(body);
      answer(results < wanted ? tool_call(results + 1) : final_answer());
    }
  }

 private:
  bool read_more() {
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
    input_.append(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    return count > 0;
  }
  std::size_t content_length(std::size_t head) const {
    for (std::size_t at = 0; at < head; at = input_.find("\r\n", at) + 2) {
      if (::strncasecmp(input_.c_str() + at, "content-length:", 15) == 0) {
        return std::strtoul(input_.c_str() + at + 15, nullptr, 10);
      }
    }
    return 0;
  }
  void keep(const std::string& body) {
    if (record_ != nullptr) {
      std::fprintf(record_, "%zu\n", body.size());
      std::fwrite(body.data(), 1, body.size(), record_);
      std::fflush(record_);
    }
  }
  void answer(const std::string& body) const {
    const std::string whole =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    for (std::size_t sent = 0; sent < whole.size();) {
      const ssize_t count =
          ::send(descriptor_, whole.data() + sent, whole.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) {
        return;
      }
      sent += static_cast<std::size_t>(count);
    }
  }

  int descriptor_;
  std::FILE* record_;
  std::string input_;
};

}  // namespace

int main(int argc, char** argv) {
  std::FILE* record = argc > 1 ? std::fopen(argv[1], "wb") : nullptr;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || ::bind(listener, generic, size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, generic, &size) != 0) {
    stop("bench_server");
  }
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  for (;;) {
    const int descriptor = ::accept(listener, nullptr, nullptr);
    if (descriptor >= 0) {
      std::thread([descriptor, record] { Connection(descriptor, record).serve(); }).detach();
    }
  }
}
