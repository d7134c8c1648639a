// The tables of the manual pages, written out as mdoc.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace cli {

struct ManTable {
  std::string_view name;  // "COMMANDS", for the place @COMMANDS@
  std::string (*text)();
};
std::span<const ManTable> man_tables();

}  // namespace cli
