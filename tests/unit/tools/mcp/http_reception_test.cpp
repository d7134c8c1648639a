#include "tools/mcp/http_reception.h"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace {

using tools::mcp::HttpReception;
using tools::mcp::Message;

struct Received {
  std::vector<std::string> results;  // of what came, as JSON; methods of what is no answer
  std::string endpoint;
  bool is_answered = false;
  std::string problem;
};

Received receive(std::string_view bytes, std::size_t piece, std::int64_t id = 3) {
  Received received;
  HttpReception reception(
      id,
      {.on_message =
           [&](const Message& message) {
             received.results.push_back(message.method.empty() ? agent::dump(message.body)
                                                               : message.method);
           },
       .on_endpoint = [&](std::string_view path) { received.endpoint = path; }});
  while (!bytes.empty() && reception.take(bytes.substr(0, piece)) != agent::Heard::enough) {
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (!reception.is_answered()) {
    reception.finish();
  }
  received.is_answered = reception.is_answered();
  received.problem = reception.problem();
  return received;
}

}  // namespace

TEST_CASE("http reception: what an answer's body says, however it is cut") {
  struct Row {
    std::string body;
    std::vector<std::string> results;
    bool is_answered;
    std::string problem = {};
    std::string endpoint = {};
  };
  const std::vector<Row> rows = {
      {R"({"id":3,"result":1})", {"1"}, true},
      {" \r\n {\"id\":3,\"result\":1}\n", {"1"}, true},
      {R"([{"method":"a"},{"id":3,"result":1}])", {"a", "1"}, true},
      {R"({"id":4,"result":1})", {"1"}, false},
      {R"({"id":"3","result":1})", {"1"}, false},
      {R"({"id":3,"method":"ping"})", {"ping"}, false},
      {R"({"id":3,"resu)", {}, false, "sent what is no message: {\"id\":3,\"resu"},
      {"data: {\"method\":\"a\"}\n\ndata: {\"id\":3,\"result\":1}\n\ndata: {\"method\":\"b\"}\n\n",
       {"a", "1"},
       true},
      {": x\r\n\r\nevent: message\r\ndata: {\"id\":3,\r\ndata: \"result\":1}\r\n\r\n", {"1"}, true},
      {"data: {\"id\":3,\"result\":1}\n", {"1"}, true},       // its end is left out
      {"id: 1\ndata: {\"id\":3,\"result\":1}\n", {}, false},  // it can be taken up again
      {"id: 1\ndata:\n\n", {}, false},
      {"event: endpoint\ndata: /here\n\n", {}, false, {}, "/here"},
      {"data: {half\n\n", {}, false, "sent what is no message: {half"},
      {"<html>", {}, false, "sent what is neither JSON nor a stream of events"},
      {"", {}, false},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::string::npos}) {
      CAPTURE(row.body, piece);
      const Received received = receive(row.body, piece);
      CHECK(received.results == row.results);
      CHECK(received.is_answered == row.is_answered);
      CHECK(received.problem == row.problem);
      CHECK(received.endpoint == row.endpoint);
    }
  }
}

TEST_CASE("http reception: where it is taken up again") {
  HttpReception reception(3, {.on_message = [](const Message&) {}});
  CHECK(reception.last_id().empty());
  CHECK(reception.retry() == std::chrono::milliseconds(1'000));
  reception.take("id: a\nretry: 20\ndata:\n\n");
  reception.finish();
  CHECK(reception.last_id() == "a");
  CHECK(reception.retry() == std::chrono::milliseconds(20));
  CHECK(reception.events() == 0);
  reception.begin_again();
  reception.take("data: {\"method\":\"a\"}\n\n");
  CHECK(reception.last_id() == "a");
  CHECK(reception.events() == 1);
  reception.begin_again();
  reception.take("retry: 999999999\nid: b\n\n");
  CHECK(reception.last_id() == "b");
  CHECK(reception.retry() == std::chrono::minutes(1));
}

TEST_CASE("http reception: a message without end is not waited for") {
  for (const std::string_view begin : {"{\"id\":3,\"result\":\"", "data: "}) {
    CAPTURE(begin);
    HttpReception reception(3, {.on_message = [](const Message&) {}});
    CHECK(reception.take(begin) == agent::Heard::answer);
    const std::string piece(8u << 20, 'x');
    int pieces = 0;
    while (reception.take(piece) == agent::Heard::answer) {
      REQUIRE(++pieces < 10);
    }
    reception.finish();
    CHECK(reception.problem() == "sent a message of more than 64 MiB");
  }
}
