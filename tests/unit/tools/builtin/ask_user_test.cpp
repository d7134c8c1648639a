#include "agent/schema/json_schema.h"
#include "tests/unit/tools/file_support.h"
#include "tools/questioner.h"

#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

using agent::Code;

namespace {

class Oracle final : public tools::Questioner {
 public:
  explicit Oracle(std::optional<std::string> answer) : answer_(std::move(answer)) {}

  std::unique_ptr<Conversation> begin(std::stop_token) override {
    return std::make_unique<Talk>(*this);
  }

  tools::Question asked;

 private:
  class Talk final : public Conversation {
   public:
    explicit Talk(Oracle& oracle) : oracle_(oracle) {}

    std::optional<std::string> ask(const tools::Question& question, std::stop_token) override {
      oracle_.asked = question;
      return oracle_.answer_;
    }

   private:
    Oracle& oracle_;
  };

  std::optional<std::string> answer_;
};

tools::Output ask(tools::Questioner* questioner, std::stop_token stop = {}) {
  const std::filesystem::path nowhere;
  const agent::Environment environment;
  return tests::made(tools::make_ask_user)
      ->call(*agent::parse_json(R"({"question": "Which?", "options": ["a", "b"]})"),
             {.cwd = nowhere,
              .temporary = nowhere,
              .environment = environment,
              .stop = std::move(stop),
              .kill = {},
              .on_output = {},
              .questioner = questioner});
}

}  // namespace

TEST_CASE("ask_user: what comes of each kind of answer", "[tools]") {
  Oracle willing("b");
  CHECK(ask(&willing).text == "The person answers: b\n");
  CHECK(willing.asked.text == "Which?");
  CHECK(willing.asked.options == std::vector<std::string>{"a", "b"});

  Oracle silent("");
  CHECK(ask(&silent).text == "The person gave no answer. Decide by yourself.\n");
  CHECK(ask(&silent).code == std::nullopt);

  Oracle gone(std::nullopt);
  std::stop_source stop;
  CHECK(ask(&gone, stop.get_token()).code == Code::tool_failed);
  CHECK_THAT(ask(&gone, stop.get_token()).message, Catch::Contains("the terminal was closed"));
  stop.request_stop();
  CHECK(ask(&gone, stop.get_token()).code == Code::tool_cancelled);

  const auto alone = ask(nullptr);
  CHECK(alone.code == Code::tool_failed);
  CHECK_THAT(alone.message, Catch::Contains("nobody is there"));
  CHECK_THAT(alone.suggestion, Catch::Contains("Decide by yourself"));
}

TEST_CASE("ask_user: a question is bounded", "[tools]") {
  const auto tool = tests::made(tools::make_ask_user);
  const auto schema = agent::JsonSchema::compile(*agent::parse_json(tool->info().parameters));
  REQUIRE(schema);
  const auto fits = [&](std::size_t bytes, std::size_t options) {
    const agent::Json arguments{{"question", std::string(bytes, 'x')},
                                {"options", std::vector<std::string>(options, "y")}};
    return schema->check(arguments).empty();
  };
  CHECK(fits(4'000, 20));
  CHECK_FALSE(fits(4'001, 20));
  CHECK_FALSE(fits(4'000, 21));
  CHECK_FALSE(fits(4'000, 0));
  CHECK_FALSE(fits(0, 1));
}
