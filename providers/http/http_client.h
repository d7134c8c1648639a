// agent::Http over libcurl: connections are kept and shared, every wait has a deadline and can be
// interrupted. Retries nothing.
#pragma once
#include "agent/environment.h"
#include "agent/http.h"
#include "providers/http/http_worker.h"

#include <memory>
#include <mutex>
#include <stop_token>

namespace providers {

class HttpClient final : public agent::Http {
 public:
  // Costs nothing: curl and its thread start with the first send.
  explicit HttpClient(const agent::Environment& environment) : settings_(environment) {}

  // As agent::Http says. A header or method with a line break is provider.invalid_request.
  // The client must outlive every send.
  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token stop) override;

 private:
  agent::Result<HttpWorker*> worker();

  HttpSettings settings_;
  std::mutex mutex_;
  std::unique_ptr<HttpWorker> worker_;  // under mutex_ until it is there
};

}  // namespace providers
