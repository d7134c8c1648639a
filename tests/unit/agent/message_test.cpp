#include "agent/message.h"

#include "agent/event.h"
#include "agent/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <variant>

namespace {

// What comes of a call in a log, and out of it again.
std::string out_of_a_log(const std::string& arguments) {
  agent::Event event{.run_id = "r", .seq = 1};
  event.body = agent::ToolStarted{.call_id = "c", .name = "shell", .arguments = arguments};
  const auto json = agent::parse_json(agent::dump(agent::to_json(event)));
  const auto read = agent::event_from_json(*json);
  REQUIRE(read);
  return std::get<agent::ToolStarted>(read->body).arguments;
}

}  // namespace

TEST_CASE("message: arguments as a log gives them back", "[agent]") {
  struct Row {
    std::string came;
    std::string recorded;
  };
  const auto row = GENERATE(Row{R"({"path": "a"})", R"({"path":"a"})"},
                            Row{R"({"path":"a"})", R"({"path":"a"})"},
                            Row{"{ \"b\" : 1,\n\t\"a\" : [ ] }\n", R"({"b":1,"a":[]})"},
                            Row{R"({"n": [18446744073709551617, 1e400, 1.50, -0]})",
                                R"({"n":[18446744073709551617,1e400,1.50,-0]})"},
                            Row{R"({"path": "n\u006ftes\/\u00e4"})", "{\"path\":\"notes/\u00e4\"}"},
                            Row{"{}", "{}"},
                            Row{"", ""},
                            Row{"[1, 2]", "[1, 2]"},
                            Row{R"({"cut": "o)", R"({"cut": "o)"});
  CHECK(agent::as_recorded(row.came) == row.recorded);
  CHECK(out_of_a_log(row.came) == row.recorded);
  CHECK(out_of_a_log(row.recorded) == row.recorded);
}
