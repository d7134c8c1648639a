// Random bytes that nobody can guess: of ids, sessions, states and verifiers of logins.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <string>

namespace agent {

// At most 256. os.failed where the kernel gives none.
Result<std::string> random_bytes(std::size_t count);

}  // namespace agent
