#include "providers/recording/recording_http.h"

#include <chrono>
#include <string>
#include <utility>

namespace providers {

agent::Result<agent::HttpResponse> RecordingHttp::send(const agent::HttpRequest& request,
                                                       const agent::OnData& on_data,
                                                       std::stop_token stop) {
  ShownRequest asked = shown(request, redactor_);
  RecordedExchange exchange{.member = member_,
                            .before = timings_.take(),
                            .method = std::move(asked.method),
                            .url = std::move(asked.url),
                            .request_headers = telling_headers(request.headers),
                            .request_body = std::move(asked.body),
                            .headers = {}};
  auto last = clock_.now();
  const auto keep = [&](std::string_view bytes) {
    const auto now = clock_.now();
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - last);
    exchange.pieces.push_back({.after_ms = waited.count(), .bytes = std::string(bytes)});
    last = now;
  };
  const agent::OnData through = [&](std::string_view bytes) {
    keep(bytes);
    return on_data(bytes);
  };
  auto response = inner_.send(request, on_data ? through : on_data, std::move(stop));
  if (response) {
    exchange.status = response->status;
    exchange.headers = response->headers;
    if (!response->body.empty()) {
      keep(response->body);
    }
  } else {
    exchange.error = response.error();
  }
  exchange.clock = timings_.take_clock();
  writer_.add(std::move(exchange));
  return response;
}

}  // namespace providers
