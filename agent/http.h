// One HTTP exchange as a port: the protocols are written against this, and know no curl.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sockaddr;

namespace agent {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The first header of that name (case-insensitive), or empty.
std::string_view header(const Headers& headers, std::string_view name);

// What names of headers and methods are made of (RFC 9110, 5.6.2).
bool is_token_byte(char byte);
bool is_token(std::string_view text);  // one byte or more

// What Amazon's services want a request signed with (Signature Version 4).
struct AwsSigner {
  std::string region;  // "us-east-1"
  std::string service;
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // of keys that expire; else empty

  bool operator==(const AwsSigner&) const = default;
};

// Whether a connection to the address may be made: asked of what a name was resolved to, right
// before each, on another thread.
using AddressFilter = std::function<bool(const sockaddr& address)>;

struct HttpRequest {
  std::string method = "POST";
  std::string url;
  Headers headers;
  std::string_view body;  // borrowed until send() returns
  bool streamed = false;  // first_byte and idle count beside request
  Timeouts timeouts;
  const AwsSigner* signer = nullptr;  // borrowed likewise; null: the request is not signed
  std::size_t max_body = 64u << 20;   // a longer answer is provider.bad_response
  // Borrowed likewise; null: none. The head of a 2xx answer has come: called once, before its
  // bytes, on another thread, which waits for it.
  const std::function<void()>* on_accepted = nullptr;
  // Borrowed likewise; null: any. With one, the connection is new, and no proxy's: a proxy would
  // resolve names by itself.
  const AddressFilter* may_connect = nullptr;
};

struct HttpResponse {
  int status = 0;
  Headers headers;
  std::string body;  // whole where no on_data was given, or where the status is not 2xx
};

// What bytes of an answer are to who reads them, and so which deadlines they hold off: a server
// that sends, and says nothing, is not waited for.
enum class Heard : std::uint8_t {
  nothing,     // blank lines, a piece of an event, an event that says nothing: no deadline
  keep_alive,  // `idle`, and not `first_byte`
  answer,      // `idle`; that of `first_byte` is over
  last,        // the answer is whole: what is left of the exchange has a second
  enough,      // ends the exchange early as a success: the rest is not wanted
};

// Called on the thread that called send(), with the bytes as they come (2xx answers only). While it
// runs, neither `idle` nor `first_byte` counts.
using OnData = std::function<Heard(std::string_view)>;

class Http {
 public:
  virtual ~Http() = default;

  // Any status is a response, not an error. Errors: provider.network, provider.timeout,
  // provider.tls, provider.stream_broken (a body that ended early: reset, wrong length),
  // provider.bad_response (not HTTP, body over the limit), run.cancelled (`stop` requested;
  // within 100 ms). Thread-safe: many sends may run at once.
  virtual Result<HttpResponse> send(const HttpRequest& request,
                                    const OnData& on_data,
                                    std::stop_token stop) = 0;
};

}  // namespace agent
