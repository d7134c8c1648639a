// Pictures and documents in each protocol's own words.
#include "agent/json.h"
#include "providers/wire/wire.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);

const agent::Attachment k_picture{.name = "a.png", .media_type = "image/png", .base64 = "iVBORw0K"};
const agent::Attachment k_document{
    .name = "q3 (v2).pdf", .media_type = "application/pdf", .base64 = "JVBERi0x"};

// What the protocol makes of "Look" with a picture and a document.
std::string messages_of(Make make, std::vector<agent::Attachment> attachments) {
  const auto wire = make({.provider = "p", .model = "m", .base_url = "http://h"});
  const agent::Conversation conversation{
      {agent::UserMessage{.text = "Look", .attachments = std::move(attachments)}}};
  const agent::ModelRequest request{.instructions = {}, .tools = {}, .conversation = conversation};
  std::string body = wire->body_head(request);
  wire->append_messages(body, conversation.messages, nullptr);
  body += wire->body_tail(request);
  const auto json = agent::parse_json(body);
  REQUIRE(json);
  for (const std::string_view key : {"messages", "contents", "input"}) {
    if (const agent::Json* messages = agent::find(*json, key)) {
      return agent::dump(*messages);
    }
  }
  return {};
}

bool takes(Make make, std::string_view media_type, providers::Quirks quirks = {}) {
  const auto wire =
      make({.provider = "p", .model = "m", .base_url = "http://h", .quirks = std::move(quirks)});
  return std::ranges::find(wire->media(), media_type) != wire->media().end();
}

}  // namespace

TEST_CASE("attachments: each protocol has its own form, before the text", "[providers]") {
  CHECK(
      messages_of(providers::make_anthropic_messages, {k_picture, k_document}) ==
      R"([{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0K"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0x"}},{"type":"text","text":"Look"}]}])");
  CHECK(
      messages_of(providers::make_bedrock, {k_picture, k_document}) ==
      R"([{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"iVBORw0K"}}},{"document":{"format":"pdf","name":"q3--v2-","source":{"bytes":"JVBERi0x"}}},{"text":"Look"}]}])");
  CHECK(
      messages_of(providers::make_gemini, {k_picture, k_document}) ==
      R"([{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0K"}},{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0x"}},{"text":"Look"}]}])");
  CHECK(messages_of(providers::make_ollama, {k_picture}) ==
        R"([{"role":"user","content":"Look","images":["iVBORw0K"]}])");
  CHECK(
      messages_of(providers::make_openai_chat, {k_picture, k_document}) ==
      R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0K"}},{"type":"file","file":{"filename":"q3 (v2).pdf","file_data":"data:application/pdf;base64,JVBERi0x"}},{"type":"text","text":"Look"}]}])");
  CHECK(
      messages_of(providers::make_openai_responses, {k_picture, k_document}) ==
      R"([{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0K"},{"type":"input_file","filename":"q3 (v2).pdf","file_data":"data:application/pdf;base64,JVBERi0x"},{"type":"input_text","text":"Look"}]}])");
}

TEST_CASE("attachments: what a server does not take is known beforehand", "[providers]") {
  CHECK(takes(providers::make_anthropic_messages, "image/gif"));
  CHECK_FALSE(takes(providers::make_gemini, "image/gif"));
  CHECK(takes(providers::make_gemini, "application/pdf"));
  CHECK(takes(providers::make_ollama, "image/webp"));
  CHECK_FALSE(takes(providers::make_ollama, "application/pdf"));
  CHECK(takes(providers::make_openai_chat, "image/png"));
  CHECK_FALSE(takes(providers::make_openai_chat, "image/png", {.media = false}));
  CHECK_FALSE(providers::default_quirks("deepseek", "").media);
}

TEST_CASE("attachments: the window of an Ollama model has room for the picture", "[providers]") {
  const auto wire = providers::make_ollama({.provider = "p", .model = "m", .base_url = "http://h"});
  const auto window = [&](std::size_t pictures) {
    const agent::Conversation conversation{{agent::UserMessage{
        .text = "Look", .attachments = std::vector<agent::Attachment>(pictures, k_picture)}}};
    return wire->body_tail({.instructions = {}, .tools = {}, .conversation = conversation});
  };
  CHECK(window(3).contains(R"("num_ctx":8192)"));
  CHECK(window(4).contains(R"("num_ctx":16384)"));
}
