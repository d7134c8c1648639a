#include "tools/hooks/script_files.h"

#include "agent/text.h"
#include "tests/unit/tools/file_support.h"
#include "tools/hooks/file_watch.h"
#include "tools/hooks/outside_words.h"
#include "tools/hooks/shell_built_ins.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <set>

TEST_CASE("script files: the files that a command line names", "[tools]") {
  const tests::FileFolder folder;
  folder.write("guard.sh", "exit 0");
  folder.write("data.txt", "x");
  const auto names = [&](std::string_view command) {
    std::vector<std::string> found;
    for (const auto& file :
         tools::read_scripts(command, {.directory = folder.path(), .home = {}}).files) {
      found.push_back(file.filename().string());
    }
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(names("./guard.sh") == Names{"guard.sh"});
  CHECK(names("sh guard.sh | grep x <data.txt >out") == Names{"guard.sh", "data.txt"});
  CHECK(names("X=1 env sh -e './guard.sh'") == Names{"guard.sh"});
  CHECK(names("$GUARD missing.sh " + folder.path().string()).empty());

  const tools::FileWatch watch(
      tools::read_scripts("sh guard.sh data.txt", {.directory = folder.path(), .home = {}}).files);
  CHECK(watch.changed().empty());
  folder.write("data.txt", "y");
  CHECK(watch.changed().filename() == "data.txt");
}

TEST_CASE("script files: what compares numbers names no file", "[tools]") {
  const tests::FileFolder folder;
  folder.write("e", "");
  folder.write("ge", "");
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  CHECK(tools::read_scripts("test 3 -ge 2", place).files.empty());
  CHECK(tools::read_scripts("[ 3 -ge 2 ]", place).files.empty());
  CHECK(tools::read_scripts("test -f ge", place).files.size() == 1);
}

TEST_CASE("script files: a link that a command names is named, too", "[tools]") {
  const tests::FileFolder folder;
  const auto top = std::filesystem::canonical(folder.path());
  folder.write("away/guard.sh", "exit 0");
  folder.write("work/x", "");
  std::filesystem::create_symlink("../away/guard.sh", top / "work/guard");
  const auto is_of_work = [&](const std::filesystem::path& path) {
    return path.native().starts_with((top / "work").native());
  };
  CHECK(tools::named_in("./work/guard", {top}, {.is = is_of_work}) == top / "work/guard");
  CHECK(tools::named_in("node --import file://" + (top / "w%6Frk/guard").string(),
                        {top},
                        {.is = is_of_work}) == top / "work/guard");
  CHECK(tools::named_in("./away/guard.sh", {top}, {.is = is_of_work}).empty());
  std::filesystem::create_directory_symlink("../work", top / "away/link");
  CHECK_FALSE(tools::named_in("sh away/link/../work/x", {top}, {.is = is_of_work}).empty());
}

TEST_CASE("script files: a line is understood whole, or it says why it is not", "[tools]") {
  const tests::FileFolder folder;
  for (const char* name : {"hooks/policy.sh", "hooks/other.sh", "rules.txt"}) {
    folder.write(name, "exit 0");
  }
  struct Row {
    std::string command;
    std::string files;
    bool is_clear = true;
  };
  const std::vector<Row> rows{
      {"$PWD/hooks/policy.sh", "policy.sh"},
      {"\"${PWD}/hooks/policy.sh\"", "policy.sh"},
      {"$HOME/hooks/policy.sh", "policy.sh"},
      {"sh ~/hooks/policy.sh", "policy.sh"},
      {"cd hooks && ./policy.sh", "policy.sh"},
      {"cd hooks; cd ..; hooks/policy.sh", "policy.sh"},
      {"cd hooks\nsh policy.sh", "policy.sh"},
      {"\n cd hooks \n\nsh policy.sh\n", "policy.sh"},
      {"cd hooks && \\\nsh policy.sh", "policy.sh"},
      {"true\ncd hooks\nsh policy.sh", ""},
      {"cd hooks # here\nsh policy.sh", ""},
      {"env -C hooks sh policy.sh", "policy.sh"},
      {"env --chdir=hooks ./policy.sh", "policy.sh"},
      {"timeout 9 sh -c 'cd hooks; sh policy.sh'", "policy.sh"},
      {"X=hooks; sh \"$X/policy.sh\"", "", false},
      {"find hooks -name policy.sh | xargs sh", "", false},
      {"cat hooks/policy.sh | sh", "policy.sh", false},
      {"find hooks -exec sh {} +", "", false},
      {"sh -c \"exec hooks/policy.sh\"", "policy.sh"},
      {"bash -ec 'cd hooks && sh policy.sh'", "policy.sh"},
      {"eval sh hooks/policy.sh", "policy.sh"},
      {"awk --file=hooks/policy.sh <rules.txt", "policy.sh rules.txt"},
      {"python3 -c 'import os; os.system(\"hooks/policy.sh\")'", "policy.sh"},
      {"input=$(cat); echo \"$input\" >>log; exit 2", ""},
      {"jq -r .tool_name | grep -q \"$1\" || exit 0; hooks/policy.sh", "policy.sh"},
      {"if test -e x; then hooks/policy.sh; fi", "policy.sh"},
      {"echo 'no by policy' >&2; exit 2", ""},
      {"sh hooks/pol*.sh", "", false},
      {"sh hooks/$NAME.sh", "", false},
      {"$GUARD", "", false},
      {"$(echo hooks/policy.sh)", "policy.sh", false},
      {"PATH=hooks policy.sh", "policy.sh", false},
      {"PYTHONPATH=hooks python3 -m policy", "", false},
      {"export PATH=hooks; policy.sh", "policy.sh", false},
      {"(cd hooks && ./policy.sh)", ""},
      {"true; cd hooks; ./policy.sh", ""},
      {"sh -c \"$LINE\"", "", false},
      {"sh -c 'sh $0' hooks/policy.sh", "policy.sh", false},
      {"sh <<E\nhooks/policy.sh\nE", "policy.sh", false},
      {"for f in hooks/policy.sh; do sh $f; done", "", false},
      {"echo $(", "", false},
  };
  for (const Row& row : rows) {
    const auto scripts =
        tools::read_scripts(row.command, {.directory = folder.path(), .home = folder.path()});
    std::string names;
    for (const auto& file : scripts.files) {
      names += (names.empty() ? "" : " ") + file.filename().string();
    }
    INFO(row.command << ": " << scripts.unclear);
    CHECK(names == row.files);
    CHECK(scripts.unclear.empty() == row.is_clear);
  }
}

TEST_CASE("script files: a line whose names come to mean something else is not understood",
          "[tools]") {
  const tests::FileFolder folder;
  const tools::CommandPlace place{
      .directory = folder.path(),
      .home = {},
      .environment = {{"PATH", "/bin"}, {"LANG", "C"}, {"http_proxy", ""}}};
  const auto is_clear = [&](std::string_view line) {
    return tools::read_scripts(line, place).unclear.empty();
  };
  struct Row {
    std::string_view in_front;
    bool is_clear;
  };
  const std::vector<Row> rows{
      {"set -eu", true},
      {"set -euo pipefail", true},
      {"set -- a b", true},
      {"set -a", false},
      {"set -o allexport", false},
      {"shopt -s nullglob globstar", true},
      {"shopt -s expand_aliases", false},
      {"trap 'rm -f out.log' EXIT", true},
      {"trap - INT", true},
      {"trap '. ./env' DEBUG", false},
      {"trap -- \"source ./env\" EXIT", false},
      {". ./env", false},
      {"command -p . ./env", false},
      {"builtin source ./env", false},
      {"eval 'eval . ./env'", false},
      {"eval echo a", true},
      {"read x", true},
      {"read -r -p 'Go on?' x", true},
      {"read PATH", false},
      {"read \"$name\"", false},
      {"printf '%s' PATH", true},
      {"printf -v PATH %s ./x", false},
      {"mapfile -t lines", true},
      {"mapfile PATH", false},
      {"mapfile -C ./x lines", false},
      {"readarray -t PATH", false},
      {"getopts ab: opt", true},
      {"getopts ab: PATH", false},
      {"wait", true},
      {"wait -n", true},
      {"wait -n -p PATH", false},
      {"let PATH=1", false},
      {"readonly dir=$(pwd)", true},
      {"readonly N=1", true},
      {"readonly PYTHONPATH=lib", false},
      {"local PATH=x", false},
      {"declare -i n=1", false},
      {"declare -x n", false},
      {"declare -n n=PATH", false},
      {"typeset -n n", false},
      {"export LANG", true},
      {"export http_proxy", false},
      {"export NEW", false},
      {"NEW=1; export NEW", true},
      {"export NEW=1", true},
      {": ${PYTHONPATH:=./lib}; export PYTHONPATH", false},
      {"unset LANG", true},
      {"unset PATH", false},
      {"for f in a b; do echo $f; done", true},
      {"for PATH in ./x; do true; done", false},
      {"exec 3>log", true},
      {"umask 022", true},
      {"ulimit -t 9", true},
      {"alias t=./x", false},
      {"hash -p ./x t", false},
      {"enable -f ./x t", false},
      {"zmodload zsh/x", false},
      {"bind -x a:b", false},
      {"test -e x", true},
      {"git pull", true},
  };
  for (const Row& row : rows) {
    INFO(row.in_front);
    CHECK(is_clear(std::string(row.in_front) + "; mytest") == row.is_clear);
    CHECK(is_clear(
              fmt::format("sh -c {}", agent::shell_word(std::string(row.in_front) + "; mytest"))) ==
          row.is_clear);
  }
}

TEST_CASE("script files: what another program tells a line to run is not known", "[tools]") {
  const tests::FileFolder folder;
  const tools::CommandPlace place{
      .directory = folder.path(), .home = {}, .environment = {{"PATH", "/bin"}, {"HOME", "/root"}}};
  struct Row {
    std::string_view line;
    bool is_clear;
  };
  const std::vector<Row> rows{
      {"npx ' A=b'", true},
      {"timeout 9 npx '>x '", true},
      {"xargs timeout 9 <list", false},
      {"xargs -a list -I@ sh -c @", false},
      {"cat l | xargs -I{} python3 -c {}", false},
      {"cat list | xargs python3", false},
      {"find bin -exec sh -c {} ';'", false},
      {"cat plain | python3 -", false},
      {"cat l | parallel", false},
      {"git -c alias.z='!cat list | sh' z", false},
      {"flock f -c 'cat list | { read PATH; t; }'", false},
      {"trap 'read PATH <list; t' EXIT", false},
      {"eval -- 'read PATH <list'; t", false},
      {"time read PATH <list; t", false},
      {"PATH+=:bin; t", false},
      {"mapfile -tC eval -tc1 x <list; t", false},
      {"export HOME; make", true},
      {"printf '%s' --flag; make", true},
      {"for F in a b; do echo \"$F\"; done", true},
      {"read -r VERSION <version.txt; make", true},
      {"FOO=1; readonly FOO; make", true},
      {"while IFS=: read -r a b; do echo \"$a\"; done <list", true},
      {"sleep 1 & wait $!; make", true},
      {"bash --version; make", true},
      {"command -v alias; make", true},
      {"git add -A && git commit -m 'a b'", true},
      {"find . -exec grep -l x {} +", true},
      {"flock lock -c 'NEW=1; make test'", true},
      {"ls | xargs rm", true},
  };
  for (const Row& row : rows) {
    const tools::Scripts scripts = tools::read_scripts(row.line, place);
    INFO(row.line << ": " << scripts.unclear);
    CHECK(scripts.unclear.empty() == row.is_clear);
  }
  const auto runs = [&](std::string_view line) {
    const auto named = tools::read_scripts(line, place).to_run;
    return std::ranges::find(named, folder.path() / "plain") != named.end();
  };
  CHECK(runs("bash -c '. -- plain'"));
  CHECK(runs("git -c alias.z='!sh -c \"sh plain\"' z"));
  CHECK(runs("GIT_SSH_COMMAND='sh plain' git pull"));
  CHECK(runs("bash -euo pipefail plain"));
  CHECK_FALSE(runs("bash -euo plain other"));
}

TEST_CASE("script files: what bash calls a built-in is in the table", "[tools]") {
  const std::unique_ptr<FILE, int (*)(FILE*)> names(popen("bash -c 'compgen -b'", "r"), pclose);
  REQUIRE(names);
  std::array<char, 64> line{};
  std::size_t count = 0;
  while (std::fgets(line.data(), line.size(), names.get())) {
    const std::string_view name = agent::trimmed(line.data());
    INFO(name);
    CHECK((name == "builtin" || name == "command" || tools::is_shell_built_in(name)));
    ++count;
  }
  CHECK(count > 50);
}

TEST_CASE("script files: a word that is a line of its own is read as one", "[tools]") {
  const tests::FileFolder folder;
  folder.write("plain", "exit 0");
  folder.write("rules", "x");
  struct Row {
    std::string command;
    bool is_named = true;
    bool is_clear = true;
  };
  const std::vector<Row> rows{
      {"trap \"sh plain\" EXIT"},
      {"flock k -c \"sh plain\""},
      {"su -c \"sh plain\""},
      {"env -S \"sh plain\""},
      {"env -S\"sh plain\""},
      {"su --command=\"sh plain\""},
      {"script -c \"sh plain\" log"},
      {"nice flock k -c 'timeout 9 sh plain'"},
      {"flock k -c 'su -c \"sh plain\"'"},
      {"trap '$CLEAN' EXIT", false, false},
      {"flock k -c 'sh $X'", false, false},
      {"trap 'rm -f $T' EXIT", false},
      {"timeout 9 awk '{print $1}' rules", false},
      {"ls | xargs gcc x", false, false},
  };
  for (const Row& row : rows) {
    const auto scripts = tools::read_scripts(row.command, {.directory = folder.path(), .home = {}});
    INFO(row.command << ": " << scripts.unclear);
    CHECK(std::ranges::any_of(scripts.files, [](const auto& file) {
            return file.filename() == "plain";
          }) == row.is_named);
    CHECK(scripts.unclear.empty() == row.is_clear);
  }
}

TEST_CASE("script files: what is not there yet is named where it may be looked for", "[tools]") {
  const tests::FileFolder folder;
  const auto is_named = [&](std::string_view command, std::string_view file) {
    const auto more = tools::read_scripts(command, {.directory = folder.path(), .home = {}}).more;
    return std::ranges::find(more, folder.path() / file) != more.end();
  };
  CHECK(is_named("cd ci\nsh t", "ci/t"));
  CHECK(is_named("cd ci\nsh t.sh", "t.sh"));  // where there is no ci
  CHECK(is_named("cd ci && true; sh t.sh", "t.sh"));
  CHECK_FALSE(is_named("cd ci && sh t.sh", "t.sh"));
  CHECK(is_named("timeout 9 sh t", "t"));
  CHECK(is_named("env -C ci sh t", "ci/t"));
  CHECK(is_named("sudo -D ci sh t", "ci/t"));
  CHECK(is_named("unshare --wd=ci sh t", "ci/t"));
  CHECK_FALSE(is_named("echo ci sh t", "ci/t"));
}

TEST_CASE("script files: a file behind the letters of an option is one that is named", "[tools]") {
  const tests::FileFolder folder;
  folder.write("guard.awk", "x");
  const std::string line = GENERATE(as<std::string>(), "awk -fguard.awk", "awk -nfguard.awk");
  const auto scripts = tools::read_scripts(line, {.directory = folder.path(), .home = {}});
  REQUIRE(scripts.files.size() == 1);
  CHECK(scripts.files.front().filename() == "guard.awk");
}

TEST_CASE("script files: what is not there yet, and what stands in loops") {
  const tests::FileFolder folder;
  folder.write("there.sh", "");
  const auto more = [&](std::string_view command) {
    std::string names;
    for (const auto& file :
         tools::read_scripts(command, {.directory = folder.path(), .home = {}}).more) {
      names += (names.empty() ? "" : " ") + file.lexically_relative(folder.path()).string();
    }
    return names;
  };
  CHECK(more("sh there.sh") == "");
  CHECK(more("sh sub/late.sh") == "sub/late.sh");
  CHECK(more("test -f late.sh && sh late.sh") == "late.sh");
  CHECK(more("sh late") == "late");
  CHECK(more("npm run build") == "");
  CHECK(more("sh ../late.sh; curl https://example.com") == "");
  CHECK(more("for f in there.sh late.sh; do sh $f; done") == "there.sh late.sh");
}

TEST_CASE("script files: what is to be run, there or not, is told apart from what is named") {
  const tests::FileFolder folder;
  folder.write("there.sh", "");
  const auto to_run = [&](std::string_view command) {
    std::string names;
    for (const auto& file :
         tools::read_scripts(command, {.directory = folder.path(), .home = {}}).to_run) {
      names += (names.empty() ? "" : " ") + file.lexically_relative(folder.path()).string();
    }
    return names;
  };
  CHECK(to_run("sh there.sh; cat data.json; curl -o ./page.html https://example.com") == "");
  CHECK(to_run("test -x ./x.sh && ./x.sh") == "x.sh");
  CHECK(to_run("[ -f .env ] && . ./.env; bash <t") == ".env t");
  CHECK(to_run("sh ../late.sh; timeout 9 python3 -B p; python3 -m build") == "../late.sh p");
  CHECK(to_run("BASH_ENV=t bash -c true; make -f m; docker rm -f app") == "t m");
  CHECK(to_run("make -sf m; make --file=n x; awk -fo; sed -nf p x; sed --file q") == "m n o p q");
  CHECK(to_run("python3 -W ignore w; python3 -m trace t.py; python3 pack/; node pack/") ==
        "w t.py pack");
}

TEST_CASE("script files: what stands behind a sign or a scheme is named", "[tools]") {
  const tests::FileFolder folder;
  folder.write("args", "");
  folder.write("body", "");
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  const auto is_named = [&](std::string_view line, std::string_view name) {
    const tools::Scripts scripts = tools::read_scripts(line, place);
    const auto holds = [&](const std::vector<std::filesystem::path>& files) {
      return std::ranges::find(files, folder.path() / name) != files.end();
    };
    return holds(scripts.files) || holds(scripts.more);
  };
  for (const char* line : {"curl -d @x.json http://h",
                           "curl -d@x.json http://h",
                           "curl -F f=@x.json http://h",
                           "gcc @./x.json",
                           "aws --cli-input-json file://x.json",
                           "aws --body fileb://x.json",
                           "docker run -vx.json:/a i",
                           "bash -c 'cat {x.json,y.json}'"}) {
    INFO(line);
    CHECK(is_named(line, "x.json"));
  }
  CHECK(is_named("gcc @args.d/x", "args.d/x"));
  CHECK(is_named("gcc @args", "args"));
  CHECK(is_named("curl -d@body http://h", "body"));
  CHECK(is_named("dd if=body of=out", "body"));
  CHECK(is_named("curl file://localhost" + (folder.path() / "body").string(), "body"));
  CHECK_FALSE(is_named("curl https://h/x.json", "x.json"));
  CHECK_FALSE(is_named("curl https://h/x.json", "h/x.json"));
}

TEST_CASE("script files: what a script is told is not what is run", "[tools]") {
  const tests::FileFolder folder;
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  const auto is_clear = [&](std::string_view line) {
    return tools::read_scripts(line, place).unclear.empty();
  };
  CHECK(is_clear("bash ci/deploy.sh \"$(cat target)\""));
  CHECK(is_clear("sh -e ci/deploy.sh dist/*"));
  CHECK(is_clear("./build.sh \"$1\""));
  CHECK(is_clear("python3 build.py \"$(date)\""));
  CHECK_FALSE(is_clear("bash \"$(cat target)\" ci/deploy.sh"));
  CHECK_FALSE(is_clear("bash -$x ci/deploy.sh"));
  CHECK_FALSE(is_clear("bash -s \"$(cat target)\""));
  CHECK_FALSE(is_clear("./sh \"$(cat target)\""));
  CHECK_FALSE(is_clear("./env \"$(cat target)\""));
  CHECK_FALSE(is_clear("docker \"$(cat target)\""));
  CHECK_FALSE(is_clear("./python3 -c \"$(cat target)\""));
}

TEST_CASE("script files: behind a `cd` in the middle names are looked for in both folders",
          "[tools]") {
  const tests::FileFolder folder;
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  const auto to_run = [&](std::string_view line) {
    const tools::Scripts scripts = tools::read_scripts(line, place);
    std::set<std::string> names;
    for (const auto& file : scripts.to_run) {
      names.insert(file.lexically_relative(folder.path()).string());
    }
    return scripts.unclear.empty() ? names : std::set<std::string>{"unclear"};
  };
  using Names = std::set<std::string>;
  CHECK(to_run("make; cd web && ./t.sh") == Names{"t.sh", "web/t.sh"});
  CHECK(to_run("(cd web && ./t.sh); sh u.sh") == Names{"t.sh", "web/t.sh", "u.sh", "web/u.sh"});
  CHECK(to_run("set -e; cd a; cd ../b; ./t.sh") == Names{"t.sh", "a/t.sh", "b/t.sh", "../b/t.sh"});
  CHECK(to_run("make; cd \"$x\"; ./t.sh") == Names{"unclear"});
  CHECK(to_run("make; cd -; ./t.sh") == Names{"unclear"});
  CHECK(to_run("make; pushd web; ./t.sh") == Names{"unclear"});
  CHECK(to_run("for i in 1 2; do cd web; ./t.sh; done") == Names{"unclear"});
  CHECK(to_run("f() { cd web; ./t.sh; }; f; f") == Names{"unclear"});
  CHECK(to_run("trap 'sh t.sh' EXIT; cd web; make") == Names{"unclear"});
  CHECK(to_run("command cd web; ./t.sh") == Names{"unclear"});
  CHECK(to_run("eval 'cd web'; ./t.sh") == Names{"unclear"});
  CHECK(to_run("noglob cd web; ./t.sh") == Names{"unclear"});
  CHECK(to_run("echo cd; ./t.sh") == Names{"t.sh"});
  CHECK(to_run("bash -c 'builtin cd web; ./t.sh'") == Names{"unclear"});
  CHECK(to_run("make; CDPATH=x; cd web; ./t.sh") == Names{"unclear"});
  CHECK(to_run("cd web && cd .. && sh t.sh") == Names{"t.sh"});
  CHECK(to_run("cd ci && true & sh u.sh") == Names{"ci/u.sh", "u.sh"});
  CHECK(to_run("sh \"ci/$(uname).sh\"") == Names{"unclear"});
}

TEST_CASE("script files: behind a link, `..` is where that leads from", "[tools]") {
  const tests::FileFolder folder;
  const auto top = std::filesystem::canonical(folder.path());
  folder.write("a/b/x", "");
  folder.write("a/t.sh", "");
  std::filesystem::create_directory_symlink("a/b", top / "lnk");
  for (const char* line : {"sh lnk/../t.sh", "cd lnk && sh ../t.sh", "env -C lnk sh ../t.sh"}) {
    INFO(line);
    const tools::Scripts scripts = tools::read_scripts(line, {.directory = top, .home = {}});
    const auto holds = [&](const std::filesystem::path& file) {
      return std::ranges::find(scripts.run, file) != scripts.run.end();
    };
    CHECK(holds(top / "a/t.sh"));
    CHECK_FALSE(holds(top / "t.sh"));
  }
}

TEST_CASE("script files: `..` behind a folder of the work", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/deploy.sh", "exit 0");
  folder.write("src/x", "");
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  for (const char* line : {"mkdir -p build && cd build && ../ci/deploy.sh",
                           "cd src && sh ../ci/deploy.sh",
                           "env -C src sh ../ci/deploy.sh",
                           "make -C src -f ../m.mk",
                           "sh src/../ci/deploy.sh",
                           "sh <src/../ci/deploy.sh",
                           "tool --script=src/../x.sh"}) {
    const tools::Scripts found = tools::read_scripts(line, place);
    INFO(line);
    CHECK(found.unclear.find("`..` stands behind a folder of the work") != std::string::npos);
    CHECK_FALSE(found.ways.empty());
  }
  for (const char* line : {"mkdir -p build && cd build && cmake ..",
                           "cd build && cmake ../src",
                           "cd build && cd .. && sh ci/deploy.sh",
                           "sh ../ci/deploy.sh",
                           "echo a/../b.c"}) {
    INFO(line);
    CHECK(tools::read_scripts(line, place).unclear.empty());
  }
}

TEST_CASE("script files: programs of a folder of PATH that the line starts in", "[tools]") {
  const tests::FileFolder folder;
  folder.write(".venv/bin/pytest", "");
  const tools::CommandPlace place{
      .directory = folder.path(),
      .home = {},
      .environment = {{"PATH", folder.at(".venv/bin").string() + ":/usr/bin"}}};
  CHECK(tools::read_scripts("timeout 9 pytest -q", place).run ==
        std::vector{folder.at(".venv/bin/pytest")});
  const auto to_run = tools::read_scripts("date", place).to_run;
  CHECK(to_run == std::vector{folder.at(".venv/bin/date")});
}

TEST_CASE("script files: the folder may be named behind the file, and several in one another",
          "[tools]") {
  const tests::FileFolder folder;
  folder.write("sub/build.mk", "");
  folder.write("a/b/x.sh", "");
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  const auto names = [&](const std::string& line, const std::string& file) {
    const tools::Scripts found = tools::read_scripts(line, place);
    const auto is_it = [&](const auto& one) { return one.lexically_normal() == folder.at(file); };
    return std::ranges::any_of(found.files, is_it) || std::ranges::any_of(found.more, is_it);
  };
  CHECK(names("make -f build.mk -C sub", "sub/build.mk"));
  CHECK(names("make -f other.mk -C sub", "sub/other.mk"));
  CHECK(names("make -f plain -C sub", "sub/plain"));
  CHECK(names("make -C a -C b -f x.sh", "a/b/x.sh"));
  CHECK(names("env -C a env -C b ./x.sh", "a/b/x.sh"));
  CHECK(names("git -c alias.z='!./x.sh' -C a/b z", "a/b/x.sh"));
  CHECK(names("env -iCa sh b/x.sh", "a/b/x.sh"));
  CHECK(names("env -C a env -C b sh plain", "a/b/plain"));
  CHECK(names("git -c alias.z='!sh run' z", "run"));
  CHECK(names("read -r n <COUNT", "COUNT"));
  CHECK(names("curl -d @notes http://127.0.0.1", "notes"));
}

TEST_CASE("script files: what a program is told by what was found", "[tools]") {
  const tests::FileFolder folder;
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  for (const char* line : {"cat x | xargs make",
                           "ls | xargs tar -cf x.tar",
                           "cat x | xargs timeout 9 gcc",
                           "find . -exec make -f {} +",
                           "find sub -execdir ./x.sh {} ';'"}) {
    INFO(line);
    CHECK_FALSE(tools::read_scripts(line, place).unclear.empty());
  }
  for (const char* line : {"cat x | xargs rm -f",
                           "find . -name '*.sh' -exec chmod +x {} +",
                           "ls | xargs sh ci/all.sh",
                           "ls | xargs ./all.sh",
                           "timeout 9 make test"}) {
    INFO(line);
    CHECK(tools::read_scripts(line, place).unclear.empty());
  }
}
