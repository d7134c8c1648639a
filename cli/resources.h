// What a run takes of the machine for granted, asked for before it starts: half-way, a run without
// it would end anywhere.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <functional>

namespace cli {

// os.failed where descriptors, memory or stack are not to be had. Where addresses are limited,
// malloc takes fewer of them from then on.
agent::Result<void> check_resources();

// Says that something is not to be had on a stack of its own, as far as there is one: this one may
// be what is too small.
int say_on_own_stack(const std::function<int()>& say);

// The same for so many runs at once: stacks, where addresses are limited, and descriptors; raises
// this process's own limit of open files where it may. To be called when the processes that start
// programs are there: these keep theirs.
agent::Result<void> make_room_for(std::size_t runs);

// Whether one more may be begun beside so many that are at work, which have their memory; beside
// none it may. Raises the limit as make_room_for() does, and is to be called when that may be, by
// any thread.
bool make_room_beside(std::size_t runs);

}  // namespace cli
