#include "tools/hooks/kept_modules.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

tools::ProgramRequest told(Words argv, const std::filesystem::path& folder) {
  tools::ProgramRequest request{.argv = std::move(argv), .cwd = folder, .temporary = {}};
  tools::keep_no_modules(request);
  return request;
}

}  // namespace

TEST_CASE("kept modules: Python is told by its option, wherever it stands", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/guard.py", "");
  folder.write("ci/__main__.py", "");
  const auto line = [&](const std::string& text) {
    return told({"/bin/sh", "-c", text}, folder.path()).argv.back();
  };
  const std::string x = "-X pycache_prefix=/dev/null";
  CHECK(line("python3 -m ci.guard") == "python3 " + x + " -m ci.guard");
  CHECK(line("env -i /usr/bin/python3 ci/") == "env -i /usr/bin/python3 " + x + " ci/");
  CHECK(line("A=b python3.11 -X dev -I ci||exit 2") ==
        "A=b python3.11 " + x + " -X dev -I ci||exit 2");
  CHECK(line("sh -c \"python3 -I ci\"") == "sh -c \"python3 " + x + " -I ci\"");
  CHECK(line("cd ci && 'python3' -Em guard") == "cd ci && 'python3' " + x + " -Em guard");
  CHECK(line("python3 \"$PWD/ci\"") == "python3 " + x + " \"$PWD/ci\"");
  CHECK(line("which python3 pip && python3 ci") == "which python3 pip && python3 " + x + " ci");
  for (const char* other : {"python3 ci/guard.py",
                            "python3 -m json.tool x",
                            "python2 -m ci.guard",
                            "python-format ci",
                            "echo python3 -I ci/x",
                            "python3 -c 'import ci'"}) {
    CHECK(line(other) == other);
  }
}

TEST_CASE("kept modules: words are told by words", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/__main__.py", "");
  const auto request = told({"timeout", "9", "/usr/bin/python3", "-I", "ci/"}, folder.path());
  CHECK(request.argv ==
        Words{"timeout", "9", "/usr/bin/python3", "-X", "pycache_prefix=/dev/null", "-I", "ci/"});
  CHECK(request.environment.at("PYTHONPYCACHEPREFIX") == "/dev/null");
  CHECK(told({"python3", "-I", "other/"}, folder.path()).environment.empty());
}
