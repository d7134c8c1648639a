#!/usr/bin/env python3
"""That run_pages.py notices what is wrong with a page: with a program of a few lines in errand's place.

    tests/docs/run_pages_test.py"""
import contextlib
import io
import os
import pathlib
import sys
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import run_pages  # noqa: E402
from scratch import Scratch  # noqa: E402

ERRAND = """#!/bin/sh
# check: a file with `bad` in it is wrong; ask: a request to the model; anything else is said
for last; do :; done
case $1 in
  check) ! grep -q bad "$last" .part.yaml ../.config/errand/config.yaml 2>/dev/null ;;
  run) ! grep -q hopeless "$4" ;;
  ask) exec python3 -c '
import os, urllib.request
urllib.request.urlopen(urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    b"{\\"max_tokens\\": 5, \\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": \\"hi\\"}]}")).read()' ;;
  *) echo "$*"; echo "turn 1: 5 in, 0.1 s" >&2 ;;
esac
"""
AGENT = "```yaml agent\nversion: 1\n```\n"
ANSWER = '<!-- model\nreply = [{text = "Hello."}]\n-->\n'


class Pages(unittest.TestCase):
    def setUp(self):
        scratch = Scratch("docs-test")
        self.addCleanup(scratch.close)
        program = scratch.path / "errand"
        program.write_text(ERRAND)
        program.chmod(0o755)
        self.options = types.SimpleNamespace(errand=program, scratch=scratch, patience=1, missing_layers=["mounts"],
                                             has_sandbox=True)
        self.made = 0

    def run_page(self, text, page=None):
        """(what was said of its blocks, those that were not run)"""
        self.made += 1
        told = []
        tally = types.SimpleNamespace(say=lambda how, name, problems: told.append((how, "\n".join(problems))))
        unrun = run_pages.run_page(pathlib.Path(page or f"page{self.made}.md"), text, self.options, tally)
        return told, unrun

    def holds(self, text):
        told, _ = self.run_page(text)
        self.assertTrue(told)
        self.assertEqual([], [problem for how, problem in told if how != "ok"])

    def fails(self, text, *words):
        told, _ = self.run_page(text)
        problems = [problem for how, problem in told if how == "FAIL"]
        self.assertEqual(len(words), len(problems), problems)
        for word, problem in zip(words, problems):
            self.assertIn(word, problem)

    def test_a_block_says_what_it_is(self):
        for first, word in (("", "does not say"), ("yaml", "does not say"), ("text", "does not say"),
                            ("yaml nonsense", "nobody knows `nonsense`"), ("sh color=red", "nobody knows `color`"),
                            ("sh unrun=no", "say why")):
            with self.subTest(first):
                self.fails(f"```{first}\nx\n```\n", word)
        self.fails("```sh\ntrue\n", "nothing ends")
        self.fails("- a\n  ```sh\n  false\n  ```\n", "at the line's beginning")
        self.fails("```sh\ntrue\n```\n<!-- sh\ntrue\n-->\n", "for no block")

    def test_console(self):
        self.holds("```console\n$ errand a  b\na b\nturn 1: 5 in, 9.9 s\n$ echo one; echo two\none\ntwo\n```\n")
        self.holds("```console\n$ cat <<'X'\n> one\n> X\none\n```\n")
        for shown in ("a c", "a", "a b\nc", ""):
            with self.subTest(shown):
                self.fails(f"```console\n$ echo a b\n{shown}\n```\n", "expected")
        self.fails("```console\nno command\n```\n", "begins with `$ `")

    def test_what_a_page_leaves_out(self):
        command = "$ printf 'one two\\nthree\\nfour\\n'\n"
        for shown in ("one two\n…\n", "one …\nthree\nfour\n", "…\nfour\n"):
            self.holds(f"```console\n{command}{shown}```\n")
        for shown in ("…\nfive\n", "one …\nfour\n", "two …\nthree\nfour\n"):
            self.fails(f"```console\n{command}{shown}```\n", "expected")

    def test_a_command_that_fails_is_told(self):
        self.fails("```console\n$ false\n```\n", "exit status 1")
        self.fails("```console\n$ false\n$ true\n```\n", "exit status 1")
        self.holds("```console\n$ (exit 7)\n$ echo $?\n7\n```\n")
        self.fails("```console\n$ (exit 7)\n$ echo $?\n8\n```\n", "expected")
        self.fails("```console\n$ exit 0\n$ echo more\nmore\n```\n", "the shell ended")

    def test_warnings_of_this_machine_are_left_out(self):
        said = "warning: the sandbox has no layer `{}` on this machine: x"
        self.holds(f"```console\n$ echo '{said.format('mounts')}'\n$ echo '{said.format('mounts')}'; echo a\na\n```\n")
        self.fails(f"```console\n$ echo '{said.format('files')}'\n```\n", "expected")

    def test_a_machine_without_a_sandbox(self):
        page = "```console\n$ echo error: sandbox '(93)'\nok\n```\n```console\n$ echo no\nok\n```\n"
        self.fails(page, "(93)", "no")
        self.options.has_sandbox = False
        told, _ = self.run_page(page)
        self.assertEqual(["skip", "FAIL"], [how for how, _ in told])

    def test_scripts(self):
        self.holds("<!-- sh\ntouch there\n-->\n```sh\ntest -e there\n```\n")
        self.fails("```sh\nfalse\ntrue\n```\n", "exit status 1")
        self.fails("<!-- sh\nfalse\n-->\n```sh\ntrue\n```\n", "what prepares it")
        self.fails("```sh\nif\n```\n", "exit status 2")

    def test_agents(self):
        self.holds(AGENT)
        self.fails("```yaml agent\nbad: 1\n```\n", "errand check")
        self.fails("```yaml agent\nhopeless: 1\n```\n", "its run")
        self.holds("```yaml agent\nhopeless: 1\n```\n```console\n$ cat agent.yaml\nhopeless: 1\n```\n")
        self.fails("```yaml part\nbad: 1\n```\n", "as part of an agent")
        self.fails("```yaml settings\nbad: 1\n```\n", "with these settings")
        self.holds("```yaml part file=a.yaml\nname: mine\n```\n```console\n$ grep name a.yaml\nname: mine\n```\n")

    def test_files(self):
        self.holds("```sh file=a.sh\n#!/bin/sh\necho hi\n```\n```console\n$ ./a.sh\nhi\n```\n")
        self.fails("```yaml file=a.yaml\nx: 1\n```\n", "no later block names a.yaml")
        self.fails("```sh file=a.sh\nif\n```\n```sh\ncat a.sh || true\n```\n", "exit status 2")

    def test_the_models_answers(self):
        self.holds(ANSWER + "```sh\nerrand ask\n```\n")
        self.fails(ANSWER + "```sh\ntrue\n```\n" + ANSWER + "```sh\nerrand ask\n```\n", "nobody asked for 1")
        self.fails("```sh\nerrand ask || true\n```\n```sh\ntrue\n```\n", "request 1 has no reply")
        self.fails('<!-- model\nreply = [{txt = "Hello."}]\n-->\n```sh\ntrue\n```\n', "unknown keys")

    def test_what_is_not_run(self):
        told, unrun = self.run_page('```sh unrun="needs a whole machine"\nfalse\n```\n')
        self.assertEqual(([("ok", "")], 1), (told, len(unrun)))
        self.fails('```sh unrun="needs a whole machine"\nif\n```\n', "exit status 2")

    def test_few_are_not_run(self):
        (self.options.scratch.path / "few.md").write_text('```sh unrun="needs a whole machine"\n```\n')
        self.options.k = []
        for most, code in ((1, 0), (0, 1)):
            with self.subTest(most), unittest.mock.patch.multiple(
                    run_pages, TOP=self.options.scratch.path, UNRUN_AT_MOST=most, World=unittest.mock.DEFAULT,
                    pages=lambda: [pathlib.Path("few.md")]):
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    self.assertEqual(code, run_pages.run_all(self.options))
                self.assertIn("not run few.md:1: needs a whole machine", said.getvalue())

    def test_what_a_case_runs(self):
        script = "```sh case={}\nfalse\n```\n"
        told, _ = self.run_page(script.format("commands/readme_script"), "README.md")
        self.assertEqual([("ok", "")], told)
        self.fails(script.format("commands/readme_script"), "is no case that reads")
        self.fails(script.format("commands/none"), "is no case that reads")

    def test_what_came_is_written(self):
        with unittest.mock.patch.object(run_pages, "TOP", self.options.scratch.path):
            file = self.options.scratch.path / "written.md"
            page = "```console\n$ echo a\nb\n$ echo c; echo d\n…\nd\n```\n"
            file.write_text(page)
            with unittest.mock.patch.dict(os.environ, {"UPDATE": "1"}):
                told, _ = self.run_page(page, "written.md")
            self.assertEqual("FAIL", told[0][0])
            self.assertEqual(page.replace("\nb\n", "\na\n"), file.read_text())


def main():
    result = unittest.main(exit=False, argv=sys.argv, verbosity=1).result
    failed = len({test.id().partition(" (")[0] for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
