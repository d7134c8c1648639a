#include "cli/batch_results.h"

#include "agent/json.h"
#include "agent/text.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

// What was written to a pipe; small enough to fit into it.
class Reader {
 public:
  Reader() { REQUIRE(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0); }
  ~Reader() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  std::unique_ptr<cli::Output> output() const {
    return cli::Output::to_descriptor(ends_[1], "a pipe");
  }
  std::string text() const {
    std::string text(65'536, '\0');
    const auto bytes = ::read(ends_[0], text.data(), text.size());
    text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    return text;
  }
  std::vector<long long> indices() const {
    std::vector<long long> all;
    for (const std::string_view line : agent::split_lines(text_now_ = text())) {
      const auto json = agent::parse_json(line);
      REQUIRE(json);
      all.push_back(agent::integer_at(*agent::find(*json, "item"), "index"));
    }
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
  mutable std::string text_now_;
};

cli::BatchItem item(std::int64_t index, std::string text = "x") {
  return {.index = index, .line = index, .text = std::move(text)};
}

}  // namespace

TEST_CASE("batch results: as they end, or in the order of the inputs", "[cli]") {
  const agent::Redactor redactor({});
  const Reader reader;
  const auto out = reader.output();
  SECTION("as they end") {
    cli::BatchResults results({}, *out, nullptr, "", redactor);
    results.add(item(2), {}, false);
    results.add(item(1), {}, false);
    CHECK(reader.indices() == std::vector<long long>{2, 1});
  }
  SECTION("in order") {
    cli::BatchResults results({.is_ordered = true}, *out, nullptr, "", redactor);
    results.add(item(3), {}, false);
    results.add(item(2), {}, false);
    CHECK(reader.indices().empty());
    results.add(item(1), {}, false);
    CHECK(reader.indices() == std::vector<long long>{1, 2, 3});
  }
}

TEST_CASE("batch results: nothing begins while too many wait for an earlier one", "[cli]") {
  const agent::Redactor redactor({});
  const Reader reader;
  const auto out = reader.output();
  cli::BatchResults results({.is_ordered = true, .most_waiting = 2}, *out, nullptr, "", redactor);
  results.wait_for_room(2, {});
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    results.add(item(1), {}, false);
  });
  results.wait_for_room(3, {});
  CHECK(reader.indices() == std::vector<long long>{1});
  stop.request_stop();
  results.wait_for_room(100, stop.get_token());  // does not wait
}

TEST_CASE("batch results: what failed is a file of inputs, without secrets in the results",
          "[cli]") {
  agent::Redactor redactor({});
  redactor.add("a-very-secret-value");
  const Reader reader;
  const Reader failures;
  const auto out = reader.output();
  const auto failed = failures.output();
  const std::string head = "id,target\n";
  cli::BatchResults results({}, *out, failed.get(), head, redactor);
  agent::RunResult result;
  result.text = "a-very-secret-value and \x1b[31m";
  results.add(item(1, "1,ok"), result, true);
  result.exit_code = 75;
  results.add(item(2, "2,\"not\nok\""), result, false);
  results.add(item(3, "3,not ok"), result, false);
  const std::string text = reader.text();
  CHECK_FALSE(text.contains("very-secret"));
  CHECK_FALSE(text.contains('\x1b'));
  CHECK(text.contains(R"("earlier":true)"));
  CHECK(failures.text() == "id,target\n2,\"not\nok\"\n3,not ok\n");
}
