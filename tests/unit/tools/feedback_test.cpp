#include "tools/feedback.h"

#include <catch2/catch.hpp>

#include <algorithm>

using agent::Code;

TEST_CASE("feedback: every tool.* code of the error table has a category", "[tools]") {
  for (const agent::CodeRow& row : agent::error_table()) {
    if (row.name.starts_with("tool.")) {
      INFO(row.name);
      CHECK(tools::category(row.code).code == row.code);
      CHECK(tools::category(row.code).label() == row.name.substr(5));
    }
  }
  CHECK(tools::category(Code::mcp_tool_call).code == Code::tool_failed);
}

TEST_CASE("feedback: only planning and reflection count against the model", "[tools]") {
  for (const tools::Category& row : tools::categories()) {
    INFO(row.label());
    const bool is_its_own =
        row.code == Code::tool_not_found || row.code == Code::tool_invalid_parameters ||
        row.code == Code::tool_type_mismatch || row.code == Code::tool_model_retry ||
        row.code == Code::tool_result_unusable;
    CHECK(row.counts_against_model() == is_its_own);
  }
}

TEST_CASE("feedback: re-formatting helps with the two parameter errors only", "[tools]") {
  for (const tools::Category& row : tools::categories()) {
    INFO(row.label());
    CHECK(row.reformat_helps == (row.phase == tools::Phase::param_handling));
  }
  CHECK(tools::category(Code::tool_not_found).phase == tools::Phase::setup);
  CHECK(tools::category(Code::tool_result_unusable).phase == tools::Phase::result_interpretation);
  CHECK(tools::to_string(tools::Phase::param_handling) == "param_handling");
}

TEST_CASE("feedback: no suggestion promises a retry that the model cannot count on", "[tools]") {
  for (const tools::Category& row : tools::categories()) {
    INFO(row.suggestion);
    CHECK(row.suggestion.find("will retry") == std::string_view::npos);
    CHECK(row.suggestion.find("automatic") == std::string_view::npos);
    CHECK(row.suggestion.ends_with('.'));
  }
}

TEST_CASE("feedback: what is refused says so, and what is left to do", "[tools]") {
  CHECK(tools::category(Code::tool_policy_blocked).suggestion ==
        "This is not allowed here. Reach the goal another way, or say that you cannot.");
  CHECK(tools::category(Code::tool_confirmation_required).suggestion ==
        "A person has to allow this and nobody is there. Go on without it.");
}

TEST_CASE("feedback: of what may be done it is said", "[tools]") {
  for (const Code code : {Code::tool_timeout, Code::tool_interrupted}) {
    CHECK(tools::category(code).suggestion.contains("effect"));
    CHECK_FALSE(tools::category(code).same_call_may_work(false));
    CHECK(tools::category(code).same_call_may_work(true));
  }
}

TEST_CASE("feedback: the block has its tag and four lines", "[tools]") {
  CHECK(tools::error_block(Code::tool_timeout, "took longer\nthan 2s", "Do\tless.") ==
        "[tool_error]\n"
        "category: timeout\n"
        "error: took longer than 2s\n"
        "suggestion: Do less.\n"
        "retryable: false");
  CHECK(tools::error_block(Code::tool_timeout, "took longer", "Do less.", true)
            .ends_with("retryable: true"));
  CHECK(tools::error_block(Code::tool_network, "unreachable", "Look.").ends_with("true"));
  CHECK(tools::error_block(Code::tool_not_found, "", "") ==
        "[tool_error]\n"
        "category: not_found\n"
        "error: the tool gave no reason\n"
        "suggestion: Use one of the tools that you were given, by its exact name.\n"
        "retryable: false");
}

TEST_CASE("feedback: one line is one line, short and valid", "[tools]") {
  CHECK(tools::one_line("  a\r\n\tb \x1b[0m c  ") == "a b [0m c");
  CHECK(tools::one_line(std::string(5'000, 'x'), 10) == "xxxxxxxxxx");
  CHECK(tools::one_line("ok \xff end") == "ok \xEF\xBF\xBD end");
}
