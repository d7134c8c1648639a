// A toolbox whose calls are timed for a recording, and one that plays the times back. The tools run
// for real in both.
#pragma once
#include "agent/toolbox.h"
#include "providers/recording/recorded_timings.h"

#include <stop_token>
#include <string>
#include <utility>

namespace providers {

class RecordingToolbox final : public agent::Toolbox {
 public:
  RecordingToolbox(agent::Toolbox& tools, RecordingTimings& timings)
      : tools_(tools), timings_(timings) {}

  std::span<const agent::ToolInfo> tools() const override { return tools_.tools(); }
  std::vector<agent::ToolInfo> added_tools(std::span<const agent::AddedTool> tools) const override {
    return tools_.added_tools(tools);
  }
  agent::ToolNews take_news(std::stop_token stop) override {
    return tools_.take_news(std::move(stop));
  }
  std::vector<agent::ToolResult> run(std::span<const agent::ToolCall> calls,
                                     agent::ToolWatcher& watcher,
                                     std::stop_token stop,
                                     std::stop_token kill) override;
  std::vector<agent::Leftover> tidy_up() override { return tools_.tidy_up(); }

 private:
  agent::Toolbox& tools_;
  RecordingTimings& timings_;
};

// The run's temporary folder, which results and arguments may name.
struct FolderNames {
  std::string recorded;
  std::string now;

  std::string as_recorded(std::string text) const;
  std::string as_now(std::string text) const;
};

// Tells of calls' ends in the recorded order and with the recorded times. Where the run's temporary
// folder is named, the conversation has the recorded one and the tools the one of now.
class ReplayingToolbox final : public agent::Toolbox {
 public:
  ReplayingToolbox(agent::Toolbox& tools, ReplayingTimings& timings, FolderNames folder)
      : tools_(tools), timings_(timings), folder_(std::move(folder)) {}

  std::span<const agent::ToolInfo> tools() const override { return tools_.tools(); }
  std::vector<agent::ToolInfo> added_tools(std::span<const agent::AddedTool> tools) const override {
    return tools_.added_tools(tools);
  }
  agent::ToolNews take_news(std::stop_token stop) override {
    return tools_.take_news(std::move(stop));
  }
  std::vector<agent::ToolResult> run(std::span<const agent::ToolCall> calls,
                                     agent::ToolWatcher& watcher,
                                     std::stop_token stop,
                                     std::stop_token kill) override;
  std::vector<agent::Leftover> tidy_up() override { return tools_.tidy_up(); }

 private:
  agent::Toolbox& tools_;
  ReplayingTimings& timings_;
  FolderNames folder_;
};

}  // namespace providers
