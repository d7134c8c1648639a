#!/usr/bin/env python3
"""That check_pages.py notices what is wrong with pages, and nothing else.

    tests/check_pages_test.py"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_pages  # noqa: E402


class Pages(unittest.TestCase):
    def found(self, readme, **pages):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            subprocess.run(["git", "init", "-q", folder], check=True)
            (tree / "docs").mkdir()
            (tree / "README.md").write_text(readme)
            for name, text in pages.items():
                (tree / "docs" / f"{name}.md").write_text(text)
            return list(check_pages.check(tree))

    def test_what_is_in_order(self):
        self.assertEqual([], self.found("# A\n[b](docs/b.md) [c](docs/b.md#two-words) [d](#a) [e](https://x.example/y)\n",
                                        b="# `Two` words\n[up](../README.md)\n"))

    def test_links(self):
        for link, wrong in (("docs/none.md", "README.md:2: there is no docs/none.md"),
                            ("docs/b.md#none", "README.md:2: docs/b.md has no heading #none"),
                            ("#none", "README.md:2: README.md has no heading #none")):
            with self.subTest(link):
                self.assertEqual([wrong], self.found(f"# A [b](docs/b.md)\n[x]({link})\n", b="# B\n"))
        self.assertEqual(["docs/b.md:1: there is no c.md"], self.found("[b](docs/b.md)\n", b="[c\nd](c.md)\n"))

    def test_headings_of_the_same_name(self):
        text = "# A\n# A\n[b](docs/b.md) [x](#a-{})\n"
        self.assertEqual([], self.found(text.format(1), b=""))
        self.assertEqual(1, len(self.found(text.format(2), b="")))

    def test_code_has_neither_links_nor_headings(self):
        self.assertEqual([], self.found("[b](docs/b.md) `[x](y.md)`\n```sh\n[x](y.md)\n```\n", b=""))
        self.assertEqual(1, len(self.found("[b](docs/b.md) [x](#z)\n```sh\n# z\n```\n", b="")))

    def test_a_page_that_nobody_finds(self):
        self.assertEqual(["README.md does not link docs/b.md"], self.found("`docs/b.md`\n", b=""))

    def test_a_long_readme(self):
        self.assertEqual([], self.found("x\n" * check_pages.README_LINES))
        self.assertEqual(1, len(self.found("x\n" * (check_pages.README_LINES + 1))))


if __name__ == "__main__":
    unittest.main()
