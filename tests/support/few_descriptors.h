// A limit on open files, as `ulimit -n` sets it.
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tests {

// While it lives this process may open so many files more.
class FewDescriptors {
 public:
  explicit FewDescriptors(int count) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::open("/", O_PATH | O_CLOEXEC);
    ::close(next);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next + count);
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace tests
