#include "config/user_config.h"

#include "config/check.h"
#include "config/problems.h"
#include "config/read.h"
#include "config/source.h"
#include "config/yaml.h"

#include <array>
#include <optional>
#include <system_error>
#include <utility>

namespace config {
namespace {

constexpr std::size_t k_largest_file = 1'048'576;

constexpr auto k_keys = std::to_array<Key>({
    // clang-format off
    {.path = "prices", .type = Type::map, .help = "What models cost, by PROVIDER/MODEL, in US dollars per million tokens, in place of the prices that the program knows. `model.cost` of an agent file wins over it.", .example = "{openai/gpt-5-mini: {input: 0.25, output: 2}}", .shape = Shape::model},
    {.path = "prices.*", .type = Type::map, .help = "The price of one model.", .example = "{input: 0.25, output: 2}"},
    {.path = "prices.*.input", .type = Type::money, .help = "Input tokens.", .example = "3", .required = true, .may_be_zero = true},
    {.path = "prices.*.output", .type = Type::money, .help = "Output tokens.", .example = "15", .required = true, .may_be_zero = true},
    {.path = "prices.*.cache_read", .type = Type::money, .help = "Input tokens that came from the provider's cache. Left out, they cost what others do.", .example = "0.30", .may_be_zero = true},
    {.path = "prices.*.cache_write", .type = Type::money, .help = "Input tokens that went into the provider's cache. Left out, they cost what others do.", .example = "3.75", .may_be_zero = true},
    {.path = "prices.*.reasoning", .type = Type::money, .help = "Output tokens that are thoughts. Left out, they cost what others do.", .example = "15", .may_be_zero = true},
    // clang-format on
});

UserConfig build(const Value& root) {
  UserConfig config;
  const Value* prices = value_at(root, "prices");
  if (prices == nullptr) {
    return config;
  }
  for (const Entry& entry : prices->entries) {
    if (auto price = price_at(*prices, entry.key); price && !is_free_key(entry.key)) {
      config.prices.emplace(entry.key, *std::move(price));
    }
  }
  return config;
}

}  // namespace

std::span<const Key> user_keys() {
  return k_keys;
}

UserConfigResult parse_user_config(std::string_view text, const std::string& shown_file) {
  auto source = Source::create(std::string(text), shown_file);
  if (!source) {
    return std::unexpected(std::vector{std::move(source).error()});
  }
  Problems problems(*source);
  const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems);
  if (root && !is_empty(*root)) {
    check(*root, k_keys, {}, problems);
  }
  if (!problems.is_empty()) {
    return std::unexpected(problems.take_errors());
  }
  return root ? build(*root) : UserConfig{};
}

UserConfigResult load_user_config(const std::filesystem::path& file) {
  std::error_code failure;
  if (std::filesystem::status(file, failure).type() == std::filesystem::file_type::not_found) {
    return UserConfig{};
  }
  const auto text = read_text_file(file, k_largest_file);
  if (!text) {
    return std::unexpected(std::vector{text.error()});
  }
  return parse_user_config(*text, file.string());
}

}  // namespace config
