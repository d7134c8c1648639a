// The manual pages as mdoc source, made from the tables that the program itself works by.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace cli {

struct ManPage {
  std::string_view name;  // "errand.1"
  std::string (*source)();
};
std::span<const ManPage> man_pages();

}  // namespace cli
