#include "tools/mcp/prompt.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

using agent::Code;
using agent::Json;
using agent::OpeningMessage;
using tools::mcp::check_arguments;
using tools::mcp::opening_of;
using tools::mcp::Prompt;

constexpr const char* k_gif = "R0lGODlh";  // GIF89a

Json said(const char* role, const Json& content) {
  return {{"role", role}, {"content", content}};
}

Json text(const char* words) {
  return {{"type", "text"}, {"text", words}};
}

std::vector<OpeningMessage> opening(const Json& messages) {
  auto found = opening_of({{"messages", messages}}, "it");
  REQUIRE(found);
  return std::move(found->messages);
}

}  // namespace

TEST_CASE("prompt: what a list says of each") {
  const auto prompts = tools::mcp::prompts_in(
      {{{"name", "a"},
        {"description", "One\x1b\n."},
        {"arguments", {{{"name", "x"}, {"required", true}}, {{"name", "y"}}}}},
       {{"description", "nameless"}},
       7,
       {{"name", "b"}, {"arguments", "none"}}});
  REQUIRE(prompts.size() == 2);
  CHECK(prompts[0].name == "a");
  CHECK(prompts[0].description == "One\\x1b\\n.");
  REQUIRE(prompts[0].arguments.size() == 2);
  CHECK(prompts[0].arguments[0].name == "x");
  CHECK(prompts[0].arguments[0].is_required);
  CHECK(prompts[0].arguments[1].name == "y");
  CHECK_FALSE(prompts[0].arguments[1].is_required);
  CHECK(prompts[1].name == "b");
  CHECK(prompts[1].arguments.empty());
}

TEST_CASE("prompt: arguments that it needs, and those that it takes") {
  const Prompt prompt{.name = "p",
                      .description = {},
                      .arguments = {{.name = "x", .is_required = true}, {.name = "y"}}};
  CHECK(check_arguments(prompt, {{"x", ""}}, "s"));
  CHECK(check_arguments(prompt, {{"x", "1"}, {"y", "2"}}, "s"));
  const auto missing = check_arguments(prompt, {{"y", "2"}}, "s");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::cli_usage);
  CHECK(missing.error().message == "the prompt `s/p` needs the argument `x`");
  CHECK(missing.error().help == "it takes x (needed), y; `--use-arg NAME=VALUE` gives one");
  const auto unknown = check_arguments(prompt, {{"x", "1"}, {"z", "2"}}, "s");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message == "the prompt `s/p` takes no argument `z`");
  const auto none =
      check_arguments({.name = "q", .description = {}, .arguments = {}}, {{"z", ""}}, "s");
  REQUIRE_FALSE(none);
  CHECK(none.error().help.starts_with("it takes none"));
}

TEST_CASE("prompt: messages of one role in a row are one") {
  const auto found = opening({said("user", text("a")),
                              said("user", text("")),
                              said("user", text("b")),
                              said("assistant", text("c")),
                              said("user", text("d"))});
  CHECK(found == std::vector<OpeningMessage>{{.role = "user", .text = "a\n\nb"},
                                             {.role = "assistant", .text = "c"},
                                             {.role = "user", .text = "d"}});
}

TEST_CASE("prompt: pictures go along, other bytes are said to be left out") {
  const auto all = opening_of(
      {{"messages",
        {said("user", {{"type", "image"}, {"data", k_gif}, {"mimeType", "image/png"}}),
         said("user", {{"type", "resource"}, {"resource", {{"uri", "x://g"}, {"blob", k_gif}}}}),
         said("user", {{"type", "resource"}, {"resource", {{"uri", "x://b"}, {"blob", "AAAA"}}}}),
         said("user", {{"type", "resource"}, {"resource", {{"uri", "x://t"}, {"text", "words"}}}}),
         said("user", {{"type", "resource_link"}, {"name", "n"}, {"uri", "x://l"}}),
         said("user", {{"type", "dance"}}),
         said("assistant", {{"type", "image"}, {"data", k_gif}, {"mimeType", "image/gif"}})}}},
      "it");
  REQUIRE(all);
  const auto& found = all->messages;
  REQUIRE(found.size() == 2);
  CHECK(found[0].attachments == std::vector<agent::Attachment>{
                                    {.name = "image", .media_type = "image/gif", .base64 = k_gif},
                                    {.name = "x://g", .media_type = "image/gif", .base64 = k_gif}});
  CHECK(found[0].text ==
        "[attachment 1]\n\n[attachment 2]\n\n"
        "[resource x://b was left out: it is nothing that can go with a prompt]\n\n"
        "[resource x://t]\nwords\n\n[resource n at x://l]\n\n"
        "[content of the type `dance` was left out: errand does not know it]");
  CHECK(found[1].attachments.empty());
  CHECK(found[1].text ==
        "[image image/gif was left out: models take none in what the assistant said]");
  CHECK(all->left_out.size() == 3);
}

TEST_CASE("prompt: what is no conversation") {
  Json many = Json::array();
  for (int at = 0; at < 1'001; ++at) {
    many.push_back(said("user", text("x")));
  }
  const std::vector<std::pair<Json, std::string>> rows = {
      {Json(7), "it has no messages"},
      {{{"messages", Json::array()}}, "it has no messages"},
      {{{"messages", "x"}}, "it has no messages"},
      {{{"messages", many}}, "it has 1001 messages, more than 1000"},
      {{{"messages", {7}}}, "it has a message without role or content"},
      {{{"messages", {said("system", text("x"))}}}, "it has a message without role or content"},
      {{{"messages", {{{"role", "user"}}}}}, "it has a message without role or content"},
      {{{"messages", {said("user", {{"type", "image"}, {"data", "%"}})}}},
       "it has a message whose bytes are no base64"},
      {{{"messages",
         {said("user", {{"type", "resource"}, {"resource", {{"uri", "x:"}, {"blob", "%"}}}})}}},
       "it has a message whose bytes are no base64"},
      {{{"messages", {said("assistant", text("x"))}}},
       "it begins with words of the assistant, which no model takes"},
  };
  for (const auto& [result, message] : rows) {
    CAPTURE(message);
    const auto found = opening_of(result, "it");
    REQUIRE_FALSE(found);
    CHECK(found.error().code == Code::mcp_other);
    CHECK(found.error().message == message);
  }
}
