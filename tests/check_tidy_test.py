#!/usr/bin/env python3
"""What check_tidy.py looks at, and what it remembers."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent / "check_tidy.py"
# It finds what has BAD in it, and writes down what it was asked of.
TIDY = """#!/bin/sh
for source; do :; done
echo "$source" >>asked
! grep -n BAD "$source"
"""


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="errand-tidy-")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        for name, text in {"agent/a.h": "", "agent/a.cpp": '#include "agent/a.h"\n', "tools/t.cpp": "", "tests/x.cpp": "BAD",
                           ".clang-tidy": "Checks: all\n", "bin/clang-tidy-19": TIDY,
                           "bin/dpkg-query": "#!/bin/sh\ncat packages\n", "packages": "g++ 12\n"}.items():
            self.write(name, text)
        for name in ("clang-tidy-19", "dpkg-query"):
            (self.tree / "bin" / name).chmod(0o755)
        self.commands("-O2")

    def write(self, name, text):
        (self.tree / name).parent.mkdir(exist_ok=True)
        (self.tree / name).write_text(text)

    def commands(self, options):
        self.write("compile_commands.json", json.dumps(
            [{"file": str(self.tree / name), "command": f"c++ {options} {self.tree / name}"}
             for name in ("agent/a.cpp", "tools/t.cpp", "tests/x.cpp")]))

    def check(self, *commits):
        """(exit code, what clang-tidy was asked of, what it found)"""
        (self.tree / "asked").write_text("")
        env = {**os.environ, "PATH": f"{self.tree / 'bin'}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.tree / "cache")}
        done = subprocess.run([sys.executable, CHECK, ".", "1", *commits], cwd=self.tree, env=env, stdout=subprocess.PIPE, text=True)
        return done.returncode, (self.tree / "asked").read_text().split(), done.stdout

    def test_what_is_clean_is_looked_at_once(self):
        self.assertEqual(self.check(), (0, ["agent/a.cpp", "tools/t.cpp"], ""))
        self.assertEqual(self.check(), (0, [], ""))

    def commit(self):
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@example", "commit", "-qm", "x"]):
            subprocess.run(["git", *words], cwd=self.tree, check=True)

    def test_what_the_last_commits_have_touched(self):
        self.commit()
        self.assertEqual(self.check("1")[1], ["agent/a.cpp", "tools/t.cpp"])  # nobody knows
        self.write("agent/a.h", "// new")
        self.commit()
        self.write("tools/t.cpp", "// BAD")
        self.assertEqual(self.check("1")[:2], (1, ["agent/a.cpp", "tools/t.cpp"]))
        self.commit()
        self.assertEqual(self.check("1")[:2], (1, ["tools/t.cpp"]))
        self.write("tools/t.cpp", "// good")
        self.commit()
        self.write("README.md", "")
        self.commit()
        self.assertEqual(self.check("1"), (0, [], ""))
        self.write(".clang-tidy", "Checks: more\n")
        self.assertEqual(self.check("1")[1], ["agent/a.cpp", "tools/t.cpp"])

    def test_what_has_changed_is_looked_at_again(self):
        for change, asked in ((lambda: self.write("agent/a.h", "// new"), ["agent/a.cpp"]),
                              (lambda: self.write("tools/t.cpp", "// new"), ["tools/t.cpp"]),
                              (lambda: self.write(".clang-tidy", "Checks: more\n"), ["agent/a.cpp", "tools/t.cpp"]),
                              (lambda: self.write("packages", "g++ 13\n"), ["agent/a.cpp", "tools/t.cpp"]),
                              (lambda: self.commands("-O3"), ["agent/a.cpp", "tools/t.cpp"])):
            self.check()
            change()
            self.assertEqual(self.check()[:2], (0, asked))

    def test_sources_that_are_compiled_together(self):
        for name in ("one", "other"):
            self.write(f"build/{name}.cxx", f'#include "{self.tree}/{"tools/t" if name == "one" else "tests/x"}.cpp"\n')
        self.write("compile_commands.json", json.dumps(
            [{"file": str(self.tree / f"build/{name}.cxx"), "command": "c++"} for name in ("one", "other")]))
        self.assertEqual(self.check(), (0, ["build/one.cxx"], ""))
        self.assertEqual(self.check()[1], [])
        self.write("tools/t.cpp", "// new")
        self.assertEqual(self.check()[1], ["build/one.cxx"])

    def test_a_finding_is_not_forgotten(self):
        self.write("tools/t.cpp", "BAD")
        for asked in (["agent/a.cpp", "tools/t.cpp"], ["tools/t.cpp"]):
            self.assertEqual(self.check(), (1, asked, "1:BAD\n"))

    def test_nothing_to_look_at_is_a_failure(self):
        self.write("compile_commands.json", "[]")
        self.assertEqual(self.check(), (1, [], ""))


if __name__ == "__main__":
    unittest.main()
