// Checks by the text alone: `pattern` and `find`.
#include "agent/json.h"
#include "tools/guardrails/guardrail_check.h"
#include "tools/guardrails/personal_data.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::GuardrailSpec;
using agent::Json;

void collect_texts(const Json& value, std::vector<std::string>& texts) {
  if (value.is_string()) {
    texts.push_back(value.get<std::string>());
  } else if (value.is_structured()) {
    for (const auto& item : value.items()) {
      collect_texts(item.value(), texts);
    }
  }
}

// What is searched: of a call also each text in its arguments, as the tool will read it.
std::vector<std::string> texts_of(const Subject& subject) {
  std::vector<std::string> texts{std::string(subject.text)};
  if (subject.of == GuardrailSpec::Of::tool_call) {
    collect_texts(agent::parse_json(subject.text).value_or(Json()), texts);
  }
  return texts;
}

class PatternCheck final : public GuardrailCheck {
 public:
  explicit PatternCheck(const std::string& pattern) : expression_(pattern, options()) {}

  Finding look(const Subject& subject, std::stop_token) override {
    if (!expression_.ok()) {
      return {.kind = Finding::Kind::broken, .reason = "the pattern is not a regular expression"};
    }
    const std::vector<std::string> texts = texts_of(subject);
    if (std::ranges::none_of(texts, [&](const auto& text) { return redacted(text).second; })) {
      return {};
    }
    return {.kind = Finding::Kind::found,
            .reason = "its pattern matches",
            .redacted = redacted(texts.front()).first};
  }

 private:
  static RE2::Options options() {
    RE2::Options options;
    options.set_log_errors(false);
    return options;
  }

  // Without the matches, and whether there was one. An empty one is none.
  std::pair<std::string, bool> redacted(const std::string& text) const {
    std::string out;
    re2::StringPiece match;
    std::size_t from = 0;
    std::size_t kept = 0;
    while (from <= text.size() &&
           expression_.Match(text, from, text.size(), RE2::UNANCHORED, &match, 1)) {
      const auto begin = static_cast<std::size_t>(match.data() - text.data());
      from = begin + std::max<std::size_t>(match.size(), 1);
      if (!match.empty()) {
        out.append(text, kept, begin - kept).append("[redacted]");
        kept = from;
      }
    }
    const bool has_match = !out.empty();
    return {out + text.substr(kept), has_match};
  }

  RE2 expression_;
};

class FindCheck final : public GuardrailCheck {
 public:
  FindCheck(std::string what, const agent::Redactor& redactor)
      : what_(std::move(what)), redactor_(redactor) {}

  Finding look(const Subject& subject, std::stop_token) override {
    const std::vector<std::string> texts = texts_of(subject);
    for (const std::string& text : texts) {
      std::string reason = what_in(text);
      if (!reason.empty()) {
        return {.kind = Finding::Kind::found,
                .reason = "it has " + std::move(reason),
                .redacted = redacted(texts.front())};
      }
    }
    return {};
  }

 private:
  bool is_secrets() const { return what_ == "secrets"; }
  std::string what_in(const std::string& text) const {
    if (is_secrets()) {
      return redactor_.is_clean(text) ? "" : "a key, token or password";
    }
    return describe(find_personal_data(what_, text));
  }
  std::string redacted(const std::string& text) const {
    return is_secrets() ? redactor_.apply(text) : without(text, find_personal_data(what_, text));
  }

  std::string what_;
  const agent::Redactor& redactor_;
};

}  // namespace

std::unique_ptr<GuardrailCheck> make_text_check(const GuardrailSpec& spec,
                                                const agent::Redactor& redactor) {
  if (spec.kind == GuardrailSpec::Kind::find) {
    return std::make_unique<FindCheck>(spec.what, redactor);
  }
  return std::make_unique<PatternCheck>(spec.what);
}

}  // namespace tools
