// The errors of calls that failed with an errno, where that may say that the machine lacks
// something.
#pragma once
#include "agent/error.h"

namespace agent {

// os.failed in place of the error's own code where is_shortage() says so of the errno.
inline Error error_of(int error_number, Error error) {
  if (is_shortage(error_number)) {
    error.code = Code::os_failed;
    error.help =
        "Raise the limit: `ulimit -a` shows processes (-u), memory (-v) and descriptors (-n).";
  }
  return error;
}

}  // namespace agent
