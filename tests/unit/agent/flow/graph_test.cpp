#include "agent/flow/graph.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using agent::StepSpec;
using agent::flow::drawn_as_mermaid;
using agent::flow::drawn_as_text;
using agent::flow::Graph;

StepSpec command_drawn(std::string name, std::vector<std::size_t> needs = {}) {
  return {.name = std::move(name), .command = "true", .needs = std::move(needs)};
}

}  // namespace

TEST_CASE("flow graph: steps that run side by side stand together") {
  const std::vector<StepSpec> steps = {command_drawn("plan"),
                                       command_drawn("fix", {0}),
                                       command_drawn("docs", {0}),
                                       command_drawn("end", {1, 2})};
  CHECK(drawn_as_text({.steps = steps}) ==
        "● plan  true\n"
        "│\n"
        "├─ fix   true\n"
        "├─ docs  true\n"
        "│\n"
        "● end   true\n");
}

TEST_CASE("flow graph: what is not the whole stage before is said") {
  const std::vector<StepSpec> steps = {
      command_drawn("a"), command_drawn("b"), command_drawn("c", {0}), command_drawn("d", {1, 2})};
  CHECK(drawn_as_text({.steps = steps}) ==
        "├─ a  true\n"
        "├─ b  true\n"
        "│\n"
        "● c  true; after a\n"
        "│\n"
        "● d  true; after b, c\n");
}

TEST_CASE("flow graph: how a step is run") {
  std::vector<StepSpec> steps = {command_drawn("fix"), command_drawn("test", {0})};
  steps[0].for_each = "plan.lines";
  steps[0].on_error = StepSpec::OnError::proceed;
  steps[1].when = "fix != []";
  steps[1].repeat = StepSpec::Repeat{.with = 0, .max = 3};
  CHECK(drawn_as_text({.steps = steps}) ==
        "● fix   true; for each plan.lines, 4 side by side; on_error: continue\n"
        "│\n"
        "● test  true; when fix != []; repeated with fix, 3 times at most\n");
}

TEST_CASE("flow graph: a flow stands in its step") {
  const std::vector<StepSpec> inner = {command_drawn("one"), command_drawn("two", {0})};
  const std::vector<StepSpec> steps = {{.name = "build", .agent = "build.yaml"},
                                       command_drawn("end", {0})};
  const Graph graph{.steps = steps, .inner = {{0, Graph{.steps = inner}}}};
  CHECK(drawn_as_text(graph) ==
        "● build  build.yaml\n"
        "│   ● one  true\n"
        "│   │\n"
        "│   ● two  true\n"
        "│\n"
        "● end    true\n");
  CHECK(drawn_as_mermaid(graph) ==
        "flowchart TD\n"
        "  subgraph s1[\"build<br>build.yaml\"]\n"
        "    s1_1(\"one<br>true\")\n"
        "    s1_2(\"two<br>true\")\n"
        "    s1_1 --> s1_2\n"
        "  end\n"
        "  s2(\"end<br>true\")\n"
        "  s1 --> s2\n");
}

TEST_CASE("flow graph: nothing in a label ends it in Mermaid") {
  std::vector<StepSpec> steps = {command_drawn("x")};
  steps[0].command = R"(echo "a" <b> & `c` #d)";
  CHECK(drawn_as_mermaid({.steps = steps}) ==
        "flowchart TD\n"
        "  s1(\"x<br>echo #quot;a#quot; #lt;b#gt; #amp; #96;c#96; #35;d\")\n");
}

TEST_CASE("flow graph: what is repeated in Mermaid") {
  std::vector<StepSpec> steps = {{.name = "fix", .agent = "fix.yaml", .for_each = "a"},
                                 command_drawn("test", {0})};
  steps[1].repeat = StepSpec::Repeat{.with = 0, .max = 1};
  CHECK(drawn_as_mermaid({.steps = steps}) ==
        "flowchart TD\n"
        "  s1[[\"fix<br>fix.yaml<br>for each a, 4 side by side\"]]\n"
        "  s2(\"test<br>true<br>repeated with fix, once at most\")\n"
        "  s1 --> s2\n"
        "  s2 -. \"fails, once\" .-> s1\n");
}
