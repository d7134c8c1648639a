#include "config/replay_script.h"

#include "config/check.h"
#include "config/read.h"
#include "config/yaml/problems.h"
#include "config/yaml/source.h"
#include "config/yaml/yaml.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace config {
namespace {

constexpr std::size_t k_largest_script = 16 * 1'048'576;
constexpr YamlLimits k_limits{
    .depth = 64, .values = 1'000'000, .text_bytes = 64 * std::size_t{1'048'576}};

constexpr auto k_script_keys = std::to_array<Key>({
    // clang-format off
    {.path = "version", .type = Type::integer, .help = "The version of this format. There is one so far: 1.", .example = "1", .min = 1, .max = 1, .required = true},
    {.path = "replies", .type = Type::list, .help = "What the model answers, one reply for each request, in this order.", .example = "[Done.]", .required = true},
    {.path = "members", .type = Type::map, .help = "Replies of steps of flows that are agents, of sub-agents, and of agents to whom the conversation is handed over, by their names; each of their runs plays its own from the beginning. Those that are not named here play `replies`.", .example = "{billing: [Done.]}"},
    {.path = "members.*", .type = Type::anything, .help = "As `replies`.", .example = "[Done.]"},
    {.path = "replies[]", .type = Type::text_or_map, .help = "A reply: its text alone, or a map.", .example = "{text: Done.}"},
    {.path = "replies[].text", .type = Type::text, .help = "What the model says, streamed in pieces.", .example = "Done."},
    {.path = "replies[].reasoning", .type = Type::text, .help = "What the model thinks before it speaks.", .example = "The user wants a list."},
    {.path = "replies[].tool_calls", .type = Type::list, .help = "The calls that the model makes, in this order.", .example = "[{read_file: {path: notes.txt}}]"},
    {.path = "replies[].tool_calls[]", .type = Type::map, .help = "A call: {TOOL: {its arguments}}, or the long form with `name`, `arguments`, `id`.", .example = "{read_file: {path: notes.txt}}"},
    {.path = "replies[].tool_calls[].name", .type = Type::text, .help = "The tool. It need not exist.", .example = "read_file", .required = true},
    {.path = "replies[].tool_calls[].arguments", .type = Type::anything, .help = "A map of arguments, or a text that is sent as it is, to play a broken call.", .example = "{path: notes.txt}"},
    {.path = "replies[].tool_calls[].id", .type = Type::text, .help = "The call's id. Left out: call_1, call_2, … through the script.", .example = "call_7", .shape = Shape::filled},
    {.path = "replies[].tool_calls[].*", .type = Type::anything_map, .help = "The arguments of a call of the tool of this name.", .example = "{path: notes.txt}", .shape = Shape::filled},
    {.path = "replies[].stop_reason", .type = Type::choice, .help = "Why the model stopped. Left out: tool_use where there are calls, end_turn where not.", .example = "max_tokens", .choices = "end_turn|tool_use|max_tokens|stop_sequence|content_filter|refusal|pause|context_window|malformed_tool_call|guardrail_intervened|error|unknown"},
    {.path = "replies[].usage", .type = Type::map, .help = "The tokens that the reply is charged with; 0 where not given.", .example = "{input: 100, output: 20}"},
    {.path = "replies[].usage.input", .type = Type::integer, .help = "Input tokens, cached ones included.", .example = "100", .default_value = "0", .min = 0, .max = 1e15},
    {.path = "replies[].usage.output", .type = Type::integer, .help = "Output tokens, reasoning included.", .example = "20", .default_value = "0", .min = 0, .max = 1e15},
    {.path = "replies[].usage.cache_read", .type = Type::integer, .help = "Input tokens that came from the provider's cache.", .example = "80", .default_value = "0", .min = 0, .max = 1e15},
    {.path = "replies[].usage.cache_write", .type = Type::integer, .help = "Input tokens that went into the provider's cache.", .example = "20", .default_value = "0", .min = 0, .max = 1e15},
    {.path = "replies[].usage.reasoning", .type = Type::integer, .help = "Output tokens that were thoughts.", .example = "10", .default_value = "0", .min = 0, .max = 1e15},
    {.path = "replies[].delay", .type = Type::duration, .help = "The wait before the first byte.", .example = "200ms", .default_value = "0s", .may_be_zero = true},
    {.path = "replies[].chunk_delay", .type = Type::duration, .help = "The wait between two streamed pieces.", .example = "20ms", .default_value = "0s", .may_be_zero = true},
    {.path = "replies[].repeat", .type = Type::count, .help = "How often the reply is played in a row, or `forever`.", .example = "3", .default_value = "1", .choices = "forever", .max = 1'000'000},
    {.path = "replies[].expect", .type = Type::texts, .help = "Texts that must each occur in the newest message that was sent; the run fails where one does not.", .example = "[\"3 lines\"]"},
    {.path = "replies[].expect[]", .type = Type::text, .help = "A text that must occur.", .example = "\"3 lines\"", .shape = Shape::filled},
    {.path = "replies[].error", .type = Type::choice, .help = "A fault instead of the reply, or after its text.", .example = "rate_limited", .choices = "network|tls|rate_limited|timeout|unavailable|model_loading|stream_broken|bad_response|auth|invalid_request|model_not_found|quota|unsupported|refused|other|context_overflow"},
    {.path = "replies[].message", .type = Type::text, .help = "What the fault says.", .example = "slow down"},
    {.path = "replies[].status", .type = Type::integer, .help = "The fault's HTTP status.", .example = "429", .min = 100, .max = 599},
    {.path = "replies[].retry_after", .type = Type::duration, .help = "The wait that the fault asks for.", .example = "2s", .may_be_zero = true},
    // clang-format on
});

std::optional<agent::Code> fault_code(std::string_view name) {
  return name == "context_overflow" ? agent::Code::context_overflow
                                    : agent::code_from_name(fmt::format("provider.{}", name));
}

class ScriptBuilder {
 public:
  explicit ScriptBuilder(Problems& problems) : problems_(problems) {}

  agent::ReplayStep build_step(const Value& item);

 private:
  agent::ToolCall build_call(const Value& item);
  std::string build_arguments(const Value* value);
  std::optional<agent::ReplayFault> build_fault(const Value& item);
  int build_repeat(const Value& item);

  Problems& problems_;
  int calls_ = 0;
};

std::string ScriptBuilder::build_arguments(const Value* value) {
  if (value == nullptr) {
    return "{}";
  }
  if (value->kind == Kind::text) {
    return value->text;
  }
  if (value->kind != Kind::map) {
    problems_.add(value->span,
                  fmt::format("`arguments` must be a map or text, not {}", to_string(value->kind)),
                  "for example `arguments: {path: notes.txt}`");
  }
  if (const Value* number = find_beyond_json(*value)) {
    problems_.add(number->span,
                  fmt::format("`{}` cannot be an argument: JSON has no such number", number->text),
                  "write a decimal number, or put it in quotes");
  }
  return agent::dump(to_json(*value));
}

agent::ToolCall ScriptBuilder::build_call(const Value& item) {
  agent::ToolCall call;
  if (is_keyed_by_name(item, k_script_keys, "replies[].tool_calls[]")) {
    call.name = item.entries.front().key;
    call.arguments = build_arguments(&item.entries.front().value);
  } else {
    call.name = text_at(item, "name");
    call.arguments = build_arguments(value_at(item, "arguments"));
    call.id = text_at(item, "id");
  }
  if (call.id.empty()) {
    call.id = fmt::format("call_{}", ++calls_);
  }
  return call;
}

agent::Usage build_usage(const Value& map) {
  return {.input = count_at(map, "input").value_or(0),
          .output = count_at(map, "output").value_or(0),
          .cache_read = count_at(map, "cache_read").value_or(0),
          .cache_write = count_at(map, "cache_write").value_or(0),
          .reasoning = count_at(map, "reasoning").value_or(0)};
}

std::optional<agent::ReplayFault> ScriptBuilder::build_fault(const Value& item) {
  const Value* error = value_at(item, "error");
  if (error == nullptr) {
    for (const char* key : {"message", "status", "retry_after"}) {
      if (const Entry* entry = item.find(key)) {
        problems_.add(entry->key_span,
                      fmt::format("`{}` describes a fault, but there is no `error`", key),
                      "add `error: rate_limited`, say, or take it out");
      }
    }
    return std::nullopt;
  }
  agent::ReplayFault fault;
  fault.code = fault_code(error->text).value_or(fault.code);
  fault.message = text_at(item, "message", fmt::format("replayed fault: {}", error->text));
  fault.http_status = static_cast<int>(count_at(item, "status").value_or(0));
  fault.retry_after = duration_at(item, "retry_after");
  return fault;
}

int ScriptBuilder::build_repeat(const Value& item) {
  if (text_at(item, "repeat") == "forever") {
    return 0;
  }
  return static_cast<int>(std::min<std::int64_t>(count_at(item, "repeat").value_or(1), 1'000'000));
}

void check_says_something(const Value& item, Problems& problems) {
  const bool does = std::ranges::any_of(item.entries, [](const Entry& entry) {
    return entry.key == "text" || entry.key == "reasoning" || entry.key == "tool_calls" ||
           entry.key == "error" || entry.key == "stop_reason";
  });
  if (!does) {
    problems.add(item.span,
                 "the reply says nothing",
                 "give it `text`, `tool_calls` or `error`; an empty answer is `text: \"\"`");
  }
}

agent::ReplayStep ScriptBuilder::build_step(const Value& item) {
  agent::ReplayStep step;
  step.line = static_cast<int>(problems_.source().line_of(item.span.offset));
  step.reply.stop_reason = agent::StopReason::end_turn;
  if (item.kind != Kind::map) {
    step.reply.text = item.text;
    return step;
  }
  check_says_something(item, problems_);
  step.reply.text = text_at(item, "text");
  step.reply.reasoning = text_at(item, "reasoning");
  if (const Value* calls = value_at(item, "tool_calls")) {
    for (const Value& call : calls->items) {
      step.reply.tool_calls.push_back(build_call(call));
      step.reply.stop_reason = agent::StopReason::tool_use;
    }
  }
  if (const std::string reason = text_at(item, "stop_reason"); !reason.empty()) {
    step.reply.stop_reason = agent::stop_reason_from(reason);
  }
  if (const Value* usage = value_at(item, "usage")) {
    step.reply.usage = build_usage(*usage);
  }
  step.fault = build_fault(item);
  step.delay = duration_at(item, "delay").value_or(step.delay);
  step.chunk_delay = duration_at(item, "chunk_delay").value_or(step.chunk_delay);
  step.repeat = build_repeat(item);
  if (const Value* expect = value_at(item, "expect")) {
    if (expect->kind == Kind::text) {
      step.expect.push_back(expect->text);
    }
    for (const Value& text : expect->items) {
      step.expect.push_back(text.text);
    }
  }
  return step;
}

void check_are_reachable(const Value& replies,
                         const std::vector<agent::ReplayStep>& steps,
                         Problems& problems) {
  for (std::size_t index = 0; index + 1 < steps.size(); ++index) {
    if (steps[index].repeat == 0) {
      problems.add(replies.items[index + 1].span,
                   "this reply is never played: the one before it repeats forever",
                   "move it up, or give `repeat` a count");
    }
  }
}

std::vector<agent::ReplayStep> build_replies(const Value* replies, Problems& problems) {
  std::vector<agent::ReplayStep> steps;
  if (replies == nullptr || replies->kind != Kind::list) {
    return steps;
  }
  ScriptBuilder builder(problems);
  for (const Value& item : replies->items) {
    steps.push_back(builder.build_step(item));
  }
  check_are_reachable(*replies, steps, problems);
  return steps;
}

// As a script of its own.
std::vector<agent::ReplayStep> build_member(const Entry& member,
                                            const Value& root,
                                            Problems& problems) {
  Value whole = root;
  std::erase_if(whole.entries, [](const Entry& entry) { return entry.key != "version"; });
  whole.entries.push_back({.key = "replies", .key_span = member.key_span, .value = member.value});
  check(whole, k_script_keys, {}, problems);
  return build_replies(&member.value, problems);
}

agent::ReplayScript build_script(const Value& root, Problems& problems) {
  agent::ReplayScript script{.file = problems.source().file(),
                             .steps = build_replies(value_at(root, "replies"), problems)};
  for (const Entry& member : map_at(root, "members").entries) {
    script.members.emplace(member.key, build_member(member, root, problems));
  }
  return script;
}

// One error is all that the result can carry; it says how many it stands for.
agent::Error first_of(std::vector<agent::Error> errors) {
  agent::Error first = std::move(errors.front());
  if (errors.size() > 1) {
    first.message += fmt::format(
        " (and {} more)",
        errors.size() == 2 ? "1 mistake" : fmt::format("{} mistakes", errors.size() - 1));
  }
  return first;
}

}  // namespace

std::span<const Key> replay_keys() {
  return k_script_keys;
}

agent::Result<agent::ReplayScript> parse_replay_script(std::string_view text,
                                                       const std::string& shown_file) {
  TRY_ASSIGN(const Source source, Source::create(std::string(text), shown_file));
  Problems problems(source);
  agent::ReplayScript script;
  if (const auto root = parse_yaml(source, {0, source.text().size()}, k_limits, problems)) {
    check(*root, k_script_keys, {}, problems);
    script = build_script(*root, problems);
  }
  if (!problems.is_empty()) {
    return agent::fail(first_of(problems.take_errors()));
  }
  return script;
}

agent::Result<agent::ReplayScript> load_replay_script(const std::filesystem::path& file) {
  TRY_ASSIGN(const std::string text, read_text_file(file, k_largest_script));
  auto script = parse_replay_script(text, file.string());
  if (!script) {
    std::vector mistakes{std::move(script).error()};
    hide_text_behind_link(file, mistakes);
    return agent::fail(std::move(mistakes.front()));
  }
  return script;
}

}  // namespace config
