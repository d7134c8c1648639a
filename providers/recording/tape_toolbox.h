// A toolbox whose calls are timed for a recording, and one that plays the times back. The tools run
// for real in both.
#pragma once
#include "agent/toolbox.h"
#include "providers/recording/tape_track.h"

#include <string>

namespace providers {

class RecordingToolbox final : public agent::Toolbox {
 public:
  RecordingToolbox(agent::Toolbox& tools, RecordingTrack& track) : tools_(tools), track_(track) {}

  std::span<const agent::ToolInfo> tools() const override { return tools_.tools(); }
  std::vector<agent::ToolResult> run(std::span<const agent::ToolCall> calls,
                                     agent::ToolWatcher& watcher,
                                     std::stop_token stop,
                                     std::stop_token kill) override;

 private:
  agent::Toolbox& tools_;
  RecordingTrack& track_;
};

// The run's temporary folder, which results and arguments may name.
struct FolderNames {
  std::string recorded;
  std::string now;
};

// Tells of calls' ends in the recorded order and with the recorded times. Where the run's temporary
// folder is named, the conversation has the recorded one and the tools the one of now.
class ReplayingToolbox final : public agent::Toolbox {
 public:
  ReplayingToolbox(agent::Toolbox& tools, ReplayingTrack& track, FolderNames folder)
      : tools_(tools), track_(track), folder_(std::move(folder)) {}

  std::span<const agent::ToolInfo> tools() const override { return tools_.tools(); }
  std::vector<agent::ToolResult> run(std::span<const agent::ToolCall> calls,
                                     agent::ToolWatcher& watcher,
                                     std::stop_token stop,
                                     std::stop_token kill) override;

 private:
  agent::Toolbox& tools_;
  ReplayingTrack& track_;
  FolderNames folder_;
};

}  // namespace providers
