#include "tools/mcp/session.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Code;
using agent::Json;
using agent::Milliseconds;
using tools::mcp::Message;
using tools::mcp::Session;
using tools::mcp::Transport;
using Kind = Message::Kind;

// A server that answers the handshake, or the first question where it has `capabilities`, and
// nothing else by itself.
class Wire {
 public:
  Json capabilities;

  tools::mcp::OpenTransport opener() {
    return [this](Transport::Listener&& listener) -> agent::Result<std::unique_ptr<Transport>> {
      listener_ = std::move(listener);
      return std::make_unique<End>(*this);
    };
  }

  void say(Message message) { listener_.on_message(std::move(message)); }
  void ask_again() { take(ask_again_().text); }
  void fail(std::int64_t id, const char* why) {
    listener_.on_failed(id, {.code = Code::mcp_transport, .message = why, .help = {}}, {});
  }
  void lose(std::int64_t id) {
    listener_.on_failed(
        id,
        {.code = Code::mcp_transport, .message = "answers 404", .help = {}, .http_status = 404},
        "does not know this session any more");
  }
  void babble(const char* line) { listener_.on_noise(line); }
  void fall() { listener_.on_end({.how = "has ended"}); }

  // The next message for the server that answers nothing of the session's.
  Json next() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(30), [&] { return !sent_.empty(); }));
    const Json first = sent_.front();
    sent_.erase(sent_.begin());
    return first;
  }

 private:
  class End final : public Transport {
   public:
    explicit End(Wire& wire) : wire_(wire) {}
    void send(tools::mcp::Outgoing message) override { wire_.take(message.text); }
    void agree(const tools::mcp::Agreement&,
               std::string,
               std::chrono::steady_clock::time_point,
               std::stop_token) override {}
    void cancel(std::int64_t, std::string notification) override { wire_.take(notification); }
    void keep_asking(std::function<tools::mcp::Outgoing()> next) override {
      send(next());
      wire_.ask_again_ = std::move(next);
    }
    void close() override {}
    std::string last_words() const override { return {}; }
    bool may_be_stateless() const override { return !wire_.capabilities.is_null(); }

   private:
    Wire& wire_;
  };

  void take(const std::string& text) {
    const Json message = *agent::parse_json(text);
    const std::lock_guard lock(mutex_);
    if (agent::text_at(message, "method") == "initialize") {
      handshake_ = std::jthread([this, id = message["id"]] {
        say({.kind = Kind::result,
             .id = id,
             .body = {{"protocolVersion", "2025-11-25"},
                      {"capabilities", Json::object()},
                      {"serverInfo", {{"name", "fake"}}}}});
      });
      return;
    }
    if (agent::text_at(message, "method") == "server/discover") {
      handshake_ = std::jthread([this, id = message["id"]] {
        say({.kind = Kind::result,
             .id = id,
             .body = {{"supportedVersions", {"2026-07-28"}}, {"capabilities", capabilities}}});
      });
      return;
    }
    sent_.push_back(message);
    changed_.notify_all();
  }

  Transport::Listener listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Json> sent_;
  std::function<tools::mcp::Outgoing()> ask_again_;
  std::jthread handshake_;
};

// What request() came to, on a thread of its own.
struct Call {
  std::optional<agent::Result<Json>> result;
  std::jthread thread;

  Call(Session& session, Milliseconds most, Milliseconds silence)
      : thread([this, &session, most, silence] {
          result = session.request({.method = "tools/call", .params = Json::object()},
                                   {.stop = {}, .most = most, .silence = silence});
        }) {}
  const agent::Result<Json>& wait() {
    thread.join();
    return *result;
  }
};

constexpr Milliseconds k_long{30'000};

Message question(const char* id) {
  return {.kind = Kind::request,
          .id = id,
          .method = "elicitation/create",
          .body = {{"message", "Who?"}}};
}

}  // namespace

TEST_CASE("session: a server that waits for the person is not silent") {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool may_answer = false;
  Wire wire;
  Session session({.name = "s", .version = "1", .elicit = [&](const Json&, const std::stop_token&) {
                     std::unique_lock lock(mutex);
                     changed.wait_for(lock, k_long, [&] { return may_answer; });
                     return Json{{"action", "decline"}};
                   }});
  REQUIRE(session.connect(wire.opener(), {}));
  constexpr Milliseconds k_silence{200};
  Call call(session, k_long, k_silence);
  const Json asked = wire.next();
  CHECK(asked["method"] == "tools/call");
  wire.say(question("q"));
  std::this_thread::sleep_for(3 * k_silence);
  {
    const std::lock_guard lock(mutex);
    may_answer = true;
    changed.notify_all();
  }
  const Json answer = wire.next();
  CHECK(answer == Json{{"jsonrpc", "2.0"}, {"id", "q"}, {"result", {{"action", "decline"}}}});
  wire.say({.kind = Kind::result, .id = asked["id"], .body = {{"done", true}}});
  const auto& result = call.wait();
  REQUIRE(result);
  CHECK(*result == Json{{"done", true}});
}

TEST_CASE("session: a question that is taken back, or whose calls have ended, is asked no longer") {
  Wire wire;
  std::mutex mutex;
  std::condition_variable_any changed;
  int asking = 0;
  Session session(
      {.name = "s", .version = "1", .elicit = [&](const Json&, const std::stop_token& stop) {
         std::unique_lock lock(mutex);
         ++asking;
         changed.notify_all();
         changed.wait_for(lock, stop, k_long, [] { return false; });
         return stop.stop_requested() ? Json{{"action", "cancel"}} : Json{{"action", "accept"}};
       }});
  REQUIRE(session.connect(wire.opener(), {}));
  Call call(session, k_long, k_long);
  const Json asked = wire.next();
  const auto ask = [&](const char* id) {
    wire.say(question(id));
    std::unique_lock lock(mutex);
    const int wanted = id == std::string_view("taken back") ? 1 : 2;
    REQUIRE(changed.wait_for(lock, k_long, [&] { return asking == wanted; }));
  };
  ask("taken back");
  wire.say({.kind = Kind::notification,
            .method = "notifications/cancelled",
            .body = {{"requestId", "taken back"}}});
  ask("left open");
  wire.say({.kind = Kind::result, .id = asked["id"], .body = {{"done", true}}});
  REQUIRE(call.wait());
  CHECK(wire.next() ==
        Json{{"jsonrpc", "2.0"}, {"id", "left open"}, {"result", {{"action", "cancel"}}}});
}

TEST_CASE("session: who serves no call asks nobody") {
  Wire wire;
  std::vector<std::string> reasons;
  std::mutex mutex;
  Session session(
      {.name = "s",
       .version = "1",
       .elicit = [](const Json&, const std::stop_token&) { return Json{{"action", "accept"}}; },
       .told_no =
           [&](std::string_view why) {
             const std::lock_guard lock(mutex);
             reasons.emplace_back(why);
           }});
  REQUIRE(session.connect(wire.opener(), {}));
  const auto answer_to = [&](const char* id) {
    wire.say(question(id));
    const Json answer = wire.next();
    CHECK(answer["id"] == id);
    return answer["result"]["action"];
  };
  CHECK(answer_to("before") == "decline");
  Call call(session, k_long, k_long);
  const Json asked = wire.next();
  CHECK(answer_to("meanwhile") == "accept");
  wire.say({.kind = Kind::result, .id = asked["id"], .body = {{"done", true}}});
  CHECK(answer_to("behind its answer") == "decline");
  REQUIRE(call.wait());
  CHECK(answer_to("after") == "decline");
  const std::lock_guard lock(mutex);
  CHECK(reasons == std::vector<std::string>(3, "it had no call to serve"));
}

TEST_CASE("session: one that says nothing is cancelled, and told so") {
  Wire wire;
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  Call call(session, k_long, Milliseconds{50});
  const Json asked = wire.next();
  const auto& result = call.wait();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::tool_timeout);
  const Json told = wire.next();
  CHECK(told["method"] == "notifications/cancelled");
  CHECK(told["params"]["requestId"] == asked["id"]);
}

TEST_CASE("session: what answers nobody is the cause of what waited then, and of nothing later") {
  Wire wire;
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  wire.babble("before");  // while nothing is waited for
  const auto failure = [&](bool with_noise) {
    Call call(session, k_long, k_long);
    const std::int64_t id = agent::integer_at(wire.next(), "id");
    if (with_noise) {
      wire.babble("meanwhile");
      wire.babble("again");
      wire.say({.kind = Kind::result, .id = 1'000, .body = Json::object()});
    }
    wire.fail(id, "is gone");
    return call.wait().error().message;
  };
  CHECK(failure(false) == "the MCP server `s` is gone");
  CHECK(failure(true) ==
        "the MCP server `s` is gone; what it wrote is no message: meanwhile; it answered a request "
        "that was never made, with the id 1000");
  CHECK(failure(false) == "the MCP server `s` is gone");
  CHECK(session.misunderstood() ==
        "; what it wrote is no message: before; it answered a request that was never made, with "
        "the id 1000");
}

TEST_CASE("session: questions to the person are not offered where nobody answers them") {
  Wire wire;
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  wire.say(question("q"));
  CHECK(wire.next()["error"]["code"] == -32601);
}

TEST_CASE("session: whoever asks one that has ended is told so, and nothing is sent") {
  Wire wire;
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  Call call(session, k_long, k_long);
  wire.next();
  wire.fall();
  CHECK(call.wait().error().code == Code::mcp_transport);
  session.end();
  const auto later = session.request({.method = "tools/call", .params = Json::object()},
                                     {.stop = {}, .most = k_long, .silence = k_long});
  CHECK(later.error().code == Code::mcp_transport);
  CHECK_THAT(later.error().message, Catch::Contains("has ended"));
}

TEST_CASE("session: one that is not known any more stays so where the server ends it, too") {
  Wire wire;
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  Call refused(session, k_long, k_long);
  const std::int64_t id = agent::integer_at(wire.next(), "id");
  Call taken(session, k_long, k_long);
  wire.next();
  wire.lose(id);
  wire.fall();
  const auto& result = refused.wait();
  REQUIRE_FALSE(result);
  CHECK(result.error().http_status == 404);
  CHECK(session.lost_by() == 404);
  const auto& other = taken.wait();
  REQUIRE_FALSE(other);
  CHECK(other.error().http_status == 0);
  CHECK(other.error().message == "the MCP server `s` has ended");
}

TEST_CASE("session: that the tools are others is known once, however often it is said") {
  Wire wire;
  Session session({.name = "s", .version = "1", .trace = {.trace_id = "a", .flags = "01"}});
  REQUIRE(session.connect(wire.opener(), {}));
  CHECK_FALSE(session.has_news());
  wire.say({.kind = Kind::notification, .method = "notifications/prompts/list_changed"});
  CHECK_FALSE(session.has_news());
  for (int times = 0; times < 5; ++times) {
    wire.say({.kind = Kind::notification, .method = "notifications/tools/list_changed"});
  }
  CHECK(session.has_news());
  CHECK(session.take_tools_changed());
  CHECK_FALSE(session.take_tools_changed());
  CHECK_FALSE(session.has_news());
  Call call(session, k_long, k_long);
  const Json asked = wire.next();
  CHECK(asked["method"] == "tools/call");  // there was nothing to listen to
  CHECK_FALSE(asked["params"]["_meta"].contains("traceparent"));
  wire.say({.kind = Kind::result, .id = asked["id"], .body = Json::object()});
  CHECK(call.wait());
}

TEST_CASE("session: a server without a handshake is listened to, where it has something to tell") {
  const bool tells = GENERATE(true, false);
  CAPTURE(tells);
  Wire wire;
  wire.capabilities = {{"tools", {{"listChanged", tells}}}};
  Session session({.name = "s", .version = "1", .trace = {.trace_id = "abc", .flags = "00"}});
  REQUIRE(session.connect(wire.opener(), {}));
  Call call(session, k_long, k_long);
  Json asked = wire.next();
  if (tells) {
    CHECK(asked["method"] == "subscriptions/listen");
    CHECK(asked["params"]["notifications"] == Json{{"toolsListChanged", true}});
    CHECK(asked["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28");
    CHECK_FALSE(session.has_news());
    wire.say({.kind = Kind::notification,
              .method = "notifications/subscriptions/acknowledged",
              .body = {{"notifications", {{"toolsListChanged", true}}}}});
    CHECK(session.take_tools_changed());  // nobody has told of what was before
    asked = wire.next();
  }
  CHECK(asked["method"] == "tools/call");
  CHECK_THAT(asked["params"]["_meta"]["traceparent"].get<std::string>(),
             Catch::StartsWith("00-abc-") && Catch::EndsWith("-00"));
  wire.say({.kind = Kind::result, .id = asked["id"], .body = Json::object()});
  CHECK(call.wait());
}

TEST_CASE("session: why a server will not tell is said once; its end is no refusal") {
  Wire wire;
  wire.capabilities = {{"tools", {{"listChanged", true}}}};
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  const Json first = wire.next();
  wire.say({.kind = Kind::result, .id = first["id"], .body = Json::object()});
  CHECK_FALSE(session.has_news());
  wire.ask_again();
  const Json second = wire.next();
  CHECK(second["method"] == "subscriptions/listen");
  CHECK(second["id"] != first["id"]);
  wire.say({.kind = Kind::error, .id = first["id"], .code = -1, .error_message = "late"});
  CHECK_FALSE(session.has_news());
  wire.say({.kind = Kind::error, .id = second["id"], .code = -32603, .error_message = "too many"});
  CHECK(session.has_news());
  CHECK(session.take_refusal() ==
        "the MCP server `s` does not tell when its tools change: too many (-32603)");
  CHECK_FALSE(session.take_refusal());
  wire.ask_again();
  wire.fail(agent::integer_at(wire.next(), "id"), "is gone");
  CHECK(session.take_refusal() ==
        "the MCP server `s` does not tell when its tools change: is gone");
}

TEST_CASE("session: a list of a thousand pages is one, and a longer one is told as that") {
  const bool is_longer = GENERATE(false, true);
  CAPTURE(is_longer);
  Wire wire;
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  std::optional<agent::Result<tools::mcp::ItemList>> listed;
  std::jthread thread([&] {
    listed = session.list("tools/list", "tools", {.stop = {}, .most = k_long, .silence = k_long});
  });
  for (int page = 1; page <= 1'000; ++page) {
    Json result = {{"tools", {page}}};
    if (is_longer || page < 1'000) {
      result["nextCursor"] = std::to_string(page);
    }
    wire.say({.kind = Kind::result, .id = wire.next()["id"], .body = std::move(result)});
  }
  thread.join();
  if (is_longer) {
    REQUIRE_FALSE(*listed);
    CHECK(listed->error().code == Code::mcp_transport);
    CHECK(listed->error().message == "the MCP server `s` has more than 1000 pages of `tools/list`");
  } else {
    REQUIRE(*listed);
    CHECK((*listed)->items.size() == 1'000);
    CHECK_FALSE((*listed)->goes_on);
  }
}

TEST_CASE("session: a list of many pages has one deadline for all") {
  Wire wire;
  Session session({.name = "s", .version = "1"});
  REQUIRE(session.connect(wire.opener(), {}));
  std::optional<agent::Error> failure;
  std::jthread thread([&] {
    constexpr Milliseconds k_most{300};
    const auto listed =
        session.list("tools/list", "tools", {.stop = {}, .most = k_most, .silence = k_most});
    if (!listed) {
      failure = listed.error();
    }
  });
  for (int page = 1;; ++page) {
    const Json asked = wire.next();
    if (asked["method"] != "tools/list") {
      CHECK(asked["method"] == "notifications/cancelled");
      CHECK(page > 1);
      break;
    }
    std::this_thread::sleep_for(Milliseconds{20});
    wire.say({.kind = Kind::result,
              .id = asked["id"],
              .body = {{"tools", Json::array()}, {"nextCursor", std::to_string(page)}}});
  }
  thread.join();
  REQUIRE(failure);
  CHECK(failure->code == Code::tool_timeout);
  CHECK(failure->message == "the MCP server `s` did not give its whole list within 300ms");
}
