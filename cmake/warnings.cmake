# Warnings of our own code; errors in the debug, asan and tsan presets.
option(ERRAND_WERROR "Treat warnings as errors" OFF)
add_library(errand_warnings INTERFACE)
target_compile_options(errand_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wswitch-enum -Wnon-virtual-dtor -Wold-style-cast -Wno-missing-field-initializers)
if(CMAKE_BUILD_TYPE STREQUAL Release)
  # g++ 12 sees these where there are none, once it has inlined enough.
  target_compile_options(errand_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(ERRAND_SANITIZE)
  target_compile_options(errand_warnings INTERFACE -Wno-maybe-uninitialized)  # the same
endif()
if(ERRAND_WERROR AND NOT ERRAND_SANITIZE STREQUAL "thread")  # what it adds to the code has warnings of its own
  target_compile_options(errand_warnings INTERFACE -Werror)
endif()
