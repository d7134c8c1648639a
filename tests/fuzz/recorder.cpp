// What shell_differential puts in the place of every program: it appends how it was run to the file
// that ERRAND_RECORD names, as strings with a NUL behind each: the number of arguments, the number
// of variables, the folder, the arguments, the variables. Static, so that it starts at once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace {

char record[1 << 18];
std::size_t used = 0;

void append(const char* text) {
  const std::size_t size = std::strlen(text) + 1;
  if (used + size > sizeof(record)) {
    std::abort();
  }
  std::memcpy(record + used, text, size);
  used += size;
}

void append(int number) {
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%d", number);
  append(digits);
}

}  // namespace

int main(int argc, char** argv) {
  int variables = 0;
  while (environ[variables] != nullptr) {
    ++variables;
  }
  append(argc);
  append(variables);
  char folder[4096];
  append(getcwd(folder, sizeof(folder)) != nullptr ? folder : "?");
  for (int at = 0; at < argc; ++at) {
    append(argv[at]);
  }
  for (int at = 0; at < variables; ++at) {
    append(environ[at]);
  }
  const char* path = std::getenv("ERRAND_RECORD");
  const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  const bool is_written = file >= 0 && write(file, record, used) == static_cast<ssize_t>(used);
  // Odd programs fail, so that both sides of `||` and `&&` are run.
  return is_written ? argc % 2 : 99;
}
