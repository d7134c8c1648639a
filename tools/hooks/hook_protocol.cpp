#include "tools/hooks/hook_protocol.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>
#include <variant>

namespace tools {
namespace {

using agent::Code;
using agent::HookContext;
using agent::HookPoint;
using agent::Json;
using agent::Result;
using Decision = HookAnswer::Decision;

constexpr int k_block = 2;  // the exit status that says no
constexpr std::size_t k_shown_errors = 2'000;

// ---- what it reads ----

Json messages(const agent::Conversation& conversation) {
  Json list = Json::array();
  const auto add = [&](std::string_view role, const std::string& content) {
    list.push_back({{"role", role}, {"content", content}});
  };
  for (const agent::Message& message : conversation.messages) {
    if (const auto* user = std::get_if<agent::UserMessage>(&message)) {
      add("user", user->text);
    } else if (const auto* model = std::get_if<agent::AssistantMessage>(&message)) {
      add("model", model->reply.text);
    } else if (const auto* tool = std::get_if<agent::ToolMessage>(&message)) {
      add("tool", tool->content);
    }
  }
  return list;
}

Json tool_response(const HookDialect& dialect, const agent::ToolResult& result) {
  const bool is_ok = result.status == agent::ToolStatus::ok;
  switch (dialect.response) {
    case HookDialect::Response::text:
      return result.content;
    case HookDialect::Response::llm_content: {
      Json response = {{"llmContent", result.content}, {"returnDisplay", result.content}};
      if (!is_ok) {
        response["error"] = {{"message", result.message}};
      }
      return response;
    }
    case HookDialect::Response::parts:
      return {{"content", result.content},
              {"stdout", result.content},
              {"stderr", ""},
              {"exit_code", result.exit_status},
              {"interrupted", result.status == agent::ToolStatus::cancelled},
              {"success", is_ok}};
  }
  return result.content;
}

void put_call(Json& input,
              const HookDialect& dialect,
              const agent::ToolCall& call,
              const HookWorld& world) {
  const Json arguments = agent::parse_json(call.arguments).value_or(Json::object());
  input["tool_name"] = their_name(dialect, call.name);
  input["tool_input"] = to_theirs(dialect, call.name, arguments, world.cwd);
  input["tool_use_id"] = call.id;
}

void put_model(Json& input,
               const HookDialect& dialect,
               const HookContext& hook_context,
               const HookWorld& world) {
  input["iteration"] = hook_context.turn + (hook_context.point == HookPoint::pre_model ? 1 : 0);
  input["model_id"] = world.model;
  if (dialect.sends_conversation && hook_context.conversation != nullptr) {
    input["llm_request"] = {{"model", world.model},
                            {"messages", messages(*hook_context.conversation)},
                            {"config", Json::object()}};
  }
  if (const agent::Reply* reply = hook_context.reply) {
    input["stop_response"] = reply->text;
    input["llm_response"] = {
        {"candidates",
         Json::array({{{"content", {{"role", "model"}, {"parts", Json::array({reply->text})}}},
                       {"finishReason", agent::to_string(reply->stop_reason)}}})},
        {"usageMetadata", {{"totalTokenCount", reply->usage.total()}}}};
  }
}

// ---- what it answers ----

// "stopReason" as "stop_reason".
std::string snake_case(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    const char lower = agent::to_lower(c);
    snake += lower != c ? std::string{'_', lower} : std::string{c};
  }
  return snake;
}

// A member in either spelling; null where neither is there.
const Json* member(const Json& object, std::string_view name) {
  const Json* value = agent::find(object, name);
  return value != nullptr ? value : agent::find(object, snake_case(name));
}

class AnswerReader {
 public:
  AnswerReader(const HookDialect& dialect, const HookContext& hook_context)
      : dialect_(dialect), hook_context_(hook_context) {}

  Result<HookAnswer> read(const Json& json) {
    const Json* specific = member(json, "hookSpecificOutput");
    const Json& more = specific != nullptr ? *specific : k_nothing;
    if (!more.is_object()) {
      return agent::fail(Code::hook_failed, "its answer's `hookSpecificOutput` is no object");
    }
    answer_.stops = !flag(json, "continue", true);
    decide(text(json, "decision"));
    decide(text(more, "permissionDecision"));
    answer_.reason = first({text(more, "permissionDecisionReason"),
                            answer_.stops ? text(json, "stopReason") : "",
                            text(json, "reason"),
                            text(json, "stopReason")});
    answer_.context = first({text(more, "additionalContext"), text(json, "additionalContext")});
    answer_.message = text(json, "systemMessage");
    take_arguments(more);
    take_output(more);
    if (!wrong_.empty()) {
      return agent::fail(Code::hook_failed, "its answer cannot be used: " + wrong_);
    }
    return std::move(answer_);
  }

 private:
  static std::string first(std::initializer_list<std::string> texts) {
    const auto filled = std::ranges::find_if_not(texts, &std::string::empty);
    return filled == texts.end() ? std::string() : *filled;
  }

  std::string text(const Json& object, std::string_view name) {
    const Json* value = member(object, name);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_string()) {
      wrong_ = fmt::format("`{}` is no text", name);
      return {};
    }
    return value->get<std::string>();
  }

  bool flag(const Json& object, std::string_view name, bool otherwise) {
    const Json* value = member(object, name);
    if (value == nullptr) {
      return otherwise;
    }
    if (!value->is_boolean()) {
      wrong_ = fmt::format("`{}` is neither true nor false", name);
      return otherwise;
    }
    return value->get<bool>();
  }

  void decide(std::string_view word) {
    struct Word {
      std::string_view word;
      Decision decision;
    };
    static constexpr auto k_words = std::to_array<Word>({{"approve", Decision::allow},
                                                         {"allow", Decision::allow},
                                                         {"ask", Decision::ask},
                                                         {"defer", Decision::ask},
                                                         {"block", Decision::deny},
                                                         {"deny", Decision::deny}});
    if (word.empty()) {
      return;
    }
    const auto row = std::ranges::find(k_words, word, &Word::word);
    if (row == k_words.end()) {
      wrong_ = fmt::format("there is no decision `{}`", agent::one_line(word, 40));
      return;
    }
    answer_.decision = std::max(answer_.decision, row->decision);
  }

  void take_arguments(const Json& more) {
    if (hook_context_.point != HookPoint::pre_tool_use) {
      return;
    }
    const Json* theirs = member(more, "updatedInput");
    theirs = theirs != nullptr ? theirs : agent::find(more, "tool_input");
    if (theirs == nullptr) {
      return;
    }
    if (!theirs->is_object()) {
      wrong_ = "the changed arguments are no object";
      return;
    }
    Json ours = to_ours(dialect_, hook_context_.call->name, *theirs);
    if (dialect_.merges_input) {
      Json merged = agent::parse_json(hook_context_.call->arguments).value_or(Json::object());
      merged.update(ours);
      ours = std::move(merged);
    }
    answer_.arguments = agent::dump(ours);
  }

  void take_output(const Json& more) {
    if (hook_context_.point != HookPoint::post_tool_use) {
      return;
    }
    for (const char* name :
         {"updatedToolOutput", "updatedToolResponse", "updatedMCPToolOutput", "tool_output"}) {
      if (const Json* value = member(more, name)) {
        answer_.output = value->is_string() ? value->get<std::string>() : agent::dump(*value);
      }
    }
  }

  static inline const Json k_nothing = Json::object();

  const HookDialect& dialect_;
  const HookContext& hook_context_;
  HookAnswer answer_;
  std::string wrong_;
};

}  // namespace

std::string hook_input(const HookDialect& dialect,
                       const HookContext& hook_context,
                       const HookWorld& world,
                       agent::Clock::Wall now) {
  Json input = {{"session_id", world.run_id},
                {"transcript_path", ""},
                {"cwd", world.cwd.string()},
                {"hook_event_name", dialect.events[static_cast<std::size_t>(hook_context.point)]},
                {"timestamp", agent::format_time(now)},
                {"permission_mode", "default"},
                {"point", agent::to_string(hook_context.point)},
                {"turn", hook_context.turn}};
  switch (hook_context.point) {
    case HookPoint::run_start:
      input["source"] = "startup";
      input["prompt"] = hook_context.text;
      input["model"] = world.model;
      break;
    case HookPoint::pre_model:
    case HookPoint::post_model:
      put_model(input, dialect, hook_context, world);
      break;
    case HookPoint::pre_tool_use:
      put_call(input, dialect, *hook_context.call, world);
      break;
    case HookPoint::post_tool_use:
      put_call(input, dialect, *hook_context.call, world);
      input["tool_response"] = tool_response(dialect, *hook_context.result);
      input["tool_error"] = hook_context.result->status != agent::ToolStatus::ok;
      break;
    case HookPoint::notification:
      input["message"] = hook_context.text;
      input["notification_type"] = hook_context.kind;
      input["notification_message"] = hook_context.text;
      input["notification_level"] = "warning";
      break;
    case HookPoint::stop:
      input["prompt"] = hook_context.prompt;
      input["prompt_response"] = hook_context.text;
      input["stop_response"] = hook_context.text;
      input["last_user_message"] = hook_context.prompt;
      input["last_assistant_message"] = hook_context.text;
      input["stop_hook_active"] = hook_context.again;
      break;
    case HookPoint::run_end:
      input["reason"] = "other";
      input["exit_name"] = hook_context.kind;
      input["result"] = agent::to_json(*hook_context.ending);
      break;
  }
  return agent::dump(input) + "\n";
}

Result<HookAnswer> read_hook_answer(const HookDialect& dialect,
                                    const HookContext& hook_context,
                                    int exit_status,
                                    std::string_view output,
                                    std::string_view errors) {
  const std::string said = agent::to_valid_utf8(agent::trimmed(errors).substr(0, k_shown_errors));
  if (exit_status != 0 && exit_status != k_block) {
    return agent::fail(Code::hook_failed,
                       fmt::format("it ended with exit status {}{}{}",
                                   exit_status,
                                   said.empty() ? "" : ": ",
                                   agent::prefix(said, k_shown_errors)));
  }
  const std::string text = agent::to_valid_utf8(agent::trimmed(output));
  HookAnswer answer;
  if (text.starts_with('{')) {
    const auto json = agent::parse_json(text);
    if (!json) {
      return agent::fail(Code::hook_failed, "its answer is no JSON");
    }
    TRY_ASSIGN(answer, AnswerReader(dialect, hook_context).read(*json));
  } else if (exit_status == 0 &&
             dialect.text_is_context[static_cast<std::size_t>(hook_context.point)]) {
    answer.context = text;
  }
  if (exit_status == k_block) {
    answer.decision = Decision::deny;
    answer.reason = !said.empty() ? said : answer.reason;
  }
  return answer;
}

}  // namespace tools
