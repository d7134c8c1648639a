#include "providers/http/http_worker.h"

#include "agent/text.h"
#include "providers/http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <sys/socket.h>
#include <system_error>
#include <utility>

namespace providers {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t k_inbox_limit = 1u << 20;
constexpr std::size_t k_idle_handles = 8;
constexpr long k_kept_connections = 32;
constexpr milliseconds k_longest_poll{600'000};

std::string first_of(const agent::Environment& environment,
                     std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (const auto value = agent::value_of(environment, name); !value.empty()) {
      return std::string(value);
    }
  }
  return {};
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void append(HeaderList& list, const std::string& line) {
  if (auto* longer = curl_slist_append(list.get(), line.c_str()); longer != nullptr) {
    std::ignore = list.release();
    list.reset(longer);
  }
}

HeaderList to_list(const agent::HttpRequest& request) {
  const agent::Headers& headers = request.headers;
  HeaderList list;
  if (request.signer == nullptr) {  // libcurl would sign the header that it is told to leave out
    append(list, "Expect:");
  }
  if (agent::header(headers, "content-type").empty()) {
    append(list, "Content-Type:");  // or curl claims that the body is a form
  }
  for (const auto& [name, value] : headers) {
    // "Name:" would take the header away; "Name;" sends it empty.
    append(list, value.empty() ? name + ";" : name + ": " + value);
  }
  return list;
}

long to_curl(milliseconds time) {
  return static_cast<long>(
      std::clamp<milliseconds::rep>(time.count(), 1, std::numeric_limits<int>::max()));
}

curl_off_t counter(CURL* easy, CURLINFO what) {
  curl_off_t value = 0;
  curl_easy_getinfo(easy, what, &value);
  return value;
}

long number(CURL* easy, CURLINFO what) {
  long value = 0;
  curl_easy_getinfo(easy, what, &value);
  return value;
}

// Options of one handle; remembers whether one was refused.
class Options {
 public:
  explicit Options(CURL* handle) : handle_(handle) {}
  template <typename T>
  void set(CURLoption option, T value) {
    are_fine_ = curl_easy_setopt(handle_, option, value) == CURLE_OK && are_fine_;
  }
  bool are_fine() const { return are_fine_; }

 private:
  CURL* handle_;
  bool are_fine_ = true;
};

// Amazon signs over the path encoded once more than it is sent; libcurl 7.88 over the path of its
// URL as it stands. So the URL has the one, and the request line the other.
void sign(Options& options, const agent::HttpRequest& request) {
  const agent::AwsSigner& signer = *request.signer;
  const std::string_view url = request.url;
  const auto path = std::min(url.find('/', url.find("://") + 3), url.size());
  std::string encoded_again(url.substr(0, path));
  for (const char c : url.substr(path)) {
    encoded_again += c == '%' ? "%25" : std::string(1, c);
  }
  options.set(CURLOPT_URL, encoded_again.c_str());
  options.set(CURLOPT_REQUEST_TARGET, request.url.c_str() + path);
  options.set(CURLOPT_AWS_SIGV4,
              fmt::format("aws:amz:{}:{}", signer.region, signer.service).c_str());
  options.set(CURLOPT_USERNAME, signer.access_key.c_str());
  options.set(CURLOPT_PASSWORD, signer.secret_key.c_str());
  options.set(CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);  // of long bodies: nobody is waited for
}

// The worker must not be where the process's signals arrive.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

HttpSettings::HttpSettings(const agent::Environment& environment)
    : ca_file(first_of(environment, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})),
      ca_directory(first_of(environment, {"CURL_CA_BUNDLE"}).empty()
                       ? first_of(environment, {"SSL_CERT_DIR"})
                       : std::string{}),
      // HTTP_PROXY in capitals can be a request header of a CGI server; curl ignores it too.
      http_proxy(first_of(environment, {"http_proxy", "all_proxy", "ALL_PROXY"})),
      https_proxy(first_of(environment, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})),
      no_proxy(first_of(environment, {"no_proxy", "NO_PROXY"})) {}

// One request inside the worker, with what curl borrows from it.
struct HttpWorker::Transfer {
  std::uint64_t id;
  Exchange& exchange;
  Easy easy;
  HeaderList headers = to_list(exchange.request);
  Steady started = steady_clock::now();
  Steady last_progress = started;  // of the connection and the request
  curl_off_t progress = 0;
  bool is_head_done = false;
  bool delivers = false;
  int sendings = 0;  // of the request: more than one only where libcurl tries again
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  std::array<char, CURL_ERROR_SIZE> error_text = {};

  bool take_header(std::string_view line);
  std::size_t take_body(std::string_view bytes);
  bool set_up(const HttpSettings& settings);
  void set_request(Options& options) const;
  void set_callbacks(Options& options);
  void set_connection(Options& options, const HttpSettings& settings) const;
  void look_for_progress(Steady now);
  std::pair<Deadline, Steady> deadline(Steady now);
  std::pair<Deadline, Steady> server_deadline();
  void hear();
  bool is_refused() const { return exchange.response.status >= 400; }
  bool is_connected() const { return counter(easy.get(), CURLINFO_PRETRANSFER_TIME_T) > 0; }
};

bool HttpWorker::Transfer::take_header(std::string_view line) {
  header_bytes += line.size();
  if (header_bytes > k_header_limit) {
    exchange.outcome.has_long_head = true;
    return false;
  }
  if (is_head_done) {
    return true;  // a trailer
  }
  auto& response = exchange.response;
  if (line.starts_with("HTTP/")) {
    response.headers.clear();
    return true;
  }
  const auto text = agent::trimmed(line);
  if (text.empty()) {
    const auto status = number(easy.get(), CURLINFO_RESPONSE_CODE);
    is_head_done = status >= 200;  // 1xx: the answer's own head follows
    response.status = is_head_done ? static_cast<int>(status) : 0;
    delivers = exchange.wants_data && status / 100 == 2;
    if (is_refused()) {
      const std::lock_guard lock(exchange.mutex);
      hear();
    }
    if (status / 100 == 2 && exchange.request.on_accepted != nullptr) {
      (*exchange.request.on_accepted)();
    }
    return true;
  }
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    response.headers.emplace_back(text.substr(0, colon), agent::trimmed(text.substr(colon + 1)));
  }
  return true;
}

// From its head on, a refusal has as long for its words as a stream may be silent.
void HttpWorker::Transfer::hear() {
  exchange.is_answering = true;
  exchange.last_heard = steady_clock::now();
}

std::size_t HttpWorker::Transfer::take_body(std::string_view bytes) {
  if (bytes.size() > exchange.request.max_body - body_bytes) {
    exchange.outcome.has_long_body = true;
    return 0;
  }
  const std::lock_guard lock(exchange.mutex);
  if (!delivers) {
    exchange.response.body.append(bytes);
    if (!is_refused()) {
      hear();
    }
  } else {
    if (exchange.inbox.size() >= k_inbox_limit) {
      exchange.is_paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    exchange.inbox.append(bytes);
    exchange.changed.notify_one();
  }
  body_bytes += bytes.size();
  return bytes.size();
}

bool HttpWorker::Transfer::set_up(const HttpSettings& settings) {
  Options options(easy.get());
  set_request(options);
  set_callbacks(options);
  set_connection(options, settings);
  return headers != nullptr && options.are_fine();
}

void HttpWorker::Transfer::set_request(Options& options) const {
  const auto& request = exchange.request;
  options.set(CURLOPT_URL, request.url.c_str());
  if (request.signer != nullptr) {
    sign(options, request);
  }
  options.set(CURLOPT_HTTPHEADER, headers.get());
  options.set(CURLOPT_USERAGENT, "errand/" ERRAND_VERSION);
  options.set(CURLOPT_ACCEPT_ENCODING, "");
  options.set(CURLOPT_MAXFILESIZE_LARGE,
              static_cast<curl_off_t>(
                  std::min<std::size_t>(request.max_body, std::numeric_limits<curl_off_t>::max())));
  if (request.method == "POST" || !request.body.empty()) {
    options.set(CURLOPT_POST, 1L);
    options.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    options.set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
  }
  if (request.method != "POST" && (request.method != "GET" || !request.body.empty())) {
    options.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

void HttpWorker::Transfer::set_callbacks(Options& options) {
  const curl_write_callback on_header =
      [](char* data, std::size_t, std::size_t count, void* self) noexcept -> std::size_t {
    auto& transfer = *static_cast<Transfer*>(self);
    try {
      return transfer.take_header({data, count}) ? count : 0;
    } catch (const std::bad_alloc&) {
      transfer.exchange.outcome.is_out_of_memory = true;
      return 0;
    }
  };
  const curl_write_callback on_body =
      [](char* data, std::size_t, std::size_t count, void* self) noexcept -> std::size_t {
    auto& transfer = *static_cast<Transfer*>(self);
    try {
      return transfer.take_body({data, count});
    } catch (const std::bad_alloc&) {
      transfer.exchange.outcome.is_out_of_memory = true;
      return 0;
    }
  };
  const curl_opensocket_callback open_socket =
      [](void* self, curlsocktype, curl_sockaddr* address) noexcept -> curl_socket_t {
    Exchange& ours = static_cast<Transfer*>(self)->exchange;
    const auto socket = providers::open_socket(ours.request.may_connect, *address);
    ours.outcome.has_no_socket = socket < 0 && agent::is_shortage(errno);
    return socket;
  };
  // libcurl sends a request once more by itself where a kept connection broke. Trying again is the
  // retry layer's business, which tells of it: the second sending is refused.
  const curl_prereq_callback before_request =
      [](void* self, char*, char*, int, int) noexcept -> int {
    return ++static_cast<Transfer*>(self)->sendings > 1 ? CURL_PREREQFUNC_ABORT
                                                        : CURL_PREREQFUNC_OK;
  };
  options.set(CURLOPT_PREREQFUNCTION, before_request);
  options.set(CURLOPT_PREREQDATA, this);
  options.set(CURLOPT_HEADERFUNCTION, on_header);
  options.set(CURLOPT_HEADERDATA, this);
  options.set(CURLOPT_WRITEFUNCTION, on_body);
  options.set(CURLOPT_WRITEDATA, this);
  options.set(CURLOPT_PRIVATE, this);
  options.set(CURLOPT_ERRORBUFFER, error_text.data());
  options.set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  options.set(CURLOPT_OPENSOCKETDATA, this);
}

void HttpWorker::Transfer::set_connection(Options& options, const HttpSettings& settings) const {
  const auto& request = exchange.request;
  const bool is_tls = request.url.find(':') == 5;  // http or https, in any case
  options.set(CURLOPT_PROTOCOLS_STR, "http,https");
  options.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  options.set(CURLOPT_NOSIGNAL, 1L);
  options.set(CURLOPT_TCP_KEEPALIVE, 1L);
  options.set(CURLOPT_QUICK_EXIT, 1L);  // a cancelled look-up of a name is not waited for
  options.set(CURLOPT_CONNECTTIMEOUT_MS, to_curl(request.timeouts.connect));
  options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (request.may_connect != nullptr) {
    options.set(CURLOPT_PROXY, "");
    options.set(CURLOPT_FRESH_CONNECT, 1L);
    options.set(CURLOPT_FORBID_REUSE, 1L);
  } else {
    options.set(
        CURLOPT_PROXY,
        proxy_for(request.url, is_tls ? settings.https_proxy : settings.http_proxy).c_str());
  }
  options.set(CURLOPT_NOPROXY, settings.no_proxy.c_str());
  if (!settings.ca_file.empty()) {
    options.set(CURLOPT_CAINFO, settings.ca_file.c_str());
  }
  if (!settings.ca_directory.empty()) {
    options.set(CURLOPT_CAPATH, settings.ca_directory.c_str());
  }
}

void HttpWorker::Transfer::look_for_progress(Steady now) {
  const auto all = counter(easy.get(), CURLINFO_SIZE_UPLOAD_T) + (is_connected() ? 1 : 0);
  if (all != progress) {
    progress = all;
    last_progress = now;
  }
}

// What comes first. The connect deadline is curl's own.
std::pair<Deadline, HttpWorker::Steady> HttpWorker::Transfer::deadline(Steady now) {
  const std::pair whole{Deadline::request, started + exchange.request.timeouts.request};
  if ((!exchange.request.streamed && !is_refused()) || !is_connected()) {
    return whole;
  }
  const std::lock_guard lock(exchange.mutex);
  const auto next = server_deadline();
  if (next.second <= now && (exchange.is_reading || !exchange.inbox.empty())) {
    exchange.is_watched = true;  // we are slow, not the server
    return whole;
  }
  return next.second < whole.second ? next : whole;
}

// Not held off by heads, 1xx and whatever else says nothing.
std::pair<Deadline, HttpWorker::Steady> HttpWorker::Transfer::server_deadline() {
  const auto& timeouts = exchange.request.timeouts;
  constexpr agent::Milliseconds k_after_the_end{1'000};
  const auto idle = exchange.is_whole ? std::min(timeouts.idle, k_after_the_end) : timeouts.idle;
  return exchange.is_answering
             ? std::pair{Deadline::idle, exchange.last_heard + idle}
             : std::pair{Deadline::first_byte, last_progress + timeouts.first_byte};
}

bool start_curl() {
  // Once a process, and not from two threads at a time: that is what a local static gives.
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  return started == CURLE_OK;
}

curl_socket_t open_socket(const agent::AddressFilter* may_connect, const curl_sockaddr& address) {
  if (may_connect != nullptr && !(*may_connect)(address.addr)) {
    errno = EACCES;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
}

agent::Result<std::unique_ptr<HttpWorker>> HttpWorker::create(const HttpSettings& settings) {
  const bool is_started = start_curl();
  std::unique_ptr<HttpWorker> worker(new HttpWorker(settings));
  // A multi handle that got no descriptors to be woken by is no error to libcurl; without them,
  // nobody would hear of a request.
  if (!is_started || worker->multi_ == nullptr ||
      curl_multi_wakeup(worker->multi_.get()) != CURLM_OK) {
    return agent::fail(agent::Code::os_failed,
                       "the HTTP library cannot be started: no descriptors or no memory are left",
                       "Raise the limit: `ulimit -n 1024`.");
  }
  curl_multi_setopt(worker->multi_.get(), CURLMOPT_MAXCONNECTS, k_kept_connections);
  const BlockedSignals blocked;
  try {
    worker->thread_ =
        std::jthread([self = worker.get()](std::stop_token stop) { self->run(std::move(stop)); });
  } catch (const std::system_error& error) {
    return agent::fail(agent::Code::os_failed,
                       std::string("no thread can be started for HTTP: ") + error.what());
  }
  return worker;
}

HttpWorker::HttpWorker(const HttpSettings& settings)
    : settings_(settings), multi_(curl_multi_init()) {}

HttpWorker::~HttpWorker() {
  if (thread_.joinable()) {
    thread_.request_stop();
    curl_multi_wakeup(multi_.get());
    thread_.join();
  }
}

std::uint64_t HttpWorker::start(Exchange& exchange) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    commands_.push_back({Command::Kind::start, id, &exchange});
  }
  curl_multi_wakeup(multi_.get());
  return id;
}

void HttpWorker::look() {
  curl_multi_wakeup(multi_.get());
}

void HttpWorker::resume(std::uint64_t id) {
  post({Command::Kind::resume, id});
}

void HttpWorker::cancel(std::uint64_t id) {
  post({Command::Kind::cancel, id});
}

void HttpWorker::post(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
  }
  curl_multi_wakeup(multi_.get());
}

void HttpWorker::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    try {
      serve_once();
    } catch (const std::bad_alloc&) {
      end_all(CURLE_OUT_OF_MEMORY, "out of memory");
    }
  }
  end_all(CURLE_ABORTED_BY_CALLBACK, "the client was shut down");
}

void HttpWorker::serve_once() {
  obey();
  int running = 0;
  auto result = curl_multi_perform(multi_.get(), &running);
  collect_finished();
  const auto wait = end_overdue();
  if (result == CURLM_OK) {
    result = curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
  if (result != CURLM_OK) {
    end_all(CURLE_FAILED_INIT, curl_multi_strerror(result));
  }
}

void HttpWorker::obey() {
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (const auto& command : commands) {
    if (command.kind == Command::Kind::start) {
      try {
        begin(command);
      } catch (const std::bad_alloc&) {
        refuse(*command.exchange);
      }
    } else if (auto* const transfer = find(command.id); transfer == nullptr) {
      continue;
    } else if (command.kind == Command::Kind::resume) {
      carry_on(*transfer);
    } else {
      transfer->exchange.outcome.is_cancelled = true;
      finish(*transfer, CURLE_ABORTED_BY_CALLBACK);
    }
  }
}

void HttpWorker::begin(const Command& command) {
  transfers_.push_back(std::make_unique<Transfer>(command.id, *command.exchange, take_easy()));
  auto& transfer = *transfers_.back();
  if (transfer.easy == nullptr || !transfer.set_up(settings_) ||
      curl_multi_add_handle(multi_.get(), transfer.easy.get()) != CURLM_OK) {
    finish(transfer, CURLE_FAILED_INIT);
  }
}

// What there was no memory for.
void HttpWorker::refuse(Exchange& exchange) {
  exchange.outcome.code = CURLE_OUT_OF_MEMORY;
  std::erase_if(transfers_, [&](const auto& entry) { return &entry->exchange == &exchange; });
  const std::lock_guard lock(exchange.mutex);
  exchange.is_done = true;
  exchange.changed.notify_one();
}

void HttpWorker::carry_on(Transfer& transfer) {
  curl_easy_pause(transfer.easy.get(), CURLPAUSE_CONT);
}

void HttpWorker::collect_finished() {
  int left = 0;
  while (const auto* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) {
      continue;
    }
    const auto code = message->data.result;  // `message` dies with the removal of its handle
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finish(*transfer, code);
  }
}

// Ends what is over its deadline; returns how long nothing else can be.
milliseconds HttpWorker::end_overdue() {
  const auto now = steady_clock::now();
  auto wait = k_longest_poll;
  for (std::size_t index = transfers_.size(); index-- > 0;) {
    auto& transfer = *transfers_[index];
    transfer.look_for_progress(now);
    const auto [kind, when] = transfer.deadline(now);
    if (when <= now) {
      transfer.exchange.outcome.expired = kind;
      finish(transfer, CURLE_OPERATION_TIMEDOUT);
    } else if (when != Steady::max()) {
      wait = std::min(wait, std::chrono::ceil<milliseconds>(when - now));
    }
  }
  return wait;
}

void HttpWorker::end_all(CURLcode code, std::string_view why) {
  while (!transfers_.empty()) {
    transfers_.back()->exchange.outcome.detail = why;
    finish(*transfers_.back(), code);
  }
}

// Tells the sender, who then is free to destroy the exchange.
void HttpWorker::finish(Transfer& transfer, CURLcode code) {
  auto& exchange = transfer.exchange;
  auto& outcome = exchange.outcome;
  outcome.code = code;
  if (transfer.easy != nullptr) {
    if (transfer.sendings > 1) {
      outcome.detail = "the server closed a connection that had been kept open";
    }
    outcome.is_connected = transfer.is_connected() || transfer.sendings > 1;
    outcome.os_error = static_cast<int>(number(transfer.easy.get(), CURLINFO_OS_ERRNO));
    outcome.proxy_status = static_cast<int>(number(transfer.easy.get(), CURLINFO_HTTP_CONNECTCODE));
    if (outcome.detail.empty()) {
      outcome.detail =
          transfer.error_text[0] != '\0' ? transfer.error_text.data() : curl_easy_strerror(code);
    }
    curl_multi_remove_handle(multi_.get(), transfer.easy.get());
    if (idle_.size() < k_idle_handles) {
      curl_easy_reset(transfer.easy.get());
      idle_.push_back(std::move(transfer.easy));
    }
  }
  std::erase_if(transfers_, [&](const auto& entry) { return entry.get() == &transfer; });
  const std::lock_guard lock(exchange.mutex);
  exchange.is_done = true;
  exchange.changed.notify_one();
}

HttpWorker::Transfer* HttpWorker::find(std::uint64_t id) {
  const auto found = std::ranges::find(transfers_, id, [](const auto& entry) { return entry->id; });
  return found == transfers_.end() ? nullptr : found->get();
}

HttpWorker::Easy HttpWorker::take_easy() {
  if (idle_.empty()) {
    return Easy(curl_easy_init());
  }
  auto easy = std::move(idle_.back());
  idle_.pop_back();
  return easy;
}

}  // namespace providers
