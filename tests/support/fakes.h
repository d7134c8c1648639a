// Stand-ins for the ports of a run: a clock turned by hand, a provider that plays replies, a
// toolbox that answers from a function, sinks that remember.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/provider.h"
#include "agent/toolbox.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tests {

// Time passes only in sleep_for, and at once; a sleeper that nobody waits for can hold it.
class FakeClock final : public agent::Clock {
 public:
  Steady now() const override { return Steady(now_.load()); }
  Wall wall() const override {
    return Wall(std::chrono::duration_cast<Wall::duration>(now_.load()));
  }
  bool sleep_for(std::chrono::milliseconds time, std::stop_token stop) override {
    if (stop.stop_requested()) {
      return false;
    }
    const std::scoped_lock lock(mutex_);
    slept.push_back(time);
    now_ = now_.load() + time;
    return true;
  }

  std::vector<std::chrono::milliseconds> slept;

 private:
  std::mutex mutex_;  // a deadline sleeps on a thread of its own
  std::atomic<std::chrono::nanoseconds> now_{std::chrono::hours(24 * 365 * 50)};
};

class ScriptedProvider final : public agent::Provider {
 public:
  using Answer =
      std::function<agent::Result<agent::Reply>(const agent::ModelRequest&, const agent::Emit&)>;

  explicit ScriptedProvider(std::deque<Answer> answers) : answers_(std::move(answers)) {}

  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token) override {
    conversations.push_back(request.conversation.messages);
    max_output_tokens.push_back(request.max_output_tokens);
    if (answers_.empty()) {
      return agent::fail(agent::Code::replay_miss, "the test's script is over");
    }
    Answer answer = std::move(answers_.front());
    answers_.pop_front();
    return answer(request, emit);
  }

  std::vector<std::vector<agent::Message>> conversations;  // one a request
  std::vector<std::optional<std::int64_t>> max_output_tokens;

 private:
  std::deque<Answer> answers_;
};

class FakeToolbox final : public agent::Toolbox {
 public:
  using Run = std::function<agent::ToolResult(const agent::ToolCall&)>;

  explicit FakeToolbox(Run run = {}) : run_(std::move(run)) {}

  std::span<const agent::ToolInfo> tools() const override { return infos; }
  std::vector<agent::ToolResult> run(std::span<const agent::ToolCall> calls,
                                     agent::ToolWatcher& watcher,
                                     std::stop_token stop,
                                     std::stop_token) override {
    std::vector<agent::ToolResult> results;
    bool goes_on = true;
    for (const agent::ToolCall& call : calls) {
      const agent::HookDecision decision = watcher.judge(call);
      if (decision.refusal) {
        watcher.finished({.call_id = call.id,
                          .name = call.name,
                          .content = *decision.refusal,
                          .status = agent::ToolStatus::denied,
                          .code = agent::Code::tool_policy_blocked});
        continue;
      }
      goes_on = goes_on && !decision.ending && !stop.stop_requested() && watcher.started(call);
      agent::ToolResult result = goes_on ? run_(call)
                                         : agent::ToolResult{.status = agent::ToolStatus::cancelled,
                                                             .code = agent::Code::tool_cancelled};
      result.call_id = call.id;
      result.name = call.name;
      if (const auto found = adds.find(call.id); found != adds.end()) {
        watcher.added(found->second, "found");
      }
      watcher.finished(result);
      results.push_back(std::move(result));
    }
    return results;
  }
  std::vector<agent::ToolInfo> added_tools(std::span<const agent::AddedTool> tools) const override {
    std::vector<agent::ToolInfo> there;
    for (const agent::AddedTool& tool : tools) {
      if (tool.name != gone) {
        there.push_back({.name = tool.name, .description = {}, .parameters = "{}"});
      }
    }
    return there;
  }
  std::vector<agent::Leftover> tidy_up() override { return std::exchange(left, {}); }
  agent::ToolNews take_news(std::stop_token) override {
    ++looks;
    return news.empty() ? agent::ToolNews() : news.extract(news.begin()).mapped();
  }

  std::vector<agent::ToolInfo> infos;
  std::vector<agent::Leftover> left;                          // said once
  std::map<std::string, std::vector<agent::AddedTool>> adds;  // by the id of the call that does
  std::string gone;                     // of those that were added, one that is not there any more
  std::map<int, agent::ToolNews> news;  // one a look, in this order
  int looks = 0;

 private:
  Run run_;
};

class RecordingSink final : public agent::EventSink {
 public:
  void on(const agent::Event& event) override { events.push_back(event); }

  std::vector<std::string> types() const {
    std::vector<std::string> names;
    for (const agent::Event& event : events) {
      names.emplace_back(agent::type_name(event.body));
    }
    return names;
  }

  std::vector<agent::Event> events;
};

class MemoryJournal final : public agent::Journal {
 public:
  void append(const agent::Event& event) override { pending_.push_back(event); }
  agent::Result<void> commit() override {
    if (events.size() + pending_.size() > capacity) {
      pending_.clear();
      return agent::fail(agent::Code::storage_io, "the journal is full");
    }
    events.insert(events.end(), pending_.begin(), pending_.end());
    pending_.clear();
    return {};
  }

  std::size_t capacity = static_cast<std::size_t>(-1);
  std::vector<agent::Event> events;  // committed

 private:
  std::vector<agent::Event> pending_;
};

}  // namespace tests
