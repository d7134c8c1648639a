// The section on where keys go in errand-agent(5).
#pragma once
#include <string_view>

namespace cli {

std::string_view keys_section();  // mdoc

}  // namespace cli
