#include "cli/serve/request_reader.h"

#include <catch2/catch.hpp>

#include <string>

namespace {

using cli::RequestReader;
using State = RequestReader::State;

const std::string k_post = "POST /mcp?x=1 HTTP/1.1\r\nHost: localhost\r\n";
const std::string k_chunked = k_post + "Transfer-Encoding: chunked\r\n\r\n";

State read(RequestReader& reader, const std::string& text) {
  reader.feed(text);
  return reader.state() == State::judging ? reader.accept() : reader.state();
}

}  // namespace

TEST_CASE("request reader: a request in any pieces", "[cli]") {
  const std::string text = k_post + "X-A:  b \r\nContent-Length: 3\r\n\r\nabc" + k_post + "\r\n";
  const std::size_t piece = GENERATE(1, 2, 7, 1000);
  RequestReader reader(10);
  CHECK_FALSE(reader.has_begun());
  std::size_t at = 0;
  for (; at < text.size() && reader.state() != State::done; at += piece) {
    read(reader, text.substr(at, piece));
  }
  REQUIRE(reader.state() == State::done);
  const auto first = reader.take();
  CHECK(first.method == "POST");
  CHECK(first.path == "/mcp");
  CHECK(first.body == "abc");
  CHECK(agent::header(first.headers, "x-a") == "b");
  CHECK_FALSE(first.is_last);
  CHECK(read(reader, at < text.size() ? text.substr(at) : "") == State::done);
  CHECK(reader.take().body.empty());
  CHECK_FALSE(reader.has_begun());
}

TEST_CASE("request reader: a body comes by chunks, however they are cut", "[cli]") {
  const std::string text = k_chunked + "3;x=1\r\nabc\r\n4 \r\nd\r\ne\r\n0\r\nA: b\r\n\r\n" +
                           k_post + "Content-Length: 1\r\n\r\nz";
  const auto step = GENERATE(as<std::size_t>{}, 1, 2, 3, 7, 1'000);
  RequestReader reader(10);
  std::vector<std::string> bodies;
  for (std::size_t at = 0; at < text.size(); at += step) {
    reader.feed(std::string_view(text).substr(at, step));
    for (reader.accept(); reader.state() == State::done; reader.feed({}), reader.accept()) {
      bodies.push_back(reader.take().body);
    }
  }
  CHECK(bodies == std::vector<std::string>{"abcd\r\ne", "z"});
  CHECK(reader.buffered() == 0);
}

TEST_CASE("request reader: what could be read in two ways is refused", "[cli]") {
  const auto [text, status] = GENERATE(table<std::string, int>({
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {k_post + "host: b\r\n\r\n", 400},
      {k_post + "Origin: a\r\nORIGIN: a\r\n\r\n", 400},
      {k_post + "Name : b\r\n\r\n", 400},
      {k_post + " folded\r\n\r\n", 400},
      {k_post + "A: b\nC: d\r\n\r\n", 400},
      {k_post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
      {k_post + "Content-Length: -1\r\n\r\n", 400},
      {k_post + "Content-Length: 0x1\r\n\r\n", 400},
      {k_post + "Content-Length: 1, 1\r\n\r\n", 400},
      {k_post + "Content-Length: 11\r\n\r\n", 413},
      {k_post + "Content-Length: 99999999999999999999999\r\n\r\n", 413},
      {k_post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
      {k_post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {k_chunked + "x\r\n", 400},
      {k_chunked + "-1\r\n", 400},
      {k_chunked + "\r\n", 400},
      {k_chunked + "2\r\nabc\r\n", 400},
      {k_chunked + "b\r\n", 413},
      {k_chunked + "6\r\nabcdef\r\n5\r\n", 413},
      {k_chunked + "ffffffffffffffffffff\r\n", 413},
      {k_chunked + std::string(300, '1'), 400},
      {k_post + "A: " + std::string(20'000, 'x'), 431},
  }));
  RequestReader reader(10);
  INFO(text.substr(0, 100));
  CHECK(read(reader, text) == State::refused);
  CHECK(reader.status() == status);
  CHECK_FALSE(reader.why().empty());
}

TEST_CASE("request reader: who closes, and who waits to be told", "[cli]") {
  RequestReader reader(10);
  read(reader, "POST / HTTP/1.0\r\nHost: a\r\n\r\n");
  const auto oldest = reader.take();
  CHECK(oldest.is_last);
  CHECK_FALSE(oldest.knows_chunks);
  read(reader, k_post + "Connection: Close\r\n\r\n");
  CHECK(reader.take().is_last);
  reader.feed(k_post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(reader.wants_to_be_told_to_continue());
}
