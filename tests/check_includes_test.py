#!/usr/bin/env python3
"""The check of includes must find a header that is missing, or it proves nothing."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import check_includes  # noqa: E402


class Includes(unittest.TestCase):
    def missing(self, text, header='#include "tools/b.h"\n'):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            (tree / "tools").mkdir()
            for name, content in {"a.cpp": text, "a.h": header, "b.h": "#include <vector>\n"}.items():
                (tree / "tools" / name).write_text(content)
            return [(source, header) for source, header, _ in check_includes.Tree(tree).missing()]

    def test_sources(self):
        wanted = [("tools/a.cpp", "vector")]
        for text, found in (("std::vector<int> a;\n", wanted), ("#include <vector>\nstd::vector<int> a;\n", []),
                            ('#include "tools/a.h"\nstd::vector<int> a;\n', []), ("// std::vector\n", []),
                            ("#include <array>\nstd::vector<int> a, b; std::vector<int> c;\n", wanted),
                            ("#include <cmath>\nauto a = std::abs(1);\n", []), ("std::nobody_knows a;\n", [])):
            with self.subTest(text):
                self.assertEqual(found, self.missing(text))

    def test_headers(self):
        self.assertEqual([("tools/a.h", "string")], self.missing("", "#pragma once\nstd::string a();\n"))

    def test_headers_that_include_each_other(self):
        self.assertEqual([], self.missing('#include "tools/a.h"\nstd::vector<int> a;\n', '#include "tools/a.h"\n#include "tools/b.h"\n'))


if __name__ == "__main__":
    unittest.main()
