#include "agent/call_ids.h"

#include <catch2/catch.hpp>

#include <functional>
#include <set>
#include <string>

TEST_CASE("call ids: each call of a reply has its own, the same ones every time", "[agent]") {
  const agent::Reply said{.text = {},
                          .tool_calls = {{"c1", "a", "{}"},
                                         {"c1", "a", "{}"},
                                         {"", "a", "{}"},
                                         {"", "a", "{}"},
                                         {"c2", "a", "{}"}},
                          .raw = "[]"};
  agent::Reply reply = said;
  agent::give_own_ids(reply);
  CHECK(reply.tool_calls[0].id == "c1");
  CHECK(reply.tool_calls[4].id == "c2");
  std::set<std::string> ids;
  for (const agent::ToolCall& call : reply.tool_calls) {
    CHECK_FALSE(call.id.empty());
    ids.insert(call.id);
  }
  CHECK(ids.size() == reply.tool_calls.size());
  CHECK(reply.raw.empty());  // it has the old ones
  agent::Reply again = said;
  agent::give_own_ids(again);
  CHECK(again.tool_calls[1].id == reply.tool_calls[1].id);
}

TEST_CASE("call ids: one that is another call's becomes another one, however often", "[agent]") {
  std::set<std::string, std::less<>> others = {"c1"};
  for (int turn = 0; turn < 3; ++turn) {
    agent::Reply reply{.text = {}, .tool_calls = {{"c1", "a", "{}"}}, .raw = "[]"};
    agent::give_own_ids(reply, [&](std::string_view id) { return !others.contains(id); });
    CHECK(others.insert(reply.tool_calls[0].id).second);
    CHECK(reply.raw.empty());
  }
}

TEST_CASE("call ids: a reply whose calls are told apart stays as it is", "[agent]") {
  agent::Reply reply{.text = {}, .tool_calls = {{"c1", "a", "{}"}, {"c2", "a", "{}"}}, .raw = "[]"};
  agent::give_own_ids(reply);
  CHECK(reply.tool_calls[1].id == "c2");
  CHECK(reply.raw == "[]");
}

TEST_CASE("call ids: one that cannot be shown or kept as it is becomes another one", "[agent]") {
  const std::string id = GENERATE(as<std::string>{},
                                  "q\x1b[31m",
                                  "two\nlines",
                                  "x[redacted]",
                                  std::string(300, 'x'),
                                  "a\xE2\x80\xAE"
                                  "b");
  agent::Reply reply{.text = {}, .tool_calls = {{id, "a", "{}"}, {"a b'c", "a", "{}"}}};
  agent::give_own_ids(reply);
  CHECK(reply.tool_calls[0].id.size() == 9);
  CHECK(reply.tool_calls[1].id == "a b'c");
  agent::Reply secret{
      .text = {}, .tool_calls = {{"c1", "a", "{}"}, {"c2", "a", "{}"}}, .raw = "[]"};
  agent::give_own_ids(secret, [](std::string_view text) { return text != "c2"; });
  CHECK(secret.tool_calls[0].id == "c1");
  CHECK(secret.tool_calls[1].id.size() == 9);
  CHECK(secret.raw.empty());
}
