#include "agent/event.h"

#include "agent/duration.h"
#include "agent/json_text.h"

#include <nlohmann/json.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

namespace agent {
namespace {

// What the alternatives of EventBody are called, in its order.
template <typename... Bodies>
constexpr auto names_of(const std::variant<Bodies...>*) {
  return std::array<std::string_view, sizeof...(Bodies)>{Bodies::k_type...};
}
constexpr auto k_names = names_of(static_cast<const EventBody*>(nullptr));

// Arguments are shown as the object that they are, or as the text that came; null: none came.
Json arguments_json(const std::string& arguments) {
  if (arguments.empty()) {
    return nullptr;
  }
  std::optional<std::string> repeated_name;
  auto parsed = parse_json(arguments, repeated_name);
  const bool says_it_all = parsed && parsed->is_object() && !repeated_name;
  return says_it_all ? std::move(*parsed) : Json(arguments);
}

void read_word(std::string_view word, ModelDelta::Kind& kind) {
  kind = word == "text" ? ModelDelta::Kind::text : ModelDelta::Kind::reasoning;
}
void read_word(std::string_view word, StopReason& reason) {
  reason = stop_reason_from(word);
}
void read_word(std::string_view word, ToolStatus& status) {
  status = tool_status_from(word);
}
void read_word(std::string_view word, Answer& answer) {
  answer = answer_from(word);
}
void read_word(std::string_view word, HookPoint& point) {
  point = point_from(word).value_or(point);
}

// Puts fields into a place, which is a Json or a JsonText.
template <typename Place>
class FieldWriter {
 public:
  FieldWriter(Place& json, Detail detail) : json_(json), detail_(detail) {}

  template <typename Value>
  void operator()(const char* key, const Value& value) {
    put(json_[key], value);
  }
  void reported(const char* key, const Usage& usage) { put(json_[key], usage); }
  void or_null(const char* key, const std::string& text) {
    if (text.empty()) {
      json_[key] = Json(nullptr);
    } else {
      json_[key] = text;
    }
  }
  void word(const char* key, const std::string& text, const auto&) { json_[key] = text; }
  void arguments(const char* key, const std::string& text) { json_[key] = arguments_json(text); }
  void constant(const char* key, std::string_view text) { json_[key] = text; }
  void group(const char* key, const auto& fields) {
    auto&& place = json_[key];
    FieldWriter<std::remove_reference_t<decltype(place)>> inner(place, detail_);
    fields(inner);
  }
  template <typename Value>
  void kept(const char* key, const Value& value) {
    if (detail_ == Detail::kept) {
      put(json_[key], value);
    }
  }
  template <HasFields Value>
  void members(const Value& value) {
    Value::fields(value, *this);
  }
  void members(const SharedReply& reply) { members(*reply); }

 private:
  void put(auto&& place, const std::string& text) { place = text; }
  void put(auto&& place, std::integral auto number) { place = Json(number); }
  void put(auto&& place, double number) { place = number_json(number); }
  void put(auto&& place, std::chrono::milliseconds time) { place = Json(time.count()); }
  void put(auto&& place, Code code) { place = row(code).name; }
  template <typename Word>
    requires std::is_enum_v<Word>
  void put(auto&& place, Word word) {
    place = to_string(word);
  }
  void put(auto&& place, std::optional<Money> money) { place = to_json(money); }
  template <IsOneOf<Usage, ModelUse, Error> Value>
  void put(auto&& place, const Value& value) {
    place = to_json(value);
  }
  template <typename Json_>
  void put(Json_&& place, const RunResult& result) {
    write(std::forward<Json_>(place), result);
  }
  template <HasFields Value>
  void put(auto&& place, const Value& value) {
    FieldWriter<std::remove_reference_t<decltype(place)>> inner(place, detail_);
    Value::fields(value, inner);
  }
  template <typename Value>
  void put(auto&& place, const std::optional<Value>& value) {
    if (value) {
      put(std::forward<decltype(place)>(place), *value);
    } else {
      place = Json(nullptr);
    }
  }
  template <typename Value>
  void put(auto&& place, const std::vector<Value>& values) {
    put_list(std::forward<decltype(place)>(place), values);
  }
  void put(auto&& place, const std::set<std::string>& texts) {
    put_list(std::forward<decltype(place)>(place), texts);
  }
  void put_list(auto&& place, const auto& values) {
    write_list(
        std::forward<decltype(place)>(place), values, [this](auto&& item, const auto& value) {
          put(std::forward<decltype(item)>(item), value);
        });
  }
  // An object, by key.
  template <typename Value>
  void put(auto&& place, const std::map<std::string, Value>& values) {
    if (values.empty()) {
      place = Json::object();
    }
    for (const auto& [key, value] : values) {
      put(place[key], value);
    }
  }

  Place& json_;
  Detail detail_;
};

// Takes fields from an object; one that is missing or of another type keeps its default.
class FieldReader {
 public:
  explicit FieldReader(const Json& json) : json_(json) {}

  template <typename Value>
  void operator()(const char* key, Value& value) {
    if (const Json* field = find(json_, key)) {
      take(*field, value);
    }
  }
  template <typename Word>
    requires std::is_enum_v<Word>
  void operator()(const char* key, Word& word) {
    read_word(text_at(json_, key), word);
  }
  void operator()(const char* key, std::optional<Money>& money) { money = money_at(json_, key); }
  void operator()(const char* key, std::optional<Code>& code) {
    code = code_from_name(text_at(json_, key));
  }
  // Null is an answer, too: there is none.
  template <typename Value>
  void operator()(const char* key, std::optional<Value>& value) {
    if (const Json* field = find(json_, key)) {
      take(*field, value);
    } else if (json_.contains(key)) {
      value.reset();
    }
  }
  void operator()(const char* key, Money& money) { money = money_at(json_, key).value_or(money); }
  void kept(const char* key, auto& value) { (*this)(key, value); }
  void reported(const char* key, Usage& usage) { (*this)(key, usage); }
  void or_null(const char* key, std::string& text) { (*this)(key, text); }
  void word(const char* key, std::string& text, const auto&) { (*this)(key, text); }
  void arguments(const char* key, std::string& text) {
    if (const Json* arguments = find(json_, key)) {
      text = arguments->is_string() ? arguments->get<std::string>() : dump(*arguments);
    }
  }
  void constant(const char*, std::string_view) {}
  void group(const char* key, const auto& fields) {
    if (const Json* object = find(json_, key)) {
      FieldReader inner(*object);
      fields(inner);
    }
  }
  template <HasFields Value>
  void members(Value& value) {
    Value::fields(value, *this);
  }
  void members(SharedReply& shared) {
    Reply reply;
    members(reply);
    shared = std::move(reply);
  }

 private:
  static void take(const Json& json, std::string& text) {
    if (json.is_string()) {
      text = json.get<std::string>();
    }
  }
  template <std::integral Number>
  static void take(const Json& json, Number& number) {
    if (is_number(json)) {
      number = static_cast<Number>(integer_of(json).value_or(0));
    }
  }
  static void take(const Json& json, bool& flag) { flag = json.is_boolean() && json.get<bool>(); }
  static void take(const Json& json, double& number) {
    if (is_number(json)) {
      number = real_of(json);
    }
  }
  static void take(const Json& json, std::chrono::milliseconds& time) {
    std::int64_t count = 0;
    take(json, count);
    time = std::chrono::milliseconds(count);
  }
  static void take(const Json& json, Usage& usage) { usage = usage_from_json(json); }
  static void take(const Json& json, ModelUse& use) { use = model_use_from_json(json); }
  static void take(const Json& json, Error& error) { error = error_from_json(json); }
  static void take(const Json& json, RunResult& result) { result = result_from_json(json); }
  template <HasFields Value>
  static void take(const Json& json, Value& value) {
    FieldReader inner(json);
    Value::fields(value, inner);
  }
  template <typename Value>
  static void take(const Json& json, std::optional<Value>& value) {
    if (has_form_of<Value>(json)) {
      take(json, value.emplace());
    }
  }
  template <typename Value>
  static void take(const Json& json, std::vector<Value>& values) {
    for (const Json& item : json) {
      if (has_form_of<Value>(item)) {
        take(item, values.emplace_back());
      }
    }
  }
  static void take(const Json& json, std::set<std::string>& texts) {
    std::vector<std::string> list;
    take(json, list);
    texts.insert(list.begin(), list.end());
  }
  template <typename Value>
  static void take(const Json& json, std::map<std::string, Value>& values) {
    for (const auto& [key, value] : json.items()) {
      take(value, values[key]);
    }
  }
  template <typename Value>
  static bool has_form_of(const Json& json) {
    if constexpr (std::is_same_v<Value, std::string>) {
      return json.is_string();
    } else if constexpr (std::is_arithmetic_v<Value> ||
                         std::is_same_v<Value, std::chrono::milliseconds>) {
      return is_number(json);
    } else {
      return json.is_object();
    }
  }

  const Json& json_;
};

// The alternative of that type name, read from `json`; false where no alternative has the name.
template <std::size_t index = 0>
bool read_body(std::string_view type, const Json& json, EventBody& body) {
  if constexpr (index == std::variant_size_v<EventBody>) {
    return false;
  } else {
    if (k_names[index] != type) {
      return read_body<index + 1>(type, json, body);
    }
    std::variant_alternative_t<index, EventBody> alternative;
    FieldReader reader(json);
    reader.members(alternative);
    body = std::move(alternative);
    return true;
  }
}

}  // namespace

std::string_view to_string(ModelDelta::Kind kind) {
  return kind == ModelDelta::Kind::text ? "text" : "reasoning";
}

ModelUse use_in(const Reply& reply) {
  return {.model = reply.origin,
          .turns = 1,
          .usage = reply.counted(),
          .cost = reply.cost,
          .usage_estimated = reply.estimated.has_value()};
}

ModelUse use_in(const ModelBroken& broken) {
  return {.model = {},
          .usage = broken.counted(),
          .cost = broken.cost,
          .usage_estimated = broken.estimated.has_value()};
}

namespace {

struct UseIn {
  using Use = std::optional<ModelUse>;

  Use operator()(const ModelResponded& responded) const { return use_in(*responded.reply); }
  Use operator()(const ModelBroken& broken) const { return use_in(broken); }
  Use operator()(const GuardrailRan& guardrail) const { return guardrail.judge; }
  Use operator()(const ContextCompacted& compacted) const { return compacted.summarizer; }
  template <IsOneOf<RunStarted,
                    TurnStarted,
                    UserSaid,
                    LimitWarning,
                    Warning,
                    RunFinished,
                    RunParked,
                    ModelRequested,
                    ModelDelta,
                    ModelReset,
                    ModelRetrying,
                    ModelFallback,
                    ToolStarted,
                    ToolOutput,
                    ToolFinished,
                    ToolsAdded,
                    ApprovalRequested,
                    ApprovalAnswered,
                    HookRan,
                    CheckRan,
                    MemberStarted,
                    MemberFinished> Other>
  Use operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<ModelUse> use_in(const EventBody& body) {
  return std::visit(UseIn(), body);
}

std::string_view type_name(const EventBody& body) {
  return k_names[body.index()];
}

bool is_journaled(const EventBody& body) {
  return !std::holds_alternative<ModelDelta>(body) && !std::holds_alternative<ToolOutput>(body);
}

namespace {

template <typename Place>
void write(Place& json, const Event& event, Detail detail) {
  json["v"] = 1;
  json["run"] = event.run_id;
  if (!event.parent.empty()) {
    json["parent"] = event.parent;
  }
  json["seq"] = event.seq;
  json["ts"] = format_time(event.time);
  json["type"] = type_name(event.body);
  FieldWriter writer(json, detail);
  std::visit([&](const auto& body) { writer.members(body); }, event.body);
}

}  // namespace

Json to_json(const Event& event, Detail detail) {
  Json json;
  write(json, event, detail);
  return json;
}

std::string dump(const Event& event, Detail detail) {
  std::string text;
  {
    JsonText place(text);
    write(place, event, detail);
  }
  return text;
}

Result<Event> event_from_json(const Json& json) {
  Event event;
  const auto time = parse_time(text_at(json, "ts"));
  event.run_id = text_at(json, "run");
  event.parent = text_at(json, "parent");
  event.seq = integer_at(json, "seq");
  if (!time || event.run_id.empty() || event.seq < 1 ||
      !read_body(text_at(json, "type"), json, event.body)) {
    return fail(Code::storage_corrupt, "not an event: " + dump(json).substr(0, 80));
  }
  event.time = *time;
  return event;
}

}  // namespace agent
