// The section on secrets in errand-agent(5).
#pragma once
#include <string_view>

namespace cli {

std::string_view secrets_section();  // mdoc

}  // namespace cli
