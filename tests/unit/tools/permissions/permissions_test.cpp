#include "tools/permissions/permissions.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using agent::PermissionRule;
using agent::PermissionSpec;
using tools::Access;
using tools::PermissionDecision;
using tools::Permissions;
using tools::PermissionWorld;
using tools::Verdict;

// secrets/key, src/main.c, `door`, a link to secrets, and `own`, one to /proc/self.
struct Place {
  Place() {
    folder.write("secrets/key", "k");
    folder.write("src/main.c", "int main() {}");
    folder.write(".git/config", "");
    fs::create_directory_symlink("secrets", folder.at("door"));
    fs::create_directory_symlink("/proc/self", folder.at("own"));
  }

  PermissionWorld world(bool confined = true) const {
    return {.cwd = folder.path(),
            .temporary = {},
            .home = folder.at("home"),
            .confined = {.processes = confined, .files = false},
            .guarded = {folder.at("agent.yaml"), folder.at(".git/hooks")},
            .keeps = [](const std::filesystem::path&, bool) { return true; }};
  }
  Permissions permissions(const PermissionSpec& spec, bool confined = true) const {
    auto made = Permissions::create(spec, world(confined));
    REQUIRE(made);
    return std::move(*made);
  }

  tests::FileFolder folder;
};

std::vector<PermissionRule> rules(const std::vector<std::string>& texts) {
  std::vector<PermissionRule> list;
  for (const std::string& text : texts) {
    list.push_back({.text = text, .origin = "test"});
  }
  return list;
}

Access reads(std::string path) {
  return {.kind = Access::Kind::reads, .target = std::move(path)};
}
Access writes(std::string path) {
  return {.kind = Access::Kind::writes, .target = std::move(path)};
}
Access runs(std::string line) {
  return {.kind = Access::Kind::commands, .target = std::move(line)};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// `:deny shell(rm *)` and its like.
void add_rule(PermissionSpec& spec, const std::string& line) {
  const std::size_t blank = line.find(' ');
  const std::string list = line.substr(1, blank - 1);
  if (list == "rules") {
    spec = {};
    return;
  }
  const std::string text = line.substr(blank + 1);
  if (list == "default") {
    REQUIRE(text == "ask");
    spec.standard = PermissionSpec::Standard::ask;
    return;
  }
  REQUIRE((list == "deny" || list == "ask" || list == "allow"));
  auto& to = list == "deny" ? spec.deny : list == "ask" ? spec.ask : spec.allow;
  to.push_back({.text = text, .origin = "test"});
}

}  // namespace

TEST_CASE("permissions: every way to phrase a command or a path has its verdict", "[tools]") {
  const Place place;
  const std::string name = GENERATE("command_lines.txt", "allowed_lines.txt");
  std::ifstream file(ERRAND_SOURCE_DIR "/tests/unit/tools/permissions/" + name);
  PermissionSpec spec;
  int refused = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (line.front() == ':') {
      add_rule(spec, line);
      continue;
    }
    const std::string verdict = line.substr(0, line.find(' '));
    REQUIRE((verdict == "allow" || verdict == "ask" || verdict == "deny"));
    std::string command = line.substr(std::min<std::size_t>(7, line.size()));
    command = replaced(std::move(command), "⏎", "\n");
    command = replaced(std::move(command), "{{DIR}}", place.folder.path().string());
    const PermissionDecision decision = place.permissions(spec).judge("shell", runs(command));
    INFO(command << "\n" << decision.reason);
    CHECK(to_string(decision.verdict) == verdict);
    refused += verdict == "allow" ? 0 : 1;
  }
  CHECK(refused >= 150);
}

TEST_CASE("permissions: deny wins over a yes, a yes over ask, ask over allow", "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.allow = rules({"read_*", "write_file"});
  spec.ask = rules({"write_file(src/**)"});
  spec.granted = rules({"write_file(src/main.c)", "write_file(secrets/**)"});
  spec.deny = rules({"write_file(secrets/**)"});
  const Permissions permissions = place.permissions(spec);

  CHECK(permissions.judge("read_file", reads("/etc/hosts")).verdict == Verdict::allow);
  CHECK(permissions.judge("write_file", writes("/etc/hosts")).verdict == Verdict::allow);
  CHECK(permissions.judge("write_file", writes("src/other.c")).verdict == Verdict::ask);
  CHECK(permissions.judge("write_file", writes("src/main.c")).verdict == Verdict::allow);
  CHECK(permissions.judge("write_file", writes("secrets/key")).verdict == Verdict::deny);
}

TEST_CASE("permissions: a path is judged by what it really is", "[tools]") {
  const Place place;
  fs::create_symlink(place.folder.at("secrets/new"), place.folder.at("src/dangling"));
  fs::create_symlink("/etc", place.folder.at("src/etc"));
  PermissionSpec spec;
  spec.standard = PermissionSpec::Standard::ask;
  spec.allow = rules({"*_file(src/**)"});
  spec.deny = rules({"write_file(secrets/**)"});
  const Permissions permissions = place.permissions(spec);
  const auto verdict = [&](const char* path) {
    return permissions.judge("write_file", writes(path)).verdict;
  };

  CHECK(verdict("src/a/b.c") == Verdict::allow);
  CHECK(verdict("./src/./a.c") == Verdict::allow);
  CHECK(verdict("src/.hidden") == Verdict::allow);
  CHECK(verdict("src/../a.c") == Verdict::ask);
  CHECK(verdict("src/etc/hosts") == Verdict::ask);
  CHECK(verdict("/etc/hosts") == Verdict::ask);
  CHECK(verdict("src/dangling") == Verdict::deny);
  CHECK(verdict("door/key") == Verdict::deny);
  CHECK(verdict("Secrets/key") == Verdict::deny);
  CHECK(verdict("src/../door/../secrets/key") == Verdict::deny);
  CHECK(verdict((place.folder.path() / "secrets/key").c_str()) == Verdict::deny);
  CHECK(verdict("/proc/self/cwd/../../../proc/self/root/etc/hosts") == Verdict::ask);
}

TEST_CASE("permissions: a wildcard is judged by where the links lead that it finds", "[tools]") {
  const Place place;
  place.folder.write("certs/a.pem", "k");
  fs::create_directories(place.folder.at("src/deep"));
  fs::create_symlink("../certs/a.pem", place.folder.at("src/plain"));
  fs::create_directory_symlink("../../secrets", place.folder.at("src/deep/way"));
  fs::create_directory_symlink("deep", place.folder.at("src/harmless"));
  PermissionSpec spec;
  spec.standard = PermissionSpec::Standard::ask;
  spec.allow = rules({"shell(cat *)", "shell(rm *)"});
  spec.deny = rules({"read_file(**/*.pem)", "write_file(secrets/**)"});
  const Permissions permissions = place.permissions(spec);
  const auto verdict = [&](const char* line) {
    return permissions.judge("shell", runs(line)).verdict;
  };

  CHECK(verdict("cat src/plain") == Verdict::deny);
  CHECK(verdict("cat src/p*n") == Verdict::ask);
  CHECK(verdict("cat s*/p?ain") == Verdict::ask);
  CHECK(verdict("cat src/m*.c") == Verdict::allow);
  CHECK(verdict("cat src/nothing*.c") == Verdict::allow);
  CHECK(verdict("rm src/deep/way/key") == Verdict::deny);
  CHECK(verdict("rm src/deep/way/*") == Verdict::ask);
  CHECK(verdict("rm src/deep/w*/key") == Verdict::ask);
  CHECK(verdict("rm src/h*/way/key") == Verdict::ask);
  CHECK(verdict("rm src/d*/w*/../secrets/key") == Verdict::ask);
  CHECK(verdict("rm src/*.c") == Verdict::allow);
  for (int file = 0; file < 20'001; ++file) {
    place.folder.write("many/" + std::to_string(file), "");
  }
  CHECK(verdict("cat many/*9") == Verdict::ask);
}

TEST_CASE("permissions: a search behind wildcards ends, and what it cannot read is in doubt",
          "[tools]") {
  const Place place;
  fs::create_directory_symlink(".", place.folder.at("l"));
  fs::create_directories(place.folder.at("real"));
  fs::create_directory_symlink("real", place.folder.at("conf"));
  PermissionSpec spec;
  spec.standard = PermissionSpec::Standard::ask;
  spec.allow = rules({"shell(cat *)"});
  spec.deny = rules({"read_file(secrets/**)", "read_file(conf/*.pem)"});
  const Permissions permissions = place.permissions(spec);
  const auto verdict = [&](const std::string& line) {
    return permissions.judge("shell", runs(line)).verdict;
  };
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int time = 0; time < times; ++time) {
      all += text;
    }
    return all;
  };

  CHECK(verdict("cat real/*.pem") == Verdict::ask);  // what the rule's own link leads to
  CHECK(verdict("cat real/*.txt") == Verdict::allow);
  CHECK(verdict("cat " + repeated("l*/", 100) + "src/*.c") == Verdict::allow);
  CHECK(verdict("cat " + repeated("l*/", 3000) + "src/*.c") == Verdict::ask);
  const fs::path deep = place.folder.at(repeated("a/", 60));
  fs::create_directories(deep);
  fs::create_directory_symlink(place.folder.at("secrets"), deep / "plain");
  CHECK(verdict("cat " + repeated("a*/", 60) + "p*n/key") == Verdict::ask);
}

TEST_CASE("permissions: a file's other names are doubted beside a rule that denies", "[tools]") {
  const Place place;
  place.folder.write("conf", "c");
  for (const auto& [from, to] :
       {std::pair{"secrets/key", "src/key"}, std::pair{"conf", "src/conf"}}) {
    fs::create_hard_link(place.folder.at(from), place.folder.at(to));
  }
  const auto verdict = [&](const std::vector<std::string>& denied,
                           const std::vector<std::string>& allowed,
                           const Access& access) {
    PermissionSpec spec;
    spec.deny = rules(denied);
    spec.allow = rules(allowed);
    const Permissions permissions = place.permissions(spec);
    const Verdict found = permissions.judge("read_file", access).verdict;
    CHECK(permissions.may_read(place.folder.at(access.target)) ==
          (found == Verdict::allow && allowed.empty()));
    return found;
  };
  // One that is named is known, of a folder's files nobody knows which it is.
  CHECK(verdict({"read_file(conf)"}, {}, reads("src/conf")) == Verdict::deny);
  CHECK(verdict({"read_file(conf)"}, {}, reads("src/key")) == Verdict::allow);
  CHECK(verdict({"read_file(secrets/**)"}, {}, reads("src/key")) == Verdict::ask);
  CHECK(verdict({"read_file(secrets/**)"}, {"read_*"}, reads("src/key")) == Verdict::ask);
  CHECK(verdict({"read_file(secrets/**)"}, {"read_file(src/*)"}, reads("src/key")) == Verdict::ask);
  CHECK(verdict({"read_file(secrets/**)"}, {"read_file(src/key)"}, reads("src/key")) ==
        Verdict::allow);
  CHECK(verdict({"read_file(secrets/**)"}, {}, reads("src/main.c")) == Verdict::allow);
  CHECK(verdict({"read_file(nothing/**)"}, {}, reads("src/key")) == Verdict::allow);
  CHECK(verdict({"write_file(secrets/**)"}, {}, reads("src/key")) == Verdict::allow);
}

TEST_CASE("permissions: a rule's relative path starts at the rule's folder", "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.deny = {{.text = "read_file(key)",
                .origin = "config.yaml",
                .folder = place.folder.at("secrets").string()}};
  const Permissions permissions = place.permissions(spec);
  CHECK(permissions.judge("read_file", reads("secrets/key")).verdict == Verdict::deny);
  CHECK(permissions.judge("read_file", reads("key")).verdict == Verdict::allow);
  CHECK(permissions.judge("shell", runs("cat secrets/key")).verdict == Verdict::deny);
}

TEST_CASE("permissions: a link in an allowed pattern gives no right", "[tools]") {
  const Place place;
  fs::create_directory_symlink("/etc", place.folder.at("build"));
  PermissionSpec spec;
  spec.standard = PermissionSpec::Standard::ask;
  spec.allow = rules({"write_file(build/**)"});

  CHECK(place.permissions(spec).judge("write_file", writes("build/hosts")).verdict == Verdict::ask);
}

TEST_CASE("permissions: what is forbidden to one tool is to those that do the same", "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.deny = rules({"read_file(secrets/**)", "write_file(src/**)"});
  const Permissions permissions = place.permissions(spec);

  CHECK(permissions.judge("grep", reads("secrets/key")).verdict == Verdict::deny);
  CHECK(permissions.judge("grep", reads(".")).verdict == Verdict::allow);
  CHECK_FALSE(permissions.may_read(place.folder.at("secrets/key")));
  CHECK(permissions.may_read(place.folder.at("src/main.c")));
  CHECK(permissions.judge("edit_file", writes("src/main.c")).verdict == Verdict::deny);
  CHECK(permissions.judge("edit_file", writes("secrets/key")).verdict == Verdict::deny);
  CHECK(permissions.judge("write_file", writes("secrets/key")).verdict == Verdict::allow);
  CHECK(permissions.judge("read_file", reads("src/main.c")).verdict == Verdict::allow);
}

TEST_CASE("permissions: auto allows what is confined to reading and the workspace", "[tools]") {
  const Place place;
  const Permissions confined = place.permissions({}, true);
  const Permissions loose = place.permissions({}, false);
  const Access program{.kind = Access::Kind::program, .target = "{}"};

  CHECK(confined.judge("shell", runs("make")).verdict == Verdict::allow);
  CHECK(loose.judge("shell", runs("make")).verdict == Verdict::ask);
  CHECK(confined.judge("deploy", program).verdict == Verdict::allow);
  CHECK(loose.judge("deploy", program).verdict == Verdict::ask);
  for (const Permissions* permissions : {&confined, &loose}) {
    CHECK(permissions->judge("read_file", reads("src/main.c")).verdict == Verdict::allow);
    CHECK(permissions->judge("read_file", reads("/etc/hosts")).verdict == Verdict::ask);
    CHECK(permissions->judge("write_file", writes("new/file")).verdict == Verdict::allow);
    CHECK(permissions->judge("write_file", writes("../file")).verdict == Verdict::ask);
    CHECK(permissions->judge("write_file", writes("agent.yaml")).verdict == Verdict::ask);
    CHECK(permissions->judge("write_file", writes(".git/hooks/pre-commit")).verdict ==
          Verdict::ask);
    CHECK(permissions->judge("task_failed", {.kind = Access::Kind::nothing}).verdict ==
          Verdict::allow);
  }
}

TEST_CASE("permissions: a name that a rule is about is not taken for another one", "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.deny = rules({"mcp__c__del_all", "mcp__d__*"});
  spec.ask = rules({"mcp__c__keep(*)"});
  const Permissions some = place.permissions(spec);
  CHECK(some.tells_apart("mcp__c__del_all", "mcp__c__Del_All"));
  CHECK(some.tells_apart("mcp__c__keep", "mcp__c__Keep"));
  CHECK_FALSE(some.tells_apart("mcp__c__get", "mcp__c__Get"));
  CHECK_FALSE(some.tells_apart("mcp__d__get", "mcp__d__Get"));  // which the rule is about, too
}

TEST_CASE("permissions: a tool that nothing can allow is not offered", "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.deny = rules({"mcp__github__*", "shell(rm *)"});
  const Permissions some = place.permissions(spec);
  CHECK(some.always_denies("mcp__github__delete"));
  CHECK_FALSE(some.always_denies("shell"));

  PermissionSpec strict;
  strict.standard = PermissionSpec::Standard::deny;
  strict.allow = rules({"shell(git *)"});
  const Permissions none = place.permissions(strict);
  CHECK_FALSE(none.always_denies("shell"));
  CHECK(none.always_denies("read_file"));
  CHECK(none.judge("shell", runs("git diff")).verdict == Verdict::allow);
  CHECK(none.judge("shell", runs("ls")).verdict == Verdict::deny);
}

TEST_CASE("permissions: the rule that is offered says yes to this very call", "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.standard = PermissionSpec::Standard::ask;
  spec.deny = rules({"shell(rm *)"});
  struct Row {
    const char* tool;
    Access access;
    const char* rule;
  };
  const auto row = GENERATE(values<Row>({
      {"shell", runs("make test"), "shell(make test)"},
      {"shell", runs("wc *.c \\\n | sort"), "shell(wc \\*.c \\\\\n | sort)"},
      {"shell", runs("$X 'unclear"), "shell($X 'unclear)"},
      {"shell", runs("echo a)"), "shell(echo a))"},
      {"write_file", writes("src/../new.c"), "write_file(new.c)"},
      {"write_file", writes("/etc/hosts"), "write_file(/etc/hosts)"},
      {"write_file", writes("a [1]{b},*.c"), "write_file(a \\[1\\]\\{b\\}\\,\\*.c)"},
      {"write_file", writes("~/a"), "write_file(./~/a)"},
      {"grep", {.kind = Access::Kind::names, .target = "./~"}, "grep(./~/**)"},
      {"list_directory",
       {.kind = Access::Kind::names, .target = "a*b"},
       "list_directory(a\\*b/**)"},
      {"list_directory", {.kind = Access::Kind::names, .target = "."}, "list_directory(**)"},
      {"list_directory", {.kind = Access::Kind::names, .target = "src"}, "list_directory(src/**)"},
      {"grep", reads("/etc"), "grep(/etc/**)"},
      {"deploy",
       {.kind = Access::Kind::program, .target = R"({"to":"*"})"},
       R"(deploy({"to":"\*"}))"},
  }));
  Permissions permissions = place.permissions(spec);
  const PermissionDecision decision = permissions.judge(row.tool, row.access);
  INFO(decision.reason);
  REQUIRE(decision.verdict == Verdict::ask);
  CHECK(decision.yes_rule == row.rule);
  REQUIRE(permissions.grant(decision.yes_rule));
  CHECK(permissions.judge(row.tool, row.access).verdict == Verdict::allow);
}

TEST_CASE("permissions: a call that writes several files has the strictest verdict of them",
          "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.allow = rules({"apply_patch(src/**)"});
  spec.ask = rules({"apply_patch(src/*.h)", "write_file(docs/**)"});
  spec.deny = rules({"write_file(secrets/**)", "apply_patch(locked)"});
  const Permissions permissions = place.permissions(spec, false);
  struct Row {
    std::vector<std::string> files;
    Verdict verdict;
    const char* reason;
    const char* rule;
  };
  const auto row = GENERATE(values<Row>({
      {{"src/a.c", "src/b.c"}, Verdict::allow, "`allow: apply_patch(src/**)`", ""},
      {{"src/a.c", "notes"}, Verdict::allow, "`allow: apply_patch(src/**)`", ""},
      {{"src/a.c", "secrets/key"}, Verdict::deny, "`secrets/key`: `deny: write_file", ""},
      {{"src/a.h", "door/key"}, Verdict::deny, "`door/key`: `deny: write_file", ""},
      {{"src/a.c", "src/../locked"}, Verdict::deny, "`src/../locked`: `deny: apply_patch", ""},
      {{"src/a.h", "src/b.c"}, Verdict::ask, "`src/a.h`: `ask: ", "apply_patch(src/a.h)"},
      {{"src/b.c", "src/a.h"}, Verdict::ask, "`src/a.h`: `ask: ", "apply_patch(src/a.h)"},
      {{"docs/1", "src/b.c", "src/a,{.h"},
       Verdict::ask,
       "`docs/1`: `ask: ",
       "apply_patch({docs/1,src/a\\,\\{.h})"},
      {{"/etc/hosts", "/etc/[x]", "src/a.c"},
       Verdict::ask,
       "`/etc/hosts`: it writes outside",
       "apply_patch(/{etc/hosts,etc/\\[x\\]})"},
  }));
  Access access = writes(row.files.front());
  access.further.assign(row.files.begin() + 1, row.files.end());
  const PermissionDecision decision = permissions.judge("apply_patch", access);
  INFO(decision.reason);
  CHECK(decision.verdict == row.verdict);
  CHECK_THAT(decision.reason, Catch::Contains(row.reason));
  CHECK(decision.yes_rule == row.rule);
  if (row.verdict == Verdict::ask) {
    Permissions granted = place.permissions(spec, false);
    REQUIRE(granted.grant(decision.yes_rule));
    CHECK(granted.judge("apply_patch", access).verdict == Verdict::allow);
    CHECK(granted.judge("apply_patch", writes("docs/other")).verdict == Verdict::ask);
  }
}

TEST_CASE("permissions: too many files for a rule are meant by their folder", "[tools]") {
  const Place place;
  PermissionSpec spec;
  spec.standard = PermissionSpec::Standard::ask;
  Permissions permissions = place.permissions(spec);
  Access access = writes("src/deep/0");
  for (int file = 1; file < 100; ++file) {
    access.further.push_back("src/" + std::to_string(file) + std::string(60, 'x'));
  }
  const PermissionDecision decision = permissions.judge("apply_patch", access);
  CHECK(decision.yes_rule == "apply_patch(src/**)");
  CHECK_FALSE(decision.may_always);
  REQUIRE(permissions.grant(decision.yes_rule));
  CHECK(permissions.judge("apply_patch", access).verdict == Verdict::allow);
}

TEST_CASE("permissions: a rule that is none says why", "[tools]") {
  const std::vector<std::string> names{
      "read_file", "shell", "write_file", "mcp__x__", "mcp__my_docs__"};
  for (const char* rule : {"read_*",
                           "shell",
                           "shell(git diff *)",
                           "shell(a (b) c)",
                           "write_file(src/**)",
                           "*",
                           "mcp__x__y(z)",
                           "mcp__x__*",
                           "mcp__*__delete_*",
                           "mcp__?__y",
                           "mcp__*",
                           "mcp_resources",
                           "mcp_resources(x)",
                           "mcp_resources(x note://y/*)",
                           "mcp_resources(my%20docs note://y/*)",
                           "mcp_resources(* note://y)",
                           "*(x)",
                           "she*",
                           "find_*",
                           "mcp_*",
                           "*__y",
                           "m?p__x__*"}) {
    INFO(rule);
    CHECK(tools::check_rule(rule, names));
    CHECK(tools::idle_patterns(std::vector{agent::PermissionRule{.text = rule}}, names).empty());
  }
  for (const char* rule : {"",
                           "(x)",
                           "shell(",
                           "shell()",
                           "shell(git",
                           "shell(git) ",
                           "she ll",
                           "shel",
                           "mcp__x",
                           "mcp__x_",
                           "mcp__y__*",
                           "mcp__X__y",
                           "mcp__xx*",
                           "mcp_resources(y)",
                           "mcp_resources(xx note://y/*)",
                           "write_file([)",
                           "write_file(..)",
                           "rm -rf *"}) {
    INFO(rule);
    const auto checked = tools::check_rule(rule, names);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == agent::Code::config_invalid);
    CHECK_FALSE(checked.error().help.empty());
  }
}

TEST_CASE("permissions: a wildcard that is about no tool is told", "[tools]") {
  const std::vector<std::string> names{"read_file", "shell", "write_file", "mcp__x__"};
  for (const char* rule : {"mcp_x_*", "red_file*", "database_*", "read_files*(a)"}) {
    INFO(rule);
    const auto idle = tools::idle_patterns(
        std::vector{agent::PermissionRule{.text = rule, .origin = "a"}}, names);
    REQUIRE(idle.size() == 1);
    CHECK(idle.front().kind == "idle_rule");
  }
}

TEST_CASE("permissions: arguments for a server are compared however they are written", "[tools]") {
  const Place place;
  const auto judged = [&](const char* rule, const char* arguments) {
    agent::PermissionSpec spec;
    spec.standard = agent::PermissionSpec::Standard::allow;
    spec.deny = {{.text = fmt::format("mcp__x__y({})", rule), .origin = "test"}};
    const tools::Access access{.kind = tools::Access::Kind::server,
                               .target = agent::canonical_value(*agent::parse_json(arguments))};
    return place.permissions(spec).judge("mcp__x__y", access).verdict;
  };
  const char* const call = R"({"b": 2, "a": [1, {"d": "x  y", "c": null}]})";
  CHECK(judged(R"({"a":[1,{"c":null,"d":"x  y"}],"b":2})", call) == Verdict::deny);
  CHECK(judged(R"({ "b" : 2, "a": [1, {"d": "x  y", "c": null}] })", call) == Verdict::deny);
  CHECK(judged(R"({"a": [1, {"c": null, "d": "x *"}], "b": *})", call) == Verdict::deny);
  CHECK(judged(R"({*"d": "x  y"*})", call) == Verdict::deny);
  CHECK(judged(R"(*"b":2*)", call) == Verdict::deny);
  CHECK(judged(R"({"b": 3, "a": [1, {"d": "x  y", "c": null}]})", call) == Verdict::allow);
  CHECK(judged(R"({"a": [1, {"c": null, "d": "x y"}], "b": *})", call) == Verdict::allow);
  for (const char* number : {"1", "1.0", "1e0", "10e-1", "1.00"}) {
    INFO(number);
    CHECK(judged(R"({"n": 1})", fmt::format(R"({{"n": {}}})", number).c_str()) == Verdict::deny);
    CHECK(judged(fmt::format(R"({{"n": {}}})", number).c_str(), R"({"n": 1})") == Verdict::deny);
  }
  CHECK(judged(R"({"n": 0.5})", R"({"n": 5e-1})") == Verdict::deny);
  CHECK(judged(R"({"n": 18446744073709551617})", R"({"n": 18446744073709551616})") ==
        Verdict::allow);
}

TEST_CASE("permissions: a page is asked for, allowed or denied by its URL", "[tools]") {
  const Place place;
  const auto fetches = [](const char* url) {
    return Access{.kind = Access::Kind::fetches, .target = url};
  };
  const Permissions automatic = place.permissions({}, true);
  const PermissionDecision asked = automatic.judge("web_fetch", fetches("https://a.example/x?y=*"));
  CHECK(asked.verdict == Verdict::ask);
  CHECK(asked.yes_rule == "web_fetch(https://a.example/x\\?y=\\*)");
  CHECK(asked.may_always);

  PermissionSpec spec;
  spec.allow = rules({"web_fetch(https://docs.example/*)"});
  spec.ask = rules({"web_fetch(https://docs.example/admin/*)"});
  spec.deny = rules({"web_*(https://evil.example)", "web_fetch(https://docs.example/private/*)"});
  const Permissions permissions = place.permissions(spec);
  const auto verdict = [&](const char* url) {
    return permissions.judge("web_fetch", fetches(url)).verdict;
  };
  CHECK(verdict("https://docs.example/a") == Verdict::allow);
  CHECK(verdict("https://docs.example/admin/") == Verdict::ask);
  CHECK(verdict("https://docs.example//Admin/") == Verdict::ask);
  CHECK(verdict("https://docs.example/private/x") == Verdict::deny);
  CHECK(verdict("http://docs.example/a/..%2fprivate/x") == Verdict::deny);
  CHECK(verdict("http://evil.example/x") == Verdict::deny);
  CHECK(verdict("https://other.example/") == Verdict::ask);
  // A page that is denied is so by each name that a server may have for it.
  spec.deny.push_back({.text = "web_fetch(https://docs.example/secret)", .origin = "agent.yaml"});
  spec.deny.push_back({.text = "web_fetch(https://docs.example/list/)", .origin = "agent.yaml"});
  spec.deny.push_back({.text = "web_fetch(https://docs.example/q\\?id=7)", .origin = "agent.yaml"});
  const Permissions pages = place.permissions(spec);
  for (const char* path : {"secret",
                           "secret?x",
                           "secret?",
                           "secret/",
                           "secret//",
                           "secret/.",
                           "secret/./?x=/y",
                           "Secret%2F?x",
                           "x/../secret?#a",
                           "private",
                           "list",
                           "list?page=2",
                           "q?id=7"}) {
    INFO(path);
    CHECK(pages.judge("web_fetch", fetches(("https://docs.example/" + std::string(path)).c_str()))
              .verdict == Verdict::deny);
  }
  for (const char* path : {"secrets", "secret/x", "a?secret", "listing", "q?id=8", "q"}) {
    INFO(path);
    CHECK(pages.judge("web_fetch", fetches(("https://docs.example/" + std::string(path)).c_str()))
              .verdict == Verdict::allow);
  }
  // What allows one page allows no other.
  PermissionSpec exact;
  exact.allow = rules({"web_fetch(https://docs.example/page)"});
  const Permissions one = place.permissions(exact);
  CHECK(one.judge("web_fetch", fetches("https://docs.example/page")).verdict == Verdict::allow);
  for (const char* path : {"page?x", "page/", "page?"}) {
    INFO(path);
    CHECK(one.judge("web_fetch", fetches(("https://docs.example/" + std::string(path)).c_str()))
              .verdict == Verdict::ask);
  }
  // Beside a path that is denied, only what every server reads alike.
  for (const char* url : {"https://docs.example/a;/private/x",
                          "https://docs.example/private;v=1/x",
                          "https://docs.example/%2570rivate/x",
                          "https://docs.example/x%00/private",
                          "https://docs.example/private%20/x",
                          "https://docs.example/private./x",
                          "https://docs.example/x::$DATA",
                          "https://docs.example/%C0%AEprivate"}) {
    INFO(url);
    CHECK(verdict(url) != Verdict::allow);
  }
  CHECK(verdict("https://docs.example/a_b-c.d~e/(f)/@g/h,i=j.html?k;l=%25&m=:") == Verdict::allow);
  spec.allow.push_back({.text = "web_fetch(https://docs.example/a;b)", .origin = "agent.yaml"});
  CHECK(place.permissions(spec).judge("web_fetch", fetches("https://docs.example/a;b")).verdict ==
        Verdict::allow);
  CHECK_FALSE(permissions.always_denies("web_fetch"));

  CHECK(tools::check_rule("web_fetch(https://*.example.com/*)", {}));
  CHECK_FALSE(tools::check_rule("web_fetch(docs.example.com)", {}));
  CHECK_FALSE(tools::check_rule("web_fetch(https://docs*/)", {}));
}

TEST_CASE("permissions: nothing is allowed that is not allowed above, too", "[tools]") {
  const Place place;
  const auto judged = [&](const PermissionSpec& above, const PermissionSpec& own) {
    Permissions permissions = place.permissions(own, false);
    permissions.stay_below(place.permissions(above, false));
    return permissions.judge("deploy", {.kind = tools::Access::Kind::program, .target = "{}"})
        .verdict;
  };
  const PermissionSpec allows{.allow = {{.text = "deploy", .origin = "own.yaml"}}};
  const PermissionSpec asks{.ask = {{.text = "deploy", .origin = "above.yaml"}}};
  const PermissionSpec denies{.deny = {{.text = "deploy", .origin = "above.yaml"}}};
  CHECK(judged(allows, allows) == tools::Verdict::allow);
  CHECK(judged(asks, allows) == tools::Verdict::ask);
  CHECK(judged({}, allows) == tools::Verdict::ask);  // `auto` of who says nothing
  CHECK(judged(denies, allows) == tools::Verdict::deny);
  CHECK(judged(allows, denies) == tools::Verdict::deny);

  Permissions permissions = place.permissions(allows, false);
  permissions.stay_below(place.permissions(asks, false));
  CHECK_FALSE(permissions.always_denies("deploy"));
  REQUIRE(permissions.grant("deploy"));
  CHECK(
      permissions.judge("deploy", {.kind = tools::Access::Kind::program, .target = "{}"}).verdict ==
      tools::Verdict::allow);
  permissions.stay_below(place.permissions(denies, false));
  CHECK(permissions.always_denies("deploy"));
}

TEST_CASE("permissions: a control character is no part of a rule, but in paths", "[tools]") {
  for (const char* rule : {"shell(a\x01"
                           "b)",
                           "shell(\x1b *)",
                           "deploy({\"a\":\"\x02\"})",
                           "*(\r)"}) {
    INFO(rule);
    const auto checked = tools::check_rule(rule, {});
    REQUIRE(!checked);
    CHECK(checked.error().message.ends_with("is not a rule: it holds a control character"));
  }
  CHECK(tools::check_rule("shell(a\n\tb)", {}));
  CHECK(tools::check_rule("write_file(a\x01)", {}));
}

TEST_CASE("permissions: a digest behind a name takes no tool out of `deny` and `ask`", "[tools]") {
  const Place place;
  const std::string cut = "mcp__s__" + std::string(43, 'x') + "_58959f20e200";
  const std::string whole = "mcp__s__" + std::string(60, 'x');
  REQUIRE(cut.size() == 64);
  const auto verdict = [&](PermissionSpec spec, std::string_view tool) {
    spec.standard = PermissionSpec::Standard::allow;
    return place.permissions(spec)
        .judge(tool, {.kind = Access::Kind::server, .target = "{}"})
        .verdict;
  };
  const PermissionSpec denied{.deny = rules({"mcp__s__rm_rf", whole})};
  const PermissionSpec asked{.ask = rules({"mcp__s__rm_rf", whole})};
  for (const std::string& tool :
       {std::string("mcp__s__rm_rf"), std::string("mcp__s__rm_rf_58959f20e200"), cut}) {
    CHECK(verdict(denied, tool) == Verdict::deny);
    CHECK(verdict(asked, tool) == Verdict::ask);
    CHECK(place.permissions(denied).always_denies(tool));
  }
  CHECK(verdict(denied, "mcp__s__rm_rf_58959f20e20") == Verdict::allow);
  CHECK(verdict(denied, "mcp__s__rm") == Verdict::allow);
  CHECK(verdict({.deny = rules({"mcp__s__rm_58959f20e200"})}, "mcp__s__rm") == Verdict::deny);
  CHECK(verdict(denied, "mcp__s__xxx_58959f20e200") == Verdict::allow);
  PermissionSpec allowed{.allow = rules({"mcp__s__rm_rf"})};
  allowed.standard = PermissionSpec::Standard::deny;
  CHECK(place.permissions(allowed)
            .judge("mcp__s__rm_rf_58959f20e200", {.kind = Access::Kind::server, .target = "{}"})
            .verdict == Verdict::deny);
}
