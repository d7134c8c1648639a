#include "agent/resume_command.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using agent::Code;

const agent::ResumeCommand k_resume{
    .words = "errand resume r", .agent_file = "/work/my agent.yaml", .options = {}};

const agent::Limits k_all_limits{.max_turns = 10,
                                 .max_tool_calls = 7,
                                 .max_total_tokens = 1'000,
                                 .max_cost_usd = agent::Money::parse("0.25"),
                                 .timeout = std::chrono::minutes(5)};

agent::RunResult ended_by(Code code) {
  const agent::ExitRow& row = agent::exit_row(agent::row(code).exit_code);
  agent::RunResult result{.exit_code = row.exit_code};
  if (row.status == agent::Status::stopped) {
    result.stop = agent::Stop{.reason = std::string(row.name),
                              .limit = std::string(row.setting),
                              .config_path = std::string(row.setting),
                              .detail = {}};
  }
  return result;
}

std::string command_after(const agent::RunResult& result,
                          const agent::Limits& limits = k_all_limits) {
  return resume_command(k_resume, result, limits);
}

}  // namespace

TEST_CASE("resume command: at a limit it raises that limit", "[agent]") {
  CHECK(command_after(ended_by(Code::run_max_turns)) == "errand resume r --max-turns 20");
  CHECK(command_after(ended_by(Code::run_cost_budget)) == "errand resume r --max-cost 0.5");
  CHECK(command_after(ended_by(Code::run_timeout)) == "errand resume r --timeout 10m");
  SECTION("beyond what was used") {
    agent::RunResult late = ended_by(Code::run_timeout);
    late.duration_ms = 601'001;
    CHECK(command_after(late) == "errand resume r --timeout 20m4s");
    agent::RunResult dear = ended_by(Code::run_cost_budget);
    dear.cost = agent::Money::parse("3.5");
    CHECK(command_after(dear) == "errand resume r --max-cost 7");
  }
  SECTION("by the file where no option does") {
    const std::string by_file = "errand resume r --agent '/work/my agent.yaml'";
    CHECK(command_after(ended_by(Code::run_token_budget)) == by_file);
    CHECK(command_after(ended_by(Code::run_tool_call_limit)) == by_file);
    CHECK(command_after(ended_by(Code::context_overflow)) == by_file);
    agent::RunResult unknown = ended_by(Code::run_cost_budget);
    unknown.cost.reset();
    CHECK(command_after(unknown) == by_file);
  }
  SECTION("a time that is over and told is none") {
    agent::RunResult late = ended_by(Code::durable_signal_timeout);
    late.run_id = "r";
    late.stop->run_id = "member";
    CHECK(command_after(late) == "errand resume r");
    late = ended_by(Code::run_token_budget);
    late.run_id = "r";
    late.stop->run_id = "member";
    CHECK(command_after(late) == "errand resume r --agent '/work/my agent.yaml'");
  }
  SECTION("of the run itself, not of a batch") {
    agent::RunResult result = ended_by(Code::run_timeout);
    result.stop->limit = "--total-timeout";
    CHECK(command_after(result) == "errand resume r");
  }
  SECTION("a limit of nothing becomes something") {
    const agent::Limits nothing{.max_cost_usd = agent::Money()};
    CHECK(command_after(ended_by(Code::run_cost_budget), nothing) ==
          "errand resume r --max-cost 0.01");
  }
  SECTION("instead of the option that was given before") {
    const agent::ResumeCommand given{.words = "errand resume r --agent a.yaml",
                                     .options = {"--max-turns=10", "--param=x=a b"}};
    CHECK(resume_command(given, ended_by(Code::run_max_turns), k_all_limits) ==
          "errand resume r --agent a.yaml '--param=x=a b' --max-turns 20");
    CHECK(resume_command(given, ended_by(Code::run_tool_call_limit), k_all_limits) ==
          "errand resume r --agent a.yaml '--max-turns=10' '--param=x=a b'");
  }
}

TEST_CASE("resume command: it says where only a message carries a run on", "[agent]") {
  CHECK(command_after({}) == "errand resume r \"and now …\"");
  CHECK(command_after(ended_by(Code::output_invalid)) == "errand resume r \"and now …\"");
  CHECK(command_after(ended_by(Code::provider_unavailable)) == "errand resume r");
  CHECK(resume_command({}, {}, k_all_limits).empty());

  agent::RunResult result;
  result.resume_cmd = command_after(result);
  SECTION("not where it has become an ending that needs none") {
    result.exit_code = 141;
    settle_message(result);
    CHECK(result.resume_cmd == "errand resume r");
  }
  SECTION("still where it has not") {
    settle_message(result);
    CHECK(result.resume_cmd == "errand resume r \"and now …\"");
  }
}

TEST_CASE("resume command: where the recorded agent file counts, the help of a failure says so",
          "[agent]") {
  agent::ResumeCommand by_record = k_resume;
  by_record.is_by_record = true;
  agent::RunResult result = ended_by(Code::provider_network);
  result.error = agent::Error{.code = Code::provider_network, .message = "refused", .help = {}};
  const std::string advice(agent::row(Code::provider_network).advice);

  SECTION("after a provider's, how another one is taken") {
    tell_of_record(result, by_record);
    CHECK(result.error->help == advice.substr(0, advice.size() - 1) +
                                    "; the recorded agent file counts: where you change it, "
                                    "`--agent FILE` takes it");
    CHECK(resume_command(by_record, result, k_all_limits) == "errand resume r");
  }
  SECTION("where it has changed, that it has, and the command takes it") {
    by_record.changed_file = "/work/my agent.yaml";
    result.error->help = "look there";
    tell_of_record(result, by_record);
    CHECK(result.error->help ==
          "look there; /work/my agent.yaml has changed since, and the recorded one counted: "
          "`--agent '/work/my agent.yaml'` takes it");
    CHECK(resume_command(by_record, result, k_all_limits) ==
          "errand resume r --agent '/work/my agent.yaml'");
  }
  SECTION("after another failure only where it has changed") {
    result.error->code = Code::tool_failed;
    tell_of_record(result, by_record);
    CHECK(result.error->help.empty());
    by_record.changed_file = "/work/my agent.yaml";
    tell_of_record(result, by_record);
    CHECK_THAT(result.error->help, Catch::Contains("has changed since"));
    CHECK(resume_command(by_record, result, k_all_limits) == "errand resume r");
  }
  SECTION("not where the file on disk counts") {
    tell_of_record(result, k_resume);
    CHECK(result.error->help.empty());
  }
}

TEST_CASE("resume command: a stop of another run is ended by what lets that one go on", "[agent]") {
  agent::RunResult result = ended_by(Code::run_max_turns);
  result.run_id = "r";
  result.error = agent::Error{.code = Code::run_max_turns};
  result.stop->run_id = "m";
  CHECK(command_after(result) == "errand resume r --agent '/work/my agent.yaml'");
  result.stop->way_on = "errand resume m --max-turns 4";
  CHECK(command_after(result) == "errand resume m --max-turns 4");
  tell_of_member(result, k_resume);
  CHECK(result.error->help ==
        "`errand resume m --max-turns 4` carries on the member, and then "
        "`errand resume r` this run");
}

TEST_CASE("resume command: those above hear what raises a limit, and of none that a file raises",
          "[agent]") {
  agent::RunResult turns = ended_by(Code::run_max_turns);
  turns.run_id = "r";
  turns.resume_cmd = command_after(turns);
  tell_whose_stop(turns, k_all_limits);
  CHECK(turns.stop->run_id == "r");
  CHECK(turns.stop->way_on == turns.resume_cmd);
  agent::RunResult tokens = ended_by(Code::run_token_budget);
  tokens.run_id = "r";
  tokens.resume_cmd = command_after(tokens);
  tell_whose_stop(tokens, k_all_limits);
  CHECK(tokens.stop->run_id == "r");
  CHECK(tokens.stop->way_on.empty());
}
