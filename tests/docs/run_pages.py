#!/usr/bin/env python3
"""Runs what README.md, CONTRIBUTING.md and docs/*.md show, each page in a home and a folder of its own.

    tests/docs/run_pages.py [--errand PATH] [-k PATTERN]… [-v]

What a fenced block is, the words behind its language say:

    ```yaml agent file=NAME   a whole agent file (agent.yaml where it has no name): checked, and run
    ```yaml part              keys of an agent file: checked as part of one
    ```yaml settings          the user's config.yaml
    ```LANGUAGE file=NAME     any other file; a later block has to name it
    ```console                commands behind `$ ` (and `> `), and what they print on stdout and stderr
    ```sh                     a script, each command of which has to succeed
    … case=AREA/NAME          a script that this end-to-end case runs as it stands
    … unrun="why"             what cannot be run here

A command that fails has to be followed by `$ echo $?`. `…` stands for the rest of a line, a line `…` for any lines;
times that were measured, and a run's id, are not compared. A comment before a block prepares it: `<!-- sh` with
commands, `<!-- model` with the answers that the model's server gives, as in server.toml of the end-to-end cases. All
of them have to be asked for. UPDATE=1 writes what came into the console blocks; read the difference before you keep
it."""
import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True  # a test run leaves nothing in the source tree
TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(TOP / "tests" / "e2e"))
import run as e2e  # noqa: E402
import server as scripted  # noqa: E402

TIMEOUT_S = 30
UNRUN_AT_MOST = 8  # pages show what runs
KINDS = ("agent", "part", "settings")
WORDS = ("file", "case", "unrun")
HEAD = {"version": "1", "name": "part", "model": "anthropic/claude-sonnet-4-5", "instructions": "Work.",
        "tools": "[read_file, write_file, edit_file, grep, shell, web_fetch]"}
# Where the server stands in a provider's place: what a reader would see. The longest path first.
ADDRESSES = {"/v1beta": "https://generativelanguage.googleapis.com/v1beta", "/v1": "https://api.openai.com/v1",
             "": "https://api.anthropic.com"}
# A run warns of each layer of the sandbox that this machine has not.
OF_THE_MACHINE = re.compile(
    r"(?:^|(?<=\036))warning: the sandbox has no layer `([a-z_]+)` on this machine: .*\n\n?", re.MULTILINE)
NO_SANDBOX = re.compile(r"\b93\b|this machine cannot enforce the sandbox layer")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GH_TOKEN", "SLACK_TOKEN")


# ---- what a page shows ----

@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    language: str
    kind: str  # of KINDS, or empty
    words: dict
    text: str
    before: list  # (kind, text) of the comments that prepare it

    @property
    def name(self):
        return f"{self.page}:{self.line}"

    @property
    def file(self):
        return self.words.get("file", "agent.yaml" if self.kind == "agent" else None)


class Mistake(Exception):
    """What is wrong with a block, for whoever writes the page."""


FENCE = re.compile(r"^(`{3,}|~{3,})(.*)$")
PREPARES = re.compile(r"^<!-- (sh|model)$")


def blocks_of(page, text):
    found, before = [], []
    lines = iter(enumerate(text.split("\n"), start=1))
    for number, line in lines:
        if comment := PREPARES.match(line):
            before.append((comment[1], "\n".join(until(lines, "-->", f"{page}:{number}"))))
        elif fence := FENCE.match(line):
            body = until(lines, fence[1], f"{page}:{number}")
            found.append(block(page, number, fence[2], "".join(part + "\n" for part in body), before))
            before = []
        elif line.lstrip().startswith("```"):
            raise Mistake(f"{page}:{number}: a block begins at the line's beginning")
    if before:
        raise Mistake(f"{page}: what is prepared at the end is for no block")
    return found


def until(lines, end, where):
    body = []
    for _, line in lines:
        if line == end:
            return body
        body.append(line)
    raise Mistake(f"{where}: nothing ends what begins here")


def block(page, number, info, text, before):
    where = f"{page}:{number}"
    language, *words = shlex.split(info) or [""]
    kind = words.pop(0) if words and words[0] in KINDS else ""
    named = dict(word.split("=", 1) for word in words if "=" in word)
    if unknown := [word for word in words if "=" not in word] + sorted(set(named) - set(WORDS)):
        raise Mistake(f"{where}: nobody knows `{unknown[0]}`")
    if not (kind or named or language in ("console", "sh")):
        raise Mistake(f"{where}: the block does not say what it is; tests/docs/run_pages.py has the kinds")
    if "unrun" in named and len(named["unrun"]) < 10:
        raise Mistake(f"{where}: say why it cannot be run")
    return Block(page, number, language, kind, named, text, before)


def commands_of(text):
    """(command, what is shown of it) of a console block."""
    found = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += line[2:]
        elif found:
            found[-1][1] += line
        else:
            raise Mistake("a console block begins with `$ `")
    return found


# ---- what is shown, and what came ----

RUN_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")
WAIT = re.compile(r"(?<=again in )\d+\.\d s\b|(?<= in )\d+\.\d s(?=: )")  # before the next attempt: with a jitter


def without_times(text):
    """What differs from run to run, in what is shown and in what came."""
    for place in e2e.MEASURED_TIMES:
        text = place.sub(r"\1TIME\2", text)
    return WAIT.sub("TIME", RUN_ID.sub("RUN", text))


def is_shown(shown, came):
    """Whether the page shows what came, but for times and for what it leaves out with `…`."""
    pattern = re.escape(without_times(shown))
    pattern = re.sub(r"(?m)^…\n", r"(?:.*\n)*", pattern.replace("\\\n", "\n")).replace("…", ".*")
    return re.fullmatch(pattern, without_times(came)) is not None


# ---- a page's world ----

class World:
    """The home of a reader, with a project in it, and a server in the place of every provider."""

    def __init__(self, name, options):
        self.options = options
        self.home = options.scratch.path / ("page-" + name.replace("/", "-")) / "you"
        self.work = self.home / "project"
        self.work.mkdir(parents=True)
        bin_folder = self.home.parent / "bin"
        bin_folder.mkdir()
        (bin_folder / "errand").symlink_to(options.errand)
        self.server = scripted.Server({})
        url = self.server.url
        self.environment = {
            "PATH": f"{bin_folder}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8",
            "TZ": "UTC", "TERM": "dumb", "TMPDIR": str(self.home.parent), "SOURCE": str(TOP),
            "ANTHROPIC_BASE_URL": url, "OPENAI_BASE_URL": url + "/v1", "GOOGLE_GEMINI_BASE_URL": url + "/v1beta",
            **{name: e2e.SECRET for name in KEYS},
            "GIT_AUTHOR_NAME": "You", "GIT_AUTHOR_EMAIL": "you@example.com",
            "GIT_COMMITTER_NAME": "You", "GIT_COMMITTER_EMAIL": "you@example.com",
            **{name: os.environ[name] for name in os.environ if re.fullmatch("[AUTL]+SAN_OPTIONS", name)}}

    def shell(self, script, *words):
        """What the script prints, on stdout and stderr as one."""
        try:
            done = subprocess.run(["bash", *words, "-c", script], cwd=self.work, env=self.environment,
                                  timeout=TIMEOUT_S * self.options.patience, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            raise Mistake(f"it does not end within {TIMEOUT_S * self.options.patience:g} s") from None
        return done.returncode, self.as_readers_see_it(done.stdout.decode("utf-8", "replace"))

    def as_readers_see_it(self, text):
        text = text.replace(str(self.home), "/home/you")
        for path, real in ADDRESSES.items():
            text = text.replace(self.server.url + path, real)
        return OF_THE_MACHINE.sub(lambda line: "" if line[1] in self.options.missing_layers else line[0], text)

    def succeed(self, script, what):
        code, said = self.shell(script, "-eu")
        if code != 0:
            raise Mistake(f"exit status {code} of {what}:\n{said}")
        return said

    def write(self, name, text):
        file = self.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if text.startswith("#!") else 0o644)

    def expect_replies(self, toml):
        script = tomllib.loads(toml)
        if wrong := scripted.mistakes(script):
            raise Mistake(f"the model's answers: {wrong[0]}")
        self.server.steps += scripted.Server._unrolled(script["reply"])

    def end_of_block(self):
        """Every answer was asked for, and nothing else was."""
        if self.server.faults:
            raise Mistake(self.server.faults.pop())
        if left := len(self.server.steps) - len(self.server.requests):
            raise Mistake(f"nobody asked for {left} answers of the model")

    def forget(self):
        """A block that failed has no effect on what the server has to say to the next."""
        self.server.faults.clear()
        self.server.steps = [{}] * len(self.server.requests)

    def close(self):
        self.server.close()


# ---- each kind of block ----

def run_agent(one, world, is_named_later):
    world.write(one.file, one.text)
    world.succeed(f"errand check {shlex.quote(one.file)}", "errand check")
    if not is_named_later(one.file):  # what runs it later shows more
        world.write(".answer.yaml", 'version: 1\nreplies: [{text: "Done."}]\n')
        world.succeed(f"errand run --model replay/.answer.yaml {shlex.quote(one.file)} Go.", "its run")


def run_part(one, world, _):
    own = set(re.findall(r"^(\w+):", one.text, re.MULTILINE))
    head = "".join(f"{key}: {value}\n" for key, value in HEAD.items() if key not in own)
    world.write(one.file or ".part.yaml", head + one.text)
    world.succeed(f"errand check {shlex.quote(one.file or '.part.yaml')}", "errand check, as part of an agent")


def run_settings(one, world, _):
    world.write("../.config/errand/config.yaml", one.text)
    world.write(".part.yaml", "".join(f"{key}: {value}\n" for key, value in HEAD.items()))
    world.succeed("errand check .part.yaml", "errand check, with these settings")


def run_file(one, world, is_named_later):
    if not is_named_later(one.file):
        raise Mistake(f"no later block names {one.file}")
    if one.language == "sh":
        check_syntax(one, world)
    world.write(one.file, one.text)


def check_syntax(one, world):
    world.succeed(f"sh -n <<'END_OF_SCRIPT'\n{one.text}END_OF_SCRIPT\n", "sh -n")


def run_case(one, world, _):
    check_syntax(one, world)
    cmd = TOP / "tests" / "e2e" / one.words["case"] / "cmd"
    if not cmd.is_file() or str(one.page) not in cmd.read_text():
        raise Mistake(f"tests/e2e/{one.words['case']} is no case that reads {one.page}")


def run_sh(one, world, _):
    world.succeed(one.text, "the script")


# Prints what each command printed, between marks with its exit status; the next one sees that in `$?`.
STEP = "{{ {command}\n}} 2>&1; errand_status=$?; printf '\\036%d\\036' $errand_status; (exit $errand_status)\n"


def run_console(one, world, _):
    commands = commands_of(one.text)
    _, said = world.shell("".join(STEP.format(command=command) for command, _ in commands))
    came = said.split("\036")[:-1]
    wrong, now = [], ""
    for at, (command, shown) in enumerate(commands):
        if at * 2 + 1 >= len(came):
            raise Mistake(f"the shell ended before: {command}{said}")
        printed, status = came[at * 2], int(came[at * 2 + 1])
        now += "$ " + command.removesuffix("\n").replace("\n", "\n> ") + "\n"
        now += shown if is_shown(shown, printed) else printed
        if not is_shown(shown, printed):
            wrong.append(f"{command.strip()}\n{e2e.difference(shown, printed)}")
        tells = at + 1 < len(commands) and commands[at + 1][0].strip() == "echo $?"
        if status != 0 and not tells:
            wrong.append(f"exit status {status} of: {command}{printed}")
    if wrong and os.environ.get("UPDATE") == "1" and now != one.text:
        file = TOP / one.page
        file.write_text(file.read_text().replace(one.text, now, 1))
    if wrong:
        raise Mistake("\n".join(wrong))


def how_to_run(one):
    for word, work in (("case", run_case), ("file", run_file)):
        if word in one.words and not one.kind:
            return work
    return {"agent": run_agent, "part": run_part, "settings": run_settings, "": None}[one.kind] or \
        {"console": run_console, "sh": run_sh}[one.language]


def run_block(one, world, later):
    def is_named_later(name):
        return any(name in other.text or any(name in text for _, text in other.before) for other in later)
    for kind, text in one.before:
        if kind == "model":
            world.expect_replies(text)
        else:
            world.succeed(text, "what prepares it")
    if "unrun" in one.words:
        if one.language == "sh":
            check_syntax(one, world)
        return
    how_to_run(one)(one, world, is_named_later)
    world.end_of_block()


# ---- all pages ----

def pages():
    return [pathlib.Path("README.md"), pathlib.Path("CONTRIBUTING.md"),
            *sorted(path.relative_to(TOP) for path in TOP.glob("docs/**/*.md"))]


def run_page(page, text, options, tally):
    """The blocks of the page that are not run."""
    try:
        blocks = blocks_of(page, text)
    except Mistake as mistake:
        tally.say("FAIL", page, [str(mistake)])
        return []
    world = World(str(page), options)
    try:
        for at, one in enumerate(blocks):
            try:
                run_block(one, world, blocks[at + 1:])
                tally.say("ok", one.name, [])
            except Mistake as mistake:
                world.forget()
                without_sandbox = not options.has_sandbox and NO_SANDBOX.search(str(mistake))
                tally.say("skip" if without_sandbox else "FAIL", one.name, str(mistake).splitlines())
    finally:
        world.close()
    return [one for one in blocks if "unrun" in one.words]


def run_all(options):
    tally, unrun = e2e.Tally(), []
    for page in pages():
        if (TOP / page).exists() and (not options.k or any(pattern in str(page) for pattern in options.k)):
            unrun += run_page(page, (TOP / page).read_text(), options, tally)
    for one in unrun:
        print(f"not run {one.name}: {one.words['unrun']}")
    if len(unrun) > UNRUN_AT_MOST:
        tally.say("FAIL", "the blocks that are not run", [f"{len(unrun)}, and there may be {UNRUN_AT_MOST}"])
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped", flush=True)
    return 1 if tally.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    e2e.add_options(parser)
    options = parser.parse_args()
    return e2e.with_errand(options, lambda: run_all(options))


if __name__ == "__main__":
    sys.exit(main())
