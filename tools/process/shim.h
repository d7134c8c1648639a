// The far side of the fork: the zygote, which forks the shims, and a shim, which starts one
// program at a time and owns all that comes of it. Both are single-threaded and never return;
// errand's side is supervisor.h.
#pragma once
#include "tools/process/supervisor.h"

#include <cstddef>
#include <cstdint>

namespace tools {

// What the zygote is told with a new shim's control socket.
enum class Birth : char { plain = 'P', confined = 'C' };

// The first bytes on the control socket of a confined shim: how many bytes of sandbox::encode()'s
// text follow. It answers with a Readiness, before any request.
using ConfinementHeader = std::uint32_t;
constexpr std::uint32_t k_ready = 0x6361'6765;
struct Readiness {
  std::uint32_t mark = k_ready;  // a Report in its place says that there is no shim
  std::uint32_t layers = 0;      // LayerSet::bits()
};  // with the listening socket of a private network attached, where there is one

// A request on a shim's control socket: this, with stdin, stdout and stderr attached, then `bytes`
// of NUL-terminated strings: the folder, the arguments, the environment.
struct SpawnHeader {
  std::uint32_t bytes = 0;
  std::uint32_t arguments = 0;
  std::uint32_t variables = 0;
};
constexpr std::size_t k_max_request = 4u << 20;

// What errand may say on the control socket afterwards. Closing it is `kill`. The shim's one
// answer to a request is a Report; only after it, and only where errand gave no order and nothing
// has survived, it takes the next request.
enum class Order : char { terminate = 'T', kill = 'K' };

// Waits on `socket` for packets of a Birth and a control socket; ends with the other side.
[[noreturn]] void run_zygote(int socket);

// Runs the requests that come in on `control`, each until nothing of it is left; where confined,
// each in the sandbox that was described first.
[[noreturn]] void run_shim(int control, Birth birth);

}  // namespace tools
