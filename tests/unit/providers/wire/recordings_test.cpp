// Recorded traffic, where it lies beside the checkout, straight into the wire protocols.
#include "agent/base64.h"
#include "agent/error.h"
#include "agent/json.h"
#include "providers/wire/classify.h"
#include "providers/wire/wire.h"
#include "tests/support/skip.h"
#include "tests/unit/providers/wire/wire_cases.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using agent::Json;

const std::filesystem::path k_folder =
    std::filesystem::path(ERRAND_SOURCE_DIR) / ".." / "shared" / "recordings";

Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto json = agent::parse_json(text);
  REQUIRE(json);
  return *std::move(json);
}

std::unique_ptr<providers::Wire> wire_for(const Json& expected) {
  providers::WireSettings settings{.provider = "label",
                                   .model = "m",
                                   .base_url = "http://127.0.0.1:1",
                                   .stream = agent::bool_at(expected, "stream")};
  settings.quirks = providers::default_quirks(settings.provider, settings.base_url);
  const std::string_view dialect = agent::text_at(expected, "dialect");
  return dialect == "openai-chat"          ? providers::make_openai_chat(settings)
         : dialect == "openai-responses"   ? providers::make_openai_responses(settings)
         : dialect == "gemini"             ? providers::make_gemini(settings)
         : dialect == "anthropic-messages" ? providers::make_anthropic_messages(settings)
         : dialect == "ollama-chat"        ? providers::make_ollama(settings)
         : dialect == "bedrock-converse"   ? providers::make_bedrock(settings)
                                           : nullptr;
}

// What a class of failure must end as; several: any of them.
const std::map<std::string, std::vector<std::string>, std::less<>> k_failures = {
    {"auth", {"provider.auth"}},
    {"permission", {"provider.auth"}},
    {"invalid_request", {"provider.invalid_request"}},
    {"not_found", {"provider.model_not_found", "provider.invalid_request"}},
    {"context_length", {"context.overflow"}},
    {"rate_limit", {"provider.rate_limited"}},
    {"quota", {"provider.quota"}},
    {"content_filter", {"provider.refused"}},
    {"server", {"provider.unavailable"}},
    {"overloaded", {"provider.unavailable", "provider.model_loading"}},
    {"resource", {"provider.unavailable", "provider.other"}},
    {"transport", {"provider.network", "provider.stream_broken"}},
    {"tool_use_failed", {"provider.bad_response", "provider.invalid_request"}},
};

void check_failure(const Json& expected, const agent::Error& error) {
  INFO(error.message);
  const Json* failure = agent::find(expected, "error");
  if (agent::text_at(expected, "outcome") == "truncated") {
    CHECK(agent::row(error.code).name == "provider.stream_broken");
  } else {
    REQUIRE(failure != nullptr);
    const auto& codes = k_failures.at(std::string(agent::text_at(*failure, "class")));
    CHECK_THAT(codes, Catch::VectorContains(std::string(agent::row(error.code).name)));
  }
  if (failure != nullptr && !agent::text_at(*failure, "request_id").empty()) {
    CHECK(error.request_id == agent::text_at(*failure, "request_id"));
  }
}

void check_call(const Json& expected, const agent::ToolCall& call) {
  CHECK(call.name == agent::text_at(expected, "name"));
  CHECK_FALSE(call.id.empty());
  if (const auto id = agent::text_at(expected, "id"); !id.empty()) {
    CHECK(call.id == id);
  }
  if (agent::bool_at(expected, "arguments_ok")) {
    const Json* arguments = agent::find(expected, "arguments");
    const auto parsed = agent::parse_json(call.arguments.empty() ? "{}" : call.arguments);
    INFO(call.arguments);
    REQUIRE(parsed);
    CHECK(nlohmann::json(*parsed) ==
          nlohmann::json(arguments == nullptr ? Json::object() : *arguments));
  }
}

void check_reply(const Json& expected, const tests::Played& played) {
  INFO((played.reply ? "" : played.reply.error().message));
  REQUIRE(played.reply);
  const agent::Reply& reply = *played.reply;
  CHECK(reply.text == agent::text_at(expected, "text"));
  CHECK(played.text == reply.text);
  CHECK(played.reasoning == reply.reasoning);
  CHECK(reply.reasoning == agent::text_at(expected, "thinking"));
  const Json& calls = expected["tool_calls"];
  REQUIRE(reply.tool_calls.size() == calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    check_call(calls[i], reply.tool_calls[i]);
  }
  if (const auto reason = agent::text_at(expected, "stop_reason"); !reason.empty()) {
    CHECK(agent::to_string(reply.stop_reason) == reason);
  }
  if (const Json* usage = agent::find(expected, "usage")) {
    const auto check = [&](std::string_view key, std::int64_t got) {
      if (agent::find(*usage, key) != nullptr) {
        INFO(key);
        CHECK(got == agent::integer_at(*usage, key));
      }
    };
    check("input_total", reply.usage.input);
    check("output_total", reply.usage.output);
    check("cache_read", reply.usage.cache_read);
    check("cache_write", reply.usage.cache_write);
    check("reasoning", reply.usage.reasoning);
  }
}

agent::Headers headers_of(const Json& response) {
  agent::Headers headers;
  if (const Json* fields = agent::find(response, "headers")) {
    for (const auto& [name, value] : fields->items()) {
      headers.emplace_back(name, value.is_string() ? value.get<std::string>() : agent::dump(value));
    }
  }
  return headers;
}

// What was sent back of a turn has to be JSON of the right kind.
void check_raw(const agent::Reply& reply) {
  if (!reply.raw.empty()) {
    const auto raw = agent::parse_json(reply.raw);
    REQUIRE(raw);
    const bool is_message = reply.protocol == "openai_chat" || reply.protocol == "ollama";
    CHECK((is_message ? raw->is_object() : raw->is_array()));
  }
}

void play_recording(const Json& recording, const Json& expected, const providers::Wire& wire) {
  const Json& response = recording["response"];
  const agent::Headers headers = headers_of(response);
  const bool is_binary = agent::find(response, "body_base64") != nullptr;
  const std::string body = is_binary
                               ? agent::from_base64(agent::text_at(response, "body_base64")).value()
                               : std::string(agent::text_at(response, "body_text"));
  const auto status = static_cast<int>(agent::integer_at(response, "status"));
  if (status < 200 || status > 299) {
    check_failure(expected, wire.classify(status, headers, body, std::chrono::system_clock::now()));
    return;
  }
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U}) {
    const tests::Played played = tests::play_in_pieces(wire, body, headers, seed);
    if (agent::text_at(expected, "outcome") == "ok") {
      check_reply(expected, played);
      check_raw(*played.reply);
      CHECK(*played.reply == *tests::play(wire, body, headers, [] { return 1; }).reply);
    } else {
      REQUIRE_FALSE(played.reply);
      agent::Error error = played.reply.error();
      if (error.request_id.empty()) {
        error.request_id = providers::request_id(headers);
      }
      check_failure(expected, error);
    }
  }
}

}  // namespace

TEST_CASE("recordings: every exchange is read as it should be", "[providers]") {
  if (!std::filesystem::is_directory(k_folder)) {
    tests::skip("no recordings beside this checkout");
  }
  int played = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(k_folder)) {
    const std::string name = entry.path().string();
    constexpr std::string_view k_suffix = ".expected.json";
    if (!name.ends_with(k_suffix)) {
      continue;
    }
    INFO(name);
    const Json expected = read_json(entry.path());
    const auto wire = wire_for(expected);
    if (wire == nullptr) {
      continue;
    }
    const std::string stem = name.substr(0, name.size() - k_suffix.size());
    play_recording(read_json(stem + ".json"), expected, *wire);
    ++played;
  }
  CHECK(played > 0);
}
