// The rule that is offered for a call means that call and no other, however odd its names are.
#include "tools/permissions/offered_rule.h"

#include "tests/unit/tools/file_support.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/permissions.h"
#include "tools/permissions/plain_command.h"
#include "tools/web/url.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <random>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using tools::Access;
using tools::PermissionDecision;
using tools::Permissions;
using tools::Verdict;
using Kind = Access::Kind;

Permissions asking(const fs::path& cwd) {
  agent::PermissionSpec spec;
  spec.standard = agent::PermissionSpec::Standard::ask;
  return Permissions::create(
             spec,
             {.cwd = cwd, .temporary = {}, .home = cwd / "home", .confined = {}, .guarded = {}})
      .value();
}

// After a yes to the call for the rest of the run.
Permissions with_yes_to(const fs::path& cwd, std::string_view tool, const Access& access) {
  Permissions permissions = asking(cwd);
  const PermissionDecision asked = permissions.judge(tool, access);
  REQUIRE(asked.verdict == Verdict::ask);
  INFO(asked.yes_rule);
  REQUIRE(permissions.grant(asked.yes_rule));
  CHECK(permissions.judge(tool, access).verdict == Verdict::allow);
  return permissions;
}

class Dice {
 public:
  std::size_t below(std::size_t count) { return rng_() % count; }
  std::string one_of(std::span<const std::string_view> pieces) {
    return std::string(pieces[below(pieces.size())]);
  }
  std::string several(std::span<const std::string_view> pieces, std::string_view between) {
    std::string text = one_of(pieces);
    for (std::size_t more = below(4); more > 0; --more) {
      text += between;
      text += one_of(pieces);
    }
    return text;
  }
  // Like the text, but for one character.
  std::string changed(std::string text, std::span<const std::string_view> pieces) {
    const std::size_t at = below(text.size());
    return text.replace(at, below(2), one_of(pieces));
  }

 private:
  std::mt19937 rng_{20'240'531};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
};

constexpr std::string_view k_of_names[] = {"~",  "a", "B", ".", "*", "?", "[", "]", "{",  "}", ",",
                                           "\\", "!", "^", "-", " ", "(", ")", "'", "\n", "ä", "/"};
constexpr std::string_view k_of_lines[] = {
    "rm",  "-r",   "a",    "b",   "a;",    "'a;'", ";",         "'c d'", "\"c d\"",
    "\\*", "*",    "?.c",  "./*", "#",     "'#'",  "&",         "&&",    "|",
    "\r",  "$x",   "'$x'", "~/a", "'~/a'", ">",    "'>'",       "\x01",  "\x02",
    "\\",  "'\\'", "a\\ ", "{",   "\n",    "nice", "\"a\\\\b\""};
constexpr std::string_view k_of_pages[] = {"a",
                                           "B",
                                           "/",
                                           "*",
                                           "?",
                                           "%2a",
                                           "%5c",
                                           "%2F",
                                           ".",
                                           ";",
                                           "%01",
                                           "%41",
                                           "&",
                                           "=",
                                           "\\",
                                           "~",
                                           "(",
                                           ")"};

std::string in_single_quotes(std::string_view line) {
  std::string quoted;
  for (const auto part : std::views::split(line, ' ')) {
    const std::string word(part.begin(), part.end());
    quoted += (quoted.empty() ? "" : " ") +
              (word.contains('\'') || quoted.empty() ? word : "'" + word + "'");
  }
  return quoted;
}

// Whether a shell runs nothing else than the one command of `line` when it reads `other`.
bool is_the_same(std::string_view line, std::string_view other) {
  const auto one = tools::read_plain(line);
  const auto all = tools::read_plain(other);
  return tools::bare_line(line) == tools::bare_line(other) ||
         (one && one->size() == 1 && all &&
          std::ranges::all_of(*all, [&](const tools::PlainCommand& command) {
            return std::ranges::any_of(command.starts, [&](std::size_t start) {
              return std::ranges::equal(std::span(command.words).subspan(start),
                                        one->front().words);
            });
          }));
}

}  // namespace

TEST_CASE("offered rule: of files, that very one", "[tools]") {
  const tests::FileFolder folder;
  Dice dice;
  for (int round = 0; round < 3'000; ++round) {
    const bool is_absolute = dice.below(4) == 0;
    const std::string path = (is_absolute ? "/nowhere/" : "") + dice.several(k_of_names, "");
    const Access access{.kind = dice.below(4) == 0 ? Kind::names : Kind::writes, .target = path};
    const fs::path real = tools::true_path(folder.path() / path);
    INFO("path: " << path);
    const Permissions permissions = with_yes_to(folder.path(), "write_file", access);
    const auto check = [&](const fs::path& other) {
      const fs::path there = tools::true_path(folder.path() / other);
      const bool is_it =
          there == real || ((access.kind == Kind::names || fs::is_directory(real)) &&
                            (real == "/" || there.native().starts_with(real.native() + "/")));
      INFO("other: " << other);
      CHECK(
          (is_it || permissions.judge("write_file", {.kind = access.kind, .target = other.native()})
                            .verdict == Verdict::ask));
    };
    for (int times = 0; times < 4; ++times) {
      check(dice.changed(path, k_of_names));
      check(dice.several(k_of_names, ""));
    }
    for (const std::string_view start : {"~", "./~", "~/", "./~/"}) {
      if (path.starts_with(start)) {
        check(folder.path() / "home" / ("./" + path.substr(start.size())));
      }
    }
    check(fs::path(path) / "a");
    check("a" + path);
    check("/" + path);
    check(folder.path() / "home" / path);
  }
}

TEST_CASE("offered rule: kept for every run, it is that file wherever errand works", "[tools]") {
  const tests::FileFolder folder;
  fs::create_directory(folder.at("{a}"));
  fs::create_directory(folder.at("b"));
  Dice dice;
  for (int round = 0; round < 1'000; ++round) {
    const std::string path = dice.several(k_of_names, "");
    const Access access{.kind = Kind::writes, .target = path};
    const Access there{.kind = Kind::writes,
                       .target = tools::true_path(folder.at("{a}") / path).string()};
    if (fs::is_directory(there.target) || path.starts_with('/')) {
      continue;
    }
    INFO(path);
    const std::string rule = asking(folder.at("{a}")).judge("write_file", access).yes_rule;
    Permissions other = asking(folder.at("b"));
    REQUIRE(other.grant(tools::lasting_rule(rule, folder.at("{a}"))));
    CHECK(other.judge("write_file", there).verdict == Verdict::allow);
    const bool is_same = tools::true_path(folder.at("b") / path) == there.target;
    CHECK((is_same || other.judge("write_file", access).verdict == Verdict::ask));
  }
  CHECK(tools::lasting_rule("shell(make)", "/x") == "shell(make)");
  CHECK(tools::lasting_rule("grep", "/x") == "grep");
  CHECK(tools::lasting_rule("apply_patch({a,b})", "/") == "apply_patch(/{a,b})");
}

TEST_CASE("offered rule: of several files, these", "[tools]") {
  const tests::FileFolder folder;
  Dice dice;
  for (int round = 0; round < 500; ++round) {
    Access access{.kind = Kind::writes, .target = dice.several(k_of_names, "")};
    access.further = {dice.several(k_of_names, ""), "~/" + dice.one_of(k_of_names)};
    if (fs::is_directory(folder.path() / access.target) ||
        fs::is_directory(folder.path() / access.further[0])) {
      continue;  // no patch is one of a folder
    }
    INFO(access.target << ", " << access.further[0] << ", " << access.further[1]);
    const Permissions permissions = with_yes_to(folder.path(), "apply_patch", access);
    CHECK(permissions
              .judge("apply_patch", {.kind = Kind::writes, .target = (folder.path() / "home/a")})
              .verdict == Verdict::ask);
  }
}

TEST_CASE("offered rule: of command lines, that very one", "[tools]") {
  const tests::FileFolder folder;
  Dice dice;
  for (int round = 0; round < 6'000; ++round) {
    const std::string line = "rm " + dice.several(k_of_lines, " ");
    INFO("line: " << line);
    const Access access{.kind = Kind::commands, .target = line};
    if (line.find_first_of("\x01\x02\r") != std::string::npos) {  // no rule can stand for it
      const PermissionDecision asked = asking(folder.path()).judge("shell", access);
      CHECK((asked.yes_rule.empty() && !asked.may_always));
      continue;
    }
    const Permissions permissions = with_yes_to(folder.path(), "shell", access);
    for (const std::string& other : {in_single_quotes(line),
                                     dice.changed(line, k_of_lines),
                                     line + " b",
                                     line + "\n",
                                     "rm " + dice.several(k_of_lines, " ")}) {
      INFO("other: " << other);
      CHECK((is_the_same(line, other) ||
             permissions.judge("shell", {.kind = Kind::commands, .target = other}).verdict ==
                 Verdict::ask));
    }
  }
  // One that is a command's is that command's, however it is quoted and wherever it stands.
  const Permissions permissions =
      with_yes_to(folder.path(), "shell", {.kind = Kind::commands, .target = "make 'a b'"});
  CHECK(permissions.judge("shell", {.kind = Kind::commands, .target = "nice make a\\ b && true"})
            .verdict == Verdict::allow);
}

TEST_CASE("offered rule: of pages, that very one", "[tools]") {
  const tests::FileFolder folder;
  Dice dice;
  for (int round = 0; round < 2'000; ++round) {
    const auto url = tools::parse_url("https://a.example/" + dice.several(k_of_pages, ""));
    if (!url) {
      continue;
    }
    const std::string page = url->text();
    INFO("page: " << page);
    const Permissions permissions =
        with_yes_to(folder.path(), "web_fetch", {.kind = Kind::fetches, .target = page});
    for (int times = 0; times < 4; ++times) {
      const auto other = tools::parse_url(dice.changed(page, k_of_pages));
      const std::string name = other ? other->text() : page;
      INFO("other: " << name);
      CHECK((name == page ||
             permissions.judge("web_fetch", {.kind = Kind::fetches, .target = name}).verdict ==
                 Verdict::ask));
    }
  }
}
