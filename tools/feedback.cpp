#include "tools/feedback.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tools {
namespace {

using agent::Code;

// clang-format off
constexpr std::array k_categories = {
    Category{Code::tool_not_found, Phase::setup, false,
             "Use one of the tools that you were given, by its exact name."},
    Category{Code::tool_invalid_parameters, Phase::param_handling, true,
             "Make the call again with arguments that fit the tool's schema."},
    Category{Code::tool_type_mismatch, Phase::param_handling, true,
             "Make the call again with values of the types that the schema names."},
    Category{Code::tool_model_retry, Phase::execution, false,
             "Correct the call as the error says and make it again."},
    Category{Code::tool_failed, Phase::execution, false,
             "Read the error and the output, fix the cause or go another way."},
    Category{Code::tool_policy_blocked, Phase::execution, false,
             "This is not allowed here. Reach the goal another way, or say that you cannot."},
    Category{Code::tool_confirmation_required, Phase::execution, false,
             "A person has to allow this and nobody is there. Go on without it."},
    Category{Code::tool_cancelled, Phase::execution, false,
             "The call was stopped from outside. It may have had part of its effect."},
    Category{Code::tool_rate_limited, Phase::execution, false,
             "The service wants fewer calls. Do something else first, then call again."},
    Category{Code::tool_server_error, Phase::execution, false,
             "The service failed on its side. Call again later, or go another way."},
    Category{Code::tool_network, Phase::execution, false,
             "The service could not be reached. Check the address; call again later."},
    Category{Code::tool_timeout, Phase::execution, false,
             "The call took too long, and may have had its effect. Ask for less at once, or for a "
             "longer timeout if the tool has one."},
    Category{Code::tool_result_unusable, Phase::result_interpretation, false,
             "What came back is not text. Ask for it in another form."},
    Category{Code::tool_interrupted, Phase::execution, false,
             "It is not known whether the call took effect. Check that before you call again."},
};
// clang-format on

constexpr std::string_view k_prefix = "tool.";

}  // namespace

std::string_view Category::label() const {
  return agent::row(code).name.substr(k_prefix.size());
}

agent::Domain Category::domain() const {
  return agent::row(code).domain;
}

bool Category::counts_against_model() const {
  return domain() == agent::Domain::planning || domain() == agent::Domain::reflection;
}

bool Category::same_call_may_work(bool is_idempotent) const {
  const bool may_be_done = code == Code::tool_timeout || code == Code::tool_interrupted;
  return domain() == agent::Domain::system && (is_idempotent || !may_be_done);
}

std::span<const Category> categories() {
  return k_categories;
}

const Category& category(Code code) {
  auto found = std::ranges::find(k_categories, code, &Category::code);
  if (found == k_categories.end()) {
    found = std::ranges::find(k_categories, Code::tool_failed, &Category::code);
  }
  return *found;
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::setup:
      return "setup";
    case Phase::param_handling:
      return "param_handling";
    case Phase::execution:
      return "execution";
    case Phase::result_interpretation:
      break;
  }
  return "result_interpretation";
}

std::string one_line(std::string_view text, std::size_t limit) {
  std::string line;
  bool gap = false;
  for (const char byte : agent::prefix(text, limit)) {
    const auto value = static_cast<unsigned char>(byte);
    if (value <= ' ' || value == 0x7f) {
      gap = !line.empty();
      continue;
    }
    if (gap) {
      line += ' ';
      gap = false;
    }
    line += byte;
  }
  return agent::to_valid_utf8(line);
}

std::string error_block(Code code,
                        std::string_view message,
                        std::string_view suggestion,
                        bool is_idempotent) {
  const Category& kind = category(code);
  return fmt::format("[tool_error]\ncategory: {}\nerror: {}\nsuggestion: {}\nretryable: {}",
                     kind.label(),
                     one_line(message.empty() ? "the tool gave no reason" : message),
                     one_line(suggestion.empty() ? kind.suggestion : suggestion),
                     kind.same_call_may_work(is_idempotent));
}

}  // namespace tools
