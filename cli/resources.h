// What a run takes of the machine for granted, asked for before it starts: half-way, a run without
// it would end anywhere.
#pragma once
#include "agent/result.h"

namespace cli {

// os.failed where descriptors, memory or stack are not to be had.
agent::Result<void> check_resources();

}  // namespace cli
