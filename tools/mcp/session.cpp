#include "tools/mcp/session.h"

#include "agent/duration.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;
using agent::Milliseconds;
using agent::Result;
using Steady = std::chrono::steady_clock;
using Kind = Message::Kind;

constexpr std::string_view k_stateless = "2026-07-28";
// With a handshake; the first one is what errand asks for.
constexpr auto k_with_session =
    std::to_array<std::string_view>({"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"});
constexpr std::string_view k_metadata = "io.modelcontextprotocol/";

// A server of the older kind need not answer what it does not know.
constexpr Milliseconds k_probe{3'000};
constexpr std::size_t k_most_pages = 1'000;
constexpr std::size_t k_shown = 300;  // bytes of what a server says, in a message

std::string shown(std::string_view text) {
  return agent::one_line(text, k_shown);
}

// The last lines, as one.
std::string end_of(std::string_view text, std::size_t lines) {
  std::string end;
  for (text = agent::trimmed(text); lines > 0 && !text.empty(); --lines) {
    const std::size_t before = text.rfind('\n');
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    end = std::string(agent::trimmed(text.substr(begin))) + (end.empty() ? "" : " | ") + end;
    text = agent::trimmed(text.substr(0, begin));
  }
  return shown(end);
}

std::string name_of_server(const Json& result) {
  const Json* info = agent::find(result, "serverInfo");
  if (const Json* metadata = agent::find(result, "_meta"); info == nullptr && metadata != nullptr) {
    info = agent::find(*metadata, std::string(k_metadata) + "serverInfo");
  }
  if (info == nullptr) {
    return {};
  }
  const std::string name = agent::one_line(agent::text_at(*info, "name"), 60);
  const std::string version = agent::one_line(agent::text_at(*info, "version"), 30);
  return version.empty() ? name : name + " " + version;
}

bool has_text(const Json* list, std::string_view text) {
  return list != nullptr && list->is_array() && std::ranges::any_of(*list, [&](const Json& one) {
           return one.is_string() && one.get<std::string>() == text;
         });
}

std::string texts_of(const Json& list) {
  std::string text;
  for (const Json& one : list) {
    text +=
        (text.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : agent::dump(one));
  }
  return shown(text);
}

// What a request of ours comes to before there is a call.
Error as_of_start(Error error) {
  error.code = error.code == Code::tool_timeout    ? Code::mcp_connection
               : error.code == Code::mcp_tool_call ? Code::mcp_initialization
                                                   : error.code;
  return error;
}

}  // namespace

Session::~Session() {
  std::unique_ptr<TalkingProgram> program;
  {
    const std::lock_guard lock(mutex_);
    program = std::move(program_);
  }
}

Result<void> Session::connect(ProgramRunner& runner,
                              const ProgramRequest& program,
                              const std::stop_token& stop) {
  auto started = runner.talk(program,
                             {.on_line = [this](std::string_view line) { hear(line); },
                              .on_end = [this](const std::string& how) { hear_end(how); }});
  if (!started) {
    return agent::fail(
        Code::mcp_connection,
        fmt::format(
            "the MCP server `{}` cannot be started: {}", options_.name, started.error().message),
        started.error().help);
  }
  {
    const std::lock_guard lock(mutex_);  // it may have said something already
    program_ = *std::move(started);
  }
  auto agreed = negotiate(stop);
  const std::lock_guard lock(mutex_);
  open_.clear();
  return agreed;
}

// A server of the newer kind answers the first question; one of the older kind refuses it, or does
// not answer, and is asked for a handshake. One that is slow to start may answer both.
Result<void> Session::negotiate(const std::stop_token& stop) {
  const auto ends = Steady::now() + options_.start;
  agreement_ = {.revision = std::string(k_stateless), .is_stateless = true};
  send("server/discover", Json::object());
  std::optional<std::int64_t> handshake;
  for (;;) {
    TRY_ASSIGN(const auto answer,
               first_answer(handshake ? ends : std::min(ends, Steady::now() + k_probe), stop));
    if (answer && handshake && agent::integer_of(answer->id) == *handshake) {
      return accept_session(*answer);
    }
    if (answer) {
      TRY_ASSIGN(const bool is_stateless, accept_stateless(*answer));
      if (is_stateless) {
        return {};
      }
    }
    if (Steady::now() >= ends) {
      return agent::fail(late_error());
    }
    if (!handshake) {
      agreement_ = {};
      handshake = send("initialize",
                       {{"protocolVersion", k_with_session.front()},
                        {"capabilities", Json::object()},
                        {"clientInfo", {{"name", "errand"}, {"version", options_.version}}}});
    }
  }
}

// To any request that is open; nullopt: none has come by then.
Result<std::optional<Message>> Session::first_answer(Steady::time_point until,
                                                     const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto answered = [&] {
    return std::ranges::find_if(open_,
                                [](const auto& one) { return one.second.answer.has_value(); });
  };
  changed_.wait_until(
      lock, stop, until, [&] { return !ended_.empty() || answered() != open_.end(); });
  if (stop.stop_requested()) {
    return agent::fail(Code::run_cancelled, "the start of MCP servers was interrupted");
  }
  if (!ended_.empty()) {
    lock.unlock();
    return agent::fail(ended_error(Code::mcp_connection));
  }
  const auto found = answered();
  if (found == open_.end()) {
    return std::nullopt;
  }
  std::optional<Message> answer = std::move(found->second.answer);
  open_.erase(found);
  return answer;
}

Error Session::late_error() const {
  Error error = ended_error(Code::mcp_connection);
  error.message = fmt::format("the MCP server `{}` did not answer within {}{}",
                              options_.name,
                              agent::format_duration(options_.start),
                              error.message);
  return error;
}

// False: it is one of the older kind.
Result<bool> Session::accept_stateless(const Message& answer) {
  const Json* versions =
      agent::find(answer.body, answer.kind == Kind::error ? "supported" : "supportedVersions");
  const bool is_newer = answer.kind == Kind::error ? answer.code == k_unsupported_version
                                                   : versions != nullptr && versions->is_array();
  if (!is_newer) {
    return false;
  }
  if (has_text(versions, k_stateless)) {
    agreement_ = {.revision = std::string(k_stateless),
                  .is_stateless = true,
                  .server = name_of_server(answer.body)};
    return true;
  }
  const bool knows_older = std::ranges::any_of(
      k_with_session, [&](std::string_view revision) { return has_text(versions, revision); });
  if (knows_older || versions == nullptr) {
    return false;
  }
  return agent::fail(
      Code::mcp_initialization,
      fmt::format("the MCP server `{}` speaks the revisions {}, and errand none of them",
                  options_.name,
                  texts_of(*versions)));
}

Result<void> Session::accept_session(const Message& answer) {
  if (answer.kind == Kind::error) {
    return agent::fail(Code::mcp_initialization,
                       fmt::format("the MCP server `{}` refuses: {} ({})",
                                   options_.name,
                                   shown(answer.error_message),
                                   answer.code));
  }
  const std::string_view revision = agent::text_at(answer.body, "protocolVersion");
  if (std::ranges::find(k_with_session, revision) == k_with_session.end()) {
    return agent::fail(Code::mcp_initialization,
                       fmt::format("the MCP server `{}` speaks revision `{}`, and errand does not",
                                   options_.name,
                                   shown(revision)));
  }
  agreement_ = {.revision = std::string(revision), .server = name_of_server(answer.body)};
  program_->write(notification_text("notifications/initialized", Json::object()));
  return {};
}

bool Session::is_over() const {
  const std::lock_guard lock(mutex_);
  return !ended_.empty();
}

void Session::close() {
  const std::lock_guard lock(mutex_);
  if (program_) {
    program_->close();
  }
}

Json Session::with_metadata(Json params, std::int64_t progress_token) const {
  Json metadata = Json::object();
  if (agreement_.is_stateless) {
    const auto name = [](std::string_view key) {
      return std::string(k_metadata) + std::string(key);
    };
    metadata[name("protocolVersion")] = agreement_.revision;
    metadata[name("clientInfo")] = {{"name", "errand"}, {"version", options_.version}};
    metadata[name("clientCapabilities")] = Json::object();
  }
  if (progress_token != 0) {
    metadata["progressToken"] = progress_token;
  }
  if (!metadata.empty()) {
    params["_meta"] = std::move(metadata);
  }
  return params;
}

std::int64_t Session::send(std::string_view method, Json params) {
  const std::lock_guard lock(mutex_);
  const std::int64_t id = ++last_id_;
  open_.emplace(id, Open{.answer = std::nullopt, .heard = Steady::now()});
  program_->write(
      request_text(id, method, with_metadata(std::move(params), method == "tools/call" ? id : 0)));
  return id;
}

Result<Json> Session::request(std::string_view method, Json params, const Waiting& waiting) {
  if (is_over()) {
    return agent::fail(ended_error(Code::mcp_transport));
  }
  const auto ends = Steady::now() + waiting.most;
  const std::int64_t id = send(method, std::move(params));
  std::unique_lock lock(mutex_);
  Open& open = open_.at(id);
  open.on_progress = waiting.on_progress ? &waiting.on_progress : nullptr;
  const auto is_heard = [&] { return open.answer || !ended_.empty(); };
  while (!is_heard() && !waiting.stop.stop_requested() && Steady::now() < ends &&
         Steady::now() < open.heard + waiting.silence) {
    const auto until = std::min(ends, open.heard + waiting.silence);
    changed_.wait_until(lock, waiting.stop, until, [&] {
      return is_heard() || until < std::min(ends, open.heard + waiting.silence);
    });
  }
  const bool is_ended = !ended_.empty();
  auto answer = std::move(open.answer);
  open_.erase(id);
  lock.unlock();
  if (answer && answer->kind == Kind::result) {
    return std::move(answer->body);
  }
  if (answer) {
    return agent::fail(Code::mcp_tool_call,
                       fmt::format("the MCP server `{}` says: {} ({})",
                                   options_.name,
                                   shown(answer->error_message),
                                   answer->code));
  }
  if (is_ended) {
    return agent::fail(ended_error(Code::mcp_transport));
  }
  const bool is_stopped = waiting.stop.stop_requested();
  program_->write(notification_text(
      "notifications/cancelled",
      {{"requestId", id}, {"reason", is_stopped ? "the run is ending" : "it took too long"}}));
  if (is_stopped) {
    return agent::fail(Code::run_cancelled, "the call was interrupted");
  }
  const bool is_silent = Steady::now() < ends;
  return agent::fail(
      Code::tool_timeout,
      fmt::format("the MCP server `{}` {} {}",
                  options_.name,
                  is_silent ? "has said nothing for" : "did not answer within",
                  agent::format_duration(is_silent ? waiting.silence : waiting.most)));
}

Result<std::vector<Json>> Session::list(std::string_view method,
                                        std::string_view member,
                                        std::stop_token stop) {
  std::vector<Json> items;
  std::set<std::string> cursors;
  Json params = Json::object();
  for (std::size_t page = 0; page < k_most_pages; ++page) {
    auto answer =
        request(method, params, {.stop = stop, .most = options_.start, .silence = options_.start});
    if (!answer) {
      return agent::fail(as_of_start(std::move(answer).error()));
    }
    Json result = *std::move(answer);
    Json* list = agent::find(result, member);
    if (list == nullptr || !list->is_array()) {
      return agent::fail(
          Code::mcp_transport,
          fmt::format(
              "the MCP server `{}` answered `{}` without `{}`", options_.name, method, member));
    }
    std::ranges::move(*list, std::back_inserter(items));
    const std::string cursor(agent::text_at(result, "nextCursor"));
    if (cursor.empty()) {
      return items;
    }
    if (!cursors.insert(cursor).second) {
      break;
    }
    params["cursor"] = cursor;
  }
  return agent::fail(
      Code::mcp_transport,
      fmt::format("the MCP server `{}` has no last page of `{}`", options_.name, method));
}

void Session::hear(std::string_view line) {
  if (agent::trimmed(line).empty()) {
    return;
  }
  auto messages = read_messages(line);
  if (!messages) {
    const std::lock_guard lock(mutex_);
    if (noise_.empty()) {
      noise_ = shown(line);
    }
    return;
  }
  for (Message& message : *messages) {
    hear(std::move(message));
  }
}

void Session::hear(Message message) {
  if (message.kind == Kind::request) {
    answer_request(message);
    return;
  }
  if (message.kind == Kind::notification) {
    if (message.method == "notifications/progress") {
      hear_progress(message.body);
    }
    return;
  }
  const auto id = message.id.is_number_integer() ? agent::integer_of(message.id) : std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = id ? open_.find(*id) : open_.end();
  if (found != open_.end() && !found->second.answer) {  // else it is late, repeated, or nobody's
    found->second.answer = std::move(message);
    changed_.notify_all();
  }
}

void Session::hear_progress(const Json& params) {
  const Json* token = agent::find(params, "progressToken");
  const auto id =
      token != nullptr && token->is_number_integer() ? agent::integer_of(*token) : std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = id ? open_.find(*id) : open_.end();
  if (found == open_.end()) {
    return;
  }
  found->second.heard = Steady::now();
  changed_.notify_all();
  if (found->second.on_progress == nullptr) {
    return;
  }
  std::string text = shown(agent::text_at(params, "message"));
  const Json* done = agent::find(params, "progress");
  const Json* total = agent::find(params, "total");
  if (done != nullptr && agent::is_number(*done)) {
    text = fmt::format(
        "{}{}{}{}",
        agent::numeral(*done),
        total != nullptr && agent::is_number(*total) ? " of " + agent::numeral(*total) : "",
        text.empty() ? "" : ": ",
        text);
  }
  (*found->second.on_progress)(text + "\n");
}

// Nothing but a sign of life: what servers may ask for beyond that was not offered to them.
void Session::answer_request(const Message& request) {
  const std::string text =
      request.method == "ping"
          ? result_text(request.id, Json::object())
          : error_text(request.id, k_method_not_found, "this client does not do that");
  const std::lock_guard lock(mutex_);
  if (program_) {
    program_->write(text);
  }
}

void Session::hear_end(const std::string& how) {
  const std::lock_guard lock(mutex_);
  ended_ = how;
  changed_.notify_all();
}

Error Session::ended_error(Code code) const {
  const std::lock_guard lock(mutex_);
  std::string message;
  if (!ended_.empty()) {
    message = fmt::format("the MCP server `{}` {}", options_.name, ended_);
  }
  if (const std::string words = end_of(program_->last_words(), 3); !words.empty()) {
    message += "; its last words: " + words;
  } else if (!noise_.empty()) {
    message += "; what it wrote is no message: " + noise_;
  }
  return {.code = code, .message = std::move(message), .help = {}};
}

}  // namespace tools::mcp
