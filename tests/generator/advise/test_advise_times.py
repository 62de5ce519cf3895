"""`kipgen advise --times`: what is timed are the samples in both forms, as generated classes write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
from kafka_messages.metadata_request.v4 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v13 import MetadataResponse
from kipgen.commands.advise import samples, stopwatch, times
from kipgen.commands.advise.savings import Advice, advise
from kipgen.commands.advise.times import TimesError, measure_times
from kipgen.python.render import render_message
from kipgen.reading.check import read_file
from kipgen.resolve.headers import HeaderVersions
from kipwire import convert, native
from kipwire.drafts.kip_625 import count_all
from tests.support.places import DATA
from tests.support.spec_package import classes_of
from tests.support.subjects.advice import CAPTURE, METADATA, SPECS, as_json, captured, changed_spec, run

NEXT = 14


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "ROUNDS", 3)
    monkeypatch.setattr(times, "SECONDS", 1e-4)


def test_what_is_timed_has_the_bytes_that_generated_classes_write(tmp_path: Path) -> None:
    result = as_json(METADATA, "--samples", CAPTURE, "--times")
    measured = result["times"]
    assert (measured["messages"], measured["left_out"], measured["kernel"]) == (53, [], native.in_use)
    sent = [
        kafka_messages.decode_response(frame, 3, entry["api_version"])[1].encode()
        for entry, frame in captured("MetadataResponse")
    ]
    for form, fields in (("now", []), ("advised", result["fields"])):
        classes = classes_of(changed_spec(METADATA, fields, NEXT), f"timed_{form}", tmp_path)
        written = [convert(classes[13].decode(data), classes[NEXT]).encode() for data in sent]
        assert measured[form]["bytes"] == sum(map(len, written))
        assert min(measured[form]["encode"], measured[form]["decode"]) > 0
    assert measured["now"]["bytes"] - measured["advised"]["bytes"] == result["saved_with_extension"] > 0
    assert min(measured["encode_ratio"], measured["decode_ratio"]) > 0


def one_sample(folder: Path) -> Path:
    """Write a message of version 13 as a line of JSON."""
    file = folder / "one.jsonl"
    file.write_text(json.dumps({"version": 13, "message": MetadataResponse(controller_id=7).to_json()}))
    return file


def test_text_has_the_times_and_what_they_are_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Any] = []

    def answer(folder: str, plan: stopwatch.Plan) -> stopwatch.Measured:
        given.append(plan)
        return {
            "kernel": False,
            "messages": 52,
            "left_out": ["a: is lost"],
            "forms": {
                "now": {"bytes": 7, "encode": [1e-6, 2e-6, 10e-6], "decode": [5e-6] * 3},
                "advised": {"bytes": 5, "encode": [2e-6, 2e-6, 30e-6], "decode": [4e-6] * 3},
            },
        }

    monkeypatch.setattr(times, "run_stopwatch", answer)
    lines = run(METADATA, "--samples", one_sample(tmp_path), "--times").stdout.splitlines()
    rows = [line.split() for line in lines]
    # The ratio is of times of the same round, where a moment of noise affects both.
    assert "encode 2.00 µs 2.00 µs 2.00".split() in rows
    assert "decode 5.00 µs 4.00 µs 0.80".split() in rows
    assert "By plain Python: medians over 52 messages spread over the samples." in lines
    assert "not timed: 1 message that version 14 cannot carry: a: is lost" in lines
    assert [version for version, _ in given[0]["messages"]] == [13] and given[0]["version"] == NEXT


def test_nothing_is_timed_where_nothing_should_change() -> None:
    result = as_json(SPECS / "ApiVersionsRequest.json", "--samples", CAPTURE, "--times")
    assert result["saved_with_extension"] == 0
    assert result["times"] is None


@pytest.mark.parametrize("arguments", [[METADATA, "--tags"], [SPECS, "--tags"], [SPECS]])
def test_times_are_of_one_message_and_of_encodings_alone(arguments: list[object]) -> None:
    done = run(*arguments, "--times", "--samples", CAPTURE)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "kipgen: --times compares encodings of one message: give its spec, without --tags\n"


def test_records_of_segments_are_timed() -> None:
    result = as_json("OffsetCommitValue", "--samples", DATA / "segments" / "__consumer_offsets-3", "--times")
    measured = result["times"]
    assert (measured["messages"], measured["left_out"], result["samples"]["messages"]) == (9, [], 9)
    assert measured["now"]["bytes"] - measured["advised"]["bytes"] == result["saved"] > 0


NARROW = """{"name": "Sample", "type": "data", "validVersions": "0-3", "flexibleVersions": "none", "fields": [
   {"name": "Alpha", "type": "int64", "versions": "0+", "encoding": {"0-3": "fixed64", "4+": "packed16"}},
   {"name": "Beta", "type": "int32", "versions": "0+"}]}"""


def narrow_advice(folder: Path, name: str, values: list[int]) -> tuple[Advice, list[tuple[int, bytes]]]:
    """Advise on numbers of which those beyond 16 bits cannot be in version 4, as the spec has it so far."""
    file = folder / "Sample.json"
    file.write_text(NARROW)
    checked = read_file(file)
    assert checked.spec is not None
    sample = classes_of(NARROW, name, folder)[3]
    messages = [sample(alpha=value, beta=1) for value in values]
    return advise(checked.spec, count_all(messages)), [(3, message.encode()) for message in messages]


def test_messages_that_the_next_version_cannot_carry_are_left_out_with_the_reason(tmp_path: Path) -> None:
    advice, given = narrow_advice(tmp_path, "timed_narrow", [1, 2**20, 2])
    measured = measure_times(advice, [*given, (9, given[0][1])])
    assert measured.messages == 2
    assert measured.now.bytes == 2 * (1 + 4) and measured.advised.bytes == 2 * (1 + 1)
    lost, unknown = measured.left_out
    assert "alpha" in lost and "1048576" in lost
    assert unknown == "the spec has no version 9"
    with pytest.raises(TimesError, match=r"no sample can be carried over to version 4, to time it there: .*alpha"):
        measure_times(advice, given[1:2])


def test_a_stopwatch_that_breaks_off_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(times, "STOPWATCH", "kipgen.no_such_module")
    done = run(METADATA, "--samples", one_sample(tmp_path), "--times")
    assert done.exit_code == 2
    assert "the stopwatch broke off: " in done.stderr and "no_such_module" in done.stderr


@pytest.mark.parametrize(("other", "is_same"), [("Beta", True), ("Gamma", False)])
def test_forms_with_other_values_are_not_compared(other: str, is_same: bool, tmp_path: Path) -> None:
    names = [f"form_{number}_of_{other.lower()}" for number in range(2)]
    for name, text in zip(names, (NARROW, NARROW.replace("Beta", other)), strict=True):
        file = tmp_path / f"{name}.json"
        file.write_text(text)
        spec = read_file(file).spec
        assert spec is not None
        for path, code in render_message(spec, HeaderVersions(), file.name).items():
            target = tmp_path / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(code)
    plan: stopwatch.Plan = {
        "forms": names,
        "module": "sample",
        "class_name": "Sample",
        "lowest": 0,
        "version": 3,
        "rounds": 2,
        "seconds": 1e-5,
        "messages": [(0, "AAAAAAAAAAcAAAAB")],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        if is_same:
            measured = stopwatch.measure(plan)
            assert [len(form["encode"]) for form in measured["forms"].values()] == [2, 2]
        else:
            with pytest.raises(AssertionError, match="the encodings carry other values"):
                stopwatch.measure(plan)


def test_each_round_has_every_form_and_every_other_one_goes_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def timed(function: Callable[[], str], calls: int) -> float:
        order.append(function())
        return 1e-6 * len(order)

    monkeypatch.setattr(stopwatch, "time_of", timed)
    monkeypatch.setattr(stopwatch, "calls_for", lambda function, seconds: 1)
    found = stopwatch.sample_rounds({"a": lambda: "a", "b": lambda: "b"}, rounds=4, seconds=1)
    assert "".join(order) == "abbaabba"
    assert found == {
        name: pytest.approx([1e-6 * number for number, one in zip(count(1), order, strict=False) if one == name])
        for name in "ab"
    }


def request(topic: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=topic)])


def topic_of(data: bytes) -> str:
    [topic] = MetadataRequest.decode(data).topics or []
    return topic.name


def test_messages_to_time_are_spread_evenly_over_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_TIMED", 8)
    for number in (0, 1, 7, 8, 9, 16, 17, 33, 100, 257):
        timed = samples.Timed()
        for value in range(number):
            timed.add(request(str(value)))
        kept = [int(topic_of(data)) for _, data in timed.messages]
        step = kept[1] - kept[0] if len(kept) > 1 else 1
        assert kept == [*range(0, number, step)]
        assert len(kept) <= 8 and (number <= 8 or len(kept) > 4)
    monkeypatch.setattr(samples, "MOST_TIMED_BYTES", 10)
    timed = samples.Timed()
    for _ in range(5):
        timed.add(request("x" * 100))
    assert len(timed.messages) == 1
