# The fast inner loop where the machine has it: ccache and mold. Sanitizers by option.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With what it needs to be told to keep files that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

set(ERRAND_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")
if(ERRAND_SANITIZE)
  add_compile_options(-fsanitize=${ERRAND_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${ERRAND_SANITIZE})
endif()

option(ERRAND_FUZZ "Builds the fuzz targets; needs clang" OFF)
if(ERRAND_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Parsing these is most of what a file costs. The release does without, so that a missing include
# is found.
function(errand_precompile target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Release)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <chrono> <filesystem> <fmt/format.h> <functional> <map> <memory> <mutex>
      <nlohmann/json.hpp> <optional> <string> <string_view> <thread> <variant> <vector> ${ARGN})
  endif()
endfunction()

if(CMAKE_BUILD_TYPE STREQUAL Release)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")  # -O3 builds longer and runs no faster
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections -Wl,--as-needed -Wl,-O1)
endif()
