#include "cli/run_identity.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

agent::RunStarted recorded() {
  return {.agent_file = "agent.yaml",
          .model = "m/1",
          .cwd = "/work",
          .session = "s",
          .made_from = {.agent_text = "name: a", .agent_folder = "/agents"}};
}

std::string fault(const agent::RunStarted& begun,
                  const std::vector<std::string>& words,
                  bool is_own = true) {
  const auto parsed = cli::parse(words, {});
  REQUIRE(parsed);
  const auto checked = cli::check_identity(begun, "id", is_own, *parsed);
  return checked ? "" : checked.error().message;
}

}  // namespace

TEST_CASE("identity: what a secret was taken out of is not obeyed", "[cli]") {
  const std::vector<std::string> plain = {"resume", "id"};
  const std::vector<std::string> with_agent = {"resume", "id", "--agent", "a.yaml"};
  const std::vector<std::string> with_folder = {"resume", "id", "--cwd", "/"};
  CHECK(fault(recorded(), plain).empty());
  auto begun = recorded();
  SECTION("the folder") {
    begun.cwd = "/[redacted]/x";
    CHECK(fault(begun, plain).starts_with("the folder of the run id had a secret"));
    CHECK_FALSE(fault(begun, with_agent).empty());
    CHECK(fault(begun, with_folder).empty());
    CHECK(fault(begun, with_agent, false).empty());  // it does not count
  }
  SECTION("the agent's folder") {
    begun.made_from.agent_folder = "/[redacted]";
  }
  SECTION("the agent file") {
    begun.agent_file = "[redacted].yaml";
  }
  SECTION("the name") {
    begun.session = "s-[redacted]";
    CHECK_FALSE(fault(begun, plain).empty());
    CHECK_FALSE(fault(begun, with_agent).empty());
  }
  SECTION("the model") {
    begun.model = "replay/[redacted]";
    CHECK_FALSE(fault(begun, plain).empty());
    CHECK(fault(begun, {"resume", "id", "--model", "m/2"}).empty());
  }
  if (begun.agent_file != "agent.yaml" || begun.made_from.agent_folder != "/agents") {
    CHECK(fault(begun, plain).starts_with("the path of the agent file of the run id"));
    CHECK_FALSE(fault(begun, with_folder).empty());
    CHECK(fault(begun, with_agent).empty());
  }
}

TEST_CASE("identity: a run is kept where the journal has it as it is", "[cli]") {
  const agent::Redactor redactor(agent::Environment{{"DB_PASSWORD", "postgres-prod"}});
  const cli::RunIdentity run{
      .cwd = "/work", .agent_folder = "/work", .agent_file = "a.yaml", .name = "s"};
  const auto code_with = [&](auto change) {
    cli::RunIdentity other = run;
    change(other);
    const auto why = cli::why_not_kept(other, redactor);
    REQUIRE(why);
    CHECK_FALSE(why->help.empty());
    return why->code;
  };
  using agent::Code;
  CHECK_FALSE(cli::why_not_kept(run, redactor));
  CHECK(code_with([](auto& one) { one.name = "my-postgres-prod"; }) == Code::cli_usage);
  CHECK(code_with([](auto& one) { one.name = "[redacted]"; }) == Code::cli_usage);
  CHECK(code_with([](auto& one) { one.cwd = "/postgres-prod"; }) == Code::config_invalid);
  CHECK(code_with([](auto& one) { one.cwd = "/[redacted]"; }) == Code::config_invalid);
  CHECK(code_with([](auto& one) { one.agent_folder = "/postgres-prod"; }) == Code::config_invalid);
  CHECK(code_with([](auto& one) { one.agent_file = "postgres-prod.yaml"; }) ==
        Code::config_invalid);
}
