#include "tests/fuzz/targets.h"

#include "agent/http.h"
#include "agent/json.h"
#include "cli/serve/request_reader.h"
#include "providers/recording/cassette.h"
#include "providers/wire/classify.h"
#include "providers/wire/wire.h"
#include "tests/support/play.h"
#include "tools/files/patched_text.h"
#include "tools/mcp/header_mirror.h"
#include "tools/mcp/http_reception.h"
#include "tools/mcp/message.h"
#include "tools/mcp/prompt.h"
#include "tools/mcp/resource_list.h"
#include "tools/mcp/tool_result.h"
#include "tools/oauth/callback_listener.h"
#include "tools/oauth/challenge.h"
#include "tools/oauth/login_store.h"
#include "tools/oauth/metadata.h"
#include "tools/oauth/oauth_client.h"
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
#include <functional>
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

void mcp_http_answer(std::string_view bytes) {
  std::size_t heard = 0;
  tools::mcp::HttpReception reception(1, {.on_message = [&](const auto&) { ++heard; }});
  const std::size_t cut =
      bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front()) % bytes.size();
  for (const std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    if (!reception.is_answered() && reception.problem().empty()) {
      reception.take(piece);
    }
  }
  if (!reception.is_answered()) {
    reception.finish();
  }
  demand(!reception.is_answered() || heard > 0, "an answer is a message");
  if (const auto json = agent::parse_json(bytes)) {
    if (const auto mirrors = tools::mcp::header_mirrors(*json)) {
      for (const auto& [name, value] : tools::mcp::mirrored(*mirrors, *json)) {
        demand(std::ranges::all_of(name + value, [](char one) { return one >= ' ' && one <= '~'; }),
               "a header is one line of ASCII");
      }
    }
  }
}

// What else a server can have, as people and models are told of it.
void mcp_offers(const agent::Json& result) {
  using Kind = tools::mcp::ResourceKind;
  const auto list_of = [&](std::string_view member) {
    const agent::Json* const list = agent::find(result, member);
    return list != nullptr && list->is_array() ? *list : agent::Json::array();
  };
  for (const auto& [member, kind] :
       {std::pair{"resources", Kind::resource}, std::pair{"resourceTemplates", Kind::pattern}}) {
    const std::string text = tools::mcp::resource_list(
        {.items = list_of(member).get<std::vector<agent::Json>>()}, kind, "a");
    demand(text.ends_with('\n') && text.find('\x1b') == std::string::npos,
           "a list of resources is lines that can be shown");
  }
  const tools::Output read = tools::mcp::output_of_contents(result, "/proc/self/nothing");
  demand(read.code || !read.text.empty(), "a resource says something");
  for (const auto& prompt :
       tools::mcp::prompts_in(list_of("prompts").get<std::vector<agent::Json>>())) {
    demand(!prompt.name.empty(), "a prompt has a name");
  }
  const auto opening = tools::mcp::opening_of(result, "it");
  demand(!opening || opening->messages.front().role == "user", "the user speaks first");
}

void mcp_message(std::string_view bytes) {
  const auto messages = tools::mcp::read_messages(bytes, tools::mcp::Reading::lenient);
  if (!messages) {
    demand(!messages.error().empty(), "it is said what is wrong");
    return;
  }
  for (const tools::mcp::Message& message : *messages) {
    const bool is_answer = message.kind != tools::mcp::Message::Kind::request &&
                           message.kind != tools::mcp::Message::Kind::notification;
    demand(!is_answer || message.method.empty(), "an answer has no method");
    const tools::Output output = tools::mcp::output_of(message.body, "/proc/self/nothing");
    demand(output.code || !output.text.empty(), "a result says something");
    mcp_offers(message.body);
  }
}

bool is_one_visible_line(std::string_view text) {
  return std::ranges::none_of(text, [](char one) { return one >= 0 && one <= ' '; });
}

void demand_scopes(const std::vector<std::string>& scopes) {
  demand(std::ranges::all_of(scopes, tools::oauth::is_scope), "a scope is one");
}

void oauth_challenge(std::string_view bytes) {
  const auto challenge = tools::oauth::parse_challenge(bytes);
  demand_scopes(challenge.scopes);
  if (const auto parameters = tools::oauth::read_callback(bytes)) {
    demand(bytes.starts_with("GET /callback?"), "only who comes back to its address is heard");
  }
}

// What both servers say of logins, and what a file says that one was kept in.
void oauth_metadata(std::string_view bytes) {
  static const tools::Url server = *tools::parse_url("https://s.example/mcp");
  const auto may_be_asked = [](std::string_view address) {
    return tools::oauth::check_address(address, "x", server).has_value();
  };
  if (const auto resource = tools::oauth::read_resource_metadata(bytes, server)) {
    demand(!resource->servers.empty(), "somebody gives tokens");
    demand_scopes(resource->scopes);
  }
  if (const auto read = tools::oauth::read_server_metadata(bytes, "https://as.example", server)) {
    demand(read->issuer == "https://as.example", "it speaks of itself");
    demand(may_be_asked(read->token_endpoint), "tokens may be asked for there");
    for (const std::string& address : {read->authorization_endpoint, read->registration_endpoint}) {
      demand(address.empty() || may_be_asked(address), "an address may be asked");
    }
    demand_scopes(read->scopes);
  }
  for (const bool is_success : {true, false}) {
    if (const auto answer = tools::oauth::read_token_answer(bytes, is_success)) {
      const auto& [tokens, error, description] = *answer;
      demand(error.empty() != tokens.access_token.empty(), "there are tokens, or an error");
      demand(is_one_visible_line(tokens.access_token + tokens.refresh_token),
             "a token is one word");
      demand(tokens.lifetime >= 0, "it has an end");
      demand_scopes(tokens.scopes.value_or(std::vector<std::string>{}));
    }
  }
  if (const auto json = agent::parse_json(bytes)) {
    if (const auto login = tools::oauth::login_of(*json)) {
      demand(tools::oauth::login_of(tools::oauth::json_of(*login)) == login, "it is kept whole");
    }
  }
}

// The requests that come of a connection's bytes, and how it ends.
std::vector<std::string> requests_of(std::string_view bytes,
                                     const std::function<std::size_t()>& piece) {
  constexpr std::size_t k_most_body = 1'000;
  cli::RequestReader reader(k_most_body);
  using State = cli::RequestReader::State;
  std::vector<std::string> found;
  while (reader.state() != State::refused) {
    const std::size_t size = std::min(piece(), bytes.size());
    reader.feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
    while (reader.state() == State::judging || reader.state() == State::done) {
      if (reader.state() == State::judging) {
        reader.accept();
        continue;
      }
      const cli::ReceivedRequest request = reader.take();
      demand(agent::is_token(request.method) && request.path.starts_with('/'), "it is a request");
      demand(request.body.size() <= k_most_body, "a body is not longer than it may be");
      found.push_back(request.method + " " + request.path + " " + request.body);
      for (const auto& [name, value] : request.headers) {
        demand(agent::is_token(name) && !value.contains('\n'), "a header is one");
        found.push_back(name + ": " + value);
      }
      reader.feed({});
    }
    if (bytes.empty()) {
      break;
    }
  }
  found.push_back(std::to_string(reader.status()));
  return found;
}

void served_request(std::string_view bytes) {
  std::mt19937 rng(take_seed(bytes));
  demand(requests_of(bytes, [&] { return bytes.size(); }) ==
             requests_of(bytes, [&]() -> std::size_t { return 1 + rng() % 64; }),
         "a cut changes nothing");
}

constexpr auto k_targets = std::to_array<Target>({
    {"anthropic_messages",
     [](std::string_view bytes) { decode(providers::make_anthropic_messages, bytes); }},
    {"bedrock",
     [](std::string_view bytes) { decode(providers::make_bedrock, bytes); },
     /*has_checksums=*/true},
    {"gemini", [](std::string_view bytes) { decode(providers::make_gemini, bytes); }},
    {"ollama", [](std::string_view bytes) { decode(providers::make_ollama, bytes); }},
    {"openai_chat", [](std::string_view bytes) { decode(providers::make_openai_chat, bytes); }},
    {"openai_responses",
     [](std::string_view bytes) { decode(providers::make_openai_responses, bytes); }},
    {"classify", classify},
    {"cassette", cassette},
    {"command_line", command_line},
    {"mcp_http_answer", mcp_http_answer},
    {"mcp_message", mcp_message},
    {"oauth_challenge", oauth_challenge},
    {"oauth_metadata", oauth_metadata},
    {"patch", patch},
    {"proxy_request", proxy_request},
    {"served_request", served_request},
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
