#include "tools/mcp/session.h"

#include "agent/duration.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <set>
#include <utility>

namespace tools::mcp {
namespace {

constexpr std::string_view k_templates = "resources/templates/list";

using agent::Code;
using agent::Error;
using agent::Json;
using agent::Milliseconds;
using agent::Result;
using Steady = std::chrono::steady_clock;
using Kind = Message::Kind;

// A server of the older kind need not answer what it does not know.
constexpr Milliseconds k_probe{3'000};
constexpr Milliseconds k_withdrawal{1'000};  // for prompts to leave the terminal
constexpr std::size_t k_most_pages = 1'000;
constexpr std::size_t k_most_asked = 100;  // questions to the person, in one session

// Those that may be long in coming, and are waited for as long as something is heard.
bool has_progress(std::string_view method) {
  return method == "tools/call" || method == "resources/read";
}

// What the person, or the model with what they allow, wants of a server: for the sake of these
// alone it may ask the person.
bool is_call(std::string_view method) {
  return method == "tools/call" || method == "resources/read" || method == "prompts/get";
}

// Whatever kind of server it is: one that is asked again, or differently, says more.
bool says_no_kind(const Error& error) {
  return asks_for_time(error) || error.code == Code::mcp_auth;
}

// What a request of ours comes to before there is a call.
Error as_of_start(Error error) {
  if (error.code == Code::tool_timeout) {
    error.help = "`timeouts.start` of the server says how long that may take.";
  }
  error.code = error.code == Code::tool_timeout    ? Code::mcp_connection
               : error.code == Code::mcp_transport ? Code::mcp_connection
               : error.code == Code::mcp_tool_call ? Code::mcp_initialization
                                                   : error.code;
  return error;
}

}  // namespace

Error before_a_run(Error error) {
  error.code = error.code == Code::tool_timeout    ? Code::mcp_connection
               : error.code == Code::mcp_tool_call ? Code::mcp_other
                                                   : error.code;
  return error;
}

bool asks_for_time(const Error& error) {
  constexpr int k_too_many = 429;
  return error.http_status == k_too_many || error.retry_after.has_value();
}

Session::~Session() {
  end();
}

sandbox::ProtectedEnd Session::end() {
  drop_transport();
  std::list<AskedPerson> questions;
  {
    const std::lock_guard lock(mutex_);
    questions = std::move(questions_);
  }
  questions.clear();
  const std::lock_guard lock(mutex_);
  return std::exchange(looked_, {});
}

Result<void> Session::connect(const OpenTransport& open, const std::stop_token& stop) {
  const auto ends = Steady::now() + options_.start;
  is_negotiating_ = true;
  TRY(start(open));
  const Begin begin = transport_->may_be_stateless() ? Begin::question : Begin::handshake;
  auto agreed = negotiate(begin, ends, stop);
  // A server of the older kind may end where the first thing that it reads is no handshake.
  if (!agreed && begin == Begin::question && is_over() && !stop.stop_requested()) {
    drop_transport();
    {
      const std::lock_guard lock(mutex_);
      open_.clear();
      ended_.clear();
      is_gone_ = false;
      misunderstood_ = {};
      lately_ = {};
    }
    TRY(start(open));
    agreed = negotiate(Begin::handshake, ends, stop);
  }
  {
    const std::lock_guard lock(mutex_);
    open_.clear();
    is_negotiating_ = false;
  }
  if (agreed && agreement_.is_stateless && agreement_.tells_of_tools) {
    transport_->keep_asking([this] { return listening(); });
  }
  return agreed;
}

Result<void> Session::start(const OpenTransport& open) {
  auto opened =
      open({.on_message = [this](Message message) { hear(std::move(message)); },
            .on_failed =
                [this](std::int64_t id, Error error, std::string ended) {
                  hear_failure(id, std::move(error), std::move(ended));
                },
            .on_noise = [this](std::string noise) { hear_noise(std::move(noise)); },
            .on_end = [this](TalkingProgram::Ended ended) { hear_end(std::move(ended)); }});
  if (!opened) {
    return agent::fail(
        Code::mcp_connection,
        fmt::format(
            "the MCP server `{}` cannot be started: {}", options_.name, opened.error().message),
        opened.error().help);
  }
  const std::lock_guard lock(mutex_);  // it may have said something already
  transport_ = *std::move(opened);
  return {};
}

// And waits for its end.
void Session::drop_transport() {
  std::unique_ptr<Transport> transport;
  const std::lock_guard lock(mutex_);
  transport = std::move(transport_);
}

// A server of the newer kind answers the first question; one of the older kind refuses it, or does
// not answer, and is asked for a handshake. One that is slow to start may answer both, and one of
// the newer kind refuse the handshake before it has answered the question.
Result<void> Session::negotiate(Begin begin, Steady::time_point ends, const std::stop_token& stop) {
  const auto begins = Steady::now();
  const auto probe_ends = std::min(begins + k_probe, begins + (ends - begins) / 2);
  std::int64_t question = 0;
  std::int64_t handshake = 0;
  std::optional<Error> refusal;  // of the handshake, while the question is open
  const auto shake_hands = [&] {
    agreement_ = {};
    transport_->agree(agreement_, {}, ends, stop);
    handshake = send({.method = "initialize", .params = mcp::handshake(options_.version)});
  };
  if (begin == Begin::question) {
    agreement_ = newest_agreement();
    transport_->agree(agreement_, {}, ends, stop);
    question = send({.method = "server/discover", .params = Json::object()});
  } else {
    shake_hands();
  }
  for (;;) {
    const auto until = handshake != 0 ? ends : probe_ends;
    TRY_ASSIGN(const auto answer, first_answer(until, stop));
    if (answer) {
      auto agreed = accept(*answer, answer->id == handshake, ends, stop);
      if (agreed && *agreed) {
        return {};
      }
      if (refusal) {
        return agent::fail(*std::move(refusal));
      }
      if (!agreed) {
        if (answer->id != handshake || says_no_kind(agreed.error()) || !is_open(question)) {
          return agent::fail(std::move(agreed).error());
        }
        refusal = std::move(agreed).error();
      }
    }
    if (Steady::now() >= ends) {
      return agent::fail(refusal ? *std::move(refusal) : late_error());
    }
    if (handshake == 0) {
      shake_hands();
    }
  }
}

// With the id that it answers; nullopt: none has come by then.
Result<std::optional<Session::Answered>> Session::first_answer(Steady::time_point until,
                                                               const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto answered = [&] {
    return std::ranges::find_if(open_, [](const auto& one) { return one.second.is_settled(); });
  };
  changed_.wait_until(
      lock, stop, until, [&] { return !ended_.empty() || answered() != open_.end(); });
  if (stop.stop_requested()) {
    return agent::fail(
        Code::run_cancelled, "the start of MCP servers was interrupted", asked_for_token());
  }
  if (!ended_.empty()) {
    lock.unlock();
    return agent::fail(ended_error(Code::mcp_connection));
  }
  const auto found = answered();
  if (found == open_.end()) {
    return std::nullopt;
  }
  Answered answer{.id = found->first, .open = std::move(found->second)};
  open_.erase(found);
  return answer;
}

Error Session::late_error() const {
  Error error = ended_error(Code::mcp_connection);
  error.message = fmt::format("the MCP server `{}` did not answer within {}{}",
                              options_.name,
                              agent::format_duration(options_.start),
                              error.message);
  const std::lock_guard lock(mutex_);
  error.help = asked_for_token().empty()
                   ? "`timeouts.start` of the server says how long that may take."
                   : "See whether that address can be reached.";
  return error;
}

bool Session::is_open(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  return open_.contains(id);
}

// False: it was the first question, and the server is of the older kind.
Result<bool> Session::accept(const Answered& answer,
                             bool is_handshake,
                             Steady::time_point ends,
                             const std::stop_token& stop) {
  const auto& failure = answer.open.failure;
  if (failure && (is_handshake || failure->http_status == 0 || says_no_kind(*failure))) {
    return agent::fail(as_of_start(*failure));
  }
  if (failure) {
    return false;
  }
  std::string notification;
  if (is_handshake) {
    TRY_ASSIGN(agreement_, session_agreement(*answer.open.answer, options_.name));
    notification = notification_text("notifications/initialized", Json::object());
  } else {
    TRY_ASSIGN(const auto agreement, stateless_agreement(*answer.open.answer, options_.name));
    if (!agreement) {
      return false;
    }
    agreement_ = *agreement;
  }
  transport_->agree(agreement_, std::move(notification), ends, stop);
  return true;
}

bool Session::is_over() const {
  const std::lock_guard lock(mutex_);
  return !ended_.empty();
}

int Session::lost_by() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::string Session::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::string Session::misunderstood() const {
  const std::lock_guard lock(mutex_);
  return told_of(misunderstood_);
}

std::string Session::misunderstood_lately() const {
  const std::lock_guard lock(mutex_);
  return told_of(lately_);
}

// Under mutex_. A clause; empty: nobody is.
std::string Session::asked_for_token() const {
  const std::string asked = transport_ ? transport_->asks_for_token() : "";
  return asked.empty() ? asked
                       : fmt::format("for a token, {} is asked, and has not answered",
                                     agent::one_line(asked));
}

// Under mutex_.
std::string Session::told_of(const Misunderstood& heard) const {
  std::string text;
  if (!heard.noise.empty()) {
    text = "; what it wrote is no message: " + heard.noise;
  } else if (const std::string begun = transport_ ? transport_->unfinished() : ""; !begun.empty()) {
    text = "; it is in the middle of a line: " + begun;
  }
  if (const std::string asked = asked_for_token(); !asked.empty()) {
    text += "; " + asked;
  }
  if (!heard.stray.empty()) {
    text += fmt::format("; it answered a request that was never made, with the id {}", heard.stray);
  }
  if (!heard.refusal.empty()) {
    text += "; when it was told something, it " + heard.refusal;
  }
  return text;
}

void Session::close() {
  const std::lock_guard lock(mutex_);
  stop_asking();
  if (transport_) {
    transport_->close();
  }
}

// Under mutex_.
void Session::stop_asking() {
  for (AskedPerson& question : questions_) {
    question.thread.request_stop();
  }
}

// Under mutex_. Whose answer is there is not served any more.
bool Session::may_ask() const {
  return std::ranges::any_of(
      open_, [](const auto& one) { return one.second.may_ask && !one.second.is_settled(); });
}

std::int64_t Session::send(Question question) {
  const std::lock_guard lock(mutex_);
  Outgoing message = outgoing(std::move(question));
  const std::int64_t id = message.id;
  if (open_.empty() && !is_negotiating_) {
    lately_ = {};  // that is the cause of nothing that comes from now on
  }
  open_.emplace(
      id,
      Open{
          .answer = {}, .failure = {}, .heard = Steady::now(), .may_ask = is_call(message.method)});
  if (transport_) {  // else whoever waits for the answer sees that the server has ended
    transport_->send(std::move(message));
  }
  return id;
}

// Under mutex_.
Outgoing Session::outgoing(Question question) {
  const std::int64_t id = ++last_id_;
  Json metadata = mcp::metadata(agreement_, options_.version);
  if (has_progress(question.method)) {
    metadata["progressToken"] = id;
  }
  if (agreement_.is_stateless && !options_.trace.trace_id.empty()) {
    if (std::string parent = traceparent_of(options_.trace); !parent.empty()) {
      metadata["traceparent"] = std::move(parent);
    }
  }
  if (!metadata.empty()) {
    question.params["_meta"] = std::move(metadata);
  }
  return {.text = request_text(id, question.method, question.params),
          .id = id,
          .method = std::string(question.method),
          .name = std::string(question.name),
          .mirrors = std::move(question.mirrors)};
}

// What the server is to tell of by itself.
Outgoing Session::listening() {
  const std::lock_guard lock(mutex_);
  Outgoing message = outgoing({.method = "subscriptions/listen",
                               .params = {{"notifications", {{"toolsListChanged", true}}}}});
  listens_ = message.id;
  return message;
}

Result<Json> Session::request(Question question, const Waiting& waiting) {
  if (is_over()) {
    Error error = ended_error(Code::mcp_transport);
    const std::lock_guard lock(mutex_);
    error.http_status = lost_;  // as if it had been sent
    return agent::fail(std::move(error));
  }
  const auto ends = Steady::now() + waiting.most - waiting.spent;
  const bool is_of_templates = question.method == k_templates;
  const std::int64_t id = send(std::move(question));
  std::unique_lock lock(mutex_);
  Open& open = open_.at(id);
  open.on_progress = waiting.on_progress ? &waiting.on_progress : nullptr;
  const auto is_heard = [&] { return open.is_settled() || is_gone_; };
  // A server that waits for the person is not silent.
  const auto patience = [&] {
    return asking_ > 0 ? ends : std::min(ends, std::max(open.heard, asked_) + waiting.silence);
  };
  while (!is_heard() && !waiting.stop.stop_requested() && Steady::now() < patience()) {
    const auto until = patience();
    changed_.wait_until(
        lock, waiting.stop, until, [&] { return is_heard() || until != patience(); });
  }
  const bool is_gone = is_gone_;
  Open settled = std::move(open);
  open_.erase(id);
  if (!may_ask()) {
    stop_asking();
  }
  const bool is_stopped = waiting.stop.stop_requested();
  const bool is_silent = Steady::now() < ends;
  std::string asked = is_stopped ? asked_for_token() : "";
  if (!settled.is_settled() && !is_gone) {
    cancel(id, is_stopped ? "the run is ending" : "it took too long");
  }
  // What the call comes to is not to be read as a part of a prompt.
  changed_.wait_for(lock, k_withdrawal, [&] { return asking_ == 0 || may_ask(); });
  lock.unlock();
  if (settled.answer && settled.answer->kind == Kind::result) {
    return std::move(settled.answer->body);
  }
  if (is_of_templates && settled.answer && settled.answer->code == k_method_not_found) {
    return Json{{"resourceTemplates", Json::array()}};  // no capability says that there are any
  }
  if (settled.is_settled()) {
    return agent::fail(answer_error(settled));
  }
  if (is_gone) {
    return agent::fail(ended_error(Code::mcp_transport));
  }
  if (is_stopped) {
    return agent::fail(Code::run_cancelled, "the call was interrupted", std::move(asked));
  }
  return agent::fail(silence_error(is_silent, waiting));
}

Error Session::silence_error(bool is_silent, const Waiting& waiting) const {
  return {.code = Code::tool_timeout,
          .message = fmt::format("the MCP server `{}` {} {}{}",
                                 options_.name,
                                 is_silent ? "has neither answered nor reported progress for"
                                           : "did not answer within",
                                 agent::format_duration(is_silent ? waiting.silence : waiting.most),
                                 misunderstood_lately()),
          .help = fmt::format("`timeouts.{}` of the server says how long it may take.",
                              is_silent ? "silence" : "call")};
}

// Under mutex_.
void Session::cancel(std::int64_t id, std::string_view reason) {
  if (transport_) {
    transport_->cancel(id,
                       notification_text("notifications/cancelled",
                                         {{"requestId", id}, {"reason", std::string(reason)}}));
  }
}

// Of one that has settled, and not with a result.
Error Session::answer_error(const Open& open) const {
  if (open.failure) {
    return *open.failure;
  }
  if (open.answer->kind == Kind::unusable) {
    return {.code = Code::mcp_transport,
            .message = fmt::format("what the MCP server `{}` answered cannot be used: {}",
                                   options_.name,
                                   open.answer->error_message),
            .help = {}};
  }
  return {.code = Code::mcp_tool_call,
          .message =
              fmt::format("the MCP server `{}` says: {}", options_.name, shown_error(*open.answer)),
          .help = {}};
}

Result<std::vector<Json>> Session::list_at_start(std::string_view method,
                                                 std::string_view member,
                                                 const std::stop_token& stop) {
  const Waiting waiting{.stop = stop, .most = options_.start, .silence = options_.start};
  TRY_ASSIGN(ItemList list, pages(method, member, waiting, 0, as_of_start));
  return std::move(list.items);
}

Result<ItemList> Session::list(std::string_view method,
                               std::string_view member,
                               const Waiting& waiting,
                               std::size_t enough) {
  return pages(method, member, waiting, enough, [](Error error) { return error; });
}

Result<ItemList> Session::pages(std::string_view method,
                                std::string_view member,
                                const Waiting& waiting,
                                std::size_t enough,
                                Error (*worded)(Error)) {
  const auto begins = Steady::now();
  std::vector<Json> items;
  std::set<std::string> cursors;
  Json params = Json::object();
  for (std::size_t page = 0; page < k_most_pages; ++page) {
    Waiting rest = waiting;
    rest.spent += std::chrono::floor<Milliseconds>(Steady::now() - begins);
    auto answer = request({.method = method, .params = params}, rest);
    if (!answer && answer.error().code == Code::tool_timeout && page > 0) {
      answer.error().message =
          fmt::format("the MCP server `{}` did not give its whole list within {}",
                      options_.name,
                      agent::format_duration(waiting.most));
    }
    if (!answer) {
      return agent::fail(worded(std::move(answer).error()));
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
    const Json* const next = agent::find(result, "nextCursor");
    if (next != nullptr && !next->is_null() && !next->is_string()) {
      return agent::fail(Code::mcp_transport,
                         fmt::format("the MCP server `{}` answered `{}` with a `nextCursor` that "
                                     "is no text",
                                     options_.name,
                                     method));
    }
    const std::string cursor(agent::text_at(result, "nextCursor"));
    if (cursor.empty() || (enough > 0 && items.size() >= enough)) {
      return ItemList{.items = std::move(items), .goes_on = !cursor.empty()};
    }
    if (!cursors.insert(cursor).second) {
      return agent::fail(
          Code::mcp_transport,
          fmt::format("the MCP server `{}` has no last page of `{}`", options_.name, method));
    }
    params["cursor"] = cursor;
  }
  return agent::fail(Code::mcp_transport,
                     fmt::format("the MCP server `{}` has more than {} pages of `{}`",
                                 options_.name,
                                 k_most_pages,
                                 method));
}

void Session::hear(Message message) {
  if (message.kind == Kind::request) {
    answer_request(message);
    return;
  }
  if (message.kind == Kind::notification) {
    hear_notification(message);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (listens_ != 0 && id_of(message) == listens_) {
    if (message.kind == Kind::error) {
      hear_refusal(shown_error(message));
    } else if (message.kind == Kind::unusable) {
      hear_refusal(std::move(message.error_message));
    }
    return;
  }
  std::int64_t id = id_of(message);
  if (message.kind == Kind::error && message.id.is_null() && is_negotiating_ && open_.size() == 1) {
    id = open_.begin()->first;  // who wants a handshake first may not have looked for the id
  }
  const auto found = open_.find(id);
  if (found != open_.end() && !found->second.is_settled()) {
    found->second.answer = std::move(message);
    changed_.notify_all();
  } else if ((id <= 0 || id > last_id_) && lately_.stray.empty()) {  // else it is late
    lately_.stray = shown(agent::dump(message.id));
    lately_.stray += message.kind == Kind::error ? ", and said: " + shown_error(message) : "";
    misunderstood_.stray = misunderstood_.stray.empty() ? lately_.stray : misunderstood_.stray;
  }
}

// From its first word on a stream tells of changes; those before it nobody has told of.
void Session::hear_notification(const Message& notification) {
  if (notification.method == "notifications/progress") {
    hear_progress(notification.body);
  } else if (notification.method == "notifications/tools/list_changed" ||
             notification.method == "notifications/subscriptions/acknowledged") {
    tools_changed_ = true;
  } else if (notification.method == "notifications/cancelled") {
    hear_withdrawal(notification.body);
  }
}

void Session::hear_withdrawal(const Json& params) {
  const Json* const id = agent::find(params, "requestId");
  const std::lock_guard lock(mutex_);
  for (AskedPerson& question : questions_) {
    if (id != nullptr && question.id == *id) {
      question.is_withdrawn = true;
      question.thread.request_stop();
    }
  }
}

// Under mutex_.
void Session::hear_refusal(std::string why) {
  refusal_ = fmt::format(
      "the MCP server `{}` does not tell when its tools change: {}", options_.name, why);
}

bool Session::has_news() const {
  const std::lock_guard lock(mutex_);
  return tools_changed_ || refusal_;
}

std::optional<std::string> Session::take_refusal() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refusal_, std::nullopt);
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

void Session::hear_failure(std::int64_t id, Error error, std::string ended) {
  const std::lock_guard lock(mutex_);
  if (ended_.empty() && !ended.empty()) {
    ended_ = std::move(ended);
    lost_ = error.http_status;
  }
  changed_.notify_all();
  if (listens_ != 0 && id == listens_) {
    hear_refusal(std::move(error.message));
    return;
  }
  if (id == 0) {
    for (Misunderstood* heard : {&misunderstood_, &lately_}) {
      heard->refusal = heard->refusal.empty() ? error.message : heard->refusal;
    }
    return;
  }
  const auto found = open_.find(id);
  if (found != open_.end() && !found->second.is_settled()) {
    error.message = fmt::format("the MCP server `{}` {}{}",
                                options_.name,
                                error.message,
                                error.http_status == 0 ? told_of(lately_) : "");
    found->second.failure = std::move(error);
  }
}

// A sign of life, or the person; what servers may ask for beyond that was not offered to them.
void Session::answer_request(const Message& request) {
  if (request.method == "elicitation/create" && options_.elicit) {
    answer_question(request);
  } else if (request.method == "ping") {
    answer(result_text(request.id, Json::object()));
  } else {
    answer(error_text(request.id, k_method_not_found, "this client does not do that"));
  }
}

// Whoever hears the server must go on hearing it.
void Session::answer_question(const Message& request) {
  const std::lock_guard lock(mutex_);
  const std::string_view why = !may_ask()                          ? "it had no call to serve"
                               : questions_.size() == k_most_asked ? "it had asked too often before"
                                                                   : "";
  if (!why.empty()) {
    if (transport_) {
      transport_->send({.text = result_text(request.id, {{"action", "decline"}})});
    }
    if (options_.told_no) {
      options_.told_no(why);
    }
    return;
  }
  ++asking_;
  AskedPerson& asked = questions_.emplace_back(AskedPerson{.id = request.id, .thread = {}});
  asked.thread = std::jthread([this, &asked, params = request.body](const std::stop_token& stop) {
    std::string text;
    try {
      text = result_text(asked.id, options_.elicit(params, stop));
    } catch (const std::exception&) {
      text = result_text(asked.id, {{"action", "cancel"}});
    }
    const std::lock_guard guard(mutex_);
    if (transport_ && !asked.is_withdrawn) {
      transport_->send({.text = std::move(text)});
    }
    --asking_;
    asked_ = Steady::now();
    changed_.notify_all();
  });
}

void Session::answer(std::string text) {
  const std::lock_guard lock(mutex_);
  if (transport_) {
    transport_->send({.text = std::move(text)});
  }
}

void Session::hear_noise(std::string noise) {
  const std::lock_guard lock(mutex_);
  for (std::string* first : {&misunderstood_.noise, &lately_.noise}) {
    *first = first->empty() ? noise : *first;
  }
}

// A server of the older kind is started twice.
void Session::take(sandbox::ProtectedEnd looked) {
  std::ranges::move(looked.changes, std::back_inserter(looked_.changes));
  looked_.was_alone = looked_.was_alone && looked.was_alone;
  if (!looked_.trouble) {
    looked_.trouble = std::move(looked.trouble);
  }
}

void Session::hear_end(TalkingProgram::Ended ended) {
  const std::lock_guard lock(mutex_);
  ended_ = std::move(ended.how);
  is_gone_ = true;
  take(std::move(ended.looked));
  changed_.notify_all();
}

Error Session::ended_error(Code code) const {
  const std::lock_guard lock(mutex_);
  std::string message;
  if (!ended_.empty()) {
    message = fmt::format("the MCP server `{}` {}", options_.name, ended_);
  }
  const std::string last_words = transport_ ? transport_->last_words() : "";
  message += last_words.empty() ? told_of(lately_) : last_words;
  return {.code = code, .message = std::move(message), .help = {}};
}

}  // namespace tools::mcp
