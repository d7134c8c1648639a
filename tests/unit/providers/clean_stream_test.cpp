#include "providers/clean_stream.h"

#include "tests/support/fakes.h"

#include <catch2/catch.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using agent::ModelDelta;

namespace {

constexpr auto k_text = ModelDelta::Kind::text;
constexpr auto k_reasoning = ModelDelta::Kind::reasoning;

// What comes of these events of an answer: pieces of text in brackets, those of thoughts in braces,
// `!` for all else.
std::string heard(const std::vector<agent::EventBody>& events, bool ends_well = true) {
  const agent::Redactor redactor(agent::Environment{{"SOME_API_KEY", "top secret value"}});
  auto inner =
      std::make_unique<tests::ScriptedProvider>(std::deque<tests::ScriptedProvider::Answer>{
          [&](const agent::ModelRequest&, const agent::Emit& emit) -> agent::Result<agent::Reply> {
            for (const agent::EventBody& event : events) {
              emit(event);
            }
            if (!ends_well) {
              return agent::fail(agent::Code::provider_stream_broken, "it broke off");
            }
            return agent::Reply{.text = "top secret value"};
          }});
  providers::CleanStream provider(std::move(inner), redactor);
  std::string out;
  const agent::Conversation conversation;
  const auto reply =
      provider.complete({.instructions = {}, .tools = {}, .conversation = conversation},
                        [&](const agent::EventBody& event) {
                          const auto* const delta = std::get_if<ModelDelta>(&event);
                          out += delta == nullptr        ? "!"
                                 : delta->kind == k_text ? "[" + delta->text + "]"
                                                         : "{" + delta->text + "}";
                        },
                        {});
  REQUIRE(reply.has_value() == ends_well);
  CHECK((!ends_well || reply->text == "top secret value"));
  return out;
}

ModelDelta said(const char* text) {
  return {.kind = k_text, .text = text};
}
ModelDelta thought(const char* text) {
  return {.kind = k_reasoning, .text = text};
}

}  // namespace

TEST_CASE("clean stream: no secret comes in pieces", "[providers]") {
  CHECK(heard({said("It is top "), said("sec"), said("ret v"), said("alue, "), said("well")}) ==
        "[It is ][[redacted], ][well]");
  CHECK(heard({said("top sec"), thought("a top "), said("ret value "), thought("secret value")}) ==
        "{a }[[redacted] ]{[redacted]}");
  CHECK(heard({said("It is \\u007"), said("4op secret v"), said("alue. ")}) ==
        "[It is ][[redacted]. ]");
}

TEST_CASE("clean stream: what only began like a secret is all there", "[providers]") {
  CHECK(heard({said("at the top "), said("of it ")}) == "[at the ][top of it ]");
  CHECK(heard({said("the top s")}) == "[the ][top s]");
  CHECK(heard({}) == "");
}

TEST_CASE("clean stream: an attempt that breaks off shows no beginning of a secret",
          "[providers]") {
  CHECK(heard({said("It is top secret v"), agent::ModelReset{}, said("top hat ")}) ==
        "[It is ][[redacted]]![top hat ]");
  CHECK(heard({said("It is top secret v"), thought("top "), agent::ModelReset{}}) ==
        "[It is ]{top }[[redacted]]!");
  CHECK(heard({said("It is top secret v")}, false) == "[It is ][[redacted]]");
}
