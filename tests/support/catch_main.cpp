#define CATCH_CONFIG_RUNNER
#include "tests/support/skip.h"

// Catch2's own exit code is how many failed, which might be that of a skipped test.
int main(int count, char** words) {
  if (Catch::Session().run(count, words) != 0) {
    return 1;
  }
  return tests::was_skipped ? ERRAND_SKIPPED : 0;
}
