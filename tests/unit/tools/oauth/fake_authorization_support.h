// An authorization server and an MCP server's metadata, as an agent::Http that answers from tables,
// and remembers what it was asked.
#pragma once
#include "agent/http.h"
#include "agent/json.h"
#include "tests/support/fakes.h"
#include "tools/oauth/oauth_options.h"

#include <nlohmann/json.hpp>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tests {

class FakeAuthorization final : public agent::Http {
 public:
  struct Asked {
    std::string method;
    std::string url;
    std::string body;
    std::string authorization;
  };

  FakeAuthorization() {
    pages["https://s.example/.well-known/oauth-protected-resource/mcp"] = resource();
    pages["https://as.example/.well-known/oauth-authorization-server"] = server();
  }

  static agent::Json resource() {
    return {{"resource", "https://s.example/mcp"},
            {"authorization_servers", {"https://as.example"}},
            {"scopes_supported", {"read"}}};
  }
  static agent::Json server() {
    return {{"issuer", "https://as.example"},
            {"authorization_endpoint", "https://as.example/authorize"},
            {"token_endpoint", "https://as.example/token"},
            {"registration_endpoint", "https://as.example/register"},
            {"code_challenge_methods_supported", {"S256"}}};
  }
  static agent::Json tokens(const std::string& access, const std::string& refresh = {}) {
    agent::Json json = {{"access_token", access}, {"token_type", "Bearer"}, {"expires_in", 3'600}};
    if (!refresh.empty()) {
      json["refresh_token"] = refresh;
    }
    return json;
  }

  // GETs are answered by `pages`, POSTs by `answers` of their address, one after the other.
  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData&,
                                          std::stop_token stop) override {
    const std::scoped_lock lock(mutex_);
    asked.push_back(
        {.method = request.method,
         .url = request.url,
         .body = std::string(request.body),
         .authorization = std::string(agent::header(request.headers, "Authorization"))});
    if (request.method == "GET") {
      const auto page = pages.find(request.url);
      return page == pages.end()
                 ? agent::HttpResponse{.status = 404}
                 : agent::HttpResponse{.status = 200, .body = agent::dump(page->second)};
    }
    auto& queue = answers[request.url];
    if (queue.empty()) {
      return agent::fail(agent::Code::provider_network, "nobody listens there");
    }
    agent::HttpResponse response = std::move(queue.front());
    queue.pop_front();
    while_answering();
    if (stop.stop_requested()) {
      return agent::fail(agent::Code::run_cancelled, "stopped");
    }
    return response;
  }

  std::function<void()> while_answering = [] {};

  void will_answer(const std::string& url, int status, const agent::Json& json) {
    answers[url].push_back({.status = status, .body = agent::dump(json)});
  }
  std::vector<std::string> urls() const {
    std::vector<std::string> all;
    for (const Asked& one : asked) {
      all.push_back(one.url);
    }
    return all;
  }

  std::map<std::string, agent::Json> pages;
  std::map<std::string, std::deque<agent::HttpResponse>> answers;
  std::vector<Asked> asked;

 private:
  std::mutex mutex_;
};

inline tools::oauth::OAuthOptions options_of(agent::Http& http,
                                             agent::Clock& clock,
                                             const std::filesystem::path& folder) {
  return {.name = "crm",
          .server = *tools::parse_url("https://s.example/mcp"),
          .spec = {},
          .folder = folder,
          .http = &http,
          .clock = &clock,
          .login_command = "errand mcp login agent.yaml crm",
          .may_have_secret = [](const std::string&) -> agent::Result<void> { return {}; }};
}

}  // namespace tests
