// Whether work grows with its input, told from the CPU time of this thread alone: no time is
// demanded, only how it grows, so that a slow or busy machine changes nothing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <ctime>

namespace tests {

inline double cpu_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// `work(n)` makes an input of size n and returns the seconds that the work on it took. Work on
// eight times as much may take 24 times as long; what is quadratic takes 64 times. What is too
// short to be measured counts as k_least.
template <typename Work>
bool grows_linearly(std::size_t n, const Work& work) {
  constexpr double k_least = 0.002;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double small = std::min(work(n), work(n));
    if (work(8 * n) < 24 * std::max(small, k_least)) {
      return true;
    }
  }
  return false;
}

template <typename Work>
double seconds_of(const Work& work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

}  // namespace tests
