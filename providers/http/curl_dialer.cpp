#include "providers/http/curl_dialer.h"

#include "providers/http/http_worker.h"
#include "providers/http/url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <fcntl.h>
#include <memory>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using agent::Descriptor;
using agent::fail;
using agent::Result;

constexpr long k_patience_ms = 60'000;

// What curl's callbacks are told of one attempt.
struct Attempt {
  const agent::AddressFilter* may_connect;  // null: any
  std::stop_token stop;
};

curl_socket_t on_socket(void* attempt, curlsocktype, curl_sockaddr* address) noexcept {
  return open_socket(static_cast<Attempt*>(attempt)->may_connect, *address);
}

int check_stop(void* attempt, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  return static_cast<Attempt*>(attempt)->stop.stop_requested() ? 1 : 0;
}

}  // namespace

CurlDialer::CurlDialer(const agent::Environment& environment) {
  const HttpSettings settings(environment);
  proxy_ = settings.https_proxy;
  no_proxy_ = settings.no_proxy;
}

Result<Descriptor> CurlDialer::dial(const std::string& host,
                                    int port,
                                    const agent::AddressFilter& may_connect,
                                    std::stop_token stop) {
  const std::unique_ptr<CURL, void (*)(CURL*)> easy(start_curl() ? curl_easy_init() : nullptr,
                                                    curl_easy_cleanup);
  if (!easy) {
    return fail(Code::os_failed, "cannot start libcurl");
  }
  const std::string authority = fmt::format("{}:{}", host, port);
  const std::string url = fmt::format("http://{}/", authority);
  const std::string proxy = proxy_for(url, proxy_);
  Attempt attempt{.may_connect = proxy.empty() && may_connect ? &may_connect : nullptr,
                  .stop = std::move(stop)};
  std::array<char, CURL_ERROR_SIZE> error = {};
  bool are_fine = true;
  const auto set = [&](CURLoption option, auto value) {
    are_fine = curl_easy_setopt(easy.get(), option, value) == CURLE_OK && are_fine;
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_CONNECT_ONLY, 1L);
  set(CURLOPT_PROXY, proxy.c_str());
  set(CURLOPT_NOPROXY, no_proxy_.c_str());
  set(CURLOPT_HTTPPROXYTUNNEL, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a cancelled look-up of a name is not waited for
  set(CURLOPT_CONNECTTIMEOUT_MS, k_patience_ms);
  set(CURLOPT_TIMEOUT_MS, k_patience_ms);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &check_stop);
  set(CURLOPT_XFERINFODATA, &attempt);
  set(CURLOPT_OPENSOCKETFUNCTION, &on_socket);
  set(CURLOPT_OPENSOCKETDATA, &attempt);
  set(CURLOPT_ERRORBUFFER, error.data());
  if (!are_fine) {
    return fail(Code::os_failed, "libcurl refused an option");
  }
  const CURLcode code = curl_easy_perform(easy.get());
  if (code == CURLE_ABORTED_BY_CALLBACK && attempt.stop.stop_requested()) {
    return fail(Code::run_cancelled, "stopped");
  }
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (code == CURLE_OK) {
    curl_easy_getinfo(easy.get(), CURLINFO_ACTIVESOCKET, &socket);
  }
  // The handle's own number of it is closed with the handle.
  Descriptor connection(socket != CURL_SOCKET_BAD ? ::fcntl(socket, F_DUPFD_CLOEXEC, 3) : -1);
  if (!connection) {
    const std::string why = error[0] != '\0' ? error.data() : curl_easy_strerror(code);
    return fail(code == CURLE_OPERATION_TIMEDOUT ? Code::provider_timeout : Code::provider_network,
                fmt::format("cannot connect to {}: {}", authority, why));
  }
  ::fcntl(connection.get(), F_SETFL, O_NONBLOCK);
  return connection;
}

}  // namespace providers
