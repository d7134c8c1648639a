// Failing as a value: Result<T> is a T or an Error, and cannot be dropped unread.
#pragma once
#include "agent/error.h"

#include <expected>
#include <utility>

namespace agent {

template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

// An Error as the return value of any function that returns a Result.
inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

inline std::unexpected<Error> fail(Code code, std::string message, std::string help = {}) {
  return std::unexpected<Error>(
      Error{.code = code, .message = std::move(message), .help = std::move(help)});
}

}  // namespace agent

#define ERRAND_JOIN_(a, b) a##b
#define ERRAND_JOIN(a, b) ERRAND_JOIN_(a, b)

// Leaves the function with the error of `expr`, if it has one.
#define TRY(expr)                                                              \
  if (auto ERRAND_JOIN(try_, __LINE__) = (expr); !ERRAND_JOIN(try_, __LINE__)) \
  return std::unexpected(std::move(ERRAND_JOIN(try_, __LINE__)).error())

// Declares or assigns `target` with the value of `expr`, or leaves with its error.
#define TRY_ASSIGN(target, expr)                                               \
  auto ERRAND_JOIN(result_, __LINE__) = (expr);                                \
  if (!ERRAND_JOIN(result_, __LINE__))                                         \
    return std::unexpected(std::move(ERRAND_JOIN(result_, __LINE__)).error()); \
  target = std::move(*ERRAND_JOIN(result_, __LINE__))
