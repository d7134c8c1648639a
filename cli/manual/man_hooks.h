// errand-hooks(7).
#pragma once
#include <string>

namespace cli {

std::string hooks_page();  // mdoc

}  // namespace cli
