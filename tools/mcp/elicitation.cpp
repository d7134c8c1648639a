#include "tools/mcp/elicitation.h"

#include "agent/duration.h"
#include "agent/schema/json_schema.h"
#include "agent/text.h"
#include "tools/mcp/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <expected>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

namespace tools::mcp {
namespace {

using agent::Json;

constexpr int k_most_tries = 10;           // at a field, until what is typed fits
constexpr std::size_t k_most_listed = 50;  // choices
constexpr std::size_t k_most_fields = 50;

Json accept(Json content) {
  return {{"action", "accept"}, {"content", std::move(content)}};
}

Json decline() {
  return {{"action", "decline"}};
}

Json cancel() {
  return {{"action", "cancel"}};
}

// One property of the schema that the server gives.
struct Field {
  std::string name;
  const Json* schema;
  const Json* standard;  // what the server says is meant where nothing is said; null: nothing
  agent::JsonSchema checked;
  bool is_required;

  std::string_view type() const { return agent::text_at(*schema, "type"); }
  // Why the value does not fit, in a sentence's end; empty: it does.
  std::string problem_of(const Json& value) const {
    const auto violations = checked.check(value);
    return violations.empty() ? "" : violations.front().message;
  }
};

std::optional<Field> field_of(const std::string& name, const Json& schema, const Json* required) {
  auto checked = agent::JsonSchema::compile(schema);
  if (!schema.is_object() || !checked) {
    return std::nullopt;
  }
  const Json* const standard = agent::find(schema, "default");
  const bool fits = standard != nullptr && checked->check(*standard).empty();
  return Field{.name = name,
               .schema = &schema,
               .standard = fits ? standard : nullptr,
               .checked = *std::move(checked),
               .is_required = required != nullptr && required->is_array() &&
                              std::ranges::find(*required, Json(name)) != required->end()};
}

// nullopt: it is no form that errand knows.
std::optional<std::vector<Field>> fields_of(const Json& params) {
  const Json* const schema = agent::find(params, "requestedSchema");
  if (schema == nullptr || agent::text_at(params, "mode", "form") != "form") {
    return std::nullopt;
  }
  const Json* const properties = agent::find(*schema, "properties");
  if (properties == nullptr || !properties->is_object() || properties->size() > k_most_fields) {
    return std::nullopt;
  }
  std::vector<Field> fields;
  for (const auto& [name, property] : properties->items()) {
    auto field = field_of(name, property, agent::find(*schema, "required"));
    if (!field) {
      return std::nullopt;
    }
    fields.push_back(*std::move(field));
  }
  return fields;
}

// nullopt: a field that has to be there has none.
std::optional<Json> defaults_of(const std::vector<Field>& fields) {
  Json content = Json::object();
  for (const Field& field : fields) {
    if (field.standard != nullptr) {
      content[field.name] = *field.standard;
    } else if (field.is_required) {
      return std::nullopt;
    }
  }
  return content;
}

struct Choice {
  std::string value;
  std::string title;  // for people

  // "Superman (hero-1)"
  std::string label() const {
    return title == value ? shown(value) : fmt::format("{} ({})", shown(title), shown(value));
  }
};

// What may be chosen, of either way to write an enumeration; none: anything.
std::vector<Choice> choices_of(const Json& schema) {
  std::vector<Choice> choices;
  const Json* const names = agent::find(schema, "enumNames");
  for (const char* key : {"enum", "oneOf", "anyOf"}) {
    const Json* const list = agent::find(schema, key);
    for (const Json& one : list != nullptr && list->is_array() ? *list : Json::array()) {
      const Json* const value = one.is_object() ? agent::find(one, "const") : &one;
      if (value == nullptr || !value->is_string()) {
        continue;
      }
      const auto text = value->get<std::string>();
      const std::size_t at = choices.size();
      const bool has_name =
          names != nullptr && names->is_array() && at < names->size() && (*names)[at].is_string();
      choices.push_back({.value = text,
                         .title = has_name ? (*names)[at].get<std::string>()
                                           : std::string(agent::text_at(one, "title", text))});
    }
  }
  return choices;
}

std::vector<Choice> choices_of(const Field& field) {
  if (field.type() == "boolean") {
    return {{.value = "yes", .title = "yes"}, {.value = "no", .title = "no"}};
  }
  const Json* const items = agent::find(*field.schema, "items");
  return choices_of(field.type() == "array" && items != nullptr ? *items : *field.schema);
}

std::string chosen(const std::vector<Choice>& choices, std::string_view word) {
  const auto is_meant = [&](const Choice& choice) {
    const std::string lower = agent::to_lower(word);
    return lower == agent::to_lower(choice.value) || lower == agent::to_lower(choice.title) ||
           word == choice.label();
  };
  if (const auto found = std::ranges::find_if(choices, is_meant); found != choices.end()) {
    return found->value;
  }
  const auto number = agent::parse_count(word);
  const bool is_one = number && *number >= 1 && std::cmp_less_equal(*number, choices.size());
  return is_one ? choices[static_cast<std::size_t>(*number) - 1].value : std::string(word);
}

Json list_of(const std::vector<Choice>& choices, std::string_view text) {
  Json list = Json::array();
  if (const auto whole = chosen(choices, text); whole != text) {
    return {whole};
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(chosen(choices, agent::trimmed(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return list;
}

// What was typed, as the type of the field; where it is none of that type, as it stands.
Json value_of(const Field& field, const std::string& text) {
  if (field.type() == "boolean") {
    const std::string word = agent::to_lower(text);
    const bool is_yes = word == "yes" || word == "true" || word == "y";
    const bool is_no = word == "no" || word == "false" || word == "n";
    return is_yes || is_no ? Json(is_yes) : Json(text);
  }
  if (field.type() == "integer" || field.type() == "number") {
    const auto number = agent::parse_json(text);
    return number && agent::is_number(*number) ? *number : Json(text);
  }
  const auto choices = choices_of(field);
  return field.type() == "array" ? list_of(choices, text) : Json(chosen(choices, text));
}

Question question_of(const std::string& who, std::string_view message, const Field& field) {
  const std::string_view title = agent::text_at(*field.schema, "title", field.name);
  const std::string_view description = agent::text_at(*field.schema, "description");
  std::string text = fmt::format("{}\n{}{}{}",
                                 shown(message),
                                 shown(title),
                                 description.empty() ? "" : ": ",
                                 shown(description));
  const auto choices = choices_of(field);
  const bool are_many = choices.size() > k_most_listed;
  std::vector<std::string> options;
  for (const Choice& choice : choices | std::views::take(are_many ? 0 : k_most_listed)) {
    options.push_back(choice.label());
  }
  if (are_many) {
    text += fmt::format(" (one of {})", choices.size());
  }
  if (field.type() == "array") {
    text += "\nSeveral: with commas between them";
  }
  return {.text = std::move(text),
          .options = std::move(options),
          .who = who,
          .enter = field.standard != nullptr ? shown(agent::dump(*field.standard))
                   : field.is_required       ? ""
                                             : "left out",
          .may_leave = true};
}

// The value, or nothing where it is left out. Else what the server is answered to its question.
std::expected<std::optional<Json>, Json> ask_for(Questioner& questioner,
                                                 Question question,
                                                 const Field& field,
                                                 const std::stop_token& stop) {
  const std::string text = question.text;
  for (int tries = 0; tries < k_most_tries; ++tries) {
    const auto said = questioner.ask(question, stop);
    if (!said) {
      return std::unexpected(cancel());
    }
    if (said->empty() && field.standard != nullptr) {
      return *field.standard;
    }
    if (said->empty() && !field.is_required) {
      return std::nullopt;
    }
    Json value = value_of(field, *said);
    const std::string problem = said->empty() ? "nothing was said" : field.problem_of(value);
    if (problem.empty()) {
      return value;
    }
    question.text = fmt::format("{}\nThat does not fit: {}", text, shown(problem));
  }
  return std::unexpected(decline());
}

// A field at a time, until the person leaves.
Json ask_all(Questioner& questioner,
             const std::string& server,
             std::string_view message,
             const std::vector<Field>& fields,
             const std::stop_token& stop) {
  const std::string who = fmt::format("The MCP server `{}`", server);
  if (fields.empty()) {
    const auto said = questioner.ask({.text = shown(message),
                                      .options = {"yes", "no"},
                                      .who = who,
                                      .enter = "no",
                                      .may_leave = true},
                                     stop);
    return !said ? cancel() : *said == "yes" ? accept(Json::object()) : decline();
  }
  Json content = Json::object();
  for (const Field& field : fields) {
    auto value = ask_for(questioner, question_of(who, message, field), field, stop);
    if (!value) {
      return std::move(value).error();
    }
    if (*value) {
      content[field.name] = **std::move(value);
    }
  }
  return accept(std::move(content));
}

}  // namespace

Elicitor::Answer Elicitor::answer(const agent::McpServerSpec& server,
                                  const Json& params,
                                  const std::stop_token& stop) {
  using Mode = agent::McpServerSpec::Elicitation;
  if (server.elicitation == Mode::decline) {
    return {.result = decline(), .unasked = "`elicitation: decline` said no"};
  }
  const auto fields = fields_of(params);
  if (!fields) {
    return {.result = decline(), .unasked = "it is no form that errand can show"};
  }
  if (server.elicitation == Mode::defaults) {
    auto content = defaults_of(*fields);
    return content ? Answer{.result = accept(*std::move(content))}
                   : Answer{.result = decline(), .unasked = "a field has no default that fits"};
  }
  if (questioner_ == nullptr) {
    return {.result = decline(), .unasked = "nobody was there to answer"};
  }
  const std::lock_guard lock(mutex_);
  return {.result =
              ask_all(*questioner_, server.name, agent::text_at(params, "message"), *fields, stop)};
}

}  // namespace tools::mcp
