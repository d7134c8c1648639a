// The user's browser.
#pragma once
#include "agent/environment.h"

#include <string>

namespace cli {

// Opens the address by $BROWSER, else by xdg-open, without waiting for it. Nothing where there is
// neither: who is at the terminal can open it by hand.
void open_browser(const std::string& address, const agent::Environment& environment);

}  // namespace cli
