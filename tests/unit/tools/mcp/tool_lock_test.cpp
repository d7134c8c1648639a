#include "tools/mcp/tool_lock.h"

#include "agent/error.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using agent::Json;
using tools::mcp::LockedTool;
using tools::mcp::ToolLock;

namespace {

Json definition(const std::string& description, const std::string& schema) {
  return {{"name", "f"},
          {"description", description},
          {"inputSchema", agent::parse_json(schema).value_or(Json())}};
}

tools::mcp::LockedTool tool(const std::string& description,
                            const std::string& schema = R"({"type":"object"})") {
  return tools::mcp::locked_tool(definition(description, schema), agent::Redactor({}));
}

ToolLock lock(const std::string& name, tools::mcp::LockedTool one) {
  ToolLock made;
  made.servers["s"].emplace(name, std::move(one));
  return made;
}

using Texts = std::vector<std::string>;
const Texts k_servers = {"s"};

}  // namespace

TEST_CASE("tool lock: what is written is read again, a line a tool, sorted", "[tools]") {
  ToolLock made;
  made.servers["b"] = {};
  made.servers["a"].emplace("z", tool("Last."));
  made.servers["a"].emplace("c \"q\"\n",
                            tool("First.\nMore.", R"({"properties":{"y":{},"x":{}}})"));
  const std::string text = tools::mcp::lock_text(made);
  const auto read = tools::mcp::read_lock(text, "`x`");
  REQUIRE(read);
  CHECK(*read == made);
  CHECK(tools::mcp::lock_text(*read) == text);
  CHECK(std::ranges::count(text, '\n') == 10);
  CHECK(text.find("c \\\"q\\\"\\n") < text.find("\"z\""));
  CHECK(text.contains(R"("parameters":["x","y"])"));
  CHECK(tools::mcp::read_lock(tools::mcp::lock_text({}), "`x`").value() == ToolLock());
}

TEST_CASE("tool lock: the same schema in another order of keys is the same", "[tools]") {
  CHECK(tool("A.", R"({"type":"object","properties":{"a":{},"b":{}}})") ==
        tool("A.", R"({ "properties": {"b": {}, "a": {}}, "type": "object" })"));
  CHECK(tool("A.", R"({"title":"x"})") != tool("A.", R"({"title":"y"})"));
}

TEST_CASE("tool lock: each difference is one sentence on one line", "[tools]") {
  const ToolLock before = lock("f", tool("Does f.\x1b[2J", R"({"properties":{"n":{}}})"));
  CHECK(tools::mcp::differences(before, before, k_servers).empty());
  CHECK(
      tools::mcp::differences(
          before, lock("f", tool("Sends all.\nAway.", R"({"properties":{"n":{}}})")), k_servers) ==
      Texts{
          R"(`f` of `s`: its description was "Does f.\u{1b}[2J", and is "Sends all.\u{a}Away.")"});
  CHECK(tools::mcp::differences(
            before,
            lock("f", tool("Does f.\x1b[2J", R"({"properties":{"n":{},"path":{}}})")),
            k_servers) == Texts{"`f` of `s`: its argument `path` is new, {}"});
  CHECK(tools::mcp::differences(before, lock("g", tool("Does g.")), k_servers) ==
        Texts{"`f` of `s`: it is gone", "`g` of `s`: it is new, \"Does g.\""});
}

TEST_CASE("tool lock: of a schema it is said which argument is another one", "[tools]") {
  const LockedTool before = tool("A.", R"({"properties":{"n":{"type":"integer"},"old":{}}})");
  const LockedTool after =
      tool("A.", R"({"properties":{"n":{"type":"string"},"new":{"a":1}},"required":["n"]})");
  CHECK(tools::mcp::change(before, after) ==
        R"(its argument `n` was {"type":"integer"}, and is {"type":"string"}; )"
        R"(its argument `old` is gone; its argument `new` is new, {"a":1}; )"
        "(n) must be given, and before ()");
  CHECK(tools::mcp::change(before, before).empty());
  const std::string head(1'000, 'x');
  const auto long_one = [&](const std::string& end) {
    return tool("A.", R"({"properties":{"n":{"title":")" + head + end + R"("}}})");
  };
  const std::string behind = tools::mcp::change(long_one("a"), long_one("b"));
  CHECK(behind.starts_with(R"(its argument `n` was {"title":"xxx)"));
  CHECK(behind.contains("sha256:"));
  CHECK(behind.size() < 600);
  const LockedTool elsewhere =
      tool("A.", R"({"properties":{"n":{"type":"integer"},"old":{}},"title":"x"})");
  CHECK(tools::mcp::change(before, elsewhere)
            .starts_with("the schema of its arguments (n, old) was "));
}

TEST_CASE("tool lock: a lock of an earlier errand has names and digests alone", "[tools]") {
  const LockedTool now = tool("A.", R"({"properties":{"n":{"type":"integer"}}})");
  LockedTool earlier = now;
  earlier.schemas.clear();
  CHECK(earlier == now);
  CHECK(tools::mcp::change(earlier, now).empty());
  CHECK(tools::mcp::change(earlier, tool("A.", R"({"properties":{"n":{},"path":{}}})")) ==
        "its arguments were (n), and are (n, path)");
  CHECK(tools::mcp::change(earlier, tool("A.", R"({"properties":{"n":{}}})"))
            .starts_with("the schema of its arguments (n) was "));
}

TEST_CASE("tool lock: what its results are is a part of a tool", "[tools]") {
  const auto promising = [](const std::string& schema) {
    Json json = definition("A.", "{}");
    json["outputSchema"] = agent::parse_json(schema).value_or(Json());
    return tools::mcp::locked_tool(json, agent::Redactor({}));
  };
  const LockedTool before = promising(R"({"type":"object","title":"x"})");
  CHECK(before == promising(R"({"title": "x", "type": "object"})"));
  CHECK(before != promising(R"({"type":"object"})"));
  CHECK(before != tool("A.", "{}"));
  CHECK(tools::mcp::change(before, tool("A.", "{}")) ==
        fmt::format("the schema of its results (`outputSchema`) was {}, and is none",
                    before.results_sha256.substr(0, 12)));
  const ToolLock made = lock("f", before);
  CHECK(tools::mcp::read_lock(tools::mcp::lock_text(made), "`x`").value() == made);
}

TEST_CASE("tool lock: what changed behind the part that is shown is a difference", "[tools]") {
  const std::string head(1'000, 'x');
  const auto found =
      tools::mcp::differences(lock("f", tool(head + "a")), lock("f", tool(head + "b")), k_servers);
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("`f` of `s`: its description changed behind \"xxx"));
  CHECK(found[0].size() < 300);
}

TEST_CASE("tool lock: servers that the agent has not, or the lock has not", "[tools]") {
  const ToolLock made = lock("f", tool("A."));
  CHECK(tools::mcp::differences(made, {}, Texts{"t"}) ==
        Texts{"the agent has no server `s`, which is locked"});
  CHECK(tools::mcp::differences({}, made, k_servers) == Texts{"the server `s` is not locked"});
  CHECK(tools::mcp::differences(made, {}, k_servers).empty());  // it did not start
}

TEST_CASE("tool lock: secrets are not in it", "[tools]") {
  const agent::Redactor redactor(agent::Environment{{"A_TOKEN", "gvCx81a9Qk2"}});
  const auto made =
      tools::mcp::locked_tool(definition("Uses gvCx81a9Qk2.", R"({"properties":{}})"), redactor);
  CHECK(made.description == "Uses [redacted].");
  CHECK(made.description_sha256 == tool("Uses gvCx81a9Qk2.").description_sha256);
}

TEST_CASE("tool lock: what is none is refused", "[tools]") {
  const std::string schema = R"("schema":"errand.mcp-lock/1")";
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "is not a lock"},
           {"<<<<<<< HEAD", "is not a lock"},
           {"[]", "it is no object"},
           {"{}", "it has no `schema: errand.mcp-lock/1`"},
           {R"({"schema":"errand.mcp-lock/2","servers":{}})",
            "is of the version `errand.mcp-lock/2`"},
           {"{" + schema + "}", "it has no `servers`"},
           {"{" + schema + R"(,"servers":[]})", "it has no `servers`"},
           {"{" + schema + R"(,"servers":{"s":1}})", "`s` is no object"},
           {"{" + schema + R"(,"servers":{"s":{"f":{"schema_sha256":"x"}}}})",
            "`f` of `s` has no digests"},
           {"{" + schema + R"(,"servers":{"s":{"f":null}}})", "`f` of `s` has no digests"}}) {
    INFO(text);
    const auto read = tools::mcp::read_lock(text, "`x.json`");
    REQUIRE_FALSE(read);
    CHECK(read.error().code == agent::Code::config_invalid);
    CHECK(read.error().message.starts_with("`x.json` is "));
    CHECK(read.error().message.contains(why));
  }
}
