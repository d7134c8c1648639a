"""What the suites of MCP servers have in common: a row is a server that does what it must not, what the agent calls, and
what must come of it: the exit code, a word of what is said, and what stands in the results. No process of a row may be
left, whatever the ending.

A row's keys: `code`; `said` (on stderr); `results` of the calls, in their order, their `failed` codes, and what stands in them, but `fenced` alone; `calls` and
their `arguments`, or `made`, which has both, by the agent's names; `one_by_one` (a turn for each); `settings` (more of
the server's, or what makes it of the row); `tools` (their names at the agent, all of them);
`revision`; `added` (names of tools that came later, by the reason); `locked` (`errand mcp lock` comes before the run);
`environment` (more of errand's); `missing` (servers that the result names so); `output` (among the progress); `notes` (what the server was told); `left` (in the working folder); `never` (in
no event); `when_called` (what is done, with the row, while a call is open), and
`stop` (a signal then); `listed` (what is true of the output of `errand mcp tools -o json`,
which is run in place of a run); `check` (of the server: what is wrong, or None)."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from rows import main_over_rows  # noqa: E402
from scratch import processes  # noqa: E402

PATIENCE_S = 60
FENCED = re.compile(r"<<<errand-data ([0-9a-f]+) .*?<<<end of errand-data \1>>>", re.DOTALL)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def tool(name, **more):
    """One whose calls go side by side."""
    return {"name": name, "description": f"Does {name}.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}, **more}


class Row:
    def __init__(self, errand, scratch, behaviour, wanted, server):
        """`server(row)` gives what an agent file says of the server, as a map."""
        self.errand, self.behaviour, self.wanted, self.server = errand, behaviour, wanted, server
        self.folder = scratch.path / behaviour.replace(" ", "-").replace(",", "") / "row"
        self.calls = wanted.get("calls", ["f", "g"])
        self.sanitized = scratch.sanitized
        self.patience = PATIENCE_S * (4 if self.sanitized else 1)

    def write(self):
        for name in ("work", "home"):
            (self.folder / name).mkdir(parents=True)
        lines = [f"{key}: {json.dumps(value)}" for key, value in self.server(self).items()]
        settings = self.wanted.get("settings")
        lines += [settings(self) if callable(settings) else settings] if settings else []
        (self.folder / "work" / "agent.yaml").write_text(
            "version: 1\nname: m\nmodel: replay/script.yaml\ninstructions: x\npermissions: {default: allow}\n"
            "retry: {initial_delay: 10ms}\nguardrails: {kill_switch: stop}\n"
            "mcp_servers:\n  s:\n" + "".join(f"    {line}\n" for line in lines))
        made = self.wanted.get("made") or [
            {"name": f"mcp__s__{name}", "arguments": self.wanted.get("arguments", {"n": 1})} for name in self.calls]
        replies = [{"tool_calls": [one]} for one in made] if self.wanted.get("one_by_one") else [{"tool_calls": made}]
        (self.folder / "work" / "script.yaml").write_text(
            json.dumps({"version": 1, "replies": [*replies, {"text": "done"}]}))

    def play(self):
        """What is wrong with it; None: nothing."""
        self.write()
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder),
                       "A_SECRET_TOKEN": "gvCx81a9Qk2", **self.wanted.get("environment", {})}
        if self.wanted.get("locked"):
            subprocess.run([str(self.errand), "mcp", "lock", "agent.yaml"], cwd=self.folder / "work", env=environment,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=True)
        words = ["mcp", "tools", "-o", "json", "agent.yaml"] if "listed" in self.wanted else \
            ["run", "-o", "jsonl", "agent.yaml", "go"]
        process = subprocess.Popen([str(self.errand), *words], text=True,
                                   cwd=self.folder / "work", env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            lines = []
            if "stop" in self.wanted or "when_called" in self.wanted:
                while not lines or '"tool.started"' not in lines[-1]:
                    lines.append(process.stdout.readline())
                self.wanted.get("when_called", lambda row: None)(self)
            if "stop" in self.wanted:
                process.send_signal(self.wanted["stop"])
            out, said = process.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return f"it still runs after {self.patience} s"
        try:
            events = [json.loads(line) for line in "".join(lines + [out]).splitlines() if line.endswith("}")]
            self.said = said
            return self.judge(process.returncode, events, said) or self.strays() or self.wanted.get(
                "check", lambda row: None)(self)
        except (KeyError, ValueError, IndexError) as error:
            return f"{error!r} of {out[-300:]} {said[-300:]}"

    def judge(self, code, events, said):
        wanted = self.wanted
        if code != wanted.get("code", 0):
            return f"exit code {code}, expected {wanted.get('code', 0)}: {said[-400:]}"
        if wanted.get("said", "") not in said:
            return f"`{wanted['said']}` is not said: {said[-400:]}"
        if "\x1b" in said:
            return f"an escape byte came through: {said[-400:]!r}"
        if "listed" in wanted:
            return None if wanted["listed"](events[0]["tools"]) else f"it lists {events[0]['tools']}"[:500]
        if "left" in wanted and not (self.folder / "work" / wanted["left"]).exists():
            return f"there is no {wanted['left']}: {os.listdir(self.folder / 'work')}"
        started = next(event for event in events if event["type"] == "run.started")
        if "revision" in wanted and started["mcp_servers"][0]["revision"] != wanted["revision"]:
            return f"it was agreed on {started['mcp_servers']}"
        result = events[-1].get("result", events[-1])
        if result.get("missing_servers", []) != wanted.get("missing", []):
            return f"the result names {result.get('missing_servers')} as missing"
        if "tools" in wanted and started["tools"] != sorted(wanted["tools"]):
            return f"the tools are {started['tools']}"
        if "added" in wanted:
            added = {}
            for event in events:
                if event["type"] == "tools.added":
                    added.setdefault(event["reason"], []).extend(one["name"] for one in event["tools"])
            if added != wanted["added"]:
                return f"the tools that came later are {added}"
        results = {event["call_id"]: event for event in events if event["type"] == "tool.finished"}
        found = [results[f"call_{at + 1}"] for at in range(len(wanted.get("results", [])))]
        for event, text in zip(found, wanted.get("results", [])):
            if text not in event["content"]:
                return f"`{text}` is not in the result: {event['content'][-500:]}"
        contents = "\n".join(event["content"] for event in results.values())
        for words in wanted.get("fenced", []):
            if words not in contents or words in FENCED.sub("", contents):
                return f"`{words}` does not stand in a fence alone: {contents[-800:]}"
        for event, failure in zip(found, wanted.get("failed", [])):
            if event["code"] != failure:
                return f"the code is {event['code']}, not {failure}"
        output = "".join(event["text"] for event in events if event["type"] == "tool.output")
        if wanted.get("output", "") not in output:
            return f"`{wanted['output']}` is not among the progress: {output!r}"
        notes = self.folder / f"{self.behaviour}.notes"
        for note in wanted.get("notes", []):
            if note not in notes.read_text().splitlines():
                return f"the server was not told: {note}"
        everything = json.dumps(events)
        for never in wanted.get("never", []):
            if never in everything:
                return f"`{never}` came out"
        return None

    def strays(self):
        for _ in range(200):  # as long as it may take on a slow machine
            left = processes(str(self.folder), self.folder)
            if not left:
                return None
            time.sleep(0.1)
        return f"still alive: {left}"


def play_rows(rows, server, description, name):
    """`server` as of Row. The exit code."""
    return main_over_rows(name, description, rows,
                          lambda errand, scratch, *row: Row(errand, scratch, *row, server).play())
