#!/usr/bin/env python3
"""The check of names must find a name that leads nowhere, or it proves nothing."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import check_names  # noqa: E402


class Names(unittest.TestCase):
    def found(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            subprocess.run(["git", "init", "-q", tree], check=True)
            for file in ("tools/files/glob.h", "README.md", name):
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                (tree / file).write_text("")
            (tree / name).write_text(text)
            return [line.rpartition("there is no ")[2] for line in check_names.check(tree)]

    def test_comments(self):
        for text, wanted in (("// as glob.h reads it\n", []), ("int a;  // tools/files/glob.h's\n", []),
                             ("// as globb.h reads it\n", ["globb.h"]), ("int a;  // (glob.cpp).\n", ["glob.cpp"]),
                             ("// tools/glob.h\n", ["tools/glob.h"]), ("// linux/mount.h, http://a.h/b.h\n", []),
                             ('auto a = "nothing.h";\n', []), ("// *.h, ask_NAME.h\n", []),
                             ("// tools/table.txt\n", ["tools/table.txt"])):
            with self.subTest(text):
                self.assertEqual(wanted, self.found("tools/a.cpp", text))

    def test_pages(self):
        for text, wanted in (("`tools/files/`, tools/files/glob.h.\n", []), ("`tools/webb/`\n", ["tools/webb/"]),
                             ("write `tools/files/NAME.cpp`\n", []), ("see tools/policy.sh\n", ["tools/policy.sh"]),
                             ("the method `tools/list`, tools/lists\n", ["tools/lists"]),
                             ("./policy.sh, ~/tools/x, other/tools/x\n", [])):
            with self.subTest(text):
                self.assertEqual(wanted, self.found("README.md", text))


if __name__ == "__main__":
    unittest.main()
