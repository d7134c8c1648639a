#include "providers/recording/stream_redaction.h"

#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace providers {
namespace {

using agent::Json;

constexpr std::string_view k_data = "data:";

// A line of the body, with the JSON that it carries.
struct Line {
  std::string_view text;    // with its end
  std::string_view prefix;  // before the JSON
  std::optional<Json> json;
};

Line read_line(std::string_view text) {
  const std::string_view prefix = text.starts_with(k_data) ? k_data : std::string_view();
  const bool is_data = !prefix.empty() || text.starts_with('{');
  return {.text = text,
          .prefix = prefix,
          .json = is_data ? agent::parse_json(text.substr(prefix.size())) : std::nullopt};
}

std::vector<Line> read_lines(std::string_view body) {
  std::vector<Line> lines;
  while (!body.empty()) {
    const std::size_t size = std::min(body.find('\n'), body.size() - 1) + 1;
    lines.push_back(read_line(body.substr(0, size)));
    body.remove_prefix(size);
  }
  return lines;
}

using Texts = std::map<std::string, std::vector<Json*>>;  // by their place in an event

void gather(Json& value, const std::string& place, Texts& texts) {
  if (value.is_string()) {
    texts[place].push_back(&value);
  } else if (value.is_structured()) {
    for (auto member = value.begin(); member != value.end(); ++member) {
      gather(*member, value.is_object() ? place + '.' + member.key() : place + "[]", texts);
    }
  }
}

bool are_all_equal(const std::vector<Json*>& pieces) {
  return std::ranges::all_of(pieces, [&](const Json* piece) { return *piece == *pieces.front(); });
}

// True where something was taken out.
bool redact(const std::vector<Json*>& pieces, const agent::Redactor& redactor) {
  if (are_all_equal(pieces)) {  // the same id or name in every event
    return false;
  }
  std::string whole;
  for (const Json* piece : pieces) {
    whole += piece->get_ref<const std::string&>();
  }
  if (redactor.is_clean(whole)) {
    return false;
  }
  for (Json* piece : pieces) {
    *piece = "";
  }
  *pieces.front() = redactor.apply(whole);
  return true;
}

}  // namespace

std::optional<std::string> redact_stream(std::string_view body, const agent::Redactor& redactor) {
  std::vector<Line> lines = read_lines(body);
  Texts texts;
  for (Line& line : lines) {
    if (line.json) {
      gather(*line.json, "", texts);
    }
  }
  bool is_changed = false;
  for (const auto& [place, pieces] : texts) {
    is_changed = redact(pieces, redactor) || is_changed;
  }
  if (!is_changed) {
    return std::nullopt;
  }
  std::string clean;
  for (const Line& line : lines) {
    if (!line.json) {
      clean += line.text;
      continue;
    }
    clean += line.prefix;
    clean += line.prefix.empty() ? "" : " ";
    clean += agent::dump(*line.json);
    clean += '\n';
  }
  return clean;
}

}  // namespace providers
