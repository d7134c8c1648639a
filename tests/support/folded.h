// A run's state, folded from events as they were made or as the journal keeps them, and all that is
// in it as text, so that two states can be compared.
#pragma once
#include "agent/event.h"
#include "agent/json.h"
#include "agent/state.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tests {

inline agent::Event numbered(agent::EventBody body, std::int64_t seq = 1) {
  return {.run_id = "r", .seq = seq, .time = {}, .body = std::move(body)};
}

inline agent::State folded(std::span<const agent::Event> events) {
  agent::State state;
  for (const agent::Event& event : events) {
    agent::advance(state, event.body);
  }
  return state;
}

// What is left of the events in the journal, read back from its text.
inline std::vector<agent::Event> kept(std::span<const agent::Event> events) {
  std::vector<agent::Event> read;
  for (const agent::Event& event : events) {
    if (!agent::is_journaled(event.body)) {
      continue;
    }
    const auto json = agent::parse_json(agent::dump(event, agent::Detail::kept));
    REQUIRE(json);
    auto one = agent::event_from_json(*json);
    REQUIRE(one);
    read.push_back(*std::move(one));
  }
  return read;
}

inline std::string text_of(agent::EventBody body) {
  return agent::dump(numbered(std::move(body)), agent::Detail::kept);
}

inline std::string text_of(const agent::Message& message) {
  if (const auto* user = std::get_if<agent::UserMessage>(&message)) {
    return fmt::format("user: {} ({} files)", user->text, user->attachments.size());
  }
  if (const auto* assistant = std::get_if<agent::AssistantMessage>(&message)) {
    return "assistant: " + text_of(agent::ModelResponded{.reply = assistant->reply});
  }
  const auto& tool = std::get<agent::ToolMessage>(message);
  return fmt::format("tool {} {}: {} {}", tool.call_id, tool.name, tool.content, tool.is_error);
}

// All but the pieces of a reply that is still coming in, which nobody keeps.
inline std::vector<std::string> text_of(agent::State state) {
  state.streaming.clear();
  std::vector<std::string> lines = {
      text_of(agent::RunStarted{.plan = state.plan}),
      fmt::format(
          "judges output {}, revision {}", state.output != nullptr, state.conversation.revision),
      text_of(agent::RunFinished{.result = agent::make_result(state, {})}),
      fmt::format("first model {}, model {}, answered by {}",
                  state.first_model,
                  state.model,
                  state.answered_by),
      text_of(agent::ModelResponded{.reply = state.last_reply}),
      fmt::format("open {}, started {}, settled {}",
                  state.open_calls.size(),
                  fmt::join(std::views::keys(state.started_calls), " "),
                  state.settled_calls),
      fmt::format("answer {}, unjudged {}, stop {}",
                  state.answer == nullptr ? "none" : "`" + *state.answer + "`",
                  state.reply_is_unjudged,
                  agent::to_string(state.stop_reason)),
      fmt::format("unfinished: {} cut, {} empty, {} malformed, {} paused; goes on {}",
                  state.unfinished.cut,
                  state.unfinished.empty,
                  state.unfinished.malformed,
                  state.unfinished.paused,
                  state.answer_goes_on),
      fmt::format("estimated input {}, new {}", agent::estimated_input(state), state.new_bytes),
      fmt::format(
          "progress {}, {} repeats of {}", state.progress, state.most_repeats, state.most_repeated),
      fmt::format(
          "warned {}, estimates {}", fmt::join(state.warned_limits, " "), state.has_estimates)};
  for (const agent::Message& message : state.conversation.messages) {
    lines.push_back(text_of(message));
  }
  for (const agent::Message& message : agent::seen_by_model(state).messages) {
    lines.push_back("seen: " + text_of(message));
  }
  lines.push_back(fmt::format("{} results, {} fixed bytes, {} overflows, {} failed summaries in {}",
                              state.results_at.size(),
                              state.fixed_bytes,
                              state.overflows,
                              state.failed_summaries,
                              state.cwd));
  for (const auto& [model, tokens] : state.least_refused) {
    lines.push_back(fmt::format("{} refused {}", model, tokens));
  }
  for (const agent::AddedTool& tool : state.added_tools) {
    lines.push_back(fmt::format("added {}: {} bytes", tool.name, tool.bytes));
  }
  for (const std::string& path : state.changed_files) {
    lines.push_back("changed " + path);
  }
  for (const auto& [tool, result] : state.kept_results) {
    lines.push_back("kept " + tool + ": " + result);
  }
  for (const auto& [call, result] : state.results) {
    lines.push_back(call + ": " + text_of(agent::ToolFinished{.result = result}));
  }
  for (const auto& [path, file] : state.seen_files) {
    lines.push_back(fmt::format("seen {}: {}", path, file.modified_ns));
  }
  const agent::Approvals& approvals = state.approvals;
  lines.push_back("parked: " +
                  text_of(agent::RunParked{
                      .cwd = approvals.parked_in.cwd, .calls = approvals.parked, .others = {}}));
  lines.push_back(fmt::format("settled {}", fmt::join(approvals.settled, " ")));
  for (const auto& setting : {approvals.setting, approvals.parked_in}) {
    lines.push_back(fmt::format("in {}, by {}, {}", setting.cwd, setting.agent, setting.sandbox));
  }
  for (const auto& [call, said] : approvals.said) {
    lines.push_back(fmt::format("said to {}: {} {} {} {} {}",
                                call,
                                agent::to_string(said.answer),
                                said.by,
                                said.reason,
                                said.seal,
                                said.setting.agent + said.setting.sandbox));
  }
  for (const auto& grant : approvals.grants) {
    lines.push_back(fmt::format("granted {} {}", grant.rule, grant.seal));
  }
  if (state.ending_result) {
    lines.push_back("ends: " + text_of(agent::ToolFinished{.result = *state.ending_result}));
  }
  for (const auto& [reason, count] : state.said) {
    lines.push_back(fmt::format("said {}: {}", reason, count));
  }
  std::vector<std::string> repeats;
  for (const auto& [hash, repeat] : state.repeats) {
    repeats.push_back(fmt::format("{:x}: {} since {}", hash, repeat.count, repeat.progress));
  }
  std::ranges::sort(repeats);
  lines.insert(lines.end(), repeats.begin(), repeats.end());
  if (state.finished) {
    lines.push_back("finished: " + text_of(agent::RunFinished{.result = *state.finished}));
  }
  return lines;
}

}  // namespace tests
