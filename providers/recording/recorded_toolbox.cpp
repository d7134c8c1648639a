#include "providers/recording/recorded_toolbox.h"

#include "agent/state.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace providers {
namespace {

// Passes on what it hears.
class PassingWatcher : public agent::ToolWatcher {
 public:
  explicit PassingWatcher(agent::ToolWatcher& watcher) : watcher_(watcher) {}

  agent::HookDecision judge(const agent::ToolCall& call) override { return watcher_.judge(call); }
  agent::Answer ask(const agent::ApprovalRequest& request) override {
    return watcher_.ask(request);
  }
  void parked(std::span<const agent::ApprovalRequest> requests,
              std::span<const agent::WaitingCall> others,
              const agent::Error& why) override {
    watcher_.parked(requests, others, why);
  }
  bool started(const agent::ToolCall& call) override { return watcher_.started(call); }
  void output(const agent::ToolCall& call, std::string_view chunk) override {
    watcher_.output(call, chunk);
  }
  void finished(const agent::ToolResult& result) override { watcher_.finished(result); }
  bool began(const agent::MemberStarted& member) override { return watcher_.began(member); }
  void ended(const agent::MemberFinished& member) override { watcher_.ended(member); }
  agent::SubAgentRecord sub_agent(std::string_view call_id) const override {
    return watcher_.sub_agent(call_id);
  }
  void suspended(const agent::ToolCall& call, const agent::Ending& why) override {
    watcher_.suspended(call, why);
  }
  agent::Conversation conversation() const override { return watcher_.conversation(); }
  void added(std::span<const agent::AddedTool> tools, std::string_view reason) override {
    watcher_.added(tools, reason);
  }
  std::optional<std::string> earlier_result(std::int64_t number) override {
    return watcher_.earlier_result(number);
  }

 protected:
  agent::ToolWatcher& watcher_;
};

class TimingWatcher final : public PassingWatcher {
 public:
  TimingWatcher(agent::ToolWatcher& watcher, RecordingTimings& timings)
      : PassingWatcher(watcher), timings_(timings) {}

  void finished(const agent::ToolResult& result) override {
    timings_.note_tool(result.call_id, result.duration_ms);
    watcher_.finished(result);
  }

 private:
  RecordingTimings& timings_;
};

std::string renamed(std::string text, std::string_view from, std::string_view to) {
  if (from.empty() || to.empty() || from == to) {
    return text;
  }
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class ReplayingWatcher final : public PassingWatcher {
 public:
  ReplayingWatcher(agent::ToolWatcher& watcher,
                   std::vector<Timings::ToolTime> recorded,
                   const FolderNames& folder)
      : PassingWatcher(watcher), recorded_(std::move(recorded)), folder_(folder) {
    for (const auto& [call_id, duration_ms] : recorded_) {
      durations_.emplace(call_id, duration_ms);
    }
  }

  agent::HookDecision judge(const agent::ToolCall& call) override {
    agent::HookDecision ruling = watcher_.judge(as_recorded(call));
    if (ruling.text) {
      ruling.text = folder_.as_now(*std::move(ruling.text));
    }
    return ruling;
  }
  agent::Answer ask(const agent::ApprovalRequest& request) override {
    return watcher_.ask(as_recorded(request));
  }
  void parked(std::span<const agent::ApprovalRequest> requests,
              std::span<const agent::WaitingCall> others,
              const agent::Error& why) override {
    std::vector<agent::ApprovalRequest> recorded;
    for (const agent::ApprovalRequest& request : requests) {
      recorded.push_back(as_recorded(request));
    }
    agent::Error error = why;
    error.message = as_recorded(std::move(error.message));
    error.help = as_recorded(std::move(error.help));
    watcher_.parked(recorded, others, error);
  }
  bool started(const agent::ToolCall& call) override { return watcher_.started(as_recorded(call)); }
  void output(const agent::ToolCall& call, std::string_view chunk) override {
    watcher_.output(as_recorded(call), as_recorded(std::string(chunk)));
  }
  void suspended(const agent::ToolCall& call, const agent::Ending& why) override {
    watcher_.suspended(as_recorded(call), why);
  }
  void finished(const agent::ToolResult& result) override {
    if (!durations_.contains(result.call_id)) {
      watcher_.finished(as_recorded(result));
      return;
    }
    held_back_.insert_or_assign(result.call_id, as_recorded(result));
    while (next_ < recorded_.size() && held_back_.contains(recorded_[next_].first)) {
      watcher_.finished(held_back_.extract(recorded_[next_++].first).mapped());
    }
  }
  // What waited for a call that the recording has and this run has not.
  void flush() {
    for (const auto& [call_id, result] : held_back_) {
      watcher_.finished(result);
    }
  }

  agent::ToolResult as_recorded(agent::ToolResult result) const {
    result.content = as_recorded(std::move(result.content));
    result.message = as_recorded(std::move(result.message));
    result.full_output = as_recorded(std::move(result.full_output));
    const auto time = durations_.find(result.call_id);
    result.duration_ms = time == durations_.end() ? result.duration_ms : time->second;
    return result;
  }

 private:
  std::string as_recorded(std::string text) const { return folder_.as_recorded(std::move(text)); }
  agent::ToolCall as_recorded(agent::ToolCall call) const {
    call.arguments = as_recorded(std::move(call.arguments));
    return call;
  }
  agent::ApprovalRequest as_recorded(agent::ApprovalRequest request) const {
    request.call = as_recorded(std::move(request.call));
    request.rule = as_recorded(std::move(request.rule));
    return request;
  }

  const std::vector<Timings::ToolTime> recorded_;
  std::unordered_map<std::string, std::int64_t> durations_;  // in milliseconds, by call id
  const FolderNames& folder_;
  std::map<std::string, agent::ToolResult> held_back_;  // ended before their turn
  std::size_t next_ = 0;                                // of recorded_
};

}  // namespace

std::string FolderNames::as_recorded(std::string text) const {
  return renamed(std::move(text), now, recorded);
}

std::string FolderNames::as_now(std::string text) const {
  return renamed(std::move(text), recorded, now);
}

std::vector<agent::ToolResult> RecordingToolbox::run(std::span<const agent::ToolCall> calls,
                                                     agent::ToolWatcher& watcher,
                                                     std::stop_token stop,
                                                     std::stop_token kill) {
  TimingWatcher timing(watcher, timings_);
  auto results = tools_.run(calls, timing, std::move(stop), std::move(kill));
  timings_.end_tools();
  return results;
}

std::vector<agent::ToolResult> ReplayingToolbox::run(std::span<const agent::ToolCall> calls,
                                                     agent::ToolWatcher& watcher,
                                                     std::stop_token stop,
                                                     std::stop_token kill) {
  std::vector<agent::ToolCall> real(calls.begin(), calls.end());
  for (agent::ToolCall& call : real) {
    call.arguments = folder_.as_now(std::move(call.arguments));
  }
  ReplayingWatcher replaying(watcher, timings_.tools(), folder_);
  auto results = tools_.run(real, replaying, std::move(stop), std::move(kill));
  replaying.flush();
  timings_.end_tools();
  for (agent::ToolResult& result : results) {
    result = replaying.as_recorded(std::move(result));
  }
  return results;
}

}  // namespace providers
