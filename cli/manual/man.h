// The manual pages as mdoc source: the texts of man/*.in, which are embedded, with the tables that
// the program itself works by in their places.
#pragma once
#include "agent/result.h"

#include <span>
#include <string>
#include <string_view>

namespace cli {

struct ManPage {
  std::string_view name;  // "errand.1"
  std::string_view text;  // of man/NAME.in, with a place for each table: @COMMANDS@
};
std::span<const ManPage> man_pages();

// The page with its tables; `internal` where there is no such page, or a place has no table.
agent::Result<std::string> man_page(std::string_view name);

// `text` up to its first place, that place's table, and so on; `internal` where a place has none.
agent::Result<std::string> with_tables(std::string_view text);

}  // namespace cli
