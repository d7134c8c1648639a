# Debian 12's packages. What Debian ships as an archive is linked statically: a shared library
# costs start-up time on every run.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(OpenSSL 3 REQUIRED)  # its libcrypto is there in any case: libcurl has it loaded
find_package(ZLIB REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(PkgConfig REQUIRED)

# errand::NAME for the archive LIBRARY, with what it needs behind it.
function(errand_archive name library)
  find_library(ERRAND_${name}_ARCHIVE NAMES lib${library}.a REQUIRED)
  add_library(errand_${name}_import INTERFACE)
  target_link_libraries(errand_${name}_import INTERFACE ${ERRAND_${name}_ARCHIVE} ${ARGN})
  add_library(errand::${name} ALIAS errand_${name}_import)
endfunction()

errand_archive(re2 re2 Threads::Threads)
errand_archive(yaml yaml-cpp)
errand_archive(seccomp seccomp)
errand_archive(gumbo gumbo)
find_library(ERRAND_SQLITE3_ARCHIVE NAMES libsqlite3.a REQUIRED)
errand_archive(sqlite SQLiteCpp ${ERRAND_SQLITE3_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)

# fmt comes as a shared library only; its headers are enough.
find_package(fmt 9 REQUIRED)
add_library(errand_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
add_library(errand::fmt ALIAS errand_fmt)
