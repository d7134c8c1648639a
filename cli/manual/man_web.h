// The section of errand-agent(5) on what comes from the web, and on words from outside.
#pragma once
#include <string>

namespace cli {

std::string web_section();

}  // namespace cli
