# The fast inner loop where the machine has it: ccache and mold. Sanitizers by option.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With what it needs to be told to keep files that use a precompiled header, and to take what another
  # clone of this project has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

set(ERRAND_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")
if(ERRAND_SANITIZE)
  # -Og compiles as fast as -O0.
  add_compile_options(-fsanitize=${ERRAND_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1 -Og)
  add_link_options(-fsanitize=${ERRAND_SANITIZE})
endif()
if(ERRAND_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # A description of each place that is checked makes a program slow to start. ASAN_OPTIONS=handle_sigill=1
  # says where it was.
  add_compile_options(-fsanitize-undefined-trap-on-error)
  # What is null, or beyond an object, AddressSanitizer finds: each access would be checked once more.
  add_compile_options(-fno-sanitize=null,object-size)
endif()

option(ERRAND_FUZZ "Builds the fuzz targets; needs clang" OFF)
if(ERRAND_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Parsing these is most of what a file costs, and once is enough for all libraries. clang-tidy does
# without, and finds a missing include.
function(errand_precompile target)
  if(target STREQUAL errand_agent)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <chrono> <filesystem> <fmt/format.h> <functional> <map> <memory> <mutex>
      <nlohmann/json.hpp> <optional> <span> <string> <string_view> <thread> <variant> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM errand_agent)
  endif()
endfunction()

if(CMAKE_BUILD_TYPE STREQUAL Release)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")  # -O3 builds longer and runs no faster
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections -Wl,--as-needed -Wl,-O1)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # More memory before the compiler tidies up: a tenth of the time.
  add_compile_options("SHELL:--param ggc-min-expand=200" "SHELL:--param ggc-min-heapsize=524288")
endif()

# What runs once at a start gains nothing by -O2, which takes a third longer to build.
function(errand_optimize_little target)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# Whole rooms at once: most of what a file costs is the same in every file of a room, and a cold
# build takes a third of the time. An edited file then takes its neighbours with it: for the inner
# loop the debug preset compiles each file by itself. Names that no header declares are unique in
# their group.
option(ERRAND_UNITE "Compiles the files of a room together" OFF)
function(errand_unite target)
  if(NOT ERRAND_UNITE)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # every file is included now
  foreach(source ${ARGN})
    get_filename_component(group ${source} DIRECTORY)
    if(group MATCHES "providers/wire$" AND source MATCHES "/(anthropic|bedrock|gemini|ollama|openai_chat|openai_responses)")
      string(APPEND group _${CMAKE_MATCH_1})  # a protocol each: they use the same words for their own things
    endif()
    math(EXPR count_${group} "0${count_${group}} + 1")
    math(EXPR part "${count_${group}} / 16")
    string(MAKE_C_IDENTIFIER ${group}_${part} group)
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
  endforeach()
endfunction()
