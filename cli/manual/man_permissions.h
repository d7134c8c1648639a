// The section on rules of permission in errand-agent(5).
#pragma once
#include <string_view>

namespace cli {

std::string_view permissions_section();  // mdoc

}  // namespace cli
