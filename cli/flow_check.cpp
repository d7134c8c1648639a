#include "cli/flow_check.h"

#include "agent/flow/names.h"
#include "agent/flow/value_type.h"
#include "agent/json.h"
#include "agent/template.h"
#include "agent/text.h"
#include "config/prompt.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {
namespace {

using agent::AgentSpec;
using agent::Error;
using agent::Json;
using agent::StepSpec;
using agent::flow::Path;
using agent::flow::ValueType;

std::string_view kind_of(const AgentSpec& agent) {
  return agent.steps.empty() ? "agent" : "flow";
}

class StepCheck {
 public:
  StepCheck(const AgentSpec& flow, const std::vector<const AgentSpec*>& agents)
      : flow_(flow), agents_(agents) {}

  std::vector<Error> all() {
    for (std::size_t number = 0; number < flow_.steps.size(); ++number) {
      const StepSpec& step = flow_.steps[number];
      if (agents_[number] != nullptr) {
        check_agent(step, *agents_[number]);
      }
      check_expressions(step);
    }
    return std::move(errors_);
  }

 private:
  // Once, however many of its expressions lead to it.
  void add(const StepSpec& step, std::string message, std::string help) {
    message = fmt::format("step `{}`: {}", step.name, message);
    if (std::ranges::find(errors_, message, &Error::message) == errors_.end()) {
      errors_.push_back({.code = agent::Code::team_invalid,
                         .message = std::move(message),
                         .help = std::move(help),
                         .where = step.where});
    }
  }

  void check_agent(const StepSpec& step, const AgentSpec& agent) {
    const bool wants_prompt = agent.steps.empty() || agent::flow::names_in(agent.steps, "prompt");
    if (wants_prompt && step.prompt.empty() && agent.prompt.empty()) {
      add(step,
          fmt::format("nobody says what its {} is to do", kind_of(agent)),
          fmt::format("`prompt`, here or in the file of the {}", kind_of(agent)));
    }
    for (const auto& [name, value] : step.parameters) {
      const auto parameter = std::ranges::find(agent.parameters, name, &agent::ParameterSpec::name);
      if (parameter != agent.parameters.end()) {
        check_value(step, *parameter, value);
      } else {
        add(step,
            fmt::format("its {} has no parameter `{}`", kind_of(agent), agent::one_line(name, 60)),
            "its file declares them under `parameters`");
      }
    }
    for (const agent::ParameterSpec& parameter : agent.parameters) {
      const bool is_given = std::ranges::any_of(
          step.parameters, [&](const auto& given) { return given.first == parameter.name; });
      if (parameter.required && !is_given) {
        add(step,
            fmt::format("its {} needs the parameter `{}`", kind_of(agent), parameter.name),
            fmt::format("`parameters: {{{}: …}}`", parameter.name));
      }
    }
  }

  // Of a template without a tag; nullopt: a step brings what it is.
  static std::optional<std::string> known_text(std::string_view text) {
    std::string known;
    for (const agent::TemplatePiece& piece : agent::split_template(text)) {
      if (piece.kind == agent::TemplatePiece::Kind::tag) {
        return std::nullopt;
      }
      known += piece.text;
    }
    return known;
  }

  // What other steps bring is looked at when it is there.
  void check_value(const StepSpec& step,
                   const agent::ParameterSpec& parameter,
                   const std::string& text) {
    const auto value = known_text(text);
    if (const auto given = value ? check_given(parameter, *value) : agent::Result<void>(); !given) {
      add(step, given.error().message, given.error().help);
    }
  }

  // ---- expressions ----

  // What is said of a path while nothing has run: a schema, or null where none is known.
  struct Known {
    Json schema = nullptr;
    ValueType type = {};
  };

  void check_expressions(const StepSpec& step) {
    for (const auto& expression : agent::flow::expressions_of(step)) {
      const auto lookup = [&](const Path& path) { return known_of(step, path).type; };
      const std::size_t mistakes = errors_.size();
      const auto type = agent::flow::type_of(expression, lookup);
      if (errors_.size() > mistakes) {
        continue;  // one of its names
      }
      if (!type) {
        add(step, fmt::format("`{}`: {}", shown(expression), type.error()), "mend the comparison");
      } else if (expression.text() == step.for_each) {
        check_list(step, expression, *type);
      } else if (expression.text() == step.when) {
        check_condition(step, expression, *type);
      }
    }
  }

  static std::string shown(const agent::flow::Expression& expression) {
    return agent::one_line(expression.text(), 100);
  }

  void check_list(const StepSpec& step,
                  const agent::flow::Expression& list,
                  const ValueType& type) {
    if (!type.may_be(ValueType::k_list)) {
      add(step,
          fmt::format("`for_each: {}` is not a list, but {}", shown(list), type.words()),
          "`plan.output.files`, where the agent's `output.schema` says that it is one, or the "
          "`lines` of a command");
    } else if (type.is_only(Json::array())) {
      add(step, "it can never run: its list is always empty", "take the step out");
    }
  }

  void check_condition(const StepSpec& step,
                       const agent::flow::Expression& condition,
                       const ValueType& type) {
    if (!type.may_be(ValueType::k_boolean)) {
      add(step,
          fmt::format(
              "`when: {}` is neither true nor false, but {}", shown(condition), type.words()),
          "compare it: `== \"done\"`, `!= []`");
    } else if (type.is_only(false)) {
      add(step,
          fmt::format("it can never run: `when: {}` is never true", shown(condition)),
          "a step that fails ends the flow, unless its `on_error` is `continue`; take the step "
          "out, "
          "or mend its `when`");
    }
  }

  Known known_of(const StepSpec& step, const Path& path) {
    if (path.name == "item") {
      return of_item(step, path);
    }
    if (path.name == "prompt" && !path.parts.empty()) {
      add(step,
          fmt::format("`{}`: the flow's `prompt` is a text", agent::one_line(path.shown(), 100)),
          "`prompt` alone is all of it");
    }
    if (path.name == "prompt") {
      return {.type = {.kinds = ValueType::k_text | ValueType::k_null}};
    }
    if (path.name == "parameters") {
      return of_parameter(path);
    }
    const auto other = std::ranges::find(flow_.steps, path.name, &StepSpec::name);
    return other == flow_.steps.end() ? Known() : of_step(step, *other, path);
  }

  Known of_parameter(const Path& path) const {
    const auto* name = path.parts.size() == 1 ? std::get_if<std::string>(&path.parts[0]) : nullptr;
    const auto found = std::ranges::find_if(flow_.parameters, [&](const auto& parameter) {
      return name != nullptr && parameter.name == *name;
    });
    if (found == flow_.parameters.end()) {
      return {};
    }
    Json schema{{"type", found->type}};
    for (const std::string& option : found->options) {
      const auto value = found->type == "string" ? std::nullopt : agent::parse_json(option);
      schema["enum"].push_back(value.value_or(Json(option)));
    }
    ValueType type = agent::flow::type_of_schema(schema);
    if (!found->required && !found->fallback) {
      type.kinds |= ValueType::k_null;
      if (type.values) {  // not given, it is an empty text
        type.values->insert(type.values->end(), {Json(nullptr), Json("")});
      }
    }
    return {.type = std::move(type)};
  }

  // One of the list's, where that is a path.
  Known of_item(const StepSpec& step, const Path& path) {
    const auto list = agent::flow::Expression::parse(step.for_each);
    if (!list || list->as_path() == nullptr) {
      return {};
    }
    const Known whole = known_of(step, *list->as_path());
    const Json* items = agent::find(whole.schema, "items");
    return items == nullptr ? Known() : below(step, path, 0, *items, false);
  }

  // All that is known of it, or of its items: what has names is no list, and nothing to be true.
  static Known whole_of_step(const StepSpec& other, const Path& path) {
    const bool is_item =
        !path.parts.empty() && !std::holds_alternative<Path::Each>(path.parts.front());
    const auto whole = other.for_each.empty() || is_item ? ValueType::k_map : ValueType::k_list;
    return {.type = {.kinds = static_cast<std::uint8_t>(whole | ValueType::k_null)}};
  }

  Known of_step(const StepSpec& step, const StepSpec& other, const Path& path) {
    const std::size_t at = other.for_each.empty() ? 0 : 1;
    if (path.parts.size() <= at) {
      return whole_of_step(other, path);
    }
    const auto* member = std::get_if<std::string>(&path.parts[at]);
    if (member == nullptr) {
      return {};
    }
    const bool is_each = at == 1 && std::holds_alternative<Path::Each>(path.parts[0]);
    const bool is_new = is_known_again(step, other);
    const bool may_be_absent = !other.when.empty() || is_new || at == 1;
    Known known;
    if (*member == "output") {
      known = of_output(step, other, path, at + 1, may_be_absent);
    } else if (const auto schema = schema_of_member(other, *member, is_new)) {
      known = below(step, path, at + 1, *schema, may_be_absent);
    }
    return is_each ? Known{.type = {.kinds = ValueType::k_list}} : known;
  }

  // Of a step that is repeated with this one: what it brought the last time, when it failed.
  bool is_known_again(const StepSpec& step, const StepSpec& other) const {
    const auto number = static_cast<std::size_t>(&step - flow_.steps.data());
    return other.repeat && other.repeat->with == number;
  }

  // Each `status` or `exit_name` that there is.
  static Json endings(std::string_view member) {
    std::set<std::string_view> names;
    for (const agent::ExitRow& row : agent::exit_table()) {
      names.insert(member == "status" ? agent::to_string(row.status) : row.name);
    }
    return names;
  }

  static Json exit_codes() {
    Json codes = Json::array();
    for (int code = 0; code <= 255; ++code) {
      codes.push_back(code);
    }
    return codes;
  }

  // A step that fails ends the flow, so that those after it see only that it went well.
  static std::optional<Json> schema_of_member(const StepSpec& other,
                                              const std::string& member,
                                              bool has_failed) {
    const bool is_well = other.on_error == StepSpec::OnError::stop && !has_failed;
    if (member == "text" || member == "run_id" || member == "stderr") {
      return Json{{"type", "string"}};
    }
    if (member == "status" || member == "exit_name") {
      return is_well ? Json{{"const", "ok"}} : Json{{"enum", endings(member)}};
    }
    if (member == "exit_code") {
      return is_well ? Json{{"const", 0}} : Json{{"enum", exit_codes()}};
    }
    if (member == "cost_usd") {
      return Json{{"type", {"number", "null"}}};
    }
    if (member == "lines") {
      return Json{{"type", {"array", "null"}}, {"items", {{"type", "string"}}}};
    }
    return std::nullopt;
  }

  // Of a command or a flow, anything.
  Known of_output(const StepSpec& step,
                  const StepSpec& other,
                  const Path& path,
                  std::size_t part,
                  bool may_be_absent) {
    const AgentSpec* agent = agents_[static_cast<std::size_t>(&other - flow_.steps.data())];
    if (agent == nullptr || !agent->steps.empty()) {
      return {};
    }
    const auto schema = agent::parse_json(agent->output.schema);
    if (!schema) {
      add(step,
          fmt::format("`{}` is never there: the agent of `{}` has no `output.schema`",
                      path.shown(),
                      other.name),
          fmt::format("`{}.text` is what it answers", other.name));
      return {};
    }
    const bool may_fail = other.on_error == StepSpec::OnError::proceed;
    return below(step, path, part, *schema, may_be_absent || may_fail);
  }

  // What the rest of the path, from that part on, leads to. What cannot be there is a mistake.
  Known below(
      const StepSpec& step, const Path& path, std::size_t part, Json schema, bool may_be_absent) {
    bool is_list = false;
    for (; part < path.parts.size() && schema.is_object(); ++part) {
      const auto* member = std::get_if<std::string>(&path.parts[part]);
      if (member != nullptr) {
        may_be_absent = may_be_absent || !is_required(schema, *member);
        schema = of_member(step, path, part, *member, schema);
      } else {
        may_be_absent = true;
        is_list = is_list || std::holds_alternative<Path::Each>(path.parts[part]);
        schema = of_items(step, path, part, schema);
      }
    }
    if (is_list) {
      return {.type = {.kinds = ValueType::k_list | ValueType::k_null}};
    }
    if (part < path.parts.size() || !schema.is_object()) {
      return {};
    }
    ValueType type = agent::flow::type_of_schema(schema);
    if (may_be_absent && !type.may_be(ValueType::k_null)) {
      type.kinds |= ValueType::k_null;
      if (type.values) {
        type.values->push_back(nullptr);
      }
    }
    return {.schema = std::move(schema), .type = std::move(type)};
  }

  static bool is_required(const Json& schema, const std::string& member) {
    const Json* required = agent::find(schema, "required");
    return required != nullptr && required->is_array() &&
           std::ranges::find(*required, Json(member)) != required->end();
  }

  // Whether what `type` says leaves room for that kind.
  static bool may_be(const Json& schema, std::uint8_t kind) {
    return agent::flow::type_of_schema(schema).may_be(kind);
  }

  Json of_items(const StepSpec& step, const Path& path, std::size_t part, const Json& schema) {
    if (!may_be(schema, ValueType::k_list)) {
      add(step, fmt::format("`{}` is not a list", path.shown(part)), says_schema(path));
      return nullptr;
    }
    const Json* items = agent::find(schema, "items");
    return items != nullptr ? *items : Json();
  }

  static std::string says_schema(const Path& path) {
    return path.shown().contains(".output") || path.name == "item"
               ? "the agent's `output.schema` says what it is"
               : "see EXPRESSIONS in errand-agent(5)";
  }

  Json of_member(const StepSpec& step,
                 const Path& path,
                 std::size_t part,
                 const std::string& name,
                 const Json& schema) {
    if (!may_be(schema, ValueType::k_map)) {
      add(step,
          fmt::format("`{}` has no members: it is {}",
                      path.shown(part),
                      agent::flow::type_of_schema(schema).words()),
          says_schema(path));
      return nullptr;
    }
    const Json* properties = agent::find(schema, "properties");
    if (properties == nullptr) {
      return nullptr;
    }
    if (const Json* property = agent::find(*properties, name)) {
      return *property;
    }
    const Json* more = agent::find(schema, "additionalProperties");
    const bool may_have_more = schema.contains("patternProperties") || schema.contains("$ref") ||
                               schema.contains("anyOf") || schema.contains("oneOf") ||
                               schema.contains("allOf") || (more != nullptr && *more != false);
    if (!may_have_more) {
      std::vector<std::string> known;
      for (const auto& [key, value] : properties->items()) {
        known.push_back(key);
      }
      const auto meant = agent::nearest(name, std::span<const std::string>(known));
      add(step,
          fmt::format("`{}` has no `{}`", path.shown(part), name),
          meant ? fmt::format("did you mean `{}`?", *meant)
                : fmt::format("its `output.schema` has {}", fmt::join(known, ", ")));
    }
    return nullptr;
  }

  const AgentSpec& flow_;
  const std::vector<const AgentSpec*>& agents_;
  std::vector<Error> errors_;
};

}  // namespace

agent::Result<void> check_given(const agent::ParameterSpec& parameter, const std::string& value) {
  auto checked = config::check_parameter(parameter, value);
  if (!checked) {
    Error& error = checked.error();
    error.code = agent::Code::team_invalid;
    error.help = fmt::format("`parameters: {{{}: VALUE}}` of the step, where VALUE is {}",
                             parameter.name,
                             config::values_of(parameter));
  }
  return checked;
}

std::vector<Error> mistakes_in_steps(const AgentSpec& flow,
                                     const std::vector<const AgentSpec*>& agents) {
  return StepCheck(flow, agents).all();
}

}  // namespace cli
