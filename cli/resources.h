// What a run takes of the machine for granted, asked for before it starts: half-way, a run without
// it would end anywhere.
#pragma once
#include "agent/result.h"

#include <cstddef>

namespace cli {

// os.failed where descriptors, memory or stack are not to be had.
agent::Result<void> check_resources();

// The same for so many runs at once; raises this process's own limit of open files where it may. To
// be called when the processes that start programs are there: these keep theirs.
agent::Result<void> make_room_for(std::size_t runs);

}  // namespace cli
