// From the prices of the project pydantic/genai-prices (its file prices/new_data/v2/data_slim.json)
// to a table.
#pragma once
#include "agent/result.h"

#include <chrono>
#include <string>
#include <string_view>

namespace providers {

// The table's text. Prices of what is no text (images, audio, searches) are left out, and so are
// models that have no price for input and output. config.invalid, with the place in words, where
// the file is not what that project writes.
agent::Result<std::string> import_prices(std::string_view json,
                                         const std::string& shown_file,
                                         std::chrono::sys_days date);

}  // namespace providers
