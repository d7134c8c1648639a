// Asks a model something beside the run's own conversation, as judges and summaries do: without
// tools, within the run's limits, a time and a stop.
#pragma once
#include "agent/budget.h"
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/price.h"
#include "agent/provider.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace agent {

class SideQuestion {
 public:
  // Borrowed.
  struct Ports {
    Provider& provider;
    const std::map<std::string, Price>& prices;
    const Budget* budget;  // null: nothing is counted against it
    Clock& clock;
    Conversation& conversation;  // outlives the provider's use of it: each question's alone
  };
  struct Words {
    std::string_view instructions;
    std::string text;
    std::string_view output_schema = {};                     // empty: free text
    std::optional<std::int64_t> most_output = std::nullopt;  // tokens
  };

  // The time begins to count.
  SideQuestion(Ports ports,
               std::string model,
               std::chrono::milliseconds timeout,
               std::stop_token stop);

  // `hear` gets what happens meanwhile, whose bodies are not the run's. At a limit nothing is
  // asked, or no more.
  Result<Reply> ask(Words words, const Emit& hear = {});

  bool is_late() const { return is_late_; }
  const std::optional<Ending>& at_limit() const { return at_limit_; }
  std::optional<ModelUse> use() const;  // of all that was asked; nullopt: it cost nothing

 private:
  struct Asked {
    std::string model;
    std::int64_t input;  // tokens
    std::optional<std::int64_t> most_output;
  };
  // Before each try: gives the answer the room that is left, or stops it.
  void make_room(const Asked& asked, ModelRequest& request);
  void listen(Asked& asked, ModelRequest& request, const EventBody& body);

  Ports ports_;
  ModelUse use_;
  std::optional<Ending> at_limit_;
  std::atomic<bool> is_late_ = false;
  std::stop_source ending_;
  std::stop_callback<std::function<void()>> forward_;
  std::jthread deadline_;
};

}  // namespace agent
