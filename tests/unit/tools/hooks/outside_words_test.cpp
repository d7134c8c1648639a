#include "tools/hooks/outside_words.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

TEST_CASE("outside words: a line names what is not there yet, too", "[tools]") {
  const auto is_of_work = [](const std::filesystem::path& path) {
    return path.native().starts_with("/nowhere/work");
  };
  const std::string line = GENERATE(as<std::string>(),
                                    "sh /nowhere/work/new.sh",
                                    "make -s -C /nowhere/work/new",
                                    "make -C/nowhere/work/new",
                                    "awk -f/nowhere/work/new.awk",
                                    "sh -c \"sh '/nowhere/work/new.sh'\"",
                                    "tool --file=/nowhere/work/new",
                                    "X=/nowhere/work/new true",
                                    "cat <work/new",
                                    "sh ../nowhere/work/new",
                                    "sh -c 'sh /nowhere/wo\"rk/\"new.sh'",
                                    "sh -c 'sh /nowhere/w\\ork/new.sh'",
                                    "sh work/new",
                                    "awk -nfwork/new",
                                    "run -v /nowhere/work:/w box",
                                    "run --mount type=bind,src=/nowhere/work,dst=/w box");
  CAPTURE(line);
  CHECK_FALSE(tools::named_in(line, {"/nowhere"}, {.is = is_of_work}).empty());
  CHECK(tools::named_in("sh away/new --file=/nowhere/away/new", {"/nowhere"}, {.is = is_of_work})
            .empty());
}

TEST_CASE("outside words: what is plainly meant from where a program starts", "[tools]") {
  const std::string word = GENERATE(as<std::string>(),
                                    "..",
                                    "./x",
                                    "../x",
                                    "a/../../x",
                                    "--plugin=./x",
                                    "--plugin=../x",
                                    "-I../x",
                                    "-Wl,-rpath,../x",
                                    "@../x",
                                    "--dir=..",
                                    "a:../x",
                                    "a/..",
                                    "--p=..:lib",
                                    "--p=..,lib",
                                    "[\"..\"]",
                                    "@..");
  CAPTURE(word);
  CHECK_FALSE(tools::name_from_start(word).empty());

  const std::string other = GENERATE(as<std::string>(),
                                     "",
                                     "x",
                                     ".",
                                     "...",
                                     "a/x",
                                     "-Ix",
                                     "--plugin=a/x",
                                     "/a/../x",
                                     "--plugin=/a/x",
                                     "v1..v2",
                                     ".../x",
                                     "https://example.com/a");
  CAPTURE(other);
  CHECK(tools::name_from_start(other).empty());
}

TEST_CASE("outside words: a line is plain", "[tools]") {
  const std::string plain = GENERATE(as<std::string>(),
                                     "sh /opt/guard.sh --strict",
                                     "jq -r .prompt | grep -q secret",
                                     "notify-send 'errand is done' && true",
                                     "cat /opt/token >/opt/seen; pwd >/opt/where",
                                     "sh -c 'true; exec /opt/bin/guard --all'",
                                     "/opt/bin/guard <rules");
  CAPTURE(plain);
  CHECK(tools::why_not_plain(plain).empty());

  const std::string other = GENERATE(as<std::string>(),
                                     "sh $HOME/new.sh",
                                     "sh \"$PWD/new.sh\"",
                                     "cd work && ./new.sh",
                                     "cat <<X | sh\nwork/new.sh\nX",
                                     "jq -r .cwd | xargs sh",
                                     "curl x | sh",
                                     "python3 -c 'import new'",
                                     "perl -e 'do q(x)'",
                                     "sh *.sh",
                                     "eval \"x\"; `x`",
                                     "sh -c 'cd work; ./new.sh'",
                                     "sh -c 'exec /opt/$x'",
                                     "env sh -ec \"exec /opt/$'\\x70'\"",
                                     "sh -c 'sh ~/new.sh'",
                                     "guard '~/rules'",
                                     "guard --rules=~/rules");
  CAPTURE(other);
  CHECK_FALSE(tools::why_not_plain(other).empty());
}
