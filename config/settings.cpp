#include "config/settings.h"

#include "agent/absence.h"
#include "config/check.h"
#include "config/yaml/source.h"
#include "config/yaml/yaml.h"

#include <utility>

namespace config {

std::vector<agent::Error> read_settings(std::string_view text,
                                        const std::string& shown_file,
                                        std::span<const Key> keys,
                                        const BuildSettings& build) {
  auto source = Source::create(std::string(text), shown_file);
  if (!source) {
    return {std::move(source).error()};
  }
  Problems problems(*source);
  const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems);
  if (root && !is_empty(*root)) {
    check(*root, keys, {}, problems);
    build(*root, problems);
  }
  return problems.take_errors();
}

std::vector<agent::Error> read_settings_file(const std::filesystem::path& file,
                                             std::span<const Key> keys,
                                             const BuildSettings& build) {
  if (agent::is_absent(file)) {
    return {};
  }
  const auto text = read_text_file(file, k_largest_settings_file);
  if (!text) {
    return {text.error()};
  }
  return read_settings(*text, file.string(), keys, build);
}

}  // namespace config
