// The section on guardrails in errand-agent(5).
#pragma once
#include <string_view>

namespace cli {

std::string_view guardrails_section();  // mdoc

}  // namespace cli
