#include "tests/fuzz/targets.h"

#include "agent/json.h"
#include "providers/recording/cassette.h"
#include "providers/wire/classify.h"
#include "providers/wire/wire.h"
#include "tests/support/play.h"
#include "tools/files/patched_text.h"
#include "tools/mcp/message.h"
#include "tools/mcp/tool_result.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/plain_command.h"
#include "tools/process/proxy_request.h"
#include "tools/web/url.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fuzz {
namespace {

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);

void demand(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "not as it must be: %s\n", what);
    std::abort();
  }
}

// The first byte of an input says how the rest is cut.
std::uint8_t take_seed(std::string_view& bytes) {
  if (bytes.empty()) {
    return 0;
  }
  const auto seed = static_cast<std::uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  return seed;
}

// What was understood goes back to the server: that has to be JSON again.
void check_goes_back(const providers::Wire& wire, const agent::Reply& reply) {
  agent::Conversation conversation{{agent::UserMessage{"hi"}, agent::AssistantMessage{reply}}};
  for (const agent::ToolCall& call : reply.tool_calls) {
    demand(!call.id.empty(), "a call has an id");
    conversation.messages.emplace_back(agent::ToolMessage{call.id, call.name, "done", false});
  }
  const agent::ModelRequest request{.conversation = conversation};
  std::string body = wire.body_head(request);
  wire.append_messages(body, conversation.messages, nullptr);
  body += wire.body_tail(request);
  demand(agent::parse_json(body, 1000).has_value(), "the next request is JSON");
}

void decode(Make make, std::string_view bytes) {
  std::mt19937 rng(take_seed(bytes));
  const auto wire = make({.provider = "p", .model = "m", .base_url = "http://h"});
  const tests::Played whole = tests::play(*wire, bytes);
  const tests::Played cut =
      tests::play(*wire, bytes, {}, [&]() -> std::size_t { return 1 + rng() % 64; });
  demand(whole.reply.has_value() == cut.reply.has_value(), "a cut changes nothing");
  if (!whole.reply) {
    demand(!whole.reply.error().message.empty(), "an error says what happened");
    demand(whole.reply.error().code == cut.reply.error().code, "a cut changes no error");
    return;
  }
  demand(*whole.reply == *cut.reply, "a cut changes no reply");
  demand(whole.text == cut.text && whole.reasoning == cut.reasoning, "a cut changes no stream");
  check_goes_back(*wire, *whole.reply);
}

void classify(std::string_view bytes) {
  constexpr auto k_statuses = std::to_array(
      {301, 400, 401, 402, 403, 404, 408, 409, 413, 422, 424, 429, 500, 501, 502, 503, 529});
  const int status = k_statuses[take_seed(bytes) % k_statuses.size()];
  // The first line is a header, the rest the body.
  const auto line = bytes.substr(0, bytes.find('\n'));
  const auto body = bytes.substr(std::min(bytes.size(), line.size() + 1));
  const auto colon = std::min(line.find(':'), line.size());
  const agent::Headers headers = {{std::string(line.substr(0, colon)),
                                   std::string(line.substr(std::min(line.size(), colon + 1)))}};
  const auto error = providers::classify_answer(
      status, headers, body, std::chrono::system_clock::time_point{}, "http://h");
  demand(!error.message.empty(), "an error says what happened");
  demand(error.http_status == status, "the status is kept");
  demand(!error.retry_after || error.retry_after->count() >= 0, "no wait is negative");
}

void cassette(std::string_view bytes) {
  const auto read = providers::parse_cassette(bytes, "fuzzed");
  demand(read || !read.error().message.empty(), "an error says what happened");
}

// Whatever comes before it, a forbidden command on a line of its own is seen, or doubt is.
void command_line(std::string_view bytes) {
  const tools::TextPattern forbidden("rm *");
  const tools::CommandLine line(std::string(bytes) + "\n\nrm x",
                                {.cwd = "/nonexistent", .home = "/nonexistent"});
  demand(line.forbidden_by(forbidden) == tools::Match::yes || !line.unclear().empty(),
         "a forbidden command is seen");
  const tools::CommandPattern everything("*");
  const tools::CommandPattern* const rules[] = {&everything};
  const bool allowed = tools::CommandLine(std::string(bytes), {.cwd = "/nonexistent", .home = "/"})
                           .allowed_by(rules, [](const std::filesystem::path&) { return true; })
                           .has_value();
  const auto plain = tools::read_plain(bytes);
  demand(!allowed || plain, "what is allowed is a plain line");
  if (plain) {
    const tools::ShellScript script = tools::read_shell(bytes);
    demand(script.unclear.empty() && script.commands.size() == plain->size(),
           "a plain line is read as any other");
    for (std::size_t at = 0; at < plain->size(); ++at) {
      demand(script.commands[at].words == (*plain)[at].words, "word by word");
    }
  }
}

// On a file that is nothing but a hunk's old lines, the hunk gives its new lines.
void apply_hunk(tools::Hunk hunk) {
  std::string before;
  std::string after;
  for (const tools::PatchLine& line : hunk.lines) {
    if (line.ends_file || line.text.contains('\r')) {
      return;  // line ends follow rules of their own
    }
    const std::string text = std::string(line.text) + "\n";
    before += line.mark == '+' ? "" : text;
    after += line.mark == '-' ? "" : text;
  }
  hunk.line.reset();
  const auto patched = tools::patched_text(before, {&hunk, 1}, "f", {});
  demand(patched && patched->content == after, "a hunk fits its own lines");
}

void proxy_request(std::string_view bytes) {
  const std::size_t size = tools::head_size(bytes);
  if (size == 0) {
    return;
  }
  const auto request = tools::read_proxy_request(bytes.substr(0, size));
  if (!request) {
    demand(!request.error().message.empty(), "a refusal says why");
    return;
  }
  demand(request->port > 0 && request->port < 65536, "a port is one");
  demand(tools::parse_host(request->host).has_value(), "a host is in its canonical form");
  demand(request->is_tunnel() || tools::head_size(request->head) == request->head.size(),
         "what is sent on is one head");
}

void patch(std::string_view bytes) {
  const auto files = tools::parse_patch(bytes);
  if (!files) {
    demand(!files.error().message.empty(), "it is said what is wrong");
    return;
  }
  for (const tools::FilePatch& file : *files) {
    demand(!file.path().empty(), "a file has a name");
    for (const tools::Hunk& hunk : file.hunks) {
      apply_hunk(hunk);
    }
  }
}

void mcp_message(std::string_view bytes) {
  const auto messages = tools::mcp::read_messages(bytes);
  if (!messages) {
    demand(!messages.error().empty(), "it is said what is wrong");
    return;
  }
  for (const tools::mcp::Message& message : *messages) {
    const bool is_answer = message.kind == tools::mcp::Message::Kind::result ||
                           message.kind == tools::mcp::Message::Kind::error;
    demand(!is_answer || message.method.empty(), "an answer has no method");
    const tools::Output output = tools::mcp::output_of(message.body, "/proc/self/nothing");
    demand(output.code || !output.text.empty(), "a result says something");
  }
}

constexpr auto k_targets = std::to_array<Target>({
    {"anthropic_messages",
     [](std::string_view bytes) { decode(providers::make_anthropic_messages, bytes); }},
    {"bedrock", [](std::string_view bytes) { decode(providers::make_bedrock, bytes); }},
    {"gemini", [](std::string_view bytes) { decode(providers::make_gemini, bytes); }},
    {"ollama", [](std::string_view bytes) { decode(providers::make_ollama, bytes); }},
    {"openai_chat", [](std::string_view bytes) { decode(providers::make_openai_chat, bytes); }},
    {"openai_responses",
     [](std::string_view bytes) { decode(providers::make_openai_responses, bytes); }},
    {"classify", classify},
    {"cassette", cassette},
    {"command_line", command_line},
    {"mcp_message", mcp_message},
    {"patch", patch},
    {"proxy_request", proxy_request},
});

}  // namespace

std::span<const Target> targets() {
  return k_targets;
}

const Target* find(std::string_view name) {
  const auto found = std::ranges::find(k_targets, name, &Target::name);
  return found == k_targets.end() ? nullptr : &*found;
}

}  // namespace fuzz
