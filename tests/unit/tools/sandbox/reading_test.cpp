#include "tools/sandbox/reading.h"

#include <catch2/catch.hpp>

#include <string>

using tools::sandbox::has_closed_inside;
using tools::sandbox::may_read;
using tools::sandbox::ReadingRules;
using tools::sandbox::rules_around;

TEST_CASE("reading: the deepest rule decides, of two as deep the one that opens", "[tools]") {
  const ReadingRules rules{.closed = {"/h", "/h/p/s", "/h/x*", "/same"},
                           .open = {"/h/p", "/h/p/s/in", "/same", "/h/xy"}};
  struct Row {
    const char* path;
    bool is_open;
  };
  for (const Row& row : {Row{"/", true},
                         {"/etc/passwd", true},
                         {"/h", false},
                         {"/hh", true},
                         {"/h/a", false},
                         {"/h/p", true},
                         {"/h/pp", false},
                         {"/h/p/a", true},
                         {"/h/p/s", false},
                         {"/h/p/s/a", false},
                         {"/h/p/s/in", true},
                         {"/h/p/s/in/a", true},
                         {"/h/x", false},
                         {"/h/xz/a", false},
                         {"/h/xy/a", true},
                         {"/same/a", true}}) {
    INFO(row.path);
    CHECK(may_read(rules, row.path) == row.is_open);
  }
}

TEST_CASE("reading: what is closed inside a folder is known before it is there", "[tools]") {
  const ReadingRules rules{.closed = {"/h/p/s", "/h/x*"}, .open = {}};
  CHECK(has_closed_inside(rules, "/"));
  CHECK(has_closed_inside(rules, "/h"));
  CHECK(has_closed_inside(rules, "/h/p"));
  CHECK_FALSE(has_closed_inside(rules, "/h/p/s"));
  CHECK_FALSE(has_closed_inside(rules, "/h/q"));
  CHECK_FALSE(has_closed_inside(rules, "/h/x"));
}

TEST_CASE("reading: the rules around a folder judge what is in it as all of them do", "[tools]") {
  const ReadingRules rules{.closed = {"/h", "/h/p/s", "/h/x*", "/same", "/h/p", "/q/r/s*"},
                           .open = {"/h/p", "/h/p/s/in", "/same", "/h/xy", "/h/xy/z/w"}};
  const ReadingRules around = rules_around(rules, "/h/xy");
  CHECK(around == ReadingRules{.closed = {"/h", "/h/x*"}, .open = {"/h/xy", "/h/xy/z/w"}});
  for (const char* folder :
       {"/", "/h", "/h/p", "/h/p/s", "/h/xy", "/h/xz", "/q", "/q/r", "/none"}) {
    const ReadingRules inner = rules_around(rules, folder);
    for (const char* name : {"a", "p", "s", "in", "x", "xy", "z/w", "r", "s9", "r/s9", "p/s/in"}) {
      const std::string path =
          (folder == std::string("/") ? "" : folder) + ("/" + std::string(name));
      INFO(folder << ", " << path);
      CHECK(may_read(inner, path) == may_read(rules, path));
      CHECK(has_closed_inside(inner, path) == has_closed_inside(rules, path));
    }
  }
}
