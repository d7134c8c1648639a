#include "tools/mcp/message.h"

#include <catch2/catch.hpp>

#include <cstddef>
#include <string>

namespace {

using tools::mcp::Message;
using tools::mcp::read_messages;
using tools::mcp::Reading;
using Kind = Message::Kind;

// In lenient reading; empty: it is no message at all.
std::string why_unusable(const std::string& text) {
  const auto messages = read_messages(text, Reading::lenient);
  if (!messages) {
    return "";
  }
  REQUIRE(messages->size() == 1);
  CHECK(messages->front().kind == Kind::unusable);
  CHECK(id_of(messages->front()) == 7);
  return messages->front().error_message;
}

std::string nested(int levels) {
  return R"({"jsonrpc":"2.0","result":)" + std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']') + R"(,"x":"\"{[","id":7})";
}

}  // namespace

TEST_CASE("mcp message: what answers and is no answer is unusable", "[tools]") {
  CHECK(why_unusable(R"({"jsonrpc":"2.0","id":7,"result":null})") == "its `result` is null");
  CHECK(why_unusable(R"({"jsonrpc":"2.0","id":7})") == "it has neither a `result` nor an `error`");
  CHECK(why_unusable(R"({"id":7,"error":"no\nluck"})") == R"(its `error` is no object: no\nluck)");
  CHECK(why_unusable(R"({"id":7,"error":[1]})") == "its `error` is no object: [1]");
  CHECK(why_unusable(R"({"jsonrpc":"2.0","id":7,"result":{"a":}})") == "it is not JSON");
  CHECK(why_unusable(R"({"jsonrpc":"2.0","id":7,"result":{"a":[}})") == "it is not JSON");
  CHECK(why_unusable(R"({"jsonrpc":"2.0","id":7,"result":{"a":"{)") == "it is not JSON");
  CHECK(why_unusable(nested(200)) == "it nests deeper than 200 levels");
  CHECK(read_messages(nested(199), Reading::lenient)->front().kind == Kind::result);
}

TEST_CASE("mcp message: what only looks like an answer is no message", "[tools]") {
  for (const char* text : {R"({"id":7})",
                           R"({"id":7,"level":"info"})",
                           R"({"jsonrpc":"2.0","id":"7","result":null})",
                           R"({"jsonrpc":"2.0","result":null})",
                           R"(INFO {"jsonrpc":"2.0","id":7,"half)",
                           R"({"jsonrpc":"2.0","id":7,"half)",
                           R"({"jsonrpc":"2.0","id":7,"method":"x","params":{"a":}})",
                           "{",
                           "[{]"}) {
    INFO(text);
    CHECK_FALSE(read_messages(text, Reading::lenient));
  }
  CHECK_FALSE(read_messages(R"({"jsonrpc":"2.0","id":7,"result":null})", Reading::strict));
  CHECK_FALSE(read_messages(nested(200), Reading::strict));
}
