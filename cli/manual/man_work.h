// The section ORDINARY WORK IN THE SANDBOX of errand-agent(5): what tests/tasks/ has tried.
#pragma once
#include <string>

namespace cli {

std::string work_section();  // mdoc

}  // namespace cli
