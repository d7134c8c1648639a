#include "cli/handoffs.h"

#include "agent/step.h"
#include "cli/agent_as_tool.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {
namespace {

using agent::Json;
using agent::OpeningMessage;

constexpr std::string_view k_message = "message";

std::string names_of(std::span<const agent::AgentSpec* const> had) {
  std::string names;
  for (const agent::AgentSpec* one : had) {
    names += (names.empty() ? "" : ", ") + one->name;
  }
  return names;
}

void add_text(std::string& all, std::string_view text) {
  if (!text.empty()) {
    all += all.empty() ? "" : "\n\n";
    all += text;
  }
}

std::string words_of(const agent::Reply& reply) {
  std::string words = reply.text;
  for (const agent::ToolCall& call : reply.tool_calls) {
    add_text(words, fmt::format("[called {} with {}]", call.name, call.arguments));
  }
  return words;
}

OpeningMessage in_words(const agent::UserMessage& said) {
  return {.role = "user", .text = said.text, .attachments = said.attachments};
}

OpeningMessage in_words(const agent::AssistantMessage& said) {
  return {.role = "assistant", .text = words_of(*said.reply)};
}

OpeningMessage in_words(const agent::ToolMessage& said) {
  return {.role = "assistant",
          .text = fmt::format(
              "[{} {}: {}]", said.name, said.is_error ? "failed" : "brought", said.content)};
}

}  // namespace

const Plan* agent_handed_to(const Plan& first,
                            const agent::AgentSpec& from,
                            const agent::HandoffSpec& handoff) {
  const auto file = std::filesystem::path(from.directory) / handoff.file;
  const auto is_it = [&](const Plan& one) { return is_same_file(one.agent.file, file); };
  const auto team = first.team();
  const auto found = std::ranges::find_if(team, is_it);
  return found != team.end() ? &*found : is_it(first) ? &first : nullptr;
}

std::optional<agent::Ending> at_handoff_limit(std::span<const agent::AgentSpec* const> had,
                                              const agent::AgentSpec& next) {
  const auto most = had.front()->limits.max_handoffs;
  const auto so_far = static_cast<std::int64_t>(had.size()) - 1;
  const bool had_it = std::ranges::any_of(
      had, [&](const agent::AgentSpec* one) { return file_of(*one) == file_of(next); });
  if (most ? so_far < *most : !had_it) {
    return std::nullopt;
  }
  return agent::stopped_at(
      agent::Code::team_handoff_limit,
      static_cast<double>(so_far),
      static_cast<double>(most.value_or(so_far)),
      most ? fmt::format("the conversation was handed over {} time{}, from one to the next: {}",
                         so_far,
                         so_far == 1 ? "" : "s",
                         names_of(had))
           : fmt::format("the conversation would come back to {}, which had it: {}",
                         next.name,
                         names_of(had)));
}

agent::Result<void> check_can_take_over(const agent::AgentSpec& agent) {
  return !has_parameter(agent, k_message)
             ? agent::Result<void>()
             : agent::fail(agent::Code::team_invalid,
                           fmt::format("the agent {} has a parameter `{}`, which is what a "
                                       "hand-over says to it",
                                       agent.name,
                                       k_message),
                           "call the parameter something else");
}

agent::ToolInfo handoff_as_tool(const agent::HandoffSpec& handoff, const agent::AgentSpec& to) {
  Json message = {
      {"type", "string"},
      {"description", "What the other agent has to know beside the conversation, which it has."}};
  return {.name = handoff.tool(),
          .description = fmt::format("Hands the whole conversation over to the agent {}, for good. "
                                     "To be called alone. {}",
                                     handoff.name,
                                     description_as_tool(to)),
          .parameters = agent::dump(
              schema_of_parameters(to, {}, {{std::string(k_message), std::move(message)}}))};
}

OutsideInput input_of_handoff(const Json& arguments,
                              const agent::AgentSpec& from,
                              const agent::AgentSpec& to) {
  OutsideInput input = input_of(arguments, to);
  const std::string message = input.prompt.value_or("");
  input.prompt = fmt::format(
      "This conversation comes from the agent {}, which has handed it over to you{}{}\n\nGo on "
      "with it.",
      from.name,
      message.empty() ? "." : ": ",
      message);
  return input;
}

std::vector<OpeningMessage> opening_of(const agent::Conversation& conversation) {
  std::vector<OpeningMessage> opening;
  for (const agent::Message& message : conversation.messages) {
    OpeningMessage next = std::visit([](const auto& said) { return in_words(said); }, message);
    if (!opening.empty() && opening.back().role == next.role) {
      add_text(opening.back().text, next.text);
      std::ranges::move(next.attachments, std::back_inserter(opening.back().attachments));
    } else {
      opening.push_back(std::move(next));
    }
  }
  return opening;
}

}  // namespace cli
