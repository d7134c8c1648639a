#!/usr/bin/env python3
"""What comes of a flow, and of an agent, whose member ends in each of the ways that the cases of single runs have.

    tests/e2e/as_a_child.py [--errand PATH] [-k PATTERN]… [-j N] [-v]

Each case that is one plain run of `agent.yaml` is run twice more: as the one step of a flow, which has to end with the
same exit code; and as a sub-agent of an agent that calls it once, where errand-exit-codes(7), AS A MEMBER, says which
endings the agent is told, and goes on from, and which are its own."""
import json
import shlex
import shutil
import sys
import tomllib

sys.dont_write_bytecode = True  # a test run leaves nothing in the source tree
import run  # noqa: E402
from cases import AREA_FILES, Case  # noqa: E402

# Said of all agents before the first one begins; and what is meant for the whole.
BEFORE = {2, 66, 73, 78}
OF_ALL = {92, 94, 96, 119, 129, 130, 131, 141, 143}
NOT_BEFORE = ("exit/78_tls_to_a_plain_port",)  # what is wrong shows when it is begun
# A sub-agent has no more than the agent that calls it: another sandbox, a rule of the project.
OTHERWISE_BELOW = ("exit/93_home_as_workspace", "guardrails/a_command_reaches_what_is_opened",
                   "permissions/project_tightens", "sandbox/a_path_that_is_not_there")
FLOW = "version: 1\nname: flow\nsteps: [{name: one, agent: agent.yaml, prompt: %s}]\n"
LEAD = """version: 1
name: lead
model: replay/lead-script.yaml
sub_agents: {one: agent.yaml}
permissions: {default: allow}
"""
SCRIPT = """version: 1
replies:
  - {tool_calls: [{one: {prompt: %s}}]}
  - {text: The agent went on.}
"""


def plain_run(case):
    """Of a case that is one run of an agent file without options: (lines before it, words, exit code); None: it is none."""
    lines = [line for line in (case.folder / "cmd").read_text().splitlines() if line.strip()]
    runs = [line for line in lines if line.startswith("errand ")]
    words = shlex.split(runs[0]) if len(runs) == 1 else []
    if len(words) != 4 or words[1:3] != ["run", "agent.yaml"] or lines[-1] != runs[0]:
        return None
    if not words[3].strip() or "{{" in words[3] or "@" in words[3]:  # the command line's own affair
        return None
    if any(not line.startswith(("signal ", "sh ", "env ")) or "errand" in line.lower() for line in lines[:-1]):
        return None
    said = tomllib.loads((case.folder / "expect.toml").read_text()) if (case.folder / "expect.toml").is_file() else {}
    code = said.get("exit", 0)
    return (lines[:-1], words[3], code, said) if isinstance(code, int) else None


def expected_of_lead(case, code, said, rows):
    asked = said.get("requests", 1) != 0
    is_before = code in BEFORE or code == 77 and not asked
    if code in OF_ALL or is_before and case.name not in NOT_BEFORE:
        return f"exit = {code}\n"
    name = rows[code]["name"]
    return f'exit = 0\n[[event]]\ntype = "tool.finished"\ncontent = \'~"exit_name": ?"{name}"\'\n'


def session_of(case):
    """What its agent says of the journal: that of the whole counts."""
    file = case.folder / "agent.yaml"
    lines = file.read_text().splitlines() if file.is_file() else []
    return "".join(f"{line}\n" for line in lines if line.startswith("session:"))


def with_files_of(case, folder):
    """All that the case gives the program, in a folder for another one."""
    (folder / "files").mkdir(parents=True)
    for file in [case.folder.parent / name for name in AREA_FILES] + [case.folder / name for name in AREA_FILES] + [
            case.folder / "server.toml"]:
        if file.is_file():
            shutil.copy(file, folder / file.name)
    if (case.folder / "files").is_dir():
        shutil.copytree(case.folder / "files", folder / "files", dirs_exist_ok=True)
    return folder


def derived(case, top, rows):
    """The case as a flow's step and as a sub-agent, in a folder each."""
    before, prompt, code, said = plain_run(case)
    keys = ["requests", "needs", "timeout_s", "stream"]
    if said.get("protocol", "all") != "all":
        keys.append("protocol")
    shared = 'formats = ["jsonl"]\n' + "".join(f"{key} = {json.dumps(said[key])}\n" for key in keys if key in said)
    session = session_of(case)
    kinds = {"flow": ("errand run flow.yaml", {"flow.yaml": FLOW % json.dumps(prompt) + session}, f"exit = {code}\n")}
    if case.name not in OTHERWISE_BELOW:
        kinds["lead"] = ('errand run lead.yaml "Lead on."',
                         {"lead.yaml": LEAD + session, "lead-script.yaml": SCRIPT % json.dumps(prompt)},
                         f"exit = {code}\n" if session and code != 0 else expected_of_lead(case, code, said, rows))
    for kind, (command, files, expected) in kinds.items():
        folder = with_files_of(case, top / kind / case.name.replace("/", "-"))
        for name, text in files.items():
            (folder / "files" / name).write_text(text)
        (folder / "cmd").write_text("\n".join([*before, command]) + "\n")
        (folder / "expect.toml").write_text(shared + expected)
        yield Case(folder)


def try_all(chosen, options):
    rows = run.exit_rows(options)
    plain = [case for case in chosen if (found := plain_run(case)) and found[2] in rows]
    cases = [one for case in plain for one in derived(case, options.scratch.path / "as-a-child", rows)]
    codes = sorted({plain_run(case)[2] for case in plain})
    return run.run_and_count(cases, lambda case: run.run_case(case, options), options,
                             lambda: [f"exit codes of members: {', '.join(map(str, codes))}"])


if __name__ == "__main__":
    sys.exit(run.main_over_cases(__doc__, try_all))
