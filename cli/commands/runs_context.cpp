// `errand runs context`: what the model saw at one request.
#include "agent/context_view.h"
#include "agent/duration.h"
#include "agent/json.h"
#include "agent/state.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/run_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Json;

// A request of a run, and the state that it was made from.
struct Request {
  agent::ModelRequested event;
  agent::RunStarted begun;  // as the process began that made it
  agent::State state;
};

// The last one of the turn, nullopt: of all.
std::optional<Request> find_request(std::span<const agent::Event> events,
                                    const std::optional<std::int64_t>& turn) {
  const agent::Event* wanted = nullptr;
  for (const agent::Event& event : events) {
    const auto* requested = std::get_if<agent::ModelRequested>(&event.body);
    if (requested != nullptr && requested->turn == turn.value_or(requested->turn)) {
      wanted = &event;
    }
  }
  if (wanted == nullptr) {
    return std::nullopt;
  }
  Request request{.event = std::get<agent::ModelRequested>(wanted->body)};
  for (const agent::Event& event : events) {
    if (&event == wanted) {
      break;
    }
    if (const auto* started = std::get_if<agent::RunStarted>(&event.body)) {
      request.begun = *started;
    }
    agent::advance(request.state, event.body);
  }
  return request;
}

Json json_of(const agent::UserMessage& said) {
  Json message = {{"role", said.is_programs ? "errand" : "user"}, {"content", said.text}};
  message["attachments"] = Json::array();
  for (const agent::Attachment& file : said.attachments) {
    message["attachments"].push_back({{"name", file.name}, {"media_type", file.media_type}});
  }
  return message;
}

Json json_of(const agent::AssistantMessage& answered) {
  Json message = {{"role", "assistant"}, {"content", answered.reply->text}};
  message["tool_calls"] = Json::array();
  for (const agent::ToolCall& call : answered.reply->tool_calls) {
    const auto arguments = agent::parse_json(call.arguments);
    message["tool_calls"].push_back({{"id", call.id},
                                     {"name", call.name},
                                     {"arguments", arguments ? *arguments : Json(call.arguments)}});
  }
  return message;
}

Json json_of(const agent::ToolMessage& result) {
  return {{"role", "tool"},
          {"call_id", result.call_id},
          {"name", result.name},
          {"content", result.content},
          {"is_error", result.is_error}};
}

Json json_of(const agent::ContextView& view) {
  Json pinned = Json::array();
  for (const agent::PinnedFile& file : view.pinned) {
    pinned.push_back(file.path);
  }
  return {{"results_cleared", view.cleared},
          {"messages_summarized", view.summarized},
          {"messages_left_out", view.covered() - view.summarized},
          {"pinned", std::move(pinned)}};
}

std::vector<std::string> tools_of(const Request& request) {
  std::vector<std::string> names = request.begun.tools;
  for (const agent::AddedTool& tool : request.state.added_tools) {
    names.push_back(tool.name);
  }
  return names;
}

Json json_of(const Request& request, const std::string& run_id) {
  Json messages = Json::array();
  for (const agent::Message& message : agent::seen_by_model(request.state).messages) {
    messages.push_back(std::visit([](const auto& one) { return json_of(one); }, message));
  }
  return {{"schema", "errand.context/1"},
          {"run_id", run_id},
          {"turn", request.event.turn},
          {"model", request.event.model},
          {"estimated_input", request.event.estimated_input},
          {"messages_of_run", request.state.conversation.messages.size()},
          {"shortened", json_of(request.state.view)},
          {"tools", tools_of(request)},
          {"instructions", request.begun.instructions},
          {"messages", std::move(messages)}};
}

// For people: nothing is cut, and nothing that a terminal would obey.
class ContextText {
 public:
  explicit ContextText(const agent::Redactor& redactor) : redactor_(redactor) {}

  std::string write(const Request& request) {
    const auto& messages = agent::seen_by_model(request.state).messages;
    text_ = fmt::format("turn {}: {} messages of {} to {}, about {} tokens\n",
                        request.event.turn,
                        messages.size(),
                        request.state.conversation.messages.size(),
                        agent::one_line(request.event.model),
                        request.event.estimated_input);
    write(request.state.view);
    text_ += fmt::format("tools: {}\n",
                         agent::one_line(fmt::format("{}", fmt::join(tools_of(request), ", "))));
    part("instructions", request.begun.instructions);
    for (const agent::Message& message : messages) {
      std::visit([&](const auto& one) { write(one); }, message);
    }
    return std::move(text_);
  }

 private:
  void write(const agent::ContextView& view) {
    if (!view.cleared.empty()) {
      text_ += fmt::format("results cleared: {}\n", fmt::join(view.cleared, ", "));
    }
    if (view.summarized > 0) {
      text_ += fmt::format("in the summary: messages 1 to {}\n", view.summarized);
    }
    if (view.covered() > view.summarized) {
      text_ += fmt::format("left out: messages {} to {}\n", view.summarized + 1, view.covered());
    }
    for (const agent::PinnedFile& file : view.pinned) {
      text_ += fmt::format("pinned: {}\n", agent::one_line(file.path));
    }
  }
  void write(const agent::UserMessage& said) {
    part(said.is_programs ? "errand" : "user", said.text);
    for (const agent::Attachment& file : said.attachments) {
      text_ +=
          fmt::format("[{}, {}]\n", agent::one_line(file.name), agent::one_line(file.media_type));
    }
  }
  void write(const agent::AssistantMessage& answered) {
    part("assistant", answered.reply->text);
    for (const agent::ToolCall& call : answered.reply->tool_calls) {
      part(fmt::format("call {}: {}", call.id, call.name), call.arguments);
    }
  }
  void write(const agent::ToolMessage& result) {
    part(fmt::format(
             "result of {}: {}{}", result.call_id, result.name, result.is_error ? ", failed" : ""),
         result.content);
  }

  void part(std::string_view head, std::string_view text) {
    const std::string safe = agent::printable(redactor_.apply(text));
    text_ += fmt::format("\n== {}\n{}{}",
                         agent::one_line(redactor_.apply(head)),
                         safe,
                         safe.empty() || safe.ends_with('\n') ? "" : "\n");
  }

  const agent::Redactor& redactor_;
  std::string text_;
};

}  // namespace

agent::Result<int> command_runs_context(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  TRY_ASSIGN(const std::string run_id, chosen_run(parsed, context, journal));
  TRY_ASSIGN(const std::vector<agent::Event> events, agent::store::read_run(journal, run_id));
  const auto at = parsed.value("--at");
  const auto request = find_request(events, at ? agent::parse_count(*at) : std::nullopt);
  if (!request) {
    return agent::fail(agent::Code::cli_usage,
                       at ? fmt::format("the run {} has made no request in a turn {}", run_id, *at)
                          : fmt::format("the run {} has made no request", run_id),
                       "`errand runs show` has its turns, or, of a flow, the runs of its members");
  }
  context.out << (parsed.value("--output") == "json"
                      ? context.redactor.dump(json_of(*request, run_id)) + "\n"
                      : ContextText(context.redactor).write(*request));
  return 0;
}

}  // namespace cli
