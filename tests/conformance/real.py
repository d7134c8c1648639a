#!/usr/bin/env python3
"""Servers that others have made, end to end through errand, and clients that others have made against `errand mcp serve`:
packages from npm, each in one exact version. What servers say is compared with what the model gets of it, and what errand
says with what clients make of that. No process may be left.

    tests/conformance/real.py --errand build/release/errand [-k WORD] [-v]
"""
import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import packages  # noqa: E402
from client import browse  # noqa: E402
from rows import main_over_rows  # noqa: E402
from scratch import left_behind, processes  # noqa: E402

PATIENCE_S = 60
SCOPE = "@modelcontextprotocol/"
EVERYTHING = SCOPE + "server-everything/dist/index.js"
WITH_LOGIN = SCOPE + "sdk/dist/esm/examples/server/simpleStreamableHttp.js"
INSPECTOR = SCOPE + "inspector/clients/launcher/build/index.js"
OLD, NEW = "2025-11-25", "2026-07-28"
PROGRAMS = ("server.mjs", "sdk_client.mjs")  # beside the packages that they use


class Wrong(Exception):
    pass


def must(holds, what):
    if not holds:
        raise Wrong(what)


class Story:
    """A folder, and errand in it."""

    def __init__(self, errand, scratch, name):
        self.errand = errand
        self.folder = scratch.path / re.sub(r"\W+", "-", name)
        self.work, self.outside = self.folder / "work", self.folder / "outside"
        for place in (self.work, self.outside, self.folder / "home"):
            place.mkdir(parents=True)
        self.environment = packages.environment(HOME=str(self.folder / "home"), TMPDIR=str(self.folder))
        self.started = contextlib.ExitStack()
        self.said = []  # of servers

    def agent(self, name, replies, **more):
        (self.work / f"{name}.script.yaml").write_text(json.dumps({"version": 1, "replies": replies}))
        (self.work / f"{name}.yaml").write_text(json.dumps(
            {"version": 1, "name": name, "model": f"replay/{name}.script.yaml", "instructions": "Do it.", **more}))
        return f"{name}.yaml"

    def run(self, *words, code=0):
        ran = subprocess.run([str(word) for word in words], cwd=self.work, env=self.environment, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
        must(ran.returncode == code, f"{words[1:4]} ends with {ran.returncode}, not {code}: {ran.stdout[-500:]}{ran.stderr[-500:]}")
        return ran.stdout

    def start(self, command, ready, **environment):
        """A server, once a line of what it says fits `ready`; gives the match."""
        process = subprocess.Popen(command, cwd=self.work, env=self.environment | environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.started.callback(process.wait)
        self.started.callback(process.kill)
        late = threading.Timer(PATIENCE_S, process.kill)
        late.start()
        try:
            for line in process.stdout:
                self.said.append(line)
                if found := re.search(ready, line):
                    threading.Thread(target=self.said.extend, args=(process.stdout,), daemon=True).start()
                    return found
        finally:
            late.cancel()
        raise Wrong(f"{command[-2:]} does not start: {''.join(self.said)[-500:]}")

    def wait_for(self, words):
        """That a server says them."""
        ends = time.monotonic() + PATIENCE_S
        while not any(words in line for line in list(self.said)):
            must(time.monotonic() < ends, f"nobody says `{words}`: {''.join(self.said)[-500:]}")
            time.sleep(0.05)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


# ---- servers ----

def program(name, *words):
    def server(_):
        command, *more = [*packages.script(name), *words]
        return {"command": command, "args": more}
    return server


def everything_by(kind, path, **settings):
    def server(story):
        port = free_port()
        story.start([*packages.script(EVERYTHING), kind], f"port {port}", PORT=port)
        return {"url": f"http://127.0.0.1:{port}/{path}", **settings}
    return server


def own(*words):
    return [packages.node(), str(packages.FOLDER / words[0]), *words[1:]]


def stateless_by_http(story):
    port = story.start(own("server.mjs", "http"), r"listening on (\d+)")[1]
    return {"url": f"http://127.0.0.1:{port}/mcp", "elicitation": "defaults"}


def stateless(story):
    command, *more = own("server.mjs")
    return {"command": command, "args": more, "elicitation": "defaults"}


def memory(story):
    return program(SCOPE + "server-memory/dist/index.js")(story) | {
        "env": {"MEMORY_FILE_PATH": str(story.outside / "memory.json")}}


def files(story):
    (story.work / "note.txt").write_text("a note\n")
    (story.outside / "secret.txt").write_text("a secret\n")
    return program(SCOPE + "server-filesystem/dist/index.js", ".")(story) | {"sandbox": True}


# simulate-research-query runs as a task alone, and is left out.
EVERYTHING_TOOLS = ("echo get-annotated-message get-env get-resource-links get-resource-reference get-structured-content "
                    "mcp_resources "
                    "get-sum get-tiny-image gzip-file-as-resource toggle-simulated-logging "
                    "toggle-subscriber-updates trigger-elicitation-request trigger-long-running-operation")
EVERYTHING_CALLS = [
    ("echo", {"message": "hej"}, r"\nEcho: hej\n"),
    ("get-sum", {"a": 2, "b": 40}, r"\nThe sum of 2 and 40 is 42\.\n"),
    ("get-structured-content", {"location": "Chicago"}, r'"conditions": ?"Light rain / drizzle"'),
    ("get-tiny-image", {}, r"\[image image/png, 4033 bytes, in /"),
    ("get-resource-links", {"count": 2}, r"demo://resource/dynamic/"),
    ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}, r"completed\. Duration: 0\.2 seconds, Steps: 2\."),
]
STATELESS_CALLS = [
    ("greet", {"name": "Åsa"}, r"\nHello, Åsa, from the modern era!\n"),
    ("add", {"a": 2, "b": 40}, r"\b42\b"),
    ("paint", {}, r"\npainted blue\n"),
]


def through_errand(server, name, revision, tools, calls):
    """An agent that has the server calls its tools, one after the other: what the model reads of each has to fit."""
    def story(story):
        replies = [{"tool_calls": [{"name": f"mcp__s__{call[0]}", "arguments": call[1]}]} for call in calls]
        agent = story.agent("caller", [*replies, {"text": "done"}], permissions={"default": "allow"},
                            mcp_servers={"s": server(story)})
        lines = story.run(story.errand, "run", "-o", "jsonl", agent, "go").splitlines()
        events = [json.loads(line) for line in lines]
        reached = events[0]["mcp_servers"][0]
        must((reached["revision"], reached["server"].split()[0]) == (revision, name), f"it was reached as {reached}")
        found = sorted(one.removeprefix("mcp__s__") for one in events[0]["tools"])
        must(found == sorted(tools.split()), f"its tools are {found}")
        contents = [event["content"] for event in events if event["type"] == "tool.finished"]
        must(len(contents) == len(calls), f"{len(contents)} calls were made, not {len(calls)}")
        for (tool, _, wanted), content in zip(calls, contents):
            must(re.search(wanted, content), f"{tool} gives {content}")
        return events
    return story


def with_progress(story_of):
    def story(story):
        events = story_of(story)
        said = "".join(event["text"] for event in events if event["type"] == "tool.output")
        must("1 of 2" in said and "2 of 2" in said, f"its progress is {said!r}")
    return story


def remembers(story):
    entity = {"name": "errand", "entityType": "program", "observations": ["runs agents"]}
    through_errand(memory, "memory-server", OLD,
                   "add_observations create_entities create_relations delete_entities delete_observations "
                   "delete_relations mcp_resources open_nodes read_graph search_nodes",
                   [("create_entities", {"entities": [entity]}, r"runs agents"),
                    ("search_nodes", {"query": "agents"}, r'"name": "errand"')])(story)
    kept = json.loads((story.outside / "memory.json").read_text())
    must(kept == {"type": "entity", **entity}, f"it keeps {kept}")


def confined(story):
    inside, outside = str(story.work / "made.txt"), str(story.outside / "secret.txt")
    through_errand(files, "secure-filesystem-server", OLD,
                   "create_directory directory_tree edit_file get_file_info list_allowed_directories list_directory "
                   "list_directory_with_sizes move_file read_file read_media_file read_multiple_files read_text_file "
                   "search_files write_file",
                   [("read_text_file", {"path": "note.txt"}, r"\na note\n"),
                    ("write_file", {"path": inside, "content": "made"}, r"Successfully wrote"),
                    ("read_text_file", {"path": outside}, r"Access denied")])(story)
    must((story.work / "made.txt").read_text() == "made", "nothing was written")


def logs_in(story):
    """The SDK's example, which gives tokens for its own address alone; its authorization server says yes to everybody."""
    ports = {"MCP_PORT": free_port(), "MCP_AUTH_PORT": free_port()}
    story.start([*packages.script(WITH_LOGIN), "--oauth", "--oauth-strict"], "MCP Streamable HTTP Server listening", **ports)
    agent = story.agent("caller", [{"tool_calls": [{"name": "mcp__s__greet", "arguments": {"name": "Åsa"}}]}, {"text": "done"}],
                        permissions={"default": "allow"},
                        mcp_servers={"s": {"url": f"http://localhost:{ports['MCP_PORT']}/mcp"}})
    story.run(story.errand, "run", agent, "go", code=77)
    with subprocess.Popen([story.errand, "mcp", "login", agent, "s"], cwd=story.work, env=story.environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as login:
        said = login.stderr.readline()
        must(said.startswith("Log in here: http://localhost:"), f"the login says {said}")
        browse(said.removeprefix("Log in here: ").strip())
        must(login.wait(timeout=PATIENCE_S) == 0, f"the login ends with {login.returncode}")
    events = [json.loads(line) for line in story.run(story.errand, "run", "-o", "jsonl", agent, "go").splitlines()]
    content = next(event["content"] for event in events if event["type"] == "tool.finished")
    must("\nHello, Åsa!\n" in content, f"greet gives {content}")
    story.run(story.errand, "mcp", "logout", agent, "s")
    story.run(story.errand, "mcp", "tools", agent, code=77)


def killed(story):
    """The server, which waits for a minute, goes with errand."""
    wait = {"tool_calls": [{"name": "mcp__s__trigger-long-running-operation", "arguments": {"duration": 60, "steps": 60}}]}
    agent = story.agent("caller", [wait], permissions={"default": "allow"},
                        mcp_servers={"s": program(EVERYTHING, "stdio")(story)})
    story.start([story.errand, "run", "-o", "jsonl", agent, "go"], '"type":"tool.output".*1 of 60')
    must(len(processes(str(story.folder), story.folder)) > 1, "there is no server")


# ---- clients ----

WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
CALLS = [{"name": "answers", "arguments": {"prompt": "go"}}, {"name": "fails", "arguments": {"prompt": "go"}}]


def agents(story):
    return [story.agent("answers", [{"text": '{"word": "hello"}'}], output={"schema": WORD}, description="Answers."),
            story.agent("fails", [{"text": "too long", "stop_reason": "refusal"}])]


def by_stdio(story, *words):
    return [str(story.errand), "mcp", "serve", *words]


def by_http(story, *words):
    return story.start([story.errand, "mcp", "serve", "--http", "0", *words], r"^serving (http://\S+)")[1]


def sdk(version, mode, target, revision):
    """A client of an official SDK calls agents that are served."""
    def story(story):
        heard = json.loads(story.run(*own("sdk_client.mjs", version, json.dumps(mode), json.dumps(target(story, *agents(story))),
                                          json.dumps(CALLS))))
        must((heard["server"], heard["tools"]) == ("errand", ["answers", "fails"]), f"it has heard {heard}")
        must(heard.get("revision") == revision, f"what was agreed is {heard.get('revision')}")
        must(heard["progress"] > 0, "it has heard of no progress")
        good, bad = heard["results"]
        must((json.loads(good["text"]), good["structured"], good["isError"]) == ({"word": "hello"}, {"word": "hello"}, False),
             f"the answer is {good}")
        must(bad["isError"] and "refused" in bad["text"], f"the failure is {bad}")
    return story


def sdk_and_tools(version, mode):
    """The tools of an agent, without a model."""
    def story(story):
        (story.work / "note.txt").write_text("a note\n")
        agent = story.agent("coder", [], tools=["read_file", "write_file"], permissions={"default": "allow"})
        calls = [{"name": "read_file", "arguments": {"path": "note.txt"}},
                 {"name": "write_file", "arguments": {"path": str(story.outside / "made.txt"), "content": "x"}}]
        heard = json.loads(story.run(*own("sdk_client.mjs", version, json.dumps(mode),
                                          json.dumps(by_stdio(story, "--tools", agent)), json.dumps(calls))))
        must(heard["tools"] == ["read_file", "write_file"], f"the tools are {heard['tools']}")
        good, bad = heard["results"]
        must("a note" in good["text"] and not good["isError"], f"the file is {good}")
        must(bad["isError"] and not (story.outside / "made.txt").exists(), f"outside was written: {bad}")
    return story


def sdk_that_cancels(version, mode):
    """A run that would take a minute ends with the call."""
    def story(story):
        agent = story.agent("slow", [{"text": "late", "delay": "60s"}])
        calls = [{"name": "slow", "arguments": {"prompt": "go"}, "cancel": True}]
        target = by_http(story, agent)
        story.start(own("sdk_client.mjs", version, json.dumps(mode), json.dumps(target), json.dumps(calls)), "^cancelled$")
        story.wait_for("slow: sigterm (143)")
    return story


def inspector(target):
    def story(story):
        where = target(story, *agents(story))
        where = where if isinstance(where, list) else [where]
        ask = [*packages.script(INSPECTOR), "--cli", *where, "--method"]
        tools = json.loads(story.run(*ask, "tools/list"))["tools"]
        must([(tool["name"], tool["description"]) for tool in tools] ==
             [("answers", "Answers."), ("fails", "Runs the agent fails.")], f"its tools are {tools}")
        must(tools[0]["outputSchema"] == WORD, f"its output schema is {tools[0]['outputSchema']}")
        answer = json.loads(story.run(*ask, "tools/call", "--tool-name", "answers", "--tool-arg", "prompt=go"))
        must((answer["structuredContent"], answer["isError"]) == ({"word": "hello"}, False), f"the answer is {answer}")
        must(answer["_meta"]["errand/result"]["exit_name"] == "ok", f"the result is {answer['_meta']}")
    return story


def pinned(revision):
    return {"pin": revision}


ROWS = {
    "server-everything on stdio": with_progress(through_errand(
        program(EVERYTHING, "stdio"), "mcp-servers/everything", OLD, EVERYTHING_TOOLS, EVERYTHING_CALLS)),
    "server-everything by SSE": with_progress(through_errand(
        everything_by("sse", "sse", type="sse"), "mcp-servers/everything", OLD, EVERYTHING_TOOLS, EVERYTHING_CALLS)),
    "server-everything by SSE, which is found out": through_errand(
        everything_by("sse", "sse"), "mcp-servers/everything", OLD, EVERYTHING_TOOLS, EVERYTHING_CALLS[:1]),
    "server-everything by Streamable HTTP": with_progress(through_errand(
        everything_by("streamableHttp", "mcp"), "mcp-servers/everything", OLD, EVERYTHING_TOOLS, EVERYTHING_CALLS)),
    "server-everything, and errand is killed in a call": killed,
    "server-filesystem in the sandbox": confined,
    "server-memory": remembers,
    "a server of SDK v2 on stdio": through_errand(stateless, "stateless", NEW, "add greet paint", STATELESS_CALLS),
    "a server of SDK v2 by HTTP": through_errand(stateless_by_http, "stateless", NEW, "add greet paint", STATELESS_CALLS),
    "a server of SDK v1 that wants a login": logs_in,
    "SDK v1 on stdio": sdk("v1", None, by_stdio, None),
    "SDK v1 by HTTP": sdk("v1", None, by_http, None),
    "SDK v2 on stdio": sdk("v2", "auto", by_stdio, NEW),
    "SDK v2 by HTTP": sdk("v2", "auto", by_http, NEW),
    "SDK v2 on stdio, which insists on the new revision": sdk("v2", pinned(NEW), by_stdio, NEW),
    "SDK v2 on stdio, with a session": sdk("v2", "legacy", by_stdio, OLD),
    "SDK v2 by HTTP, with a session": sdk("v2", "legacy", by_http, OLD),
    "SDK v1 by HTTP, which cancels a call": sdk_that_cancels("v1", None),
    "SDK v2 by HTTP, which cancels a call": sdk_that_cancels("v2", "auto"),
    "SDK v1 and the tools of an agent": sdk_and_tools("v1", None),
    "SDK v2 and the tools of an agent": sdk_and_tools("v2", "auto"),
    "the inspector on stdio": inspector(by_stdio),
    "the inspector by HTTP": inspector(by_http),
}


def play(errand, scratch, name, row):
    """What is wrong, or None."""
    try:
        story = Story(errand, scratch, name)
        with story.started:
            row(story)
        left = left_behind(story.folder)
        must(not left, f"still alive: {left}")
    except (Wrong, OSError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError, StopIteration) as wrong:
        return f"{wrong if isinstance(wrong, Wrong) else repr(wrong)}"
    return None


def main():
    packages.fetch()
    for name in PROGRAMS:
        (packages.FOLDER / name).write_bytes((HERE / name).read_bytes())
    return main_over_rows("real", __doc__, ROWS, play)


if __name__ == "__main__":
    sys.exit(main())
