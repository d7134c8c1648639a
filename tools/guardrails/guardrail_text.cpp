// Checks by the text alone: `pattern` and `find`.
#include "agent/json.h"
#include "tools/guardrails/guardrail_check.h"
#include "tools/guardrails/personal_data.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <functional>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::GuardrailSpec;
using agent::Json;

void collect_texts(const Json& value, std::vector<std::string>& texts) {
  if (value.is_string()) {
    texts.push_back(value.get<std::string>());
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      texts.push_back(key);
      collect_texts(member, texts);
    }
  } else if (value.is_array()) {
    for (const Json& item : value) {
      collect_texts(item, texts);
    }
  }
}

// What is searched: of JSON also each text and key in it, as whoever reads the JSON has them.
std::vector<std::string> texts_of(std::string_view text) {
  std::vector<std::string> texts{std::string(text)};
  if (const auto json = agent::parse_json(text)) {
    collect_texts(*json, texts);
  }
  return texts;
}

using Redact = std::function<std::string(const std::string&)>;

Json redacted(const Json& value, const Redact& redact, const std::stop_token& stop);

// Of keys that become the same, the last one counts.
Json redacted_members(const Json& value, const Redact& redact, const std::stop_token& stop) {
  Json changed = Json::object();
  Json::object_t::Container& members = changed.get_ref<Json::object_t&>();
  std::unordered_map<std::string, std::size_t> places;  // its own look-up goes through all keys
  for (const auto& [key, member] : value.items()) {
    std::string name = redact(key);
    const auto [place, is_new] = places.try_emplace(name, members.size());
    if (is_new) {
      members.emplace_back(std::move(name), redacted(member, redact, stop));
    } else {
      members[place->second].second = redacted(member, redact, stop);
    }
  }
  return changed;
}

// A number with something in it becomes a text. Whatever it is, where `stop` has come.
Json redacted(const Json& value, const Redact& redact, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return {};
  }
  if (value.is_object()) {
    return redacted_members(value, redact, stop);
  }
  Json changed = value;
  if (value.is_string()) {
    changed = redact(value.get_ref<const std::string&>());
  } else if (agent::is_number(value)) {
    const std::string digits = agent::numeral(value);
    if (std::string text = redact(digits); text != digits) {
      changed = std::move(text);
    }
  } else if (value.is_array()) {
    for (Json& item : changed) {
      item = redacted(item, redact, stop);
    }
  }
  return changed;
}

// JSON stays JSON, but where what is found is more than one of its texts.
std::string redacted(std::string_view text, const Redact& redact, const std::stop_token& stop) {
  const auto json = agent::parse_json(text);
  if (json && (json->is_string() || json->is_structured())) {
    if (const Json changed = redacted(*json, redact, stop); changed != *json) {
      return redact(agent::dump(changed));
    }
  }
  return redact(std::string(text));
}

Finding stopped_before_it_had_looked() {
  return {.kind = Finding::Kind::broken, .reason = "the run was stopped before it had looked"};
}

class PatternCheck final : public GuardrailCheck {
 public:
  explicit PatternCheck(const std::string& pattern) : expression_(pattern, options()) {}

  Finding look(const Subject& subject, std::stop_token stop) override {
    if (!expression_.ok()) {
      return {.kind = Finding::Kind::broken, .reason = "the pattern is not a regular expression"};
    }
    const std::vector<std::string> texts = texts_of(subject.text);
    const bool is_clean = std::ranges::none_of(texts, [&](const auto& text) {
      return stop.stop_requested() || without(text, stop).second;
    });
    Finding finding;
    if (!is_clean) {
      finding = {.kind = Finding::Kind::found,
                 .reason = "its pattern matches",
                 .redacted = redacted(
                     subject.text,
                     [&](const std::string& text) { return without(text, stop).first; },
                     stop)};
    }
    return stop.stop_requested() ? stopped_before_it_had_looked() : finding;
  }

 private:
  static RE2::Options options() {
    RE2::Options options;
    options.set_log_errors(false);
    return options;
  }

  // Without the matches, and whether there was one. An empty one is none.
  std::pair<std::string, bool> without(const std::string& text, const std::stop_token& stop) const {
    std::string out;
    re2::StringPiece match;
    std::size_t from = 0;
    std::size_t kept = 0;
    while (from <= text.size() && !stop.stop_requested() &&
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

  Finding look(const Subject& subject, std::stop_token stop) override {
    Finding finding;
    for (const std::string& text : texts_of(subject.text)) {
      std::string reason = stop.stop_requested() ? std::string() : what_in(text);
      if (!reason.empty()) {
        finding = {
            .kind = Finding::Kind::found,
            .reason = "it has " + std::move(reason),
            .redacted = redacted(
                subject.text, [this](const std::string& one) { return without(one); }, stop)};
        break;
      }
    }
    return stop.stop_requested() ? stopped_before_it_had_looked() : finding;
  }

 private:
  bool is_secrets() const { return what_ == "secrets"; }
  std::string what_in(const std::string& text) const {
    if (is_secrets()) {
      return redactor_.is_clean(text) ? "" : "a key, token or password";
    }
    return describe(find_personal_data(what_, text));
  }
  std::string without(const std::string& text) const {
    return is_secrets() ? redactor_.apply(text)
                        : tools::without(text, find_personal_data(what_, text));
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
