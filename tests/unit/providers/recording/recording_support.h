// What the tests of recordings share: a folder of their own, and an HTTP client that plays answers.
#pragma once
#include "agent/http.h"
#include "providers/recording/cassette.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tests {

struct TapeFolder {
  TapeFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "errand-io-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TapeFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TapeFolder(const TapeFolder&) = delete;
  TapeFolder& operator=(const TapeFolder&) = delete;

  std::string file() const { return (path / "run.cassette").string(); }
  std::string text() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path path;
};

// Answers in pieces, one after the other; an error ends its answer.
class PlayedHttp final : public agent::Http {
 public:
  struct Answer {
    int status = 200;
    std::vector<std::string> pieces;
    std::optional<agent::Error> error = std::nullopt;
    agent::Headers headers = {};
  };

  explicit PlayedHttp(std::deque<Answer> answers) : answers_(std::move(answers)) {}

  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& /*request*/,
                                          const agent::OnData& on_data,
                                          std::stop_token /*stop*/) override {
    REQUIRE_FALSE(answers_.empty());
    const Answer answer = std::move(answers_.front());
    answers_.pop_front();
    agent::HttpResponse response{.status = answer.status, .headers = answer.headers, .body = {}};
    for (const std::string& piece : answer.pieces) {
      if (!on_data || answer.status != 200) {
        response.body += piece;
      } else if (on_data(piece) == agent::Heard::enough) {
        return response;
      }
    }
    if (answer.error) {
      return agent::fail(*answer.error);
    }
    return response;
  }

 private:
  std::deque<Answer> answers_;
};

inline agent::HttpRequest post(std::string_view body,
                               std::string url = "https://api.example.com/v1/chat") {
  return {.url = std::move(url),
          .headers = {{"content-type", "application/json"},
                      {"authorization", "Bearer a-secret-of-the-test"}},
          .body = body,
          .streamed = true};
}

// What came of one request: the pieces that were handed out, then the answer.
struct Sent {
  std::vector<std::string> pieces;
  agent::Result<agent::HttpResponse> response;
};

inline Sent send(agent::Http& http, const agent::HttpRequest& request) {
  Sent sent{.pieces = {}, .response = agent::HttpResponse{}};
  sent.response = http.send(request,
                            [&](std::string_view bytes) {
                              sent.pieces.emplace_back(bytes);
                              return agent::Heard::answer;
                            },
                            {});
  return sent;
}

inline providers::RecordedRun recorded_run() {
  return {.run_id = "01a1fef0-b9c2-729f-94d7-6eaa1b848f64",
          .start = agent::Clock::Wall(std::chrono::milliseconds(1'700'000'000'123)),
          .seed = 42,
          .key_variable = "TEST_KEY",
          .folder = "/tmp/errand-1"};
}

}  // namespace tests
