#include "tools/runner/call_validation.h"

#include "agent/refusal.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;

constexpr std::size_t k_max_named = 5;  // violations in a message

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

// "Read_File" of "ReadFile".
std::string with_bars(std::string_view name) {
  std::string words;
  for (const char c : name) {
    const bool begins_a_word =
        is_upper(c) && !words.empty() && !is_upper(words.back()) && words.back() != '_';
    words += begins_a_word ? "_" : "";
    words += c;
  }
  return words;
}

// The only candidate that is made of the same words.
std::optional<std::string> same_words(std::string_view name, std::span<const std::string> names) {
  std::optional<std::string> found;
  for (const std::string& candidate : names) {
    const std::string wanted = agent::folded(candidate);
    if (wanted == agent::folded(name) || wanted == agent::folded(with_bars(name))) {
      if (found) {
        return std::nullopt;
      }
      found = candidate;
    }
  }
  return found;
}

}  // namespace

std::string_view without_namespace(std::string_view name) {
  constexpr auto k_of_all = std::to_array<std::string_view>({"default_api", "functions", "tools"});
  const std::size_t at = std::min(name.find_first_of(".:/"), name.size());
  const bool is_of_all = std::ranges::find(k_of_all, name.substr(0, at)) != k_of_all.end();
  return is_of_all && at < name.size() ? name.substr(at + 1) : name;
}

std::optional<std::string> repair_name(std::string_view name, std::span<const std::string> names) {
  if (std::ranges::find(names, name) != names.end()) {
    return std::string(name);
  }
  auto found = same_words(name, names);
  return found ? found : same_words(without_namespace(name), names);
}

Result<agent::Json> parse_arguments(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail(Code::tool_invalid_parameters,
                "the arguments are empty: the call was cut off",
                "Make the whole call again; write {} where there are no arguments.");
  }
  std::optional<std::string> repeated_name;
  auto arguments = agent::parse_json(text, repeated_name);
  if (repeated_name) {
    return fail(
        Code::tool_invalid_parameters,
        fmt::format("`{}` appears twice in the arguments", agent::one_line(*repeated_name, 100)),
        "Make the call again with each name once.");
  }
  if (!arguments) {
    const std::string why = agent::why_not_json(text);
    return fail(Code::tool_invalid_parameters,
                why == "is not valid JSON" ? "the arguments are not valid JSON"
                                           : "the JSON of the arguments " + why,
                "Make the call again with one complete JSON object.");
  }
  if (!arguments->is_object()) {
    return fail(Code::tool_invalid_parameters,
                fmt::format("the arguments must be a JSON object, not {}",
                            agent::is_number(*arguments) ? "number" : arguments->type_name()),
                "Make the call again with one JSON object.");
  }
  return std::move(*arguments);
}

Result<void> check_arguments(const agent::JsonSchema& schema, const agent::Json& arguments) {
  const auto violations = schema.check(arguments);
  if (violations.empty()) {
    return {};
  }
  std::string message;
  for (std::size_t i = 0; i < std::min(violations.size(), k_max_named); ++i) {
    const auto& [pointer, text, is_type] = violations[i];
    message += fmt::format("{}{} {}",
                           i == 0 ? "" : "; ",
                           pointer.empty() ? "the arguments" : agent::excerpt(pointer, 200),
                           agent::excerpt(text, 300));
  }
  if (violations.size() > k_max_named) {
    message += fmt::format("; and {} more", violations.size() - k_max_named);
  }
  const bool only_types = std::ranges::all_of(violations, &agent::JsonSchema::Violation::is_type);
  return fail(only_types ? Code::tool_type_mismatch : Code::tool_invalid_parameters,
              std::move(message));
}

}  // namespace tools
