#include "cli/terminal/progress.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::string text() const {
    std::string text(65'536, '\0');
    const auto bytes = ::read(ends[0], text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return text;
  }

  int ends[2];
};

agent::Event event_of(agent::EventBody body) {
  return {.run_id = "r", .body = std::move(body)};
}

}  // namespace

TEST_CASE("progress: nothing is written over a question, and nothing of it is lost", "[cli]") {
  const Pipe pipe;
  const agent::Redactor redactor({});
  cli::Progress progress({.descriptor = pipe.ends[1], .live = true}, redactor);
  progress.on(event_of(agent::MemberStarted{
      .member = "one", .step = "one", .kind = "agent", .runs = "one.yaml", .run_id = "m"}));
  CHECK(pipe.text().contains("one.yaml"));
  {
    const cli::Progress::Question question(&progress, {});
    pipe.text();  // what was live is taken away
    progress.on(event_of(agent::TurnStarted{.turn = 1}));
    progress.on(event_of(agent::Warning{.message = "mind this", .help = {}}));
    progress.on({.run_id = "m", .body = agent::TurnStarted{.turn = 7}});
    progress.make_room();
    CHECK(pipe.text().empty());
  }
  const std::string behind = pipe.text();
  CHECK(behind.contains("mind this"));
  CHECK(behind.contains("turn 7"));  // the live line, anew
}
