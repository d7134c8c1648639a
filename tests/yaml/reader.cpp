// What the YAML of agent files is read as: a line with a JSON string in, which is a document; a
// line out, {"value": …} or {"refused": "why"}. For run.py.
#include "config/yaml/yaml.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

namespace {

agent::Json answer(const std::string& text) {
  const auto source = config::Source::create(text, "");
  if (!source) {
    return {{"refused", source.error().message}};
  }
  config::Problems problems(*source);
  const auto value = config::parse_yaml(*source, {0, source->text().size()}, {}, problems);
  if (const auto errors = problems.take_errors(); !errors.empty()) {
    return {{"refused", errors.front().message}};
  }
  return {{"value", config::to_json(*value)}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto document = agent::parse_json(line);
    if (!document || !document->is_string()) {
      std::cerr << "not a JSON string: " << line << "\n";
      return 2;
    }
    std::cout << agent::dump(answer(document->get<std::string>())) << "\n";
  }
}
