#include "config/settings.h"

#include "config/check.h"
#include "config/source.h"
#include "config/yaml.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace config {
namespace {

constexpr std::size_t k_largest_file = 1'048'576;

// Nothing but comments: as good as no file.
bool says_nothing(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    const auto first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') {
      return false;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace

std::vector<agent::Error> read_settings(std::string_view text,
                                        const std::string& shown_file,
                                        std::span<const Key> keys,
                                        const BuildSettings& build) {
  if (says_nothing(text)) {
    return {};
  }
  auto source = Source::create(std::string(text), shown_file);
  if (!source) {
    return {std::move(source).error()};
  }
  Problems problems(*source);
  if (const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems)) {
    check(*root, keys, {}, problems);
    build(*root, problems);
  }
  return problems.take_errors();
}

std::vector<agent::Error> read_settings_file(const std::filesystem::path& file,
                                             std::span<const Key> keys,
                                             const BuildSettings& build) {
  std::error_code failure;
  if (std::filesystem::status(file, failure).type() == std::filesystem::file_type::not_found) {
    return {};
  }
  const auto text = read_text_file(file, k_largest_file);
  if (!text) {
    return {text.error()};
  }
  return read_settings(*text, file.string(), keys, build);
}

}  // namespace config
