#include "tools/hooks/kept_modules.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tools {
namespace {

constexpr std::string_view k_prefix_option = "-X";  // of several, the first one counts
constexpr std::string_view k_no_prefix = "pycache_prefix=/dev/null";

// Python 2 keeps what it compiles beside the module, and has no such option.
bool has_prefix_option(std::string_view program) {
  static const RE2 name(R"((python(3[0-9.]*)?|pypy3[0-9.]*)[a-z]?(-dbg)?)");
  return RE2::FullMatch(program, name);
}

bool tell_in_line(const std::string& program, const std::string& next, std::string& line) {
  const RE2 start(fmt::format(
      R"re((^|[\s;&|(/'"`])({}["']?)((?:\s|\\\n)+["']?{}))re", RE2::QuoteMeta(program), next));
  return RE2::GlobalReplace(
             &line, start, fmt::format(R"(\1\2 {} {}\3)", k_prefix_option, k_no_prefix)) > 0;
}

// A word that a variable is in does not stand there as it was read.
void tell_in_line(const PythonStart& python, std::string& line) {
  if (!tell_in_line(python.program, RE2::QuoteMeta(python.next), line) &&
      !python.next.starts_with('-')) {
    tell_in_line(python.program, R"([^\s;&|<>()#'"-])", line);
  }
}

void tell(const PythonStart& python, std::vector<std::string>& argv) {
  for (auto word = argv.begin(); word != argv.end(); ++word) {
    const bool is_it = std::filesystem::path(*word).filename() == python.program;
    if (is_it && word + 1 != argv.end() && word[1] == python.next) {
      word = argv.insert(word + 1, {std::string(k_prefix_option), std::string(k_no_prefix)}) + 1;
    } else if (!is_it) {
      tell_in_line(python, *word);
    }
  }
}

}  // namespace

void keep_no_modules(const Scripts& scripts, ProgramRequest& request) {
  if (!scripts.pythons.empty()) {
    request.environment.insert_or_assign("PYTHONPYCACHEPREFIX", "/dev/null");
  }
  for (const PythonStart& python : scripts.pythons) {
    if (has_prefix_option(python.program)) {
      tell(python, request.argv);
    }
  }
}

void keep_no_modules(ProgramRequest& request) {
  keep_no_modules(read_scripts(line_of(request.argv),
                               {.directory = request.cwd,
                                .home = agent::value_of(request.environment, "HOME"),
                                .environment = request.environment}),
                  request);
}

}  // namespace tools
