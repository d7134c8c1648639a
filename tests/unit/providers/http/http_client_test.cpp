#include "providers/http/http_client.h"

#include "tests/unit/providers/http/loopback_server.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <future>
#include <netinet/in.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

namespace {

using agent::Code;
using agent::HttpRequest;
using agent::HttpResponse;
using agent::Result;
using providers::HttpClient;
using tests::answer;
using tests::LoopbackServer;
using tests::Peer;
using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::string_view k_stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

HttpRequest post(std::string url, std::string_view body = "{}") {
  return {.url = std::move(url), .headers = {{"Content-Type", "application/json"}}, .body = body};
}

HttpRequest streamed(std::string url) {
  auto request = post(std::move(url));
  request.streamed = true;
  return request;
}

// Sends with a client of its own and keeps what was streamed.
struct Sender {
  HttpClient client{agent::Environment{}};
  std::stop_source source;
  std::string data;

  Result<HttpResponse> send(const HttpRequest& request) {
    return client.send(request, nullptr, source.get_token());
  }
  Result<HttpResponse> stream(const HttpRequest& request) {
    return client.send(
        request,
        [this](std::string_view bytes) {
          data += bytes;
          return agent::Heard::answer;
        },
        source.get_token());
  }
};

std::string chunk(std::string_view bytes) {
  std::array<char, 32> size;
  const auto count = std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return std::string(size.data(), static_cast<std::size_t>(count)) + std::string(bytes) + "\r\n";
}

// Answers every request on a kept connection.
void serve(Peer& peer, const std::string& bytes) {
  while (!peer.read_request().empty()) {
    if (!peer.send(bytes)) {
      return;
    }
  }
}

std::string message_of(const Result<HttpResponse>& result) {
  return result ? "(no error)" : result.error().message;
}

Code code_of(const Result<HttpResponse>& result) {
  return result ? Code::internal : result.error().code;
}

}  // namespace

TEST_CASE("http: a plain answer comes with status, headers and body", "[providers]") {
  std::string seen;
  LoopbackServer server([&](Peer& peer) {
    seen = peer.read_request();
    peer.send(
        "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX-Request-Id:  abc \r\nEmpty:\r\n\r\nhello");
    peer.wait_for_end();
  });
  Sender sender;
  auto request = post(server.url("/v1/messages"), R"({"a":1})");
  request.headers.emplace_back("X-Empty", "");
  const auto result = sender.send(request);
  REQUIRE(result);
  CHECK(result->status == 201);
  CHECK(result->body == "hello");
  CHECK(agent::header(result->headers, "x-request-id") == "abc");
  CHECK(seen.starts_with("POST /v1/messages HTTP/1.1\r\n"));
  CHECK(seen.ends_with("\r\n\r\n{\"a\":1}"));
  CHECK(seen.find("User-Agent: errand/" ERRAND_VERSION "\r\n") != std::string::npos);
  CHECK(seen.find("Content-Type: application/json\r\n") != std::string::npos);
  CHECK(seen.find("Accept-Encoding: ") != std::string::npos);
  CHECK(seen.find("X-Empty:") != std::string::npos);
  CHECK(seen.find("Expect:") == std::string::npos);
}

TEST_CASE("http: a GET has no body and no content type", "[providers]") {
  std::string seen;
  LoopbackServer server([&](Peer& peer) {
    seen = peer.read_request();
    peer.send(answer("[]"));
    peer.wait_for_end();
  });
  Sender sender;
  REQUIRE(sender.send({.method = "GET", .url = server.url()}));
  CHECK(seen.starts_with("GET /v1 HTTP/1.1\r\n"));
  CHECK(seen.find("Content-Type") == std::string::npos);
}

TEST_CASE("http: a stream in single bytes arrives whole, on the calling thread", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.drip(std::string(k_stream_head) + chunk("data: a\n\n") + chunk("data: \xC3\xA4\n\n") +
              "0\r\n\r\n");
    peer.wait_for_end();
  });
  Sender sender;
  std::string data;
  bool is_own_thread = true;
  const auto caller = std::this_thread::get_id();
  const auto result =
      sender.client.send(streamed(server.url()),
                         [&](std::string_view bytes) {
                           is_own_thread = is_own_thread && std::this_thread::get_id() == caller;
                           data += bytes;
                           return agent::Heard::answer;
                         },
                         {});
  REQUIRE(result);
  CHECK(result->status == 200);
  CHECK(result->body.empty());
  CHECK(data == "data: a\n\ndata: \xC3\xA4\n\n");
  CHECK(is_own_thread);
}

TEST_CASE("http: bytes are handed on while the stream is still open", "[providers]") {
  std::atomic<bool> was_seen = false;
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    peer.send(std::string(k_stream_head) + chunk("first"));
    was_seen.wait(false);
    peer.send(chunk("second") + "0\r\n\r\n");
  });
  Sender sender;
  std::string data;
  const auto result = sender.client.send(streamed(server.url()),
                                         [&](std::string_view bytes) {
                                           data += bytes;
                                           was_seen = true;
                                           was_seen.notify_one();
                                           return agent::Heard::answer;
                                         },
                                         {});
  REQUIRE(result);
  CHECK(data == "firstsecond");
}

TEST_CASE("http: on_data may end the exchange early, as a success", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(std::string(k_stream_head) + chunk("[DONE]"));
    peer.wait_for_end();
  });
  Sender sender;
  const auto result = sender.client.send(
      streamed(server.url()), [](std::string_view) { return agent::Heard::enough; }, {});
  REQUIRE(result);
  CHECK(result->status == 200);
}

TEST_CASE("http: a connection is kept and used again", "[providers]") {
  LoopbackServer server([](Peer& peer) { serve(peer, answer("ok")); });
  Sender sender;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(sender.send(post(server.url())));
    REQUIRE(sender.stream(streamed(server.url())));
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("http: a stream whose end nobody waited for leaves its connection usable",
          "[providers]") {
  LoopbackServer server([](Peer& peer) {
    while (!peer.read_request().empty()) {
      peer.send(std::string(k_stream_head) + chunk("[DONE]"));
      peer.send("0\r\n\r\n");
    }
  });
  Sender sender;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(sender.client.send(
        streamed(server.url()), [](std::string_view) { return agent::Heard::enough; }, {}));
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("http: a kept connection that the server closed meanwhile is no error", "[providers]") {
  std::atomic<int> closed = 0;
  LoopbackServer server([&](Peer& peer) {
    if (!peer.read_request().empty()) {
      peer.send(answer("ok"));
      peer.close_writing();
      ++closed;
    }
  });
  Sender sender;
  for (int i = 0; i < 20; ++i) {
    const auto result = sender.send(post(server.url()));
    CAPTURE(i, message_of(result));
    REQUIRE(result);
    while (closed <= i) {
      std::this_thread::yield();
    }
  }
}

TEST_CASE("http: a request is sent once, also where a kept connection breaks under it",
          "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(answer("ok"));
    peer.wait_for_bytes();  // the second request, which this connection does not answer
    peer.reset();
  });
  Sender sender;
  REQUIRE(sender.send(post(server.url())));
  const auto result = sender.send(post(server.url()));
  CHECK(code_of(result) == Code::provider_network);
  CHECK_THAT(message_of(result), Catch::Contains("had been kept open"));
  CHECK(sender.send(post(server.url())));
}

TEST_CASE("http: an error status is a response, with its body, also where a stream was wanted",
          "[providers]") {
  LoopbackServer server([](Peer& peer) {
    serve(peer,
          "HTTP/1.1 500 Oops\r\nContent-Length: 15\r\nRetry-After: 3\r\n\r\n{\"error\":\"bad\"}");
  });
  Sender sender;
  const auto result = sender.stream(streamed(server.url()));
  REQUIRE(result);
  CHECK(result->status == 500);
  CHECK(result->body == R"({"error":"bad"})");
  CHECK(agent::header(result->headers, "retry-after") == "3");
  CHECK(sender.data.empty());
}

TEST_CASE("http: a redirect is a response and is not followed", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    serve(peer, "HTTP/1.1 307 Elsewhere\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n");
  });
  Sender sender;
  const auto result = sender.send(post(server.url()));
  REQUIRE(result);
  CHECK(result->status == 307);
}

TEST_CASE("http: the head of a 1xx answer is not the answer's head", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    serve(peer, "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n" + answer("ok", "X-Late: 1\r\n"));
  });
  Sender sender;
  const auto result = sender.send(post(server.url()));
  REQUIRE(result);
  CHECK(result->status == 200);
  CHECK(agent::header(result->headers, "x-late") == "1");
  CHECK(agent::header(result->headers, "x-early").empty());
}

TEST_CASE("http: an answer of 30 MB is passed on without being held", "[providers]") {
  const std::string piece(1 << 20, 'x');
  LoopbackServer server([&](Peer& peer) {
    while (!peer.read_request().empty()) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(30 * piece.size()) +
                "\r\n\r\n");
      for (int i = 0; i < 30 && peer.send(piece); ++i) {
      }
    }
  });
  Sender sender;
  std::size_t count = 0;
  std::size_t largest = 0;
  const auto result = sender.client.send(streamed(server.url()),
                                         [&](std::string_view bytes) {
                                           count += bytes.size();
                                           largest = std::max(largest, bytes.size());
                                           return agent::Heard::answer;
                                         },
                                         {});
  REQUIRE(result);
  CHECK(count == 30 * piece.size());
  CHECK(largest < 2 * piece.size());

  const auto whole = sender.send(post(server.url()));
  REQUIRE(whole);
  CHECK(whole->body.size() == 30 * piece.size());
}

TEST_CASE("http: a slow reader pauses the server and is not taken for a silent one",
          "[providers]") {
  const std::string piece(1 << 20, 'x');
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(20 * piece.size()) +
              "\r\n\r\n");
    for (int i = 0; i < 20 && peer.send(piece); ++i) {
    }
    peer.wait_for_end();
  });
  Sender sender;
  auto request = streamed(server.url());
  request.timeouts.idle = 200ms;
  std::size_t count = 0;
  const auto result = sender.client.send(
      request,
      [&](std::string_view bytes) {
        if (count == 0) {
          std::this_thread::sleep_for(600ms);  // longer than the server may be silent
        }
        count += bytes.size();
        return agent::Heard::answer;
      },
      {});
  INFO(message_of(result));
  REQUIRE(result);
  CHECK(count == 20 * piece.size());
}

TEST_CASE("http: a body of 20 MB is sent as it is", "[providers]") {
  const std::string body(20 << 20, 'b');
  std::string seen;
  LoopbackServer server([&](Peer& peer) {
    seen = peer.read_request();
    peer.send(answer("ok"));
    peer.wait_for_end();
  });
  Sender sender;
  REQUIRE(sender.send(post(server.url(), body)));
  CHECK(seen.size() > body.size());
  CHECK(seen.ends_with(body));
}

TEST_CASE("http: a compressed answer is unpacked", "[providers]") {
  const auto packed =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x2e\x2c\x4d\x4d\xad\x4a\x4d\x51\x48\xcc\x2b\x2e"
      "\x4f\x2d\xd2\x51\x28\x26\x20\x00\x00\x12\x87\xb4\x95\x31\x00\x00\x00"s;
  LoopbackServer server(
      [&](Peer& peer) { serve(peer, answer(packed, "Content-Encoding: gzip\r\n")); });
  Sender sender;
  const auto result = sender.send(post(server.url()));
  REQUIRE(result);
  CHECK(result->body == "squeezed answer, squeezed answer, squeezed answer");
  REQUIRE(sender.stream(streamed(server.url())));
  CHECK(sender.data == result->body);
}

TEST_CASE("http: a small answer that unpacks to more than the limit is refused", "[providers]") {
  const auto packed =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\xf5\x4f\x6d\x0d"
      "\x0f"
      "\xa0"s +
      std::string(58, '\0') + "\xbe\x0c\x05\xaa\x27\x51\x60\xea\x00\x00"s;
  LoopbackServer server(
      [&](Peer& peer) { serve(peer, answer(packed, "Content-Encoding: gzip\r\n")); });
  Sender sender;
  auto request = post(server.url());
  const auto fits = sender.send(request);
  INFO(message_of(fits));
  REQUIRE(fits);
  CHECK(fits->body.size() == 60'000);
  request.max_body = 59'999;
  CHECK(code_of(sender.send(request)) == Code::provider_bad_response);
}

TEST_CASE("http: an answer over the limit is refused, one of exactly the limit is not",
          "[providers]") {
  const std::string body(1000, 'x');
  LoopbackServer server([&](Peer& peer) {
    for (auto head = peer.read_request(); !head.empty(); head = peer.read_request()) {
      peer.send(head.find("/chunked") != std::string::npos
                    ? std::string(k_stream_head) + chunk(body) + "0\r\n\r\n"
                    : answer(body));
    }
  });
  for (const auto* path : {"/plain", "/chunked"}) {
    CAPTURE(path);
    Sender sender;
    auto request = post(server.url(path));
    request.max_body = 1000;
    CHECK(sender.send(request));
    request.max_body = 999;
    const auto result = sender.send(request);
    CHECK(code_of(result) == Code::provider_bad_response);
    CHECK(message_of(result).find("over the limit of 999 bytes") != std::string::npos);
  }
}

TEST_CASE("http: endless response headers are refused", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\n");
    while (peer.send("X-More: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  Sender sender;
  CHECK(code_of(sender.send(post(server.url()))) == Code::provider_bad_response);
}

TEST_CASE("http: a refused loopback port is a network error worth one retry", "[providers]") {
  Sender sender;
  const auto port = std::to_string(tests::closed_port());
  const auto result = sender.send(post("http://127.0.0.1:" + port + "/v1"));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::provider_network);
  CHECK(result.error().retry_once);
  CHECK(message_of(result).starts_with("127.0.0.1:" + port + " refused the connection"));
}

TEST_CASE("http: a name that does not exist is a network error that names it", "[providers]") {
  Sender sender;
  const auto result = sender.send(post("http://no-such-host.invalid/v1"));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::provider_network);
  CHECK_FALSE(result.error().retry_once);
  CHECK(message_of(result).find("no-such-host.invalid") != std::string::npos);
}

TEST_CASE("http: a proxy that cannot be reached is named, without its password", "[providers]") {
  const auto proxy = "127.0.0.1:" + std::to_string(tests::closed_port());
  HttpClient client(agent::Environment{{"http_proxy", "http://user:secret@" + proxy}});
  const auto result = client.send(post("http://model.example/v1"), nullptr, {});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::provider_network);
  CHECK(result.error().help.find("http://" + proxy) != std::string::npos);
  CHECK(result.error().help.find("secret") == std::string::npos);
  CHECK(result.error().message.find("secret") == std::string::npos);
}

TEST_CASE("http: requests go through the proxy of the environment, but for NO_PROXY",
          "[providers]") {
  std::string seen;
  LoopbackServer proxy([&](Peer& peer) {
    seen = peer.read_request();
    peer.send(answer("proxied"));
    peer.wait_for_end();
  });
  LoopbackServer server([](Peer& peer) { serve(peer, answer("direct")); });
  HttpClient through(agent::Environment{{"http_proxy", proxy.url("")}});
  CHECK(through.send(post("http://model.example/v1"), nullptr, {})->body == "proxied");
  CHECK(seen.starts_with("POST http://model.example/v1 HTTP/1.1\r\n"));
  HttpClient around(agent::Environment{{"http_proxy", proxy.url("")}, {"NO_PROXY", "127.0.0.1"}});
  CHECK(around.send(post(server.url()), nullptr, {})->body == "direct");
}

TEST_CASE("http: a proxy that refuses the tunnel is a network error, or wants to know who asks",
          "[providers]") {
  for (const auto& [status, code] :
       {std::pair(407, Code::provider_invalid_request), std::pair(502, Code::provider_network)}) {
    CAPTURE(status);
    LoopbackServer proxy([status](Peer& peer) {
      peer.read_request();
      peer.send("HTTP/1.1 " + std::to_string(status) + " No\r\nContent-Length: 0\r\n\r\n");
    });
    HttpClient client(agent::Environment{{"https_proxy", proxy.url("")}});
    const auto result = client.send(post("https://model.example/v1"), nullptr, {});
    REQUIRE_FALSE(result);
    CHECK(result.error().code == code);
    CHECK(message_of(result).find(std::to_string(status)) != std::string::npos);
  }
}

TEST_CASE("http: what is no usable URL never leaves the process", "[providers]") {
  Sender sender;
  for (const auto* url : {"ftp://127.0.0.1/x", "127.0.0.1:8080/v1", "http://", "http://a b/", ""}) {
    CAPTURE(url);
    CHECK(code_of(sender.send(post(url))) == Code::provider_tls);
  }
}

TEST_CASE("http: a header with a line break never leaves the process", "[providers]") {
  Sender sender;
  auto request = post("http://127.0.0.1:1/");
  request.headers.emplace_back("X-Api-Key", "abc\r\nX-Evil: 1");
  const auto result = sender.send(request);
  CHECK(code_of(result) == Code::provider_invalid_request);
  CHECK(message_of(result).find("abc") == std::string::npos);
}

TEST_CASE("http: https against a server that speaks none cannot heal", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.wait_for_bytes();
    peer.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    peer.wait_for_end();
  });
  Sender sender;
  const auto result = sender.send(post("https://127.0.0.1:" + std::to_string(server.port())));
  INFO(message_of(result));
  CHECK(code_of(result) == Code::provider_tls);
}

TEST_CASE("http: a TLS handshake that is cut off may heal", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.wait_for_bytes();
    peer.reset();
  });
  Sender sender;
  const auto result = sender.send(post("https://127.0.0.1:" + std::to_string(server.port())));
  INFO(message_of(result));
  CHECK(code_of(result) == Code::provider_network);
}

TEST_CASE("http: a CA file that does not exist is named", "[providers]") {
  LoopbackServer server([](Peer& peer) { peer.wait_for_end(); });
  HttpClient client(agent::Environment{{"SSL_CERT_FILE", "/no/such/bundle.pem"}});
  const auto result =
      client.send(post("https://127.0.0.1:" + std::to_string(server.port())), nullptr, {});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::provider_tls);
  CHECK(result.error().help.find("/no/such/bundle.pem") != std::string::npos);
}

TEST_CASE("http: bytes that are no HTTP are a bad response", "[providers]") {
  const auto garbage = GENERATE("SSH-2.0-OpenSSH_9.2\r\nmore\r\n"s,
                                "\x15\x03\x01\x00\x02\x02\x16"s + std::string(300, '\xff'),
                                "HTTP/9.9 abc\r\n\r\n"s,
                                "<html>hello</html>"s);
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    peer.send(garbage);
  });
  Sender sender;
  const auto result = sender.send(post(server.url()));
  CAPTURE(garbage, message_of(result));
  CHECK(code_of(result) == Code::provider_bad_response);
}

TEST_CASE("http: a server that hangs up before it answers is a network error", "[providers]") {
  const bool by_reset = GENERATE(true, false);
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    if (by_reset) {
      peer.reset();
    }
  });
  Sender sender;
  const auto result = sender.send(post(server.url()));
  CAPTURE(by_reset, message_of(result));
  CHECK(code_of(result) == Code::provider_network);
  CHECK(message_of(result).find("127.0.0.1:" + std::to_string(server.port())) != std::string::npos);
}

TEST_CASE("http: an answer that breaks off is a broken stream, after what came", "[providers]") {
  struct Break {
    std::string name;
    std::string bytes;
    bool by_reset;
  };
  const auto how = GENERATE(values<Break>(
      {{"reset", std::string(k_stream_head) + chunk("some"), true},
       {"end without the last chunk", std::string(k_stream_head) + chunk("some"), false},
       {"short length", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nsome", false},
       {"a chunk size that is none",
        std::string(k_stream_head) + chunk("some") + "zz\r\n",
        false}}));
  std::atomic<bool> was_seen = false;
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    peer.send(how.bytes);
    was_seen.wait(false);  // a reset overtakes what was sent before
    if (how.by_reset) {
      peer.reset();
    }
  });
  Sender sender;
  std::string data;
  const auto result = sender.client.send(streamed(server.url()),
                                         [&](std::string_view bytes) {
                                           data += bytes;
                                           was_seen = true;
                                           was_seen.notify_one();
                                           return agent::Heard::answer;
                                         },
                                         {});
  CAPTURE(how.name, message_of(result));
  CHECK(code_of(result) == Code::provider_stream_broken);
  CHECK(data == "some");
}

TEST_CASE("http: no first byte within its deadline", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.wait_for_end();
  });
  Sender sender;
  auto request = streamed(server.url());
  request.timeouts.first_byte = 150ms;
  const auto result = sender.stream(request);
  CHECK(code_of(result) == Code::provider_timeout);
  CHECK(message_of(result) ==
        "127.0.0.1:" + std::to_string(server.port()) +
            " accepted the request, but sent no byte of an answer within 150ms");
}

TEST_CASE("http: the first byte counts from the sent request, not from its beginning",
          "[providers]") {
  const std::string body(8 << 20, 'b');
  LoopbackServer server([](Peer& peer) {
    for (int i = 0; i < 4; ++i) {  // a slow line: longer in all than the deadline
      peer.wait_for_bytes();
      std::this_thread::sleep_for(150ms);
    }
    peer.read_request();
    peer.send(answer("ok"));
    peer.wait_for_end();
  });
  Sender sender;
  auto request = streamed(server.url());
  request.body = body;
  request.timeouts.first_byte = 1500ms;
  const auto result = sender.stream(request);
  INFO(message_of(result));
  CHECK(result);
}

TEST_CASE("http: silence in the middle of a stream ends at its deadline", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(std::string(k_stream_head) + chunk("some"));
    peer.wait_for_end();
  });
  Sender sender;
  auto request = streamed(server.url());
  request.timeouts.idle = 150ms;
  const auto result = sender.stream(request);
  CHECK(code_of(result) == Code::provider_timeout);
  CHECK(message_of(result).find("stopped sending") != std::string::npos);
  CHECK(message_of(result).find("150ms") != std::string::npos);
  CHECK(sender.data == "some");
}

namespace {

// Sends pieces until the client has enough of them.
void drip(Peer& peer) {
  peer.read_request();
  peer.send(k_stream_head);
  while (peer.send(chunk(":\n"))) {
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace

TEST_CASE("http: a drip holds off what it says that it holds off", "[providers]") {
  struct Row {
    agent::Heard first;
    agent::Heard then;
    std::string_view ended_by;
  };
  const auto row = GENERATE(values<Row>({
      {agent::Heard::nothing, agent::Heard::nothing, "sent no byte of an answer within 400ms"},
      {agent::Heard::keep_alive, agent::Heard::keep_alive, "no byte of an answer within 400ms"},
      {agent::Heard::answer, agent::Heard::nothing, "nothing came within 500ms"},
      {agent::Heard::answer, agent::Heard::keep_alive, "did not finish its answer within 2s"},
      {agent::Heard::answer, agent::Heard::answer, "did not finish its answer within 2s"},
  }));
  LoopbackServer server(drip);
  Sender sender;
  auto request = streamed(server.url());
  request.timeouts = {.first_byte = 400ms, .idle = 500ms, .request = 2s};
  auto heard = row.first;
  const auto result = sender.client.send(
      request, [&](std::string_view) { return std::exchange(heard, row.then); }, {});
  CAPTURE(message_of(result), row.ended_by);
  CHECK(code_of(result) == Code::provider_timeout);
  CHECK(message_of(result).ends_with(row.ended_by));
}

TEST_CASE("http: while the reader is at work, the server is not late", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(std::string(k_stream_head) + chunk("some"));
    peer.wait_for_end();
  });
  Sender sender;
  auto request = streamed(server.url());
  request.timeouts = {.first_byte = 100ms, .idle = 100ms};

  const auto result = sender.client.send(request,
                                         [&](std::string_view) {
                                           std::this_thread::sleep_for(400ms);

                                           return agent::Heard::enough;
                                         },
                                         {});
  INFO(message_of(result));
  CHECK(result);
}

TEST_CASE("http: that a server has accepted is told before it says anything", "[providers]") {
  std::promise<void> accepted;
  bool is_told_in_time = false;
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    peer.send(k_stream_head);
    is_told_in_time = accepted.get_future().wait_for(10s) == std::future_status::ready;
    peer.send(chunk("some") + "0\r\n\r\n");
  });
  const std::function<void()> on_accepted = [&] { accepted.set_value(); };
  Sender sender;
  auto request = streamed(server.url());
  request.on_accepted = &on_accepted;

  const auto result =
      sender.client.send(request, [](std::string_view) { return agent::Heard::answer; }, {});
  INFO(message_of(result));
  CHECK(result);
  CHECK(is_told_in_time);
}

TEST_CASE("http: a refusal is no acceptance", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n");
  });
  bool is_accepted = false;
  const std::function<void()> on_accepted = [&] { is_accepted = true; };
  Sender sender;
  auto request = streamed(server.url());
  request.on_accepted = &on_accepted;

  const auto result =
      sender.client.send(request, [](std::string_view) { return agent::Heard::answer; }, {});
  REQUIRE(result);
  CHECK(result->status == 405);
  CHECK(!is_accepted);
}

TEST_CASE("http: an answer that is not streamed has one deadline for the whole", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    while (peer.send("x")) {
      std::this_thread::sleep_for(10ms);
    }
  });
  Sender sender;
  auto request = post(server.url());
  request.timeouts.request = 200ms;
  const auto result = sender.send(request);
  CHECK(code_of(result) == Code::provider_timeout);
  CHECK(message_of(result).find("did not finish its answer within 200ms") != std::string::npos);
}

TEST_CASE("http: a connection that does not come about has its deadline", "[providers]") {
  const tests::FullPort full;
  LoopbackServer silent([](Peer& peer) { peer.wait_for_end(); });
  const bool in_tls = GENERATE(false, true);
  const auto url =
      in_tls ? "https" + silent.url().substr(4) : "http://127.0.0.1:" + std::to_string(full.port());
  Sender sender;
  auto request = streamed(url);
  request.timeouts.connect = 200ms;
  const auto result = sender.stream(request);
  CAPTURE(url, message_of(result));
  CHECK(code_of(result) == Code::provider_timeout);
  CHECK(message_of(result).find("no connection to 127.0.0.1:") != std::string::npos);
  CHECK(message_of(result).find("200ms") != std::string::npos);
}

TEST_CASE("http: a stop that came before is obeyed before anything is sent", "[providers]") {
  LoopbackServer server([](Peer& peer) { serve(peer, answer("ok")); });
  Sender sender;
  sender.source.request_stop();
  CHECK(code_of(sender.send(post(server.url()))) == Code::run_cancelled);
  CHECK(server.connections() == 0);
}

namespace {

// Sends to a server that requests the stop itself once the phase is reached.
void check_cancellation(const std::string& phase,
                        const std::function<void(Peer&, const std::function<void()>&)>& play,
                        std::string_view scheme = "http",
                        std::size_t body_size = 2) {
  Sender sender;
  std::chrono::steady_clock::time_point stopped;
  const std::function<void()> stop = [&] {
    stopped = std::chrono::steady_clock::now();
    sender.source.request_stop();
  };
  LoopbackServer server([&](Peer& peer) {
    play(peer, stop);
    peer.wait_for_end();
  });
  const std::string body(body_size, 'b');
  auto request = streamed(std::string(scheme) + server.url().substr(4));
  request.body = body;
  const auto result = sender.stream(request);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - stopped);
  CAPTURE(phase, took.count(), message_of(result));
  CHECK(code_of(result) == Code::run_cancelled);
  CHECK(took < 2s);
}

}  // namespace

TEST_CASE("http: a stop ends the wait in the TLS handshake", "[providers][cancel]") {
  check_cancellation(
      "tls",
      [](Peer& peer, const auto& stop) {
        peer.wait_for_bytes();
        stop();
      },
      "https");
}

TEST_CASE("http: a stop ends an upload that nobody reads", "[providers][cancel]") {
  check_cancellation(
      "upload",
      [](Peer& peer, const auto& stop) {
        peer.wait_for_bytes();
        std::this_thread::sleep_for(200ms);  // until the buffers between are full
        stop();
        std::this_thread::sleep_for(200ms);
      },
      "http",
      30 << 20);
}

TEST_CASE("http: a stop ends the wait for an answer", "[providers][cancel]") {
  check_cancellation("waiting", [](Peer& peer, const auto& stop) {
    peer.read_request();
    stop();
  });
}

TEST_CASE("http: a stop ends a stream that has fallen silent", "[providers][cancel]") {
  check_cancellation("streaming", [](Peer& peer, const auto& stop) {
    peer.read_request();
    peer.send(std::string(k_stream_head) + chunk("some"));
    stop();
  });
}

TEST_CASE("http: a stop ends a stream that never pauses", "[providers][cancel]") {
  check_cancellation("flood", [](Peer& peer, const auto& stop) {
    peer.read_request();
    peer.send(k_stream_head);
    const auto piece = chunk(std::string(16384, 'x'));
    for (int i = 0; peer.send(piece); ++i) {
      if (i == 100) {
        stop();
      }
    }
  });
}

TEST_CASE("http: a stop ends the wait for a connection", "[providers][cancel]") {
  const tests::FullPort full;
  Sender sender;
  std::chrono::steady_clock::time_point stopped;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);  // nobody can say that the connect is under way
    stopped = std::chrono::steady_clock::now();
    sender.source.request_stop();
  });
  const auto result = sender.send(post("http://127.0.0.1:" + std::to_string(full.port())));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - stopped);
  CAPTURE(took.count(), message_of(result));
  CHECK(code_of(result) == Code::run_cancelled);
  CHECK(took < 2s);
}

TEST_CASE("http: no child process inherits a connection", "[providers]") {
  LoopbackServer server([](Peer& peer) { serve(peer, answer("ok")); });
  Sender sender;
  REQUIRE(sender.send(post(server.url())));
  int connections = 0;
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        ntohs(peer.sin_port) == server.port()) {
      ++connections;
      CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
  }
  CHECK(connections == 1);
}

TEST_CASE("http: many callers share one client, and one may be stopped alone", "[providers]") {
  LoopbackServer server([](Peer& peer) {
    for (auto request = peer.read_request(); !request.empty(); request = peer.read_request()) {
      if (request.find("/hang") != std::string::npos) {
        peer.wait_for_end();
        return;
      }
      peer.send(answer(request.substr(request.find("\r\n\r\n") + 4)));
    }
  });
  HttpClient client(agent::Environment{});
  std::atomic<int> right = 0;
  std::stop_source source;
  std::atomic<bool> was_cancelled = false;
  {
    std::jthread hanging([&] {
      const auto result = client.send(streamed(server.url("/hang")), nullptr, source.get_token());
      was_cancelled = code_of(result) == Code::run_cancelled;
    });
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 8; ++caller) {
      callers.emplace_back([&, caller] {
        for (int i = 0; i < 25; ++i) {
          const auto body = std::to_string(caller * 1000 + i);
          std::string data;
          const auto result = client.send(post(server.url(), body),
                                          [&](std::string_view bytes) {
                                            data += bytes;
                                            return agent::Heard::answer;
                                          },
                                          {});
          right += result && data == body ? 1 : 0;
        }
      });
    }
    callers.clear();
    source.request_stop();
  }
  CHECK(right == 200);
  CHECK(was_cancelled);
  CHECK(server.connections() <= 9);
}

TEST_CASE("http: a client that never sends starts no thread and ends quietly", "[providers]") {
  const HttpClient client(agent::Environment{});
}
