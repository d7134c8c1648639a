// What an agent may demand of an answer, in each protocol's words: a tool call, a schema, an end.
#include "providers/wire/openai_schema.h"
#include "providers/wire/wire.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);

constexpr std::string_view k_schema =
    R"({"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false})";

struct Demand {
  std::string model = "m";
  std::vector<std::string> stop = {};
  std::string reasoning = "";
  std::string tool_choice = "";
  std::string schema = "";
  bool has_tools = true;
  providers::Quirks quirks = {};
};

struct Said {
  std::string body;     // without messages
  std::string missing;  // what the protocol lacks
};

Said say(Make make, const Demand& demand) {
  const auto wire = make({.provider = "p",
                          .model = demand.model,
                          .base_url = "http://h",
                          .reasoning = demand.reasoning,
                          .stop = demand.stop,
                          .quirks = demand.quirks});
  const std::vector<agent::ToolInfo> tools = {{.name = "f", .parameters = "{}"}};
  const agent::Conversation conversation;
  const agent::ModelRequest request{
      .tools = demand.has_tools ? std::span(tools) : std::span<const agent::ToolInfo>(),
      .conversation = conversation,
      .tool_choice = demand.tool_choice,
      .output_schema = demand.schema};
  return {.body = wire->body_head(request) + wire->body_tail(request),
          .missing = wire->lacks(request).value_or("")};
}

struct Words {
  Make make;
  std::string required;  // demanded call of any tool
  std::string by_name;   // of the tool f
  std::string none;
};

}  // namespace

TEST_CASE("wire: how a tool call is demanded", "[providers]") {
  const std::vector<Words> table = {
      {providers::make_anthropic_messages,
       R"("tool_choice":{"type":"any"})",
       R"("tool_choice":{"type":"tool","name":"f"})",
       R"("tool_choice":{"type":"none"})"},
      {providers::make_bedrock,
       R"("toolChoice":{"any":{}})",
       R"("toolChoice":{"tool":{"name":"f"}})",
       R"({"messages":[)"},
      {providers::make_gemini,
       R"("toolConfig":{"functionCallingConfig":{"mode":"ANY"}})",
       R"("toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}})",
       R"("toolConfig":{"functionCallingConfig":{"mode":"NONE"}})"},
      {providers::make_openai_chat,
       R"("tool_choice":"required")",
       R"("tool_choice":{"type":"function","function":{"name":"f"}})",
       R"("tool_choice":"none")"},
      {providers::make_openai_responses,
       R"("tool_choice":"required")",
       R"("tool_choice":{"type":"function","name":"f"})",
       R"("tool_choice":"none")"},
  };
  for (const Words& words : table) {
    for (const auto& [choice, wanted] :
         {std::pair<std::string, std::string>{"required", words.required},
          {"f", words.by_name},
          {"none", words.none}}) {
      const Said said = say(words.make, {.tool_choice = choice});
      CAPTURE(said.body, wanted);
      CHECK(said.body.contains(wanted));
      CHECK(said.missing.empty());
      // Without tools there is nothing to choose.
      const Said nothing = say(words.make, {.tool_choice = choice, .has_tools = false});
      CHECK_FALSE(nothing.body.contains("hoice"));
      CHECK_FALSE(nothing.body.contains("toolConfig"));
    }
    CHECK_FALSE(say(words.make, {}).body.contains("hoice"));
  }
  CHECK_FALSE(say(providers::make_ollama, {.tool_choice = "none"}).body.contains("tools"));
  CHECK_FALSE(say(providers::make_ollama, {.tool_choice = "required"}).missing.empty());
}

TEST_CASE("wire: how a schema is demanded", "[providers]") {
  const std::string schema(k_schema);
  const auto body = [&](Make make, std::string model) {
    const Said said = say(make, {.model = std::move(model), .schema = schema, .has_tools = false});
    CHECK(said.missing.empty());
    return said.body;
  };
  CHECK(body(providers::make_anthropic_messages, "claude-sonnet-4-5")
            .contains(R"("output_config":{"format":{"type":"json_schema","schema":)" + schema +
                      "}}"));
  CHECK(body(providers::make_gemini, "gemini-2.5-flash")
            .contains(R"("responseMimeType":"application/json","responseJsonSchema":)" + schema));
  CHECK(body(providers::make_ollama, "m").contains(R"("format":)" + schema));
  CHECK(body(providers::make_openai_chat, "m")
            .contains(R"("response_format":{"type":"json_schema","json_schema":{"name":"answer",)"
                      R"("schema":)" +
                      schema + R"(,"strict":true}})"));
  CHECK(body(providers::make_openai_responses, "m")
            .contains(R"("text":{"format":{"type":"json_schema","name":"answer","schema":)" +
                      schema + R"(,"strict":true}})"));
  // Effort and schema share a member.
  CHECK(say(providers::make_anthropic_messages,
            {.model = "claude-opus-4-6", .reasoning = "high", .schema = schema})
            .body.contains(R"("output_config":{"effort":"high","format":)"));
}

TEST_CASE("wire: what cannot be demanded is said before anything is sent", "[providers]") {
  const std::string schema(k_schema);
  const auto lacks = [](Make make, const Demand& demand) {
    return !say(make, demand).missing.empty();
  };
  using Texts = std::vector<std::string>;
  CHECK_FALSE(lacks(providers::make_openai_chat, {.stop = Texts(4, "x")}));
  CHECK(lacks(providers::make_openai_chat, {.stop = Texts(5, "x")}));
  CHECK_FALSE(lacks(providers::make_bedrock, {.stop = Texts(4, "x")}));
  CHECK(lacks(providers::make_bedrock, {.stop = Texts(5, "x")}));
  CHECK_FALSE(lacks(providers::make_gemini, {.stop = Texts(5, "x")}));
  CHECK(lacks(providers::make_gemini, {.stop = Texts(6, "x")}));
  CHECK(lacks(providers::make_openai_responses, {.stop = {"x"}}));
  CHECK(lacks(providers::make_bedrock, {.schema = schema}));
  CHECK(lacks(providers::make_ollama, {.schema = schema}));
  CHECK(lacks(providers::make_gemini, {.model = "gemini-2.5-pro", .schema = schema}));
  CHECK_FALSE(lacks(providers::make_gemini, {.model = "gemini-3-pro", .schema = schema}));
  CHECK(lacks(providers::make_anthropic_messages, {.model = "claude-3-5-haiku", .schema = schema}));
  CHECK(lacks(providers::make_anthropic_messages,
              {.model = "claude-sonnet-4-20250514", .schema = schema}));
  CHECK(lacks(providers::make_anthropic_messages, {.reasoning = "low", .tool_choice = "f"}));
  CHECK_FALSE(lacks(providers::make_anthropic_messages, {.reasoning = "none", .tool_choice = "f"}));
  CHECK(lacks(providers::make_openai_chat,
              {.schema = schema,
               .quirks = providers::default_quirks("deepseek", "https://api.deepseek.com")}));
}

TEST_CASE("openai_schema: strict is what names and closes everything", "[providers]") {
  const auto strict = [](std::string_view schema) {
    return providers::named_schema(schema).ends_with(R"("strict":true)");
  };
  CHECK(strict(k_schema));
  CHECK(strict(R"({"type":"object","additionalProperties":false})"));
  CHECK_FALSE(strict(R"({"type":"object","properties":{"x":{}},"additionalProperties":false})"));
  CHECK_FALSE(strict(R"({"type":"object","properties":{"x":{}},"required":["x"]})"));
  CHECK_FALSE(strict(R"({"type":"array","items":{"type":"integer"}})"));
  CHECK_FALSE(strict(
      R"({"type":"object","properties":{"x":{"anyOf":[{"type":"object","properties":{"y":{}}}]}},)"
      R"("required":["x"],"additionalProperties":false})"));
}
