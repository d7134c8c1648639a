#include "providers/http/http_client.h"

#include "agent/descriptor.h"
#include "agent/duration.h"
#include "providers/http/url.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <string>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using agent::Error;
using agent::HttpRequest;
using agent::HttpResponse;

constexpr std::chrono::milliseconds k_finish_grace{100};

// What an error message needs to know about the request.
struct Sent {
  const HttpRequest& request;
  const Url& url;
  const HttpSettings& settings;
};

Error cancelled() {
  return {.code = Code::run_cancelled, .message = "the model call was cancelled"};
}

agent::Result<void> check_lines(const HttpRequest& request) {
  const auto is_one_line = [](std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
  };
  if (!is_one_line(request.method)) {
    return agent::fail(Code::provider_invalid_request, "the HTTP method contains a line break");
  }
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || name.find(':') != std::string::npos || !is_one_line(name) ||
        !is_one_line(value)) {
      return agent::fail(
          Code::provider_invalid_request,
          fmt::format("the request header `{}` contains a line break or is not a header name",
                      name),
          "Check `model.headers` and the API key.");
    }
  }
  return {};
}

// The proxy may or may not have been used (NO_PROXY); curl's own words name the host it tried.
std::string proxy_help(const Sent& sent) {
  const std::string proxy =
      proxy_for(sent.request.url,
                sent.url.scheme == "https" ? sent.settings.https_proxy : sent.settings.http_proxy);
  if (proxy.empty() || sent.request.may_connect != nullptr) {
    return {};
  }
  return fmt::format(
      "The environment sets the proxy {} for {} requests{}: check it as well, or exempt the host "
      "in NO_PROXY.",
      without_credentials(proxy),
      sent.url.scheme,
      sent.settings.no_proxy.empty() ? "" : fmt::format(" (but for {})", sent.settings.no_proxy));
}

Error make(Code code, std::string message, std::string help = {}) {
  return {.code = code, .message = std::move(message), .help = std::move(help)};
}

Error deadline_error(const Sent& sent, Deadline expired, bool is_connected) {
  const auto& timeouts = sent.request.timeouts;
  const auto where = sent.url.authority();
  const auto late = [&](std::string_view what, agent::Milliseconds time, std::string_view key) {
    return make(Code::provider_timeout,
                fmt::format("{} within {}", what, agent::format_duration(time)),
                is_connected
                    ? fmt::format("Raise `model.timeouts.{}` if {} is just slow.", key, where)
                    : proxy_help(sent));
  };
  switch (expired) {
    case Deadline::first_byte:
      return late(fmt::format("{} accepted the request, but sent no byte of an answer", where),
                  timeouts.first_byte,
                  "first_byte");
    case Deadline::idle:
      return late(
          fmt::format("{} stopped sending in the middle of its answer: nothing came", where),
          timeouts.idle,
          "idle");
    case Deadline::request:
      return late(fmt::format("{} did not finish its answer", where), timeouts.request, "request");
    case Deadline::none:
      break;
  }
  return late(fmt::format("no connection to {} was made", where), timeouts.connect, "connect");
}

// It wants to know who asks: the same as where it is sent the request itself.
Error refused_by_proxy(const Sent& sent, const TransferOutcome& outcome) {
  Error error = make(Code::provider_invalid_request,
                     fmt::format("{} cannot be reached: the proxy answers with HTTP status {}",
                                 sent.url.authority(),
                                 outcome.proxy_status),
                     proxy_help(sent));
  error.http_status = outcome.proxy_status;
  return error;
}

Error network_error(const Sent& sent, const TransferOutcome& outcome) {
  constexpr int k_wants_login = 407;
  if (!outcome.is_connected && outcome.proxy_status == k_wants_login) {
    return refused_by_proxy(sent, outcome);
  }
  auto error = make(Code::provider_network,
                    fmt::format("{} cannot be reached: {}", sent.url.authority(), outcome.detail),
                    proxy_help(sent));
  if (outcome.code == CURLE_COULDNT_CONNECT && outcome.os_error == ECONNREFUSED) {
    error.message =
        fmt::format("{} refused the connection: {}", sent.url.authority(), outcome.detail);
    if (sent.url.is_loopback()) {
      error.retry_once = true;
      error.help = "Nothing is listening there: start the server, or correct `model.base_url`.";
    }
  } else if (outcome.is_connected) {
    error.message =
        fmt::format("the connection to {} broke before an answer came: {}",
                    sent.url.authority(),
                    outcome.code == CURLE_OK ? "its head is not whole" : outcome.detail);
  }
  return error;
}

Error tls_error(const Sent& sent, const TransferOutcome& outcome) {
  const auto& file = sent.settings.ca_file;
  const auto& directory = sent.settings.ca_directory;
  return make(Code::provider_tls,
              fmt::format("no trusted connection to {}: {}", sent.url.authority(), outcome.detail),
              fmt::format("Check the URL's scheme and the server's certificate; the certificates "
                          "of {}{} are trusted.",
                          file.empty() ? "the system (set SSL_CERT_FILE for others)" : file,
                          directory.empty() ? "" : " and " + directory));
}

// A handshake that the peer only cut off may work next time; curl has one code for both, and only
// its text tells them apart.
bool is_handshake_cut(const TransferOutcome& outcome) {
  return outcome.code == CURLE_SSL_CONNECT_ERROR &&
         (outcome.detail.find("error:") == std::string::npos ||
          outcome.detail.find("unexpected eof") != std::string::npos);
}

bool is_tls(CURLcode code) {
  constexpr auto k_codes = std::to_array({
      CURLE_SSL_CONNECT_ERROR,
      CURLE_SSL_ENGINE_NOTFOUND,
      CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER,
      CURLE_PEER_FAILED_VERIFICATION,
      CURLE_USE_SSL_FAILED,
      CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_CRL_BADFILE,
      CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_CLIENTCERT,
      CURLE_URL_MALFORMAT,
  });
  return std::ranges::find(k_codes, code) != k_codes.end();
}

bool is_bad_answer(const TransferOutcome& outcome) {
  switch (static_cast<int>(outcome.code)) {
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP_RETURNED_ERROR:
    case CURLE_FILESIZE_EXCEEDED:
      return true;
    case CURLE_UNSUPPORTED_PROTOCOL:  // bytes that are no HTTP: taken for HTTP/0.9
    case CURLE_OUT_OF_MEMORY:         // a header line of over 100 kB
      return outcome.is_connected;
    default:
      return outcome.has_long_head || outcome.has_long_body;
  }
}

Error bad_answer_error(const Sent& sent, const TransferOutcome& outcome) {
  const auto where = sent.url.authority();
  if (outcome.has_long_head) {
    return make(Code::provider_bad_response,
                fmt::format("the header lines of the answer from {} are over the limit of {} bytes",
                            where,
                            k_header_limit));
  }
  if (outcome.code == CURLE_OUT_OF_MEMORY) {  // of a connected transfer: see is_bad_answer()
    return make(Code::provider_bad_response,
                fmt::format("a header line of the answer from {} is over the limit of {} bytes",
                            where,
                            CURL_MAX_HTTP_HEADER));
  }
  if (outcome.has_long_body || outcome.code == CURLE_FILESIZE_EXCEEDED) {
    return make(
        Code::provider_bad_response,
        fmt::format(
            "the body of the answer from {} is over the limit of {} bytes{}",
            where,
            sent.request.max_body,
            outcome.code == CURLE_FILESIZE_EXCEEDED ? " according to its Content-Length" : ""));
  }
  return make(Code::provider_bad_response,
              fmt::format("what {} sent is not a valid HTTP answer: {}", where, outcome.detail),
              "Check that `model.base_url` is the address of a model server.");
}

// libcurl has no code for a name that was not looked up, or a certificate that was not read,
// because no descriptor was left for it.
bool has_no_descriptors() {
  const agent::Descriptor one(::open("/", O_PATH | O_CLOEXEC));
  const agent::Descriptor other(::open("/", O_PATH | O_CLOEXEC));
  return !other && agent::is_shortage(errno);
}

bool is_shortage(const TransferOutcome& outcome) {
  switch (static_cast<int>(outcome.code)) {
    case CURLE_FAILED_INIT:
      return true;
    case CURLE_OUT_OF_MEMORY:
      return !outcome.is_connected;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
      return has_no_descriptors();
    default:
      return outcome.has_no_socket || outcome.is_out_of_memory;
  }
}

// The status says what happened; of the words about it, what has come is enough.
bool is_refusal(const TransferOutcome& outcome, int status) {
  const bool lacks_words = outcome.has_long_body || outcome.code == CURLE_FILESIZE_EXCEEDED ||
                           outcome.code == CURLE_BAD_CONTENT_ENCODING ||
                           outcome.code == CURLE_PARTIAL_FILE || outcome.code == CURLE_RECV_ERROR ||
                           outcome.code == CURLE_OPERATION_TIMEDOUT;
  return status >= 400 && lacks_words && !outcome.is_cancelled && !is_shortage(outcome);
}

Error to_error(const Sent& sent, const TransferOutcome& outcome, int status) {
  if (is_shortage(outcome)) {
    return make(Code::os_failed,
                "the HTTP request cannot be made: no descriptors or no memory are left",
                "Raise the limit: `ulimit -a` shows descriptors (-n) and memory (-v).");
  }
  if (outcome.code == CURLE_OPERATION_TIMEDOUT) {
    return deadline_error(sent, outcome.expired, outcome.is_connected);
  }
  if (is_bad_answer(outcome)) {
    return bad_answer_error(sent, outcome);
  }
  if (is_tls(outcome.code) && !is_handshake_cut(outcome)) {
    return tls_error(sent, outcome);
  }
  if (status == 0) {
    return network_error(sent, outcome);
  }
  return make(
      Code::provider_stream_broken,
      fmt::format("the answer from {} was cut off: {}", sent.url.authority(), outcome.detail));
}

// Hands an exchange to the worker and takes what comes back, on the caller's thread.
class Call {
 public:
  Call(HttpWorker& worker, Exchange& exchange)
      : worker_(worker), exchange_(exchange), id_(worker.start(exchange)) {}
  // The worker must have let go of the exchange before it dies.
  ~Call() { end(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void wait(const agent::OnData& on_data) {
    std::string bytes;
    while (take(bytes)) {
      const auto heard = bytes.empty() ? agent::Heard::nothing : on_data(bytes);
      if (heard == agent::Heard::enough) {
        is_enough_ = true;
        let_finish();
        return;
      }
      note(heard);
    }
  }

  void end() {
    std::unique_lock lock(exchange_.mutex);
    if (!exchange_.is_done) {
      worker_.cancel(id_);
      exchange_.changed.wait(lock, [&] { return exchange_.is_done; });
    }
  }

  // The caller has what it wanted; how the transfer ended afterwards is of no interest.
  bool is_enough() const { return is_enough_; }

 private:
  // A server ends its answer right after the last event that anybody wants. Only a transfer that
  // has ended leaves a connection that can be used again.
  void let_finish() {
    std::unique_lock lock(exchange_.mutex);
    exchange_.changed.wait_for(
        lock, k_finish_grace, [&] { return exchange_.is_done || exchange_.is_stopped; });
  }

  // The worker sleeps until the deadline that it knows: it is woken where another one may come
  // before.
  void note(agent::Heard heard) {
    bool wake = false;
    {
      const std::lock_guard lock(exchange_.mutex);
      exchange_.is_reading = false;
      wake = std::exchange(exchange_.is_watched, false);
      if (heard != agent::Heard::nothing) {
        exchange_.last_heard = std::chrono::steady_clock::now();
      }
      if (heard >= agent::Heard::answer && !std::exchange(exchange_.is_answering, true)) {
        wake = true;
      }
      if (heard == agent::Heard::last) {
        wake = exchange_.is_whole = true;
      }
    }
    if (wake) {
      worker_.look();
    }
  }

  // False: there is nothing more to take.
  bool take(std::string& bytes) {
    bytes.clear();
    bool resume = false;
    {
      std::unique_lock lock(exchange_.mutex);
      exchange_.changed.wait(lock, [&] {
        return exchange_.is_done || exchange_.is_stopped || !exchange_.inbox.empty();
      });
      if ((exchange_.is_stopped && !exchange_.is_done) ||
          (exchange_.is_done && exchange_.inbox.empty())) {
        return false;
      }
      bytes.swap(exchange_.inbox);
      exchange_.is_reading = true;
      resume = std::exchange(exchange_.is_paused, false);
    }
    if (resume) {
      worker_.resume(id_);
    }
    return true;
  }

  HttpWorker& worker_;
  Exchange& exchange_;
  const std::uint64_t id_;
  bool is_enough_ = false;
};

}  // namespace

agent::Result<HttpWorker*> HttpClient::worker() {
  const std::lock_guard lock(mutex_);
  if (worker_ == nullptr) {
    TRY_ASSIGN(worker_, HttpWorker::create(settings_));
  }
  return worker_.get();
}

agent::Result<HttpResponse> HttpClient::send(const HttpRequest& request,
                                             const agent::OnData& on_data,
                                             std::stop_token stop) {
  if (stop.stop_requested()) {
    return agent::fail(cancelled());
  }
  TRY(check_lines(request));
  TRY_ASSIGN(const Url url, parse_url(request.url, Code::provider_tls));
  TRY_ASSIGN(HttpWorker* const worker, this->worker());

  Exchange exchange{.request = request, .wants_data = on_data != nullptr};
  Call call(*worker, exchange);
  const std::stop_callback on_stop(stop, [&exchange] {
    const std::lock_guard lock(exchange.mutex);
    exchange.is_stopped = true;
    exchange.changed.notify_one();
  });
  call.wait(on_data);
  call.end();

  const auto& outcome = exchange.outcome;
  if (outcome.code == CURLE_OK && exchange.response.status == 0 && !outcome.is_cancelled) {
    return agent::fail(network_error({request, url, settings_}, outcome));  // within the head
  }
  if (call.is_enough() || outcome.code == CURLE_OK ||
      is_refusal(outcome, exchange.response.status)) {
    return std::move(exchange.response);
  }
  if (outcome.is_cancelled) {
    return agent::fail(cancelled());
  }
  return agent::fail(to_error({request, url, settings_}, outcome, exchange.response.status));
}

}  // namespace providers
