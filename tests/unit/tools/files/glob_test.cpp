#include "tools/files/glob.h"

#include <catch2/catch.hpp>

#include <string>

using agent::Code;
using tools::Glob;

TEST_CASE("glob: which paths match which patterns", "[tools]") {
  struct Row {
    const char* pattern;
    const char* path;
    bool matches;
  };
  const auto row = GENERATE(values<Row>({
      {"*.cpp", "a.cpp", true},
      {"*.cpp", "src/a.cpp", false},
      {"*.cpp", "a.cpp.bak", false},
      {"./*.cpp", "a.cpp", true},
      {"src/*.cpp", "src/a.cpp", true},
      {"src/*.cpp", "src/x/a.cpp", false},
      {"**/*.cpp", "a.cpp", true},
      {"**/*.cpp", "x/y/z/a.cpp", true},
      {"src/**/a", "src/a", true},
      {"src/**/a", "src/x/y/a", true},
      {"src/**", "src/x/y", true},
      {"src/**", "src", false},
      {"**", "x/y", true},
      {"a**b", "axxb", true},
      {"a**b", "ax/xb", false},
      {"?.h", "a.h", true},
      {"?.h", "\xC3\xA4.h", true},
      {"?.h", "ab.h", false},
      {"[a-c]x", "bx", true},
      {"[!a-c]x", "bx", false},
      {"[^a-c]x", "dx", true},
      {"[]x]", "]", true},
      {"[a\\]]", "]", true},
      {"a[.-0]b", "a/b", false},
      {"a[.-0]b", "a0b", true},
      {"a[/]b", "a/b", false},
      {"a[!x]b", "a/b", false},
      {"[\xC3\xA0-\xC3\xA9]", "\xC3\xA4", true},
      {"*.{h,cpp}", "a.h", true},
      {"*.{h,cpp}", "a.c", false},
      {"{src,tests/**}/*.h", "tests/u/a.h", true},
      {"{**/a,b}", "x/y/a", true},
      {"x{,.bak}", "x", true},
      {"x{a,{b,c}}", "xc", true},
      {"a,b}", "a,b}", true},
      {"a\\*b", "a*b", true},
      {"a\\*b", "axb", false},
      {"a+b(c)|$", "a+b(c)|$", true},
      {"a.b", "axb", false},
      // Hidden names only where the pattern spells the dot.
      {"*", ".env", false},
      {"?env", ".env", false},
      {"[.]env", ".env", false},
      {"[!a]env", ".env", false},
      {"*.txt", ".txt", false},
      {"*{.a,b}", ".a", false},
      {"{*,x}.a", ".a", false},
      {"**/*.txt", ".git/x.txt", false},
      {"**", "a/.b/c", false},
      {".env", ".env", true},
      {".*", ".env", true},
      {"{.env,x}", ".env", true},
      {"**/.env", "a/b/.env", true},
      {".github/**", ".github/w/x.yml", true},
      {"a*.b", "a.b", true},
  }));
  INFO(row.pattern << " and " << row.path);
  const auto glob = Glob::compile(row.pattern);
  REQUIRE(glob);
  CHECK(glob->matches(row.path) == row.matches);
}

TEST_CASE("glob: a pattern that makes no sense is refused with a reason", "[tools]") {
  struct Row {
    std::string pattern;
    const char* says;
  };
  const auto row = GENERATE(values<Row>({{"", "empty"},
                                         {"./", "empty"},
                                         {"a[bc", "`[`"},
                                         {"a[", "`[`"},
                                         {"{a,b", "`{`"},
                                         {"[z-a]", "backwards"},
                                         {"a\\", "ends in"},
                                         {std::string(40, '{'), "nested"},
                                         {std::string(5'000, 'a'), "4,096"}}));
  const auto glob = Glob::compile(row.pattern);
  REQUIRE_FALSE(glob);
  CHECK(glob.error().code == Code::tool_invalid_parameters);
  CHECK_THAT(glob.error().message, Catch::Contains(row.says));
}

TEST_CASE("glob: a name that is no UTF-8 can still be found", "[tools]") {
  CHECK(Glob::compile("*.txt")->matches("\xff\xfe.txt"));
}

TEST_CASE("glob: the depth and the hidden names of a pattern are known", "[tools]") {
  CHECK(Glob::compile("a/*/c")->max_names() == 3u);
  CHECK_FALSE(Glob::compile("a/**/c")->max_names());
  CHECK(Glob::compile("a/.b/*")->names_hidden());
  CHECK(Glob::compile("{.a,b}")->names_hidden());
  CHECK_FALSE(Glob::compile("*.c")->names_hidden());
}

TEST_CASE("glob: the fixed folder is cut off a pattern", "[tools]") {
  const auto split = [](const char* pattern) {
    const auto parts = tools::split_pattern(pattern);
    return parts.folder + "|" + parts.rest;
  };
  CHECK(split("*.c") == "|*.c");
  CHECK(split("src/lib/*.c") == "src/lib|*.c");
  CHECK(split("src/l*/x") == "src|l*/x");
  CHECK(split("README.md") == "|README.md");
  CHECK(split("/etc/*.conf") == "/etc|*.conf");
  CHECK(split("/*") == "/|*");
  CHECK(split("../a/**") == "../a|**");
  CHECK(split("src/") == "|src/");
}
