#!/usr/bin/env python3
"""What the conformance suite of the Model Context Protocol drives as a client: reaches the server at URL with errand, and
has an agent call its tools in one run, from a script of replies. Where errand wants a login, it makes one, as a person would
whose browser says yes to everything.

    MCP_CONFORMANCE_SCENARIO=NAME [MCP_CONFORMANCE_CONTEXT=JSON] ERRAND=PATH SLOTS=FOLDER client.py URL

The suite starts a client for each scenario at once. As many are at work as there are processors: each holds a file of
SLOTS. The exit code is errand's."""
import contextlib
import fcntl
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_S = 60
NO_LOGIN = 77
LOGINS = 3  # then a person gives up
# The scenario does not say it, the suite's own clients know it.
METADATA_DOCUMENT = "https://conformance-test.local/client-metadata.json"
# Tools that a scenario has on its list to see that they are not called.
NEVER = {"json_schema_2020_12_tool"}


@contextlib.contextmanager
def slot():
    files = [open(pathlib.Path(os.environ["SLOTS"]) / str(number), "w") for number in range(os.cpu_count() or 1)]
    try:
        while not any(is_mine(file) for file in files):
            time.sleep(0.01)
        yield
    finally:
        for file in files:
            file.close()


def is_mine(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for(address):
    """The suite is one process, which is busy while it starts all scenarios: until it says no to what is no request, which
    no scenario hears of."""
    place = urllib.parse.urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"?\r\n\r\n")
        connection.recv(1)


def value_for(schema):
    """Some value that fits, for arguments that a scenario leaves to the client."""
    kinds = {"integer": 2, "number": 2, "boolean": True, "array": [], "object": {}}
    return kinds.get(schema.get("type"), "x")


def arguments_for(tool, tools):
    if tool["name"].endswith("json_schema_echo"):
        return {"schema": next(one["parameters"] for one in tools if one["name"].endswith("json_schema_2020_12_tool"))}
    schema = tool["parameters"]
    return {name: value_for(schema.get("properties", {}).get(name, {})) for name in schema.get("required", [])}


def without_null(arguments):
    """A model that has no value leaves the argument out; null would not fit the tool's schema."""
    return {name: value for name, value in arguments.items() if value is not None}


class Agent:
    def __init__(self, folder, scenario, url, context):
        self.folder = folder
        self.errand = pathlib.Path(os.environ["ERRAND"]).resolve()
        self.oauth = oauth_settings(scenario, context)
        server = {"url": url, "elicitation": "defaults"} | ({"oauth": self.oauth} if self.oauth else {})
        (folder / "agent.yaml").write_text(json.dumps({
            "version": 1, "name": "conformance", "model": "replay/script.yaml", "instructions": "Call the tools.",
            "permissions": {"default": "allow"}, "mcp_servers": {"it": server}}))
        self.environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"),
                            "CLIENT_SECRET": context.get("client_secret", ""), "CLIENT_KEY": context.get("private_key_pem", "")}

    def start(self, *words, **streams):
        return subprocess.Popen([self.errand, *words], cwd=self.folder, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **streams)

    def run(self, *words):
        """(exit code, what it wrote), with as many logins as it asks for."""
        for _ in range(LOGINS):
            with self.start(*words, stderr=subprocess.PIPE) as process:
                said, complaints = process.communicate(timeout=PATIENCE_S)
            print(complaints, end="", file=sys.stderr)
            if not wants_login(process.returncode, said, complaints) or self.oauth.get("grant"):
                break
            if refused := self.log_in():
                sys.exit(refused)
        return process.returncode, said

    def log_in(self):
        with self.start("mcp", "login", "agent.yaml", "it", stderr=subprocess.PIPE) as process:
            for line in process.stderr:
                print(line, end="", file=sys.stderr)
                if line.startswith("Log in here: "):
                    browse(line.removeprefix("Log in here: ").strip())
            return process.wait(timeout=PATIENCE_S)

    def tools(self):
        code, listed = self.run("mcp", "tools", "-o", "json", "agent.yaml")
        if code != 0:
            sys.exit(code)
        return json.loads(listed)["tools"]

    def call(self, calls):
        replies = [{"tool_calls": [{"name": name, "arguments": arguments}]} for name, arguments in calls]
        (self.folder / "script.yaml").write_text(
            json.dumps({"version": 1, "replies": [*replies, {"text": "done"}]}))
        code, said = self.run("run", "-o", "jsonl", "agent.yaml", "go")
        print(said)
        return code


def wants_login(code, said, complaints):
    """Before the first turn, where errand says that a login helps, or for a call that the server refuses."""
    return (code == NO_LOGIN and "errand mcp login" in complaints) or '"code":"mcp.auth"' in said


def browse(address):
    """Goes where it is sent, which ends at errand's own page: that may say no."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as page:
            page.read()
    except urllib.error.HTTPError as refusal:
        print(f"the browser has {refusal}", file=sys.stderr)


def oauth_settings(scenario, context):
    """What the agent file says of the client, where the authorization server knows it already."""
    if scenario == "auth/basic-cimd":
        return {"client_id": METADATA_DOCUMENT}
    settings = {key: context[key] for key in ("client_id", "issuer") if key in context}
    if "client_secret" in context:
        settings["client_secret"] = "${env:CLIENT_SECRET}"
    if "private_key_pem" in context:
        settings["private_key"] = "${env:CLIENT_KEY}"
    if scenario.startswith("auth/client-credentials-"):
        settings["grant"] = "client_credentials"
    return settings


def main():
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    wait_for(sys.argv[1])
    with slot(), tempfile.TemporaryDirectory() as folder:
        agent = Agent(pathlib.Path(folder), os.environ["MCP_CONFORMANCE_SCENARIO"], sys.argv[1], context)
        tools = agent.tools()
        names = {tool["name"].removeprefix("mcp__it__"): tool for tool in tools}
        calls = [(f"mcp__it__{call['name']}", without_null(call["arguments"])) for call in context.get("toolCalls", [])] or \
            [(tool["name"], arguments_for(tool, tools)) for name, tool in names.items() if name not in NEVER]
        sys.exit(agent.call(calls))


if __name__ == "__main__":
    main()
