// The one thread in which curl works: transfers go in, bytes and outcomes come out. Who waits for
// them, and what a failure means, is HttpClient's business.
#pragma once
#include "agent/environment.h"
#include "agent/http.h"

#include <curl/curl.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace providers {

// What the environment says about certificates and proxies, in the variables that curl reads.
struct HttpSettings {
  std::string ca_file;       // CURL_CA_BUNDLE, SSL_CERT_FILE; empty: the machine's
  std::string ca_directory;  // SSL_CERT_DIR
  std::string http_proxy;    // http_proxy, all_proxy
  std::string https_proxy;   // https_proxy, all_proxy
  std::string no_proxy;

  explicit HttpSettings(const agent::Environment& environment);
};

// To be called before any other use of libcurl; false where it cannot be started. Thread-safe.
bool start_curl();

// For CURLOPT_OPENSOCKETFUNCTION: a socket that no child process inherits, where `may_connect`
// (null: any) lets it.
curl_socket_t open_socket(const agent::AddressFilter* may_connect, const curl_sockaddr& address);

enum class Deadline : std::uint8_t { none, first_byte, idle, request };

constexpr std::size_t k_header_limit = 256u << 10;  // of an answer's header lines together, bytes

// How a transfer ended, as curl and the clock saw it.
struct TransferOutcome {
  CURLcode code = CURLE_OK;
  std::string detail;          // curl's own words
  int os_error = 0;            // errno of a failed connect
  int proxy_status = 0;        // of a proxy that made no tunnel
  bool is_connected = false;   // the connection, TLS included, stood
  bool has_long_head = false;  // over k_header_limit
  bool has_long_body = false;
  bool is_cancelled = false;
  bool has_no_socket = false;  // the machine had none left
  bool is_out_of_memory = false;
  Deadline expired = Deadline::none;
};

// One request on its way. Lives on the stack of the thread that sends it, and outlives `done`.
struct Exchange {
  const agent::HttpRequest& request;
  const bool wants_data;  // bytes of a 2xx answer go to `inbox`, not to response.body

  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::string inbox = {};   // under `mutex`; bounded: the transfer pauses where it is full
  bool is_paused = false;   // under `mutex`
  bool is_done = false;     // under `mutex`
  bool is_stopped = false;  // under `mutex`; set by the sender's stop token

  // What the sender heard in the bytes of an answer, under `mutex`.
  std::chrono::steady_clock::time_point last_heard = {};
  bool is_answering = false;  // something of the answer itself has come
  bool is_whole = false;      // nothing of it is missing any more
  bool is_reading = false;    // the sender is at work on what it took: the server is not late
  bool is_watched = false;    // a deadline has passed meanwhile: the worker wants to be woken

  agent::HttpResponse response = {};  // the worker's until is_done, then the sender's
  TransferOutcome outcome = {};       // likewise
};

class HttpWorker {
 public:
  // Starts the thread. os.failed where the machine has none left.
  static agent::Result<std::unique_ptr<HttpWorker>> create(const HttpSettings& settings);
  ~HttpWorker();
  HttpWorker(const HttpWorker&) = delete;
  HttpWorker& operator=(const HttpWorker&) = delete;

  // Each is thread-safe and returns at once. `cancel` and `resume` of a transfer that has ended
  // do nothing.
  std::uint64_t start(Exchange& exchange);
  void look();  // at the deadlines: what was heard has changed one
  void resume(std::uint64_t id);
  void cancel(std::uint64_t id);

 private:
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  using Easy = std::unique_ptr<CURL, FreeEasy>;
  using Steady = std::chrono::steady_clock::time_point;
  struct Transfer;
  struct Command {
    enum class Kind : std::uint8_t { start, resume, cancel };
    Kind kind;
    std::uint64_t id;
    Exchange* exchange = nullptr;
  };

  explicit HttpWorker(const HttpSettings& settings);
  void post(Command command);
  void run(std::stop_token stop);
  void serve_once();
  void obey();
  void begin(const Command& command);
  void refuse(Exchange& exchange);
  void carry_on(Transfer& transfer);
  void collect_finished();
  std::chrono::milliseconds end_overdue();
  void end_all(CURLcode code, std::string_view why);
  void finish(Transfer& transfer, CURLcode code);
  Transfer* find(std::uint64_t id);
  Easy take_easy();

  const HttpSettings settings_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::vector<Easy> idle_;                            // the thread's own
  std::vector<std::unique_ptr<Transfer>> transfers_;  // the thread's own
  std::mutex mutex_;
  std::vector<Command> commands_;  // under mutex_
  std::uint64_t last_id_ = 0;      // under mutex_
  std::jthread thread_;            // last: ends before the rest
};

}  // namespace providers
