#include "tools/hooks/hook_protocol.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/refusal.h"
#include "agent/text.h"
#include "tools/hooks/verdict.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
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
constexpr std::string_view k_space = " \t\r\n";

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
      add("model", model->reply->text);
    } else if (const auto* tool = std::get_if<agent::ToolMessage>(&message)) {
      add("tool", tool->content);
    }
  }
  return list;
}

// Of a tool that runs no program, 0 where it went well. Null: no program has ended.
Json exit_code_of(const agent::ToolResult& result) {
  return result.exit_status || result.is_well() ? Json(result.exit_status.value_or(0)) : Json();
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
              {"exit_code", exit_code_of(result)},
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
        {"usageMetadata", {{"totalTokenCount", reply->counted().total()}}}};
  }
}

// ---- what it answers ----

// What an answer may hold. `suppressOutput`, `hookEventName` and the like are for the program that
// the script was written for, and say nothing of what is allowed.
constexpr auto k_members = std::to_array<std::string_view>({"continue",
                                                            "stopReason",
                                                            "suppressOutput",
                                                            "systemMessage",
                                                            "terminalSequence",
                                                            "decision",
                                                            "reason",
                                                            "additionalContext",
                                                            "hookSpecificOutput"});
constexpr auto k_specific_members = std::to_array<std::string_view>({"hookEventName",
                                                                     "permissionDecision",
                                                                     "permissionDecisionReason",
                                                                     "updatedInput",
                                                                     "tool_input",
                                                                     "updatedToolOutput",
                                                                     "updatedToolResponse",
                                                                     "updatedMCPToolOutput",
                                                                     "tool_output",
                                                                     "additionalContext"});

// A member in either spelling; null where neither is there.
const Json* member(const Json& object, std::string_view name) {
  const Json* value = agent::find(object, name);
  return value != nullptr ? value : agent::find(object, snake_case(name));
}

class AnswerReader {
 public:
  AnswerReader(const HookDialect& dialect, const HookContext& hook_context)
      : dialect_(dialect), hook_context_(hook_context) {}

  Result<HookAnswer> read(const Json& json, bool counts) {
    const Json* specific = member(json, "hookSpecificOutput");
    const Json& more = specific != nullptr ? *specific : k_nothing;
    if (!more.is_object()) {
      return agent::fail(Code::hook_failed, "its answer: `hookSpecificOutput` is not an object");
    }
    if (counts) {
      wrong_ = strange_member(json, k_members);
      wrong_ = wrong_.empty() ? strange_member(more, k_specific_members) : wrong_;
    }
    answer_.stops = !flag(json, "continue", true);
    decide(json, "decision");
    decide(more, "permissionDecision");
    answer_.reason = first({text(more, "permissionDecisionReason"),
                            answer_.stops ? text(json, "stopReason") : "",
                            text(json, "reason"),
                            text(json, "stopReason")});
    answer_.context = first({text(more, "additionalContext"), text(json, "additionalContext")});
    answer_.message = text(json, "systemMessage");
    take_arguments(more);
    take_output(more);
    if (!wrong_.empty()) {
      return agent::fail(Code::hook_failed, "its answer: " + wrong_);
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
      wrong_ = fmt::format("`{}` is not a text", name);
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

  void decide(const Json& object, std::string_view name) {
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
    const std::string word = text(object, name);
    if (member(object, name) == nullptr || !wrong_.empty()) {
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
    const Json* theirs = only_one_of(more, {"updatedInput", "tool_input"});
    if (theirs == nullptr) {
      return;
    }
    if (!theirs->is_object()) {
      wrong_ = "the changed arguments are not an object";
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
    const Json* value = only_one_of(
        more, {"updatedToolOutput", "updatedToolResponse", "updatedMCPToolOutput", "tool_output"});
    if (value != nullptr) {
      answer_.output = value->is_string() ? value->get<std::string>() : agent::dump(*value);
    }
  }

  // Words of several programs for the same.
  const Json* only_one_of(const Json& object, std::initializer_list<std::string_view> names) {
    const Json* found = nullptr;
    for (const std::string_view name : names) {
      const Json* value = member(object, name);
      if (found != nullptr && value != nullptr && *found != *value) {
        wrong_ = fmt::format("`{}` contradicts another member that says the same", name);
      }
      found = found != nullptr ? found : value;
    }
    return found;
  }

  static inline const Json k_nothing = Json::object();

  const HookDialect& dialect_;
  const HookContext& hook_context_;
  HookAnswer answer_;
  std::string wrong_;
};

// Where an object begins that has a member of an answer first: one that stands behind other text.
std::size_t hidden_answer(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t quote = text.find_first_not_of(k_space, at + 1);
    if (quote == std::string_view::npos || text[quote] != '"') {
      continue;
    }
    const std::string_view rest = text.substr(quote + 1);
    for (const std::string_view name : k_members) {
      for (const std::string& spelt : {std::string(name), snake_case(name)}) {
        if (rest.starts_with(spelt + '"')) {
          return at;
        }
      }
    }
  }
  return std::string_view::npos;
}

// Why what a hook has written is not plain text, though no answer either, where that is so. Plain
// text decides nothing, in all dialects; a command that meant to decide must not pass for one.
std::string why_not_plain(std::string_view text, bool is_context) {
  if (const std::size_t at = hidden_answer(text); at != std::string_view::npos) {
    return fmt::format("the object at byte {} stands behind other text", at + 1);
  }
  const auto why_not_text = agent::why_not_text(text);
  if (why_not_text && text.contains('{')) {
    return *why_not_text;
  }
  return !is_context && agent::parse_json(text) ? "it is JSON, but not an object" : "";
}

std::unexpected<agent::Error> unusable(std::string_view why) {
  return agent::fail(
      Code::hook_failed,
      fmt::format("its answer: {}. On stdout it writes one JSON object and nothing else, or plain "
                  "text; what is for people goes to stderr",
                  why));
}

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
      input["source"] = world.is_carried_on ? "resume" : "startup";
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
    case HookPoint::pre_compact:
      input["trigger"] = "auto";
      input["custom_instructions"] = "";
      input["action"] = hook_context.text;
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
                                    std::string_view errors,
                                    bool counts) {
  const std::string said =
      agent::to_valid_utf8(agent::excerpt(agent::trimmed(errors), k_shown_errors));
  if (exit_status != 0 && exit_status != k_block) {
    return agent::fail(
        Code::hook_failed,
        fmt::format(
            "it ended with exit status {}{}{}", exit_status, said.empty() ? "" : ": ", said));
  }
  const bool is_context = std::ranges::find(dialect.text_is_context, hook_context.point) !=
                          dialect.text_is_context.end();
  HookAnswer answer;
  if (const auto brace = output.find('{');
      brace != std::string_view::npos && agent::is_blank(output.substr(0, brace))) {
    const auto json = read_verdict(output);
    if (!json) {
      return unusable(json.error());
    }
    TRY_ASSIGN(answer, AnswerReader(dialect, hook_context).read(*json, counts));
  } else if (exit_status == 0) {
    if (const std::string why = counts ? why_not_plain(output, is_context) : ""; !why.empty()) {
      return unusable(why);
    }
    answer.context = is_context ? agent::to_valid_utf8(agent::trimmed(output)) : "";
  }
  if (exit_status == k_block) {
    answer.decision = Decision::deny;
    answer.reason = !said.empty() ? said : answer.reason;
  }
  return answer;
}

}  // namespace tools
