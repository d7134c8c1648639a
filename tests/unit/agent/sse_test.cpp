#include "agent/sse.h"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace {

using agent::StreamEvent;

struct ParsedEvents {
  std::vector<StreamEvent> events;
  std::optional<StreamEvent> last;

  bool operator==(const ParsedEvents&) const = default;
};

ParsedEvents parse_sse(std::string_view text, std::size_t piece = std::string_view::npos) {
  agent::SseParser parser;
  ParsedEvents parsed;
  while (!text.empty()) {
    parser.feed(text.substr(0, piece), [&](const StreamEvent& event) {
      parsed.events.push_back(event);
      return true;
    });
    text.remove_prefix(std::min(piece, text.size()));
  }
  parsed.last = parser.finish();
  return parsed;
}

using Events = std::vector<StreamEvent>;

}  // namespace

TEST_CASE("sse: lines end with LF, CRLF or CR", "[providers]") {
  const std::string_view end = GENERATE("\n", "\r\n", "\r");
  std::string text;
  for (const std::string_view line : {"event: a", "data: 1", "", "data: 2", ""}) {
    text += line;
    text += end;
  }
  CHECK(parse_sse(text).events == Events{{"a", "1"}, {"", "2"}});
}

TEST_CASE("sse: a CRLF may be cut in the middle", "[providers]") {
  CHECK(parse_sse("data: 1\r\ndata: 2\r\n\r\n", 8).events == Events{{"", "1\n2"}});
}

TEST_CASE("sse: several data lines are joined with LF", "[providers]") {
  CHECK(parse_sse("data: one\ndata:two\ndata:  three\n\n").events ==
        Events{{"", "one\ntwo\n three"}});
}

TEST_CASE("sse: a byte order mark, comments and other fields are ignored", "[providers]") {
  CHECK(parse_sse("\xEF\xBB\xBF: hi\n\nid: 3\nretry: 5\nnonsense: x\ndata: 1\n\n", 1).events ==
        Events{{"", "1"}});
}

TEST_CASE("sse: an event without data is none, and does not name the next one", "[providers]") {
  CHECK(parse_sse("event: ping\n\ndata: 1\n\n").events == Events{{"", "1"}});
}

TEST_CASE("sse: an event that lacks its blank line is kept for the end", "[providers]") {
  const ParsedEvents parsed = parse_sse("data: 1\n\nevent: x\ndata: 2");
  CHECK(parsed.events == Events{{"", "1"}});
  CHECK(parsed.last == StreamEvent{"x", "2"});
  CHECK(parse_sse("data: 1\n\n: bye").last == std::nullopt);
}

TEST_CASE("sse: however the bytes are cut, the events are the same", "[providers]") {
  constexpr std::string_view text =
      "event: a\r\ndata: gr\xC3\xBC\xC3\x9F dich \xF0\x9F\x98\x8A\r\n\r\n: c\n\ndata:\n\ndata: {}";
  const ParsedEvents whole = parse_sse(text);
  REQUIRE(whole.events.size() == 2);
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    CHECK(parse_sse(text, piece) == whole);
  }
}

TEST_CASE("sse: nothing is dispatched after a false", "[providers]") {
  agent::SseParser parser;
  int seen = 0;
  const auto once = [&](const StreamEvent&) {
    ++seen;
    return false;
  };
  parser.feed("data: 1\n\ndata: 2\n\n", once);
  parser.feed("data: 3\n\n", once);
  CHECK(seen == 1);
  CHECK(parser.finish() == std::nullopt);
}

TEST_CASE("sse: where a stream can be taken up again, and when") {
  agent::SseParser parser;
  const auto feed = [&](std::string_view text) {
    parser.feed(text, [](const StreamEvent&) { return true; });
  };
  feed("data: 1\n\n");
  CHECK(parser.last_id().empty());
  CHECK_FALSE(parser.retry());
  feed("id: a b\nretry: 500\ndata\n\n");
  CHECK(parser.last_id() == "a b");
  CHECK(parser.retry() == std::chrono::milliseconds(500));
  for (const std::string line :
       {"retry: x", "retry: 5s", "retry: -1", "retry:", "retry: 99999999999999"}) {
    CAPTURE(line);
    feed(line + "\n");
    CHECK(parser.retry() == std::chrono::milliseconds(500));
  }
  feed(std::string_view("id: c\0d\n", 8));
  CHECK(parser.last_id() == "a b");
  feed("id\nretry: 0\n");
  CHECK(parser.last_id().empty());
  CHECK(parser.retry() == std::chrono::milliseconds(0));
}

TEST_CASE("sse: only text with fields or comments looks like a stream", "[providers]") {
  const auto looks = [](std::string_view text) {
    agent::SseParser parser;
    parser.feed(text, [](const StreamEvent&) { return true; });
    return parser.is_plausible();
  };
  CHECK(looks(": ping\n"));
  CHECK(looks("event: a\n"));
  CHECK_FALSE(looks("Service Unavailable\n\nTry later: maybe\n"));
}
