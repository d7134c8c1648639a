// One target as libFuzzer wants it; which one is said when it is built.
#include "tests/fuzz/targets.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Target* const k_target = fuzz::find(ERRAND_FUZZ_TARGET);
  k_target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
