#include "config/build/schema_file.h"

#include "agent/refusal.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace config {

std::optional<SchemaFile> read_schema_file(const Value& path,
                                           const std::filesystem::path& directory,
                                           const JudgeOpened& judge,
                                           Problems& problems) {
  const std::string shown = agent::one_line(path.text);
  constexpr std::size_t k_largest = 1'048'576;
  const auto text = read_text_file(directory / path.text, k_largest, judge);
  if (!text) {
    problems.add(path.span,
                 fmt::format("cannot read the schema `{}`: {}", shown, text.error().message),
                 text.error().help.starts_with("`sandbox")
                     ? text.error().help
                     : "the path starts at the folder of the file that names it");
    return std::nullopt;
  }
  auto json = agent::parse_json(*text);
  if (!json) {
    problems.add(path.span,
                 fmt::format("`{}` {}", shown, agent::why_not_json(*text)),
                 "write one JSON Schema");
    return std::nullopt;
  }
  auto compiled = agent::JsonSchema::compile(*json);
  if (!compiled) {
    const agent::Error& error = compiled.error();
    problems.add(path.span, fmt::format("`{}`: {}", shown, error.message), error.help);
    return std::nullopt;
  }
  for (const std::string& misspelling : compiled->misspellings()) {
    problems.warn(
        path.span, fmt::format("`{}`: {}", shown, misspelling), "it demands nothing as it is");
  }
  return SchemaFile{.json = *std::move(json), .compiled = *std::move(compiled)};
}

}  // namespace config
