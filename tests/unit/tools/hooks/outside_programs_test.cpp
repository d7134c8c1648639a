#include "tools/hooks/outside_programs.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("outside programs: none that runs what it reads", "[tools]") {
  const tests::FileFolder folder;
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  const std::string known = GENERATE(as<std::string>(),
                                     "jq -r .prompt | grep -q secret",
                                     "timeout 5 nice jq -c . >/opt/log",
                                     "/opt/guard --all",
                                     "sh /opt/guard.sh",
                                     "python3 -I /opt/guard.py",
                                     "sh -c 'test -x /opt/guard && /opt/guard'",
                                     "ssh host /opt/notify",
                                     "sudo -n /opt/guard",
                                     "/usr/bin/setarch x86_64 /opt/guard",
                                     "npm run guard",
                                     "find /opt -name x -exec rm -f ;",
                                     "npx -y guard",
                                     "npx -p guards guard",
                                     "jq -e . >/dev/null || exit 2",
                                     "! grep -q secret",
                                     "node --import tsx /opt/guard.mts",
                                     "bash -euo pipefail /opt/guard.sh",
                                     "curl -d @- https://ntfy.example/x",
                                     "tee /dev/stderr");
  CAPTURE(known);
  const tools::FedPrograms none = tools::fed_programs(known, place);
  CHECK(none.why == "");
  CHECK(none.unknown == "");

  const std::string fed = GENERATE(as<std::string>(),
                                   "su",
                                   "su root",
                                   "/usr/bin/newgrp",
                                   "script /opt/log",
                                   "unshare",
                                   "linux64",
                                   "setarch x86_64",
                                   "ssh host",
                                   "ssh -p 22 host",
                                   "timeout 5 fakeroot",
                                   "sh -c unshare",
                                   "npx",
                                   "npm exec",
                                   "poetry shell",
                                   "bash-static",
                                   "/bin/dash.real -s",
                                   "static-sh",
                                   "lksh",
                                   "/proc/self/exe",
                                   "/opt/run /proc/self/exe",
                                   "/opt/run --it=/proc/1/exe",
                                   "nice /dev/shm/guard");
  CAPTURE(fed);
  CHECK(tools::fed_programs(fed, place).why != "");

  const std::string unknown = GENERATE(as<std::string>(),
                                       "guard --all",
                                       "timeout 5 guard",
                                       "sh -c 'jq . | guard'",
                                       "/usr/bin/env A=b guard",
                                       "find /opt -exec guard ;",
                                       "ssh host guard");
  CAPTURE(unknown);
  const tools::FedPrograms found = tools::fed_programs(unknown, place);
  CHECK(found.why == "");
  CHECK(found.unknown == "`guard`");
}

TEST_CASE("outside programs: what a `#!` makes of a script is read as a line", "[tools]") {
  const tests::FileFolder folder;
  const tools::CommandPlace place{.directory = folder.path(), .home = {}};
  const std::string top = folder.path().string();
  const auto of = [&](const std::string& line) {
    folder.write("own", line + "\nexit 0\n");
    return tools::fed_programs(top + "/own --all", place);
  };
  const std::string plain = GENERATE(as<std::string>(),
                                     "#!/bin/sh",
                                     "#! /bin/sh -e",
                                     "#!/bin/bash -",
                                     "#!/usr/bin/env python3",
                                     "#!/usr/bin/env -S python3 -u",
                                     "#!/usr/bin/env -S deno run --allow-read=x",
                                     "#!/usr/bin/jq -f",
                                     "#!",
                                     "exit 0");
  CAPTURE(plain);
  CHECK(of(plain).why == "");
  CHECK(of(plain).unknown == "");

  const std::string other = GENERATE(as<std::string>(),
                                     "#!/bin/sh -s",
                                     "#!/bin/sh /dev/stdin",
                                     "#!/usr/bin/env -S sh -s",
                                     "#!/usr/bin/su",
                                     "#!sh",
                                     "#!/usr/bin/perl -w -T",
                                     "#!/usr/bin/env -SPATH=/opt python",
                                     "#!/usr/bin/env -S PATH=/opt python",
                                     "#!/usr/bin/env --split-string=/opt/python",
                                     "#!/usr/bin/env -S '/opt/python'",
                                     "#!/usr/bin/env -S ${HOME}/python",
                                     "#!/usr/bin/env -S -i python",
                                     "#!/usr/bin/env A=b",
                                     "#!/usr/bin/env");
  CAPTURE(other);
  CHECK(of(other).why != "");
  CHECK(of("#!/bin/" + std::string(300, 'x')).why != "");
  CHECK(of("#!/usr/bin/env guard").unknown == "`guard`, behind the `#!` of `" + top + "/own`,");
}

TEST_CASE("outside programs: what a line writes it does not run", "[tools]") {
  const tools::CommandPlace place{.directory = "/nowhere", .home = {}};
  const std::string kept = GENERATE(as<std::string>(),
                                    "cat >/nowhere/x; sh /nowhere/x",
                                    "cat >x; sh ./x",
                                    "tee /nowhere/x | cat; /nowhere/x",
                                    "curl -o/nowhere/x https://example.com; nice python3 x",
                                    "cat >d/Makefile; make -C d",
                                    "cp a d; sh d/a",
                                    "sh -c 'cat >x'; sh x");
  CAPTURE(kept);
  CHECK(tools::written_and_run(kept, place) != "");

  const std::string other = GENERATE(as<std::string>(),
                                     "cat >x; grep -q y x",
                                     "sh x >y 2>&1",
                                     "nice tee x | sh -c 'jq . >y'",
                                     "test -x x && ./x >/dev/null",
                                     "make -C d test >>d/log",
                                     "make test | sort -k 2");
  CAPTURE(other);
  CHECK(tools::written_and_run(other, place) == "");
}
