// The section TOOLS of errand-agent(5).
#pragma once
#include <string>

namespace cli {

std::string tools_section();  // mdoc

}  // namespace cli
