// The short form of a flow's order: "plan >> (fix | docs) >> note".
#pragma once
#include <cstddef>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace config {

struct OrderMistake {
  std::size_t offset = 0;  // in the text
  std::size_t length = 1;
  std::string message;
};

// The names before each name. Each stands in it once.
std::expected<std::map<std::string, std::vector<std::string>>, OrderMistake> read_flow_order(
    std::string_view text);

}  // namespace config
