// When a case that runs several times has passed: `all`, `any`, or a share of its runs.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace config {

class PassRule {
 public:
  PassRule() = default;  // all
  // "all", "any", "1%" to "100%"; nullopt for all else.
  static std::optional<PassRule> parse(std::string_view text);

  // Of so many runs, how many have to pass: one at least.
  std::size_t needed(std::size_t runs) const;
  std::string text() const;  // as it is written: "all", "80%"

  bool operator==(const PassRule&) const = default;

 private:
  explicit PassRule(int percent) : percent_(percent) {}

  static constexpr int k_any = 0;
  static constexpr int k_all = 100;
  int percent_ = k_all;
};

}  // namespace config
