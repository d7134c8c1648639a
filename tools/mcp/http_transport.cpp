#include "tools/mcp/http_transport.h"

#include "agent/duration.h"
#include "agent/retry_after_header.h"
#include "agent/text.h"
#include "tools/mcp/asking.h"
#include "tools/mcp/header_mirror.h"
#include "tools/mcp/http_reception.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Error;
using agent::Headers;
using agent::HttpResponse;
using agent::Json;
using agent::Milliseconds;
using agent::Result;
using Kind = Message::Kind;

constexpr Milliseconds k_year = std::chrono::hours(24 * 365);  // no end, for clocks
constexpr Milliseconds k_short{30'000};                        // for what nobody waits for
constexpr Milliseconds k_told{10'000};                         // that a handshake is over
constexpr Milliseconds k_farewell{2'000};                      // for the end of a session
constexpr Milliseconds k_longest_pause{60'000};
constexpr Milliseconds k_ears{
    2'000};                        // that the server has to open the stream of what it says itself
constexpr int k_most_unheard = 3;  // in a row, before a person is told
constexpr int k_most_fruitless = 5;  // times that a stream is taken up again, and says nothing
constexpr std::string_view k_cancelled = "notifications/cancelled";
constexpr std::string_view k_initialized = "notifications/initialized";
constexpr std::int64_t k_no_session = -32000;
constexpr std::string_view k_first_with_version = "2025-06-18";  // in a header

enum : int {
  k_bad_request = 400,
  k_unauthorized = 401,
  k_forbidden = 403,
  k_too_many_requests = 429,
  k_unavailable = 503,
  k_not_found = 404,
  k_server_fault = 500  // and above
};

bool is_success(int status) {
  return status >= 200 && status < 300;
}

bool is_redirect(int status) {
  return status >= 300 && status < 400;
}

// Of who asks, and not of what is asked.
bool is_about_rights(int status) {
  return status == k_unauthorized || status == k_forbidden;
}

// With `Retry-After`: else whether the request was taken is not known.
bool asks_for_time(int status) {
  return status == k_too_many_requests || status == k_unavailable;
}

// The form before Streamable HTTP says so to a request of the newer one.
bool may_be_older_form(int status) {
  return status >= 400 && status < 500 && !is_about_rights(status) && status != k_too_many_requests;
}

// What the body of a refusal says of the request, where it says something.
std::optional<Message> error_in(const HttpResponse& response) {
  auto messages = read_messages(response.body, Reading::lenient);
  if (!messages || messages->size() != 1 || messages->front().kind != Kind::error) {
    return std::nullopt;
  }
  return std::move(messages->front());
}

Error transport_error(std::string message) {
  return {.code = Code::mcp_transport, .message = std::move(message), .help = {}};
}

// The address of the endpoint that a stream names: of the same server, and no other.
std::optional<std::string> endpoint_of(const std::string& url, std::string_view path) {
  const std::size_t scheme = url.find("://");
  const std::size_t end =
      scheme == std::string::npos ? scheme : url.find_first_of("/?#", scheme + 3);
  const std::string origin = url.substr(0, end);
  const std::string_view first = path.substr(0, path.find_first_of("/?#"));
  if (path.starts_with(origin + "/")) {
    return std::string(path);
  }
  if (path.starts_with(origin.substr(scheme + 1) + "/")) {
    return origin.substr(0, scheme + 1) + std::string(path);
  }
  if (path.starts_with('/') && !path.starts_with("//")) {
    return origin + std::string(path);
  }
  const std::string place = url.substr(0, url.find_first_of("?#"));  // of the stream itself
  if (path.starts_with('?')) {
    return place + std::string(path);
  }
  if (path.empty() || first.empty() || first.find_first_of(":\\") != first.npos) {
    return std::nullopt;
  }
  const std::size_t folder = place.size() > origin.size() ? place.rfind('/') : place.npos;
  return (folder == place.npos ? origin : place.substr(0, folder)) + "/" + std::string(path);
}

// What a redirect of a request to `url` names.
std::string address_in(std::string_view location, const std::string& url) {
  if (location.starts_with("//")) {
    return url.substr(0, url.find(':') + 1) + std::string(location);
  }
  return endpoint_of(url, location).value_or(std::string(location));
}

// ": the key has expired"; empty: it says nothing.
std::string words_of(const HttpResponse& response) {
  const auto said = error_in(response);
  const std::string_view words = said ? said->error_message : agent::trimmed(response.body);
  return agent::is_blank(words) ? "" : ": " + shown(words);
}

Error refusal_of(const HttpResponse& response, const std::string& url) {
  Error error = transport_error(fmt::format("answers with HTTP status {}", response.status));
  error.http_status = response.status;
  if (asks_for_time(response.status)) {
    error.retry_after = agent::asked_pause(response.headers, agent::SystemClock().wall());
  }
  if (is_about_rights(response.status)) {
    error.code = Code::mcp_auth;
  }
  if (is_redirect(response.status)) {
    error.message +=
        fmt::format(" and sends the request to {}",
                    shown(address_in(agent::header(response.headers, "location"), url)));
    error.help = "No redirect is followed. Write that address as `url`, if you trust it.";
  } else {
    error.message += words_of(response);
  }
  if (error.retry_after > Milliseconds{0}) {
    error.message +=
        fmt::format("; it may be asked again in {}", agent::format_duration(*error.retry_after));
  }
  return error;
}

// What libcurl's side of a failure is to who speaks MCP.
Error exchange_error(const Error& error) {
  if (error.code == Code::run_cancelled || error.code == Code::mcp_auth ||
      error.code == Code::os_failed || error.code == Code::config_invalid ||
      error.code == Code::mcp_connection || error.code == Code::storage_io) {
    return error;  // the last three come of who authorises requests
  }
  const bool is_broken = error.code == Code::provider_stream_broken;
  Error failure = transport_error((is_broken ? "broke off its answer: " : "cannot be reached: ") +
                                  error.message);
  failure.help = error.code == Code::provider_tls ? error.help : "";
  return failure;
}

// For what is not worth asking anybody for a token.
std::stop_token no_wait() {
  std::stop_source stop;
  stop.request_stop();
  return stop.get_token();
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(HttpEndpoint endpoint, Listener&& listener)
      : endpoint_(std::move(endpoint)),
        listener_(std::move(listener)),
        is_older_form_(endpoint_.is_older_form) {}
  ~HttpTransport() override;

  void send(Outgoing message) override;
  void agree(const Agreement& agreement,
             std::string notification,
             std::chrono::steady_clock::time_point until,
             std::stop_token stop) override;
  void keep_asking(std::function<Outgoing()> next) override;
  void cancel(std::int64_t id, std::string notification) override;
  void close() override;
  std::string last_words() const override { return {}; }
  std::string asks_for_token() const override {
    return endpoint_.authorizer != nullptr ? endpoint_.authorizer->asks() : std::string();
  }
  bool may_be_stateless() const override { return !endpoint_.is_older_form; }

 private:
  // A thread that does one thing.
  struct Task {
    std::int64_t id = 0;       // of the request; 0: of none
    bool is_farewell = false;  // the server is to hear it also when all else ends
    bool is_done = false;      // under mutex_
    std::jthread thread;
  };

  template <typename Work>
  void start(std::int64_t id, Work work);
  void perform(const Outgoing& message, const std::stop_token& stop);
  Result<HttpResponse> exchange(agent::HttpRequest request,
                                HttpReception& reception,
                                const std::stop_token& stop,
                                bool is_farewell = false);
  Headers headers_of(const Outgoing& message);
  std::string address() const;
  HttpReception::Heard ears(const Outgoing& message, std::optional<Message>& held);
  void settle(const Outgoing& message,
              HttpReception& reception,
              int status,
              const std::stop_token& stop);
  void refuse(const Outgoing& message, const HttpResponse& response, const std::stop_token& stop);
  bool find_older_form(const std::stop_token& stop);
  bool is_asking() const;
  bool says_why_there_is_no_stream();
  Error no_endpoint_error();
  agent::HttpRequest post(const Outgoing& message);
  bool ask_and_hear(const Outgoing& message, const std::stop_token& stop);
  void listen(const std::stop_token& stop);
  void note_told();
  void note_ears();
  void listen_for_all(const std::stop_token& stop);
  Result<HttpResponse> take_up(HttpReception& reception,
                               const std::stop_token& stop,
                               const std::function<void()>* on_accepted = nullptr);
  bool wait(Milliseconds time, const std::stop_token& stop);
  void hear(Message message);
  void fail(const Outgoing& message, Error error, std::string ended = {});
  Error refused(const HttpResponse& response) const;
  void say_farewell();

  const HttpEndpoint endpoint_;
  const Listener listener_;
  int unheard_ = 0;           // answers in a row to keep_asking(), by its thread, that said nothing
  mutable std::mutex mutex_;  // of the rest
  std::condition_variable_any changed_;
  Agreement agreement_;
  std::string session_;    // as the server calls it; empty: there is none
  std::string post_to_;    // of the older form; empty: not known yet
  std::string elsewhere_;  // that it named in place of that, and may not
  bool is_older_form_;
  bool has_stream_ended_ = false;        // of the older form
  std::optional<Error> stream_failure_;  // why it is none
  bool is_told_ = false;                 // what has been agreed, or will not listen to that
  bool has_ears_ = false;                // or the server offers no stream of what it says itself
  bool is_closed_ = false;
  std::list<Task> tasks_;
};

HttpTransport::~HttpTransport() {
  close();
  std::list<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.splice(tasks.begin(), tasks_);
  }
  for (Task& task : tasks) {
    task.thread.join();
  }
}

void HttpTransport::close() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_closed_, true)) {
    return;
  }
  for (Task& task : tasks_) {
    if (!task.is_farewell) {
      task.thread.request_stop();
    }
  }
  start(0, [this](const std::stop_token&) {
    say_farewell();
    listener_.on_end({.how = "was closed"});
  });
}

// Under mutex_. Work that has been done is cleared away.
template <typename Work>
void HttpTransport::start(std::int64_t id, Work work) {
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    task = task->is_done ? tasks_.erase(task) : std::next(task);
  }
  Task& task = tasks_.emplace_back(Task{.id = id, .thread = {}});
  task.thread = std::jthread([this, &task, work = std::move(work)](const std::stop_token& stop) {
    try {
      work(stop);
    } catch (const std::exception& exception) {
      listener_.on_failed(task.id, agent::error_of(exception), {});
    }
    const std::lock_guard lock(mutex_);
    task.is_done = true;
    changed_.notify_all();
  });
}

void HttpTransport::send(Outgoing message) {
  const std::lock_guard lock(mutex_);
  if (!is_closed_) {
    const std::int64_t id = message.id;
    const bool is_farewell = message.method == k_cancelled;
    start(id, [this, message = std::move(message)](const std::stop_token& stop) {
      perform(message, stop);
    });
    tasks_.back().is_farewell = is_farewell;
  }
}

// Whether it likes to be told is nobody's business: a body that stays open is not waited for.
void HttpTransport::agree(const Agreement& agreement,
                          std::string notification,
                          std::chrono::steady_clock::time_point until,
                          std::stop_token stop) {
  std::unique_lock lock(mutex_);
  agreement_ = agreement;
  if (notification.empty() || is_closed_) {
    return;
  }
  is_told_ = false;
  Outgoing told{.text = std::move(notification), .method = std::string(k_initialized)};
  start(0, [this, told = std::move(told)](const std::stop_token& ends) {
    perform(told, ends);
    note_told();
  });
  changed_.wait_until(lock, stop, std::min(until, std::chrono::steady_clock::now() + k_told), [&] {
    return is_told_ || is_closed_;
  });
  if (!is_closed_ && !is_older_form_) {
    start(0, [this](const std::stop_token& ends) { listen(ends); });
    changed_.wait_for(lock, stop, k_ears, [&] { return has_ears_ || is_closed_; });
  }
}

void HttpTransport::note_told() {
  const std::lock_guard lock(mutex_);
  is_told_ = true;
  changed_.notify_all();
}

void HttpTransport::keep_asking(std::function<Outgoing()> next) {
  const std::lock_guard lock(mutex_);
  if (!is_closed_) {
    start(0, [this, next = std::move(next)](const std::stop_token& stop) {
      mcp::keep_asking([&] { return ask_and_hear(next(), stop); },
                       [&](Milliseconds pause) { return wait(pause, stop); });
    });
  }
}

// False: a server that refuses is not asked again. One that breaks off, or says that it ends, may
// be back.
bool HttpTransport::ask_and_hear(const Outgoing& message, const std::stop_token& stop) {
  bool is_refused = false;
  bool has_said_something = false;
  HttpReception reception(
      message.id, {.on_message = [&](Message heard) {
        is_refused = is_refused || heard.kind == Kind::error || heard.kind == Kind::unusable;
        has_said_something = has_said_something || heard.kind == Kind::notification;
        listener_.on_message(std::move(heard));
      }});
  agent::HttpRequest request = post(message);
  request.timeouts.request = k_year;
  const auto response = exchange(std::move(request), reception, stop);
  if (stop.stop_requested()) {
    return false;
  }
  if (!response && response.error().code == Code::mcp_auth) {
    fail(message, response.error());
    return false;
  }
  const bool is_refusal = response && !is_success(response->status);
  if (is_refusal && response->status < k_server_fault && !asks_for_time(response->status)) {
    refuse(message, *response, stop);
    return false;
  }
  reception.finish();
  if (response && reception.events() == 0 && !reception.problem().empty()) {
    fail(message, transport_error(reception.problem()));
    return false;
  }
  unheard_ = has_said_something || is_refused ? 0 : unheard_ + 1;
  if (unheard_ == k_most_unheard) {  // it may still be back
    fail(message,
         is_refusal ? refused(*response)
         : response ? transport_error("ends its answer before it says anything")
                    : exchange_error(response.error()));
  }
  return !is_refused;
}

// Where there is no session, the end of the connection is all that the server has to know.
void HttpTransport::cancel(std::int64_t id, std::string notification) {
  bool tells = false;
  {
    const std::lock_guard lock(mutex_);
    for (Task& task : tasks_) {
      if (task.id == id) {
        task.thread.request_stop();
      }
    }
    tells = !agreement_.is_stateless;
  }
  if (tells) {
    send({.text = std::move(notification), .method = std::string(k_cancelled)});
  }
}

Headers HttpTransport::headers_of(const Outgoing& message) {
  const std::lock_guard lock(mutex_);
  Headers headers = endpoint_.headers;
  if (!session_.empty()) {
    headers.emplace_back("Mcp-Session-Id", session_);
  }
  if (agreement_.revision >= k_first_with_version) {
    headers.emplace_back("MCP-Protocol-Version", agreement_.revision);
  }
  if (agreement_.is_stateless && !message.method.empty()) {
    headers.emplace_back("Mcp-Method", message.method);
    if (!message.name.empty()) {
      headers.emplace_back("Mcp-Name", header_text(message.name));
    }
    std::ranges::copy(message.mirrors, std::back_inserter(headers));
  }
  return headers;
}

std::string HttpTransport::address() const {
  const std::lock_guard lock(mutex_);
  return is_older_form_ ? post_to_ : endpoint_.url;
}

// With what the server wants to know of who asks, as often as it asks that.
Result<HttpResponse> HttpTransport::exchange(agent::HttpRequest request,
                                             HttpReception& reception,
                                             const std::stop_token& stop,
                                             bool is_farewell) {
  Headers plain = std::move(request.headers);
  if (endpoint_.authorizer != nullptr) {  // else `headers` may say who asks
    std::erase_if(plain,
                  [](const auto& one) { return agent::to_lower(one.first) == "authorization"; });
  }
  for (;;) {
    std::string authorization;
    request.headers = plain;
    if (endpoint_.authorizer != nullptr) {
      TRY_ASSIGN(authorization,
                 endpoint_.authorizer->authorization(is_farewell ? no_wait() : stop));
    }
    if (!authorization.empty()) {
      request.headers.emplace_back("Authorization", authorization);
    }
    TRY_ASSIGN(HttpResponse response,
               endpoint_.http->send(
                   request, [&](std::string_view bytes) { return reception.take(bytes); }, stop));
    if (is_farewell || !is_about_rights(response.status) || endpoint_.authorizer == nullptr) {
      return response;
    }
    auto may_succeed = endpoint_.authorizer->challenged(
        response.status, agent::header(response.headers, "www-authenticate"), authorization, stop);
    if (!may_succeed) {
      Error& error = may_succeed.error();
      if (error.message.starts_with("wants ")) {  // else it is about where logins are made
        error.message += words_of(response);
      }
      return agent::fail(std::move(may_succeed).error());
    }
    if (!*may_succeed) {
      return response;
    }
  }
}

// The answer to a handshake is kept until the session's name is known.
HttpReception::Heard HttpTransport::ears(const Outgoing& message, std::optional<Message>& held) {
  return {
      .on_message = [this, &held, is_handshake = message.method == "initialize"](Message heard) {
        if (is_handshake && heard.kind != Kind::request && heard.kind != Kind::notification) {
          held = std::move(heard);
        } else {
          hear(std::move(heard));
        }
      }};
}

// `message` is borrowed by it.
agent::HttpRequest HttpTransport::post(const Outgoing& message) {
  agent::HttpRequest request{
      .method = "POST", .url = address(), .headers = headers_of(message), .body = message.text};
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "application/json, text/event-stream");
  request.max_body = std::numeric_limits<std::size_t>::max();
  return request;
}

void HttpTransport::perform(const Outgoing& message, const std::stop_token& stop) {
  if (endpoint_.is_older_form && message.method == "initialize" && !find_older_form(stop)) {
    fail(message, no_endpoint_error());
    return;
  }
  std::optional<Message> held;
  HttpReception reception(message.id, ears(message, held));
  agent::HttpRequest request = post(message);
  const bool is_farewell = message.method == k_cancelled;
  request.timeouts.request = is_farewell       ? k_farewell
                             : message.id == 0 ? k_short
                                               : endpoint_.longest;
  const std::function<void()> on_accepted = [this] { note_told(); };
  if (message.method == k_initialized) {
    request.on_accepted = &on_accepted;
  }
  const auto response = exchange(std::move(request), reception, stop, is_farewell);
  if (stop.stop_requested()) {
    return;  // nobody waits
  }
  if (!response && reception.last_id().empty()) {
    fail(message, exchange_error(response.error()));
    return;
  }
  if (response && !is_success(response->status)) {
    refuse(message, *response, stop);
    return;
  }
  if (response && message.method == "initialize") {
    const std::lock_guard lock(mutex_);
    session_ = agent::header(response->headers, "mcp-session-id");
  }
  settle(message, reception, response ? response->status : 0, stop);
  if (held) {
    hear(*std::move(held));
  }
}

// A stream that ends before the answer is taken up again where that is possible. In the older form
// the answer comes elsewhere.
void HttpTransport::settle(const Outgoing& message,
                           HttpReception& reception,
                           int status,
                           const std::stop_token& stop) {
  bool is_older_form = false;
  {
    const std::lock_guard lock(mutex_);
    is_older_form = is_older_form_;
  }
  reception.finish();
  if (message.id == 0 || is_older_form) {
    return;
  }
  int fruitless = 0;
  int refused_with = 0;  // a status, where it is taken up again; 0: nothing was
  while (!reception.is_answered() && reception.problem().empty() && !reception.last_id().empty() &&
         fruitless < k_most_fruitless && wait(reception.retry(), stop)) {
    const std::size_t before = reception.events();
    const std::string place = reception.last_id();
    const auto response = take_up(reception, stop);
    if (response && !is_success(response->status)) {
      refused_with = response->status;
      if (!asks_for_time(refused_with) && refused_with < k_server_fault) {
        break;
      }
      ++fruitless;
      continue;
    }
    reception.finish();
    const bool has_gone_on = reception.events() != before || reception.last_id() != place;
    fruitless = has_gone_on ? 0 : fruitless + 1;
  }
  if (!reception.is_answered()) {
    Error error = transport_error(reception.problem().empty() ? "ended its answer before the result"
                                                              : reception.problem());
    if (refused_with != 0) {
      error.message += fmt::format(", and answers with HTTP status {} where that is taken up again",
                                   refused_with);
    }
    error.http_status = reception.is_empty() ? status : 0;
    fail(message, std::move(error));
  }
}

Result<HttpResponse> HttpTransport::take_up(HttpReception& reception,
                                            const std::stop_token& stop,
                                            const std::function<void()>* on_accepted) {
  agent::HttpRequest request{
      .method = "GET", .url = endpoint_.url, .headers = headers_of({.text = {}})};
  request.headers.emplace_back("Accept", "text/event-stream");
  if (!reception.last_id().empty()) {
    request.headers.emplace_back("Last-Event-ID", reception.last_id());
  }
  request.timeouts.request = k_year;
  request.max_body = std::numeric_limits<std::size_t>::max();
  request.on_accepted = on_accepted;
  reception.begin_again();
  return exchange(std::move(request), reception, stop);
}

void HttpTransport::refuse(const Outgoing& message,
                           const HttpResponse& response,
                           const std::stop_token& stop) {
  auto said = error_in(response);
  bool has_session = false;
  bool is_older_form = false;
  {
    const std::lock_guard lock(mutex_);
    has_session = !session_.empty();
    is_older_form = is_older_form_;
  }
  const bool is_unknown = response.status == k_not_found ||
                          (response.status == k_bad_request && said && said->code == k_no_session);
  // The address that the older form posts to is that of its session.
  const bool is_lost =
      is_unknown && (has_session || (is_older_form && message.method != "initialize"));
  if (is_lost) {
    fail(message, refused(response), "does not know this session any more");
    return;
  }
  if (message.method == "initialize" && !said && !is_older_form &&
      may_be_older_form(response.status) && find_older_form(stop)) {
    perform(message, stop);
    return;
  }
  if (message.method == "initialize" && says_why_there_is_no_stream()) {
    fail(message, no_endpoint_error());
    return;
  }
  Error refusal = refused(response);
  if (is_older_form && is_redirect(response.status)) {
    refusal.help =
        "No redirect is followed. The address that was asked is the one that the server names in "
        "its stream: that is to be mended at the server.";
  }
  const bool may_be_asked_again =
      response.status == k_too_many_requests || refusal.retry_after.has_value();
  if (said && message.id != 0 && !is_about_rights(response.status) && !may_be_asked_again) {
    said->id = message.id;
    hear(*std::move(said));
    return;
  }
  fail(message, std::move(refusal));
}

// False: it is none, or `stop`.
bool HttpTransport::find_older_form(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (is_closed_) {
    return false;
  }
  if (is_older_form_ && !post_to_.empty()) {
    return true;
  }
  has_stream_ended_ = false;
  start(0, [this](const std::stop_token& ends) { listen_for_all(ends); });
  changed_.wait_for(
      lock, stop, endpoint_.start, [&] { return has_stream_ended_ || !post_to_.empty(); });
  is_older_form_ = !post_to_.empty();
  return is_older_form_;
}

// It names another place, is at another one, or wants to know who asks.
bool HttpTransport::says_why_there_is_no_stream() {
  const std::lock_guard lock(mutex_);
  return !elsewhere_.empty() || (stream_failure_ && (stream_failure_->code == Code::mcp_auth ||
                                                     is_redirect(stream_failure_->http_status)));
}

Error HttpTransport::no_endpoint_error() {
  const std::lock_guard lock(mutex_);
  if (stream_failure_ && elsewhere_.empty()) {
    return *stream_failure_;
  }
  return transport_error(
      elsewhere_.empty()
          ? "names no address for requests in its stream of events"
          : fmt::format("names an address for requests in its stream of events that is not its "
                        "own, and is not sent any: {}",
                        elsewhere_));
}

// Under mutex_. A request is on its way.
bool HttpTransport::is_asking() const {
  return std::ranges::any_of(tasks_,
                             [](const Task& task) { return task.id != 0 && !task.is_done; });
}

// The one stream of the older form, which brings the answers to all requests.
void HttpTransport::listen_for_all(const std::stop_token& stop) {
  HttpReception reception(
      0,
      {.on_message = [this](Message message) { hear(std::move(message)); },
       .on_noise = [this](std::string noise) { listener_.on_noise(std::move(noise)); },
       .on_endpoint =
           [this](std::string_view path) {
             const std::lock_guard lock(mutex_);
             if (!post_to_.empty()) {
               return;  // the first one counts
             }
             post_to_ = endpoint_of(endpoint_.url, path).value_or("");
             has_stream_ended_ = post_to_.empty();
             elsewhere_ = post_to_.empty() ? shown(path) : "";
             changed_.notify_all();
           }});
  const auto response = take_up(reception, stop);
  std::optional<Error> failure;
  if (!response) {
    failure = exchange_error(response.error());
  } else if (!is_success(response->status)) {
    failure = refused(*response);
  }
  bool has_served = false;
  {
    std::unique_lock lock(mutex_);
    has_stream_ended_ = true;
    stream_failure_ = std::move(failure);
    changed_.notify_all();
    if (!post_to_.empty()) {  // what it refuses at this moment it has not taken
      changed_.wait_for(lock, stop, k_farewell, [&] { return !is_asking(); });
    }
    has_served = !post_to_.empty() && !is_closed_;
  }
  if (has_served) {
    const std::string& problem = reception.problem();
    listener_.on_end({.how = problem.empty() ? "has ended its stream of events" : problem});
  }
}

// What the server says of itself; it need not offer that. What it asks while a call is served may
// come here alone, and is lost where nobody listens yet.
void HttpTransport::listen(const std::stop_token& stop) {
  HttpReception reception(0, {.on_message = [this](Message message) { hear(std::move(message)); }});
  const std::function<void()> on_accepted = [this] { note_ears(); };
  Milliseconds pause{0};
  do {
    const std::size_t before = reception.events();
    const auto response = take_up(reception, stop, &on_accepted);
    note_ears();
    if (response && !is_success(response->status)) {
      return;
    }
    pause = reception.events() > before
                ? reception.retry()
                : std::max(reception.retry(), std::min(pause * 2, k_longest_pause));
  } while (wait(pause, stop));
}

void HttpTransport::note_ears() {
  const std::lock_guard lock(mutex_);
  has_ears_ = true;
  changed_.notify_all();
}

bool HttpTransport::wait(Milliseconds time, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

// What a server says of the tokens that it was sent is for nobody else.
void HttpTransport::hear(Message message) {
  if (endpoint_.authorizer != nullptr) {
    endpoint_.authorizer->redact(message.body);
    endpoint_.authorizer->redact(message.error_message);
  }
  listener_.on_message(std::move(message));
}

// Where the agent file says who asks, no login helps.
Error HttpTransport::refused(const HttpResponse& response) const {
  const std::string url = address();
  Error error = refusal_of(response, url.empty() ? endpoint_.url : url);
  if (is_about_rights(response.status) &&
      !agent::is_blank(agent::header(endpoint_.headers, "authorization"))) {
    error.help =
        "The server does not take the `Authorization` that `headers` give it: see whether that is "
        "still good, and meant for this server.";
  }
  return error;
}

void HttpTransport::fail(const Outgoing& message, Error error, std::string ended) {
  if (!ended.empty()) {
    const std::lock_guard lock(mutex_);
    session_.clear();
  }
  if (endpoint_.authorizer != nullptr) {
    endpoint_.authorizer->redact(error.message);
  }
  listener_.on_failed(message.id, std::move(error), std::move(ended));
}

// That a session is over: others can be begun with the same server.
void HttpTransport::say_farewell() {
  agent::HttpRequest request{
      .method = "DELETE", .url = endpoint_.url, .headers = headers_of({.text = {}})};
  {
    const std::lock_guard lock(mutex_);
    if (session_.empty()) {
      return;
    }
  }
  request.timeouts.connect = request.timeouts.request = k_farewell;
  HttpReception reception(0, {.on_message = [](const Message&) {}});
  std::ignore = exchange(std::move(request), reception, {}, true);
}

}  // namespace

std::unique_ptr<Transport> open_http(HttpEndpoint endpoint, Transport::Listener&& listener) {
  return std::make_unique<HttpTransport>(std::move(endpoint), std::move(listener));
}

}  // namespace tools::mcp
