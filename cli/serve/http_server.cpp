#include "cli/serve/http_server.h"

#include "agent/text.h"
#include "cli/serve/mcp_over_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <system_error>

namespace cli {
namespace {

constexpr std::chrono::seconds k_last_words{2};

std::string url_of(const HttpPlace& place, std::uint16_t port) {
  const bool is_six = place.address.contains(':');
  return fmt::format(
      "http://{}{}{}:{}/mcp", is_six ? "[" : "", place.address, is_six ? "]" : "", port);
}

}  // namespace

agent::Result<HttpPlace> http_place(std::string_view text) {
  HttpPlace place;
  std::string_view port = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    std::string_view address = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (address.starts_with('[') && address.ends_with(']')) {
      address = address.substr(1, address.size() - 2);
    }
    place.address = address == "localhost" ? "127.0.0.1" : std::string(address);
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  if (error != std::errc() || end != port.data() + port.size() || place.address.empty()) {
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("`--http {}` is no port", agent::one_line(text, 60)),
                       "for example 8123, 127.0.0.1:8123 or [::1]:8123; 0 is any free port");
  }
  return place;
}

agent::Result<void> serve_http(const HttpWorld& world) {
  if (!is_loopback(world.place.address) && world.token.empty()) {
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("others can reach {}, and no token is asked of them",
                                   agent::one_line(world.place.address, 60)),
                       "name the variable that has one with --token-env, or listen on 127.0.0.1");
  }
  TRY_ASSIGN(const auto listener,
             HttpListener::open(world.place.address, world.place.port, HttpLimits{}));
  McpOverHttp handler(
      {.listener = *listener, .tools = world.tools, .pool = world.pool, .redactor = world.redactor},
      {.token = world.token, .hosts = hosts_of(world.place.address)},
      {});
  world.tell_url(url_of(world.place, listener->port()));
  {
    const EndOfCalls end_of_calls(world.pool,
                                  {.error = agent::Error{.code = agent::Code::run_cancelled,
                                                         .message = "the server was ended"},
                                   .signal = SIGTERM});
    listener->serve(handler, world.cancellation.stop());
  }
  listener->flush(k_last_words);
  return {};
}

}  // namespace cli
