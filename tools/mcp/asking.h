// A request whose answer, as long as the session lasts, is what a server says by itself: asked for
// again where it has ended.
#pragma once
#include "agent/spec.h"

#include <functional>

namespace tools::mcp {

// `ask` asks once, and comes back when that is over: false where it is not to be asked for again.
// Between two times there is a pause, half a second at first, a minute at last; `wait` is false
// where there is no more to wait for.
void keep_asking(const std::function<bool()>& ask,
                 const std::function<bool(agent::Milliseconds)>& wait);

}  // namespace tools::mcp
