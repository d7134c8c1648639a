#include "tools/process/proxy_request.h"

#include "agent/text.h"
#include "tools/web/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tools {
namespace {

using agent::Code;
using agent::Result;

constexpr std::string_view k_line_end = "\r\n";
constexpr std::string_view k_head_end = "\r\n\r\n";
constexpr std::string_view k_scheme = "http://";

// About the connection to the proxy, not for the server.
constexpr std::array<std::string_view, 4> k_ours = {
    "connection", "keep-alive", "proxy-connection", "proxy-authorization"};

std::unexpected<agent::Error> no_request(std::string_view why) {
  return agent::fail(Code::tool_invalid_parameters, std::string(why));
}

std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return part;
}

struct RequestLine {
  std::string_view method;
  std::string_view target;
};

Result<RequestLine> read_request_line(std::string_view line) {
  const std::string_view method = take_until(line, " ");
  const std::string_view target = take_until(line, " ");
  const bool is_plain = std::ranges::all_of(target, [](char c) { return c > ' ' && c < '\x7f'; });
  if (method.empty() || target.empty() || !is_plain || !line.starts_with("HTTP/1.")) {
    return no_request("this is not an HTTP/1 request");
  }
  return RequestLine{.method = method, .target = target};
}

// The headers but for those of the connection to the proxy and Host, which the target has said.
Result<std::string> for_the_server(std::string_view headers) {
  std::string kept;
  while (!headers.empty()) {
    const std::string_view line = take_until(headers, k_line_end);
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos || line.find('\n') != std::string::npos ||
        line.front() == ' ' || line.front() == '\t') {
      return no_request("a header of the request cannot be read");
    }
    const std::string name = agent::to_lower(line.substr(0, colon));
    if (name != "host" && std::ranges::find(k_ours, name) == k_ours.end()) {
      kept += line;
      kept += k_line_end;
    }
  }
  return kept;
}

}  // namespace

std::size_t head_size(std::string_view bytes) {
  const std::size_t end = bytes.find(k_head_end);
  return end == std::string_view::npos ? 0 : end + k_head_end.size();
}

Result<ProxyRequest> read_proxy_request(std::string_view head) {
  head.remove_suffix(k_line_end.size());
  TRY_ASSIGN(const RequestLine line, read_request_line(take_until(head, k_line_end)));
  std::string_view rest = line.target;
  const bool is_tunnel = line.method == "CONNECT";
  if (!is_tunnel) {
    if (!agent::to_lower(rest.substr(0, k_scheme.size())).starts_with(k_scheme)) {
      return no_request("only http:// addresses and CONNECT are served");
    }
    rest.remove_prefix(k_scheme.size());
  }
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  rest.remove_prefix(authority.size());
  auto target = parse_host(authority);
  if (!target) {
    return no_request(target.error().message);
  }
  ProxyRequest request{.host = std::move(target->host), .port = target->port, .head = {}};
  if (is_tunnel) {
    return request.port != 0 && rest.empty() ? Result<ProxyRequest>(std::move(request))
                                             : no_request("CONNECT needs HOST:PORT");
  }
  request.port = request.port != 0 ? request.port : 80;
  TRY_ASSIGN(const std::string headers, for_the_server(head));
  request.head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n{}Connection: close\r\n\r\n",
                             line.method,
                             rest.starts_with('/') ? "" : "/",
                             rest,
                             authority,
                             headers);
  return request;
}

}  // namespace tools
