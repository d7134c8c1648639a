// The names that an agent file may use, out of the tables of the other folders.
#pragma once
#include "config/load.h"

namespace cli {

config::Known known_names();

}  // namespace cli
