"""`kipwire conform`: its questions, failures and expected failures, and programs that cannot stop the run."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kipwire import native
from kipwire.conformance.vectors import Index, Vector, VectorError, same_json, without_defaults
from kipwire.console.conform import program as program_module
from kipwire.console.conform.questions import Claims, difference
from tests.console.conform.conftest import ADAPTER, Conform, Program

ONE = ("--only", "HeartbeatRequest:4:*")
SAMPLE = [
    word
    for pattern in ("ConsumerGroupH*", "FetchRequest:1?:*", "StopReplica*", "frames:*:0:*", "records:*", "packed*")
    for word in ("--only", pattern)
] + ["--every", "12"]
FEW = ("--only", "ConsumerGroupHeartbeatResponse:1:*", "--every", "5")
WAYS = ["plain", "columns", "projections", *(["kernel"] if native.in_use else [])]


def plain(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_engine_of_kipwire_passes_a_sample(conform: Conform, way: str) -> None:
    sample = SAMPLE if way == "kernel" else FEW
    done = conform(*sample, "--level", "recommended", "--", sys.executable, ADAPTER, way)
    assert done.returncode == 0, done.stdout
    assert f"kipwire ({way})" in done.stdout
    assert "required: 0 failed" in done.stdout


@pytest.mark.night
@pytest.mark.parametrize("way", WAYS)
def test_every_engine_of_kipwire_passes_all(conform: Conform, way: str) -> None:
    done = conform("--level", "recommended", "--", sys.executable, ADAPTER, way)
    assert done.returncode == 0, done.stdout


def test_a_fault_is_found_shown_and_explained(conform: Conform, faulty: Program, tmp_path: Path) -> None:
    command = faulty(
        'if "json" in said and question["message"] == "HeartbeatRequest": said["json"]["generationId"] = 7'
    )
    page = tmp_path / "page.html"
    done = conform(*ONE, "--page", page, "--", *command)
    assert done.returncode == 1
    assert "HeartbeatRequest v4: " in done.stdout
    assert "HeartbeatRequest:4:defaults: decode: reads other values: generationId is 7, not 0" in done.stdout
    text = page.read_text()
    assert '<a class="bad"' in text
    assert "generation_id" in text  # as inspect explains it
    assert "http:" not in text
    assert "https:" not in text


def test_expected_failures_are_no_failures(conform: Conform, faulty: Program, tmp_path: Path) -> None:
    command = faulty('if "json" in said and question["version"] == 4: said["json"]["generationId"] = 7')
    expected = tmp_path / "expected.txt"
    assert conform(*ONE, "--save-failures", expected, "--", *command).returncode == 1
    done = conform(*ONE, "--expect", expected, "--", *command)
    assert done.returncode == 0, done.stdout
    assert "failed as expected" in done.stdout
    expected.write_text("HeartbeatRequest:4:* decode  # known\n")
    assert conform(*ONE, "--expect", expected, "--", *command).returncode == 0


def test_what_is_expected_to_fail_and_does_not_is_told(
    conform: Conform, kipwire: Sequence[str], tmp_path: Path
) -> None:
    expected = tmp_path / "expected.txt"
    expected.write_text("# none\nHeartbeatRequest:4:defaults decode\n")
    done = conform(*ONE, "--expect", expected, "--", *kipwire)
    assert done.returncode == 1
    assert f"expected to fail, but does not: {expected}:2: HeartbeatRequest:4:defaults decode" in done.stdout


def test_what_is_recommended_counts_only_where_it_is_asked_for(conform: Conform, faulty: Program) -> None:
    command = faulty('if question["op"] == "reencode": said = {"id": said["id"], "bytes": ""}')
    done = conform(*ONE, "--", *command)
    assert done.returncode == 0
    assert "does not write the unknown tagged fields back" in done.stdout
    assert conform(*ONE, "--level", "recommended", "--", *command).returncode == 1


def test_what_a_program_does_not_claim_is_shown_and_no_failure(conform: Conform, faulty: Program) -> None:
    command = faulty('if "claims" in said: said["claims"] = {"message": {"HeartbeatRequest": [0, 3]}}')
    done = conform("--only", "HeartbeatRequest:*", "--json", "--", *command)
    assert done.returncode == 0
    versions = {one["version"]: one for one in plain(done.stdout)["versions"]}
    assert versions[3]["passed"] > 50
    assert versions[3]["unclaimed"] == 0
    assert versions[4]["passed"] == 0
    assert versions[4]["unclaimed"] > 50


def test_what_a_program_skips_is_counted(conform: Conform, faulty: Program) -> None:
    command = faulty('if question["op"] == "encode": said = {"id": said["id"], "skipped": "no JSON"}')
    done = conform(*ONE, "--json", "--", *command)
    assert done.returncode == 0
    (version,) = plain(done.stdout)["versions"]
    assert version["skipped"] > 10


ACCEPTS = """
if "ops" in said: said["ops"] = ["accept"]
if question["op"] == "accept":
    inner = answer({**question, "op": "decode"})
    said = {"id": said["id"], **(inner if "refused" in inner else {"accepted": True})}
"""


def test_a_program_that_only_says_whether_bytes_are_right_is_asked_that(conform: Conform, faulty: Program) -> None:
    done = conform(*ONE, "--json", "--level", "recommended", "--", *faulty(ACCEPTS))
    assert done.returncode == 0, done.stdout
    (version,) = plain(done.stdout)["versions"]
    assert version["passed"] > 50


@pytest.mark.parametrize(
    ("only", "says", "reason"),
    [
        ("HeartbeatRequest:4:*", "'accepted': True", "accepts it, although "),
        ("HeartbeatRequest:4:defaults", "'refused': 'all'", "refuses it: all"),
        ("HeartbeatRequest:4:defaults", "'accepted': 0", "'accepted' is 0, not true"),
        ("HeartbeatRequest:4:defaults", "'json': {}", "its answer has neither 'accepted' nor 'refused' nor 'skipped'"),
    ],
)
def test_a_program_that_says_the_same_of_all_bytes_fails(
    conform: Conform, faulty: Program, only: str, says: str, reason: str
) -> None:
    fault = f"{ACCEPTS}\nif question['op'] != 'hello': said = {{'id': said['id'], {says}}}"
    done = conform("--only", only, "--json", "--", *faulty(fault))
    assert done.returncode == 1
    (version,) = plain(done.stdout)["versions"]
    assert version["smallest"]["level"] == "required"
    assert version["smallest"]["reason"].startswith(reason)


def test_accepting_what_must_be_refused_is_a_failure(conform: Conform, faulty: Program) -> None:
    command = faulty('if "refused" in said: said = {"id": said["id"], "json": {}}')
    done = conform(*ONE, "--json", "--", *command)
    assert done.returncode == 1
    (version,) = plain(done.stdout)["versions"]
    assert version["smallest"]["kind"] == "refuse"
    assert version["smallest"]["reason"].startswith("accepts it, although ")


WHERE = 'if question["op"] == "decode" and len(question["bytes"]) == 0: {}'
"""Two vectors have no bytes: one is derived, one is of Java's damages."""


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("sys.exit(3)", "ended with status 3 instead of an answer"),
        pytest.param(
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV", marks=pytest.mark.night
        ),
        pytest.param("import time; time.sleep(60)", "no answer within", marks=pytest.mark.night),
        pytest.param("\n        while True: pass", "no answer within", marks=pytest.mark.night),
        ("print('hello there', flush=True)", "printed a line that is not JSON: hello there"),
        pytest.param("print('[' * 100000, flush=True)", "printed a line that is not JSON", marks=pytest.mark.night),
        pytest.param("said['id'] += 1", "not the answer to question", marks=pytest.mark.night),
        pytest.param("said = []", "not the answer to question", marks=pytest.mark.night),
        pytest.param(
            "said = {'id': said['id']}", "has neither 'json' nor 'refused' nor 'skipped'", marks=pytest.mark.night
        ),
        pytest.param(
            "import os, time; sys.stdout.close(); os.close(1); time.sleep(60)",
            "closed its output",
            marks=pytest.mark.night,
        ),
        ("sys.stderr.write('Oh\\nno\\n'); sys.exit(1)", "its last line on standard error: no"),
        pytest.param(
            "raise KeyError('partition')",
            "its last line on standard error: KeyError: 'partition'",
            marks=pytest.mark.night,
        ),
        pytest.param(
            "\n        while True: print('x' * 65536)", "printed a line that is not JSON", marks=pytest.mark.night
        ),
        pytest.param(
            "\n        while True: sys.stdout.write('x' * 65536)",
            "printed a line of more than",
            marks=pytest.mark.night,
        ),
    ],
)
def test_a_program_that_misbehaves_fails_where_it_does_and_goes_on(
    conform: Conform, faulty: Program, does: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_module, "LONGEST_LINE", 2**20)
    done = conform(*ONE, "--json", "--time-limit", 1, "--start-limit", 30, "--", *faulty(WHERE.format(does)))
    assert done.returncode == 1
    (version,) = plain(done.stdout)["versions"]
    assert version["failed"] == {"required": 2, "recommended": 0}
    assert version["passed"] > 80
    assert version["smallest"]["id"] == "HeartbeatRequest:4:groupId:cut-before"
    assert says in version["smallest"]["reason"]


def test_a_program_that_says_nothing_is_not_waited_for() -> None:
    silent = "import json, time; print(json.dumps({'id': json.loads(input())['id']}), flush=True); time.sleep(60)"
    program = program_module.Program([sys.executable, "-c", silent], limit=0.1)
    try:
        program.hello()
        _, answer = next(program.ask([program_module.Question("Any", {})]))
    finally:
        program.close()
    assert answer == program_module.Death("no answer within 0.1 s")


def test_a_program_that_always_dies_is_left_alone_after_some_deaths(conform: Conform, faulty: Program) -> None:
    done = conform(*ONE, "--json", "--", *faulty('if question["op"] != "hello": sys.exit(1)'))
    assert done.returncode == 1
    (version,) = plain(done.stdout)["versions"]
    assert version["passed"] == 0
    assert version["failed"]["required"] > 80
    assert "failed to answer" in version["smallest"]["reason"] or "status 1" in version["smallest"]["reason"]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("sys.exit(4)", "no valid answer to hello: ended with status 4"),
        ('del said["ops"]', "its answer to hello has no 'ops'"),
        ('said["ops"] = ["fly"]', "ops must be some of decode, encode, reencode"),
        (
            'said["claims"] = {"message": {"A": [0, 1e400]}}',
            "its answer to hello is wrong: the versions of A are [0, inf]",
        ),
        ('said["claims"] = {"letter": {}}', "unknown form 'letter'"),
        ('said["claims"] = {}', "no vectors to check"),
    ],
)
def test_a_program_that_cannot_be_asked_is_an_error(conform: Conform, faulty: Program, fault: str, says: str) -> None:
    done = conform(*ONE, "--", *faulty(fault))
    assert done.returncode == 2
    assert says in done.stderr


def test_a_program_that_is_not_there_is_an_error(conform: Conform) -> None:
    done = conform("--", "./no-such-program")
    assert done.returncode == 2
    assert "./no-such-program cannot be started: No such file or directory" in done.stderr


def test_vectors_that_are_not_there_are_an_error(conform: Conform, kipwire: Sequence[str], tmp_path: Path) -> None:
    done = conform("--vectors", tmp_path, "--", *kipwire)
    assert done.returncode == 2
    assert "has no index.json; give a folder written by kipgen vectors" in done.stderr


def test_tagged_fields_at_their_defaults_may_be_there() -> None:
    tagged = {"a": 1, "b.c": None}
    assert without_defaults({"a": 1, "b": [{"c": None, "d": 2}]}, tagged) == {"b": [{"d": 2}]}
    assert without_defaults({"a": 2, "b": {"c": 0}}, tagged) == {"a": 2, "b": {"c": 0}}
    assert Index(0, "x", {"M": {3: tagged}}).tagged("M", 3) == tagged
    assert Index(0, "x", {}).tagged("M", 3) == {}


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [(1, 1.0, True), (1, True, False), (0, False, False), (None, None, True), ([], {}, False), ([1], [1, 2], False)],
)
def test_json_values_are_compared_as_numbers_are_meant(one: Any, other: Any, is_same: bool) -> None:
    assert same_json(one, other) is is_same
    assert same_json({"a": [one]}, {"a": [other]}) is is_same


@pytest.mark.parametrize(
    ("given", "expected", "says"),
    [
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1] is 2, not 3"),
        ({}, {"a": 1}, "a is missing"),
        ({"a": 1, "z": 1}, {"a": 1}, "z is unexpected"),
        ({"a": []}, {"a": [1]}, "a has 0 elements, not 1"),
        ([], 3, "it is ..., not 3"),
    ],
)
def test_the_first_difference_is_named(given: Any, expected: Any, says: str) -> None:
    assert difference(given, expected) == says


@pytest.mark.parametrize("count", [10_000, 30_000])
def test_an_answer_that_is_much_longer_than_the_right_one_is_not_read(count: int) -> None:
    says = f"print(json.dumps({{'id': json.loads(input())['id'], 'json': [[]] * {count}}}), flush=True)"
    hello = "import json\nprint(json.dumps({'id': json.loads(input())['id']}), flush=True)\n"
    program = program_module.Program([sys.executable, "-c", hello + says], limit=30)
    try:
        program.hello()
        _, answer = next(program.ask([program_module.Question("Any", {}, message=({"a": 1}, 4))]))
    finally:
        program.close()
    if count == 10_000:
        assert answer == {"id": 2, "json": [[]] * count}
    else:
        assert answer == program_module.Death("printed an answer of 120019 bytes, where 65856 are more than enough")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"ops": "decode"}, "ops must be some of decode, encode"),
        ({"ops": [{}]}, "ops must be some of decode, encode"),
        ({"ops": []}, "ops must be some of decode, encode"),
        ({"name": 5}, "name is 5; write text"),
        ({"release": [1]}, "release is a list; write text"),
        ({"claims": [1]}, "claims is a list; write an object of messages by form"),
        ({"claims": {"message": 3}}, "claims of message is 3; write an object"),
        *(
            (
                {"claims": {"message": {"A": ends}}},
                f"the versions of A are {shown}; write the lowest and the highest version as [0, 3]",
            )
            for ends, shown in (
                ([0, float("inf")], "[0, inf]"),
                ([0.5, 1], "[0.5, 1]"),
                ([0], "a list"),
                (5, "5"),
                ("ab", "'ab'"),
                ([0, True], "[0, true]"),
                ([0, 2**15], "[0, 32768]"),
                ([0, 10**5000], "[0, a number of many digits]"),
                ([None, [1]], "[null, a list]"),
            )
        ),
    ],
)
def test_wrong_answers_to_hello_are_refused_in_words_of_json(answer: dict[str, Any], says: str) -> None:
    right = {"name": "x", "ops": ["decode"], "claims": {"message": {"A": [0, 2**15 - 1], "B": [0, -1]}}}
    assert Claims.of_answer(right).versions == {"message": {"A": range(2**15), "B": range(0)}}
    with pytest.raises(program_module.ProgramError, match=f"its answer to hello is wrong: {re.escape(says)}"):
        Claims.of_answer(right | answer)


def _any_json(choice: random.Random, depth: int = 3) -> Any:
    if not depth or choice.random() < 0.4:
        return choice.choice([None, True, 0, -1, 7, 0.5, float("nan"), float("inf"), 10**5000, "", "decode", "x" * 999])
    values = [_any_json(choice, depth - 1) for _ in range(choice.randrange(4))]
    keys = choice.sample(["message", "frame", "A", ""], len(values))
    return choice.choice([values, dict(zip(keys, values, strict=True))])


def test_any_answer_to_hello_is_taken_or_refused_and_no_fault_of_python() -> None:
    choice = random.Random(3)
    right = {"name": "x", "ops": ["decode"], "claims": {}}
    for key in 200 * ("name", "ops", "claims"):
        try:
            Claims.of_answer(right | {key: _any_json(choice)})
        except program_module.ProgramError as error:
            assert re.match(f"its answer to hello is wrong: ({key}|the versions of|unknown form)", str(error))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": float("inf")}, "is not a vector: inf is not a whole number"),
        ({"version": 1.5}, "is not a vector: 1.5 is not a whole number"),
        ({"bytes": "0"}, "is not a vector: '0' is not hex text"),
        ({"bytes": []}, "is not a vector: a list is not hex text"),
        ({"unknown": 3}, "is not a vector: 3 is not a list"),
        ({"kind": {}}, "is not a vector: an object must be one of valid"),
    ],
)
def test_lines_that_are_no_vectors_are_refused_in_words_of_json(change: dict[str, Any], says: str) -> None:
    line = {"id": "a", "message": "A", "version": 0, "kind": "refuse", "level": "required", "origin": "spec"}
    line |= {"field": "f", "case": "c", "bytes": "00"}
    assert Vector.of_line(json.dumps(line), "a:1").data == b"\0"
    with pytest.raises(VectorError, match=re.escape(says)):
        Vector.of_line(json.dumps(line | change), "a:1")
    with pytest.raises(VectorError, match=r"a: is not the index of a folder of vectors: inf is not a whole number"):
        Index.of_text('{"format": 1, "seed": 1e400, "specs": "", "messages": {}}', "a")
