// The events of a run as a client hears of them: a line for each thing that begins, and while one
// goes on a line a second at most.
#pragma once
#include "agent/event.h"
#include "cli/serve/served_tool.h"

#include <chrono>
#include <functional>
#include <string>

namespace cli {

class RunProgress final : public agent::EventSink {
 public:
  // `progress` takes secrets out itself.
  RunProgress(ServedProgress progress, std::function<void(const agent::Warning&)> warn)
      : progress_(std::move(progress)), warn_(std::move(warn)) {}

  void on(const agent::Event& event) override;

 private:
  void say(const agent::Event& event, const std::string& line);
  void say_now_and_then(const agent::Event& event, const std::string& line);

  ServedProgress progress_;
  std::function<void(const agent::Warning&)> warn_;
  std::chrono::system_clock::time_point last_;
};

}  // namespace cli
