#include "tools/mcp/elicitation.h"

#include "agent/duration.h"
#include "agent/schema/json_schema.h"
#include "agent/text.h"
#include "tools/mcp/message.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <chrono>
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
constexpr std::size_t k_longest_message = 8'000;  // bytes, that a person sees whole

Json accept(Json content) {
  return {{"action", "accept"}, {"content", std::move(content)}};
}

Json decline() {
  return {{"action", "decline"}};
}

Json cancel() {
  return {{"action", "cancel"}};
}

bool is_date(std::string_view text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  return re2::RE2::FullMatch(text, R"((\d{4})-(\d\d)-(\d\d))", &year, &month, &day) &&
         std::chrono::year_month_day(
             std::chrono::year(year), std::chrono::month(month), std::chrono::day(day))
             .ok();
}

// RFC 3339
bool is_date_time(std::string_view text) {
  constexpr std::size_t k_date = 10;
  return is_date(text.substr(0, k_date)) &&
         re2::RE2::FullMatch(
             text.substr(std::min(k_date, text.size())),
             R"([Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d))");
}

bool is_email(std::string_view text) {
  return re2::RE2::FullMatch(text, R"([^\s@]+@[^\s@]+)");
}

bool is_uri(std::string_view text) {
  return re2::RE2::FullMatch(text, R"([A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+)");
}

struct Format {
  std::string_view name;
  bool (*fits)(std::string_view text);
  std::string_view wanted;
};

// Those that a form may have.
constexpr std::array k_formats{
    Format{"date", is_date, "a date, as 2026-01-31"},
    Format{"date-time", is_date_time, "a date and time, as 2026-01-31T09:00:00Z"},
    Format{"email", is_email, "an email address"},
    Format{"uri", is_uri, "a URI, with its scheme"},
};

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
    return violations.empty() ? problem_of_format(value) : violations.front().message;
  }

  std::string problem_of_format(const Json& value) const {
    const auto format =
        std::ranges::find(k_formats, agent::text_at(*schema, "format"), &Format::name);
    return format == k_formats.end() || !value.is_string() ||
                   format->fits(value.get_ref<const std::string&>())
               ? ""
               : fmt::format("must be {}", format->wanted);
  }
};

bool can_be_typed(std::string_view type) {
  constexpr std::array<std::string_view, 6> k_types = {
      "", "string", "number", "integer", "boolean", "array"};
  return std::ranges::find(k_types, type) != k_types.end();
}

std::optional<Field> field_of(const std::string& name, const Json& schema, const Json* required) {
  auto checked = agent::JsonSchema::compile(schema);
  if (!schema.is_object() || !checked || !can_be_typed(agent::text_at(schema, "type"))) {
    return std::nullopt;
  }
  Field field{.name = name,
              .schema = &schema,
              .standard = nullptr,
              .checked = *std::move(checked),
              .is_required = required != nullptr && required->is_array() &&
                             std::ranges::find(*required, Json(name)) != required->end()};
  const Json* const standard = agent::find(schema, "default");
  field.standard = standard != nullptr && field.problem_of(*standard).empty() ? standard : nullptr;
  return field;
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

// nullopt: one that has to be there has none, one does not fit, or there is none at all: a yes
// would be nobody's.
std::optional<Json> defaults_of(const std::vector<Field>& fields) {
  Json content = Json::object();
  for (const Field& field : fields) {
    if (field.standard != nullptr) {
      content[field.name] = *field.standard;
    } else if (field.is_required || agent::find(*field.schema, "default") != nullptr) {
      return std::nullopt;
    }
  }
  return content.empty() ? std::nullopt : std::optional(content);
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

// 1e2 as 100: there are servers whose integers have no other form.
Json as_integer(const Json& number) {
  const auto integer = agent::integer_of(number);
  return integer && agent::is_same_value(Json(*integer), number) ? Json(*integer) : number;
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
    return !number || !agent::is_number(*number) ? Json(text)
           : field.type() == "integer"           ? as_integer(*number)
                                                 : *number;
  }
  const auto choices = choices_of(field);
  return field.type() == "array" ? list_of(choices, text) : Json(chosen(choices, text));
}

// Lines may be, escapes may not.
std::string clean_lines(std::string_view text) {
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += (begin == 0 ? "" : "\n") +
             agent::one_line(text.substr(begin, end - begin), 4 * k_longest_message);
    begin = end + 1;
  }
  return lines;
}

std::string shown_default(const Field& field) {
  if (field.type() == "boolean") {
    return field.standard->get<bool>() ? "yes" : "no";
  }
  return shown(agent::dump(*field.standard));
}

Question question_of(const std::string& who, std::string_view message, const Field& field) {
  const std::string_view title = agent::text_at(*field.schema, "title", field.name);
  const std::string_view description = agent::text_at(*field.schema, "description");
  std::string text = fmt::format("{}\n{}{}{}",
                                 clean_lines(message),
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
          .enter = field.standard != nullptr ? shown_default(field)
                   : field.is_required       ? ""
                                             : "left out",
          .may_leave = true};
}

// Why what was typed does not fit, for who typed it; empty: it does.
std::string told_problem(const Field& field, const Json& value) {
  const std::string problem = field.problem_of(value);
  const auto choices = choices_of(field);
  const bool is_one = value.is_boolean() ||
                      (value.is_string() && std::ranges::find(choices,
                                                              value.get_ref<const std::string&>(),
                                                              &Choice::value) != choices.end());
  const bool is_no_choice = field.type() != "array" && !choices.empty() && !is_one;
  return !problem.empty() && is_no_choice ? "it is none of the choices" : problem;
}

// The value, or nothing where it is left out. Else what the server is answered to its question.
std::expected<std::optional<Json>, Json> ask_for(Questioner::Conversation& person,
                                                 Question question,
                                                 const Field& field,
                                                 const std::stop_token& stop) {
  const std::string text = question.text;
  for (int tries = 0; tries < k_most_tries; ++tries) {
    const auto said = person.ask(question, stop);
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
    const std::string problem = said->empty() ? "nothing was said" : told_problem(field, value);
    if (problem.empty()) {
      return value;
    }
    question.text = fmt::format("{}\nThat does not fit: {}", text, shown(problem));
  }
  return std::unexpected(decline());
}

// A form without fields: its own answer is all that it asks for.
Json ask_for_yes(Questioner::Conversation& person,
                 const std::string& who,
                 std::string_view message,
                 const std::stop_token& stop) {
  const Json schema = {{"type", "boolean"}, {"default", false}};
  const auto field = field_of("", schema, nullptr);
  const auto is_yes = ask_for(person,
                              {.text = clean_lines(message),
                               .options = {"yes", "no"},
                               .who = who,
                               .enter = "no",
                               .may_leave = true},
                              *field,
                              stop);
  return !is_yes ? is_yes.error() : **is_yes == true ? accept(Json::object()) : decline();
}

// A field at a time, until the person leaves.
Json ask_all(Questioner::Conversation& person,
             const std::string& server,
             std::string_view message,
             const std::vector<Field>& fields,
             const std::stop_token& stop) {
  const std::string who = fmt::format("The MCP server `{}`", server);
  if (fields.empty()) {
    return ask_for_yes(person, who, message, stop);
  }
  Json content = Json::object();
  for (const Field& field : fields) {
    auto value = ask_for(person, question_of(who, message, field), field, stop);
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
                   : Answer{.result = decline(), .unasked = "its fields have no defaults that fit"};
  }
  if (questioner_ == nullptr) {
    return {.result = decline(), .unasked = "nobody was there to answer"};
  }
  const std::string_view message = agent::text_at(params, "message");
  if (message.size() > k_longest_message) {
    return {.result = decline(), .unasked = "its question is too long to be read"};
  }
  const auto person = questioner_->begin(stop);
  return {.result = ask_all(*person, server.name, message, *fields, stop)};
}

}  // namespace tools::mcp
