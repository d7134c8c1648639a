#include "cli/prompt_input.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { REQUIRE(::pipe2(ends, O_CLOEXEC) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    close_writer();
  }
  void write(const std::string& text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close_writer() {
    if (ends[1] >= 0) {
      ::close(ends[1]);
      ends[1] = -1;
    }
  }
};

agent::Result<std::optional<std::string>> read(const std::vector<std::string>& words,
                                               Pipe& pipe,
                                               bool agent_has_prompt = false) {
  return cli::read_prompt({.words = words,
                           .file = std::nullopt,
                           .agent_has_prompt = agent_has_prompt,
                           .stdin_descriptor = pipe.ends[0],
                           .first_byte = std::chrono::milliseconds(50)});
}

}  // namespace

TEST_CASE("prompt: words are joined, and stdin is left alone", "[cli]") {
  Pipe silent;
  CHECK(*read({"say", "hello"}, silent) == "say hello");
}

TEST_CASE("prompt: the agent's own prompt needs no stdin", "[cli]") {
  Pipe silent;
  const auto prompt = read({}, silent, true);
  REQUIRE(prompt);
  CHECK_FALSE(prompt->has_value());
}

TEST_CASE("prompt: stdin is read where there is no other prompt, or where - asks for it", "[cli]") {
  Pipe pipe;
  pipe.write("from the pipe\n");
  pipe.close_writer();
  SECTION("no prompt") {
    CHECK(*read({}, pipe) == "from the pipe\n");
  }
  SECTION("a dash") {
    CHECK(*read({"-"}, pipe) == "from the pipe\n");
  }
  SECTION("a dash before words") {
    CHECK(*read({"-", "explain", "this"}, pipe) == "from the pipe\n\n\nexplain this");
  }
  SECTION("a dash behind words") {
    CHECK(*read({"look", "at", "-"}, pipe) == "look at\n\nfrom the pipe\n");
  }
  SECTION("a dash wins over the agent's prompt") {
    CHECK(*read({"-"}, pipe, true) == "from the pipe\n");
  }
}

TEST_CASE("prompt: nothing to say is exit 66", "[cli]") {
  Pipe pipe;
  SECTION("an empty pipe") {
    pipe.close_writer();
    CHECK(read({}, pipe).error().code == agent::Code::cli_no_input);
  }
  SECTION("an empty pipe beside words") {
    pipe.close_writer();
    const auto prompt = read({"-", "explain"}, pipe);
    CHECK(prompt.error().code == agent::Code::cli_no_input);
    CHECK(prompt.error().message == "standard input is empty, and `-` asks for it");
  }
  SECTION("blanks alone") {
    pipe.write(" \n\t");
    pipe.close_writer();
    CHECK(read({}, pipe).error().code == agent::Code::cli_no_input);
  }
  SECTION("a pipe that nobody writes to, after the deadline") {
    CHECK(read({}, pipe).error().code == agent::Code::cli_no_input);
  }
  SECTION("an empty word") {
    CHECK(read({""}, pipe).error().code == agent::Code::cli_no_input);
  }
  SECTION("a file that is not there") {
    const auto prompt = cli::read_prompt({.words = {}, .file = "/nowhere/prompt.txt"});
    REQUIRE_FALSE(prompt);
    CHECK(prompt.error().code == agent::Code::cli_no_input);
    CHECK(prompt.error().message.find("/nowhere/prompt.txt") != std::string::npos);
  }
}

TEST_CASE("prompt: given twice is a usage error", "[cli]") {
  const std::vector<std::string> words{"hello"};
  const auto prompt = cli::read_prompt({.words = words, .file = "prompt.txt"});
  REQUIRE_FALSE(prompt);
  CHECK(prompt.error().code == agent::Code::cli_usage);
}

TEST_CASE("prompt: bytes that are no text are refused where they stand", "[cli]") {
  Pipe pipe;
  pipe.write("a\xff");
  pipe.close_writer();
  const auto prompt = read({}, pipe);
  REQUIRE_FALSE(prompt);
  CHECK(prompt.error().code == agent::Code::cli_no_input);
  CHECK(prompt.error().message == "standard input is not text: byte 2 (0xFF) is not UTF-8");
}

TEST_CASE("prompt: who reads stdin", "[cli]") {
  const std::vector<std::string> words = {"say", "hello"};
  const std::vector<std::string> dash = {"say", "-"};
  CHECK_FALSE(cli::reads_stdin({.words = words}));
  CHECK(cli::reads_stdin({.words = dash}));
  CHECK(cli::reads_stdin({.words = {}}));
  CHECK(cli::reads_stdin({.words = {}, .file = "-", .agent_has_prompt = true}));
  CHECK_FALSE(cli::reads_stdin({.words = {}, .file = "prompt.txt"}));
  CHECK_FALSE(cli::reads_stdin({.words = {}, .agent_has_prompt = true}));
}

TEST_CASE("prompt: bytes that lie ready in a pipe are seen and left there", "[cli]") {
  Pipe pipe;
  CHECK_FALSE(cli::holds_bytes(pipe.ends[0]));
  pipe.write("x");
  CHECK(cli::holds_bytes(pipe.ends[0]));
  CHECK(cli::holds_bytes(pipe.ends[0]));
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK_FALSE(cli::holds_bytes(null));
  ::close(null);
  CHECK_FALSE(cli::holds_bytes(-1));
}
