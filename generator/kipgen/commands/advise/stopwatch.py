"""Stopwatch of `kipgen advise --times`, a program of its own: the generator never runs the code that it generated.

    python -P -m kipgen.commands.advise.stopwatch FOLDER < plan > times

FOLDER has a generated package for each form of one message, that is the same fields in other encodings. The plan on the
standard input is the JSON of `times.plan_of`, and the output the JSON of a `Measured`. All forms are timed in this
one process with the same values. A sample of time is a run of passes over all messages; in every round each form gives
one sample right after the other, and every other round goes backwards, so that a noisy moment affects all alike.
"""

from __future__ import annotations

import json
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple, TypedDict

from kipwire import KipwireError, Message, convert, native
from kipwire.tools import io

# Processor time, in which other programs have no part; where its clock ticks too slowly for a sample, time by the wall.
_clock = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-4 else time.perf_counter


class Plan(TypedDict):
    """Task of the stopwatch."""

    forms: list[str]
    """The packages in the folder."""
    module: str
    """The message's module in each package."""
    class_name: str
    lowest: int
    """The lowest version that the packages have."""
    version: int
    """The highest version, which is timed."""
    rounds: int
    seconds: float
    """Length of a sample of time."""
    messages: list[tuple[int, str]]
    """Messages to time: version and bytes, the latter in base64."""


class Form(TypedDict):
    """Measurements of one form; times are in seconds a message, one for each round."""

    bytes: int
    """Bytes of all messages."""
    encode: list[float]
    decode: list[float]


class Measured(TypedDict):
    """Answer of the stopwatch."""

    kernel: bool
    """True if the compiled kernel does the work."""
    messages: int
    """Messages that were timed."""
    left_out: list[str]
    """Reasons why others could not be."""
    forms: dict[str, Form]


class _Subject(NamedTuple):
    cls: type[Message]
    messages: list[Message]
    data: list[bytes]


def measure(plan: Plan) -> Measured:
    """Measure the messages of a plan in all its forms."""
    left_out: list[str] = []
    subjects = {form: _Subject(_class_of(plan, form, plan["version"]), [], []) for form in plan["forms"]}
    for version, data in plan["messages"]:
        if not plan["lowest"] <= version <= plan["version"]:
            left_out.append(f"the spec has no version {version}")
            continue
        try:
            same = [_message(plan, form, version, b64decode(data)) for form in plan["forms"]]
            encoded = [message.encode() for message in same]
        except KipwireError as error:
            left_out.append(str(error))
            continue
        for subject, message, data_of_form in zip(subjects.values(), same, encoded, strict=True):
            subject.messages.append(message)
            subject.data.append(data_of_form)
    _check_same(subjects)
    count = len(plan["messages"]) - len(left_out)
    encode, decode = (
        sample_rounds({form: function(subject) for form, subject in subjects.items()}, plan["rounds"], plan["seconds"])
        for function in (_encoder, _decoder)
    )
    forms: dict[str, Form] = {
        form: {
            "bytes": sum(map(len, subject.data)),
            "encode": [seconds / count for seconds in encode[form]] if count else [],
            "decode": [seconds / count for seconds in decode[form]] if count else [],
        }
        for form, subject in subjects.items()
    }
    kernel = native.kernel is not None and all(native.kernel.serves(subject.cls) for subject in subjects.values())
    return {"kernel": kernel, "messages": count, "left_out": left_out, "forms": forms}


def _class_of(plan: Plan, form: str, version: int) -> type[Message]:
    found: type[Message] = getattr(import_module(f"{form}.{plan['module']}.v{version}"), plan["class_name"])
    return found


def _message(plan: Plan, form: str, version: int, data: bytes) -> Message:
    """Decode a message, and convert it to the version that is timed."""
    return convert(_class_of(plan, form, version).decode(data), _class_of(plan, form, plan["version"]))


def _check_same(subjects: Mapping[str, _Subject]) -> None:
    """Check that all forms carry the same values: times of other contents would compare nothing."""
    for same in zip(*(subject.messages for subject in subjects.values()), strict=True):
        read = [json.dumps(type(message).decode(message.encode()).to_json()) for message in same]
        if len(set(read)) > 1:
            raise AssertionError(f"the encodings carry other values: {' and '.join(text[:200] for text in read)}")


def _encoder(subject: _Subject) -> Callable[[], object]:
    encode, messages = subject.cls.encode, subject.messages

    def encode_all() -> None:
        for message in messages:
            encode(message)

    return encode_all


def _decoder(subject: _Subject) -> Callable[[], object]:
    decode, data = subject.cls.decode, subject.data

    def decode_all() -> None:
        for one in data:
            decode(one)

    return decode_all


def sample_rounds(functions: dict[str, Callable[[], object]], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Measure the seconds of a call of each function, one sample a round."""
    samples: dict[str, list[float]] = {name: [] for name in functions}
    with io.no_garbage_collection():
        calls = {name: calls_for(function, seconds) for name, function in functions.items()}
        for number in range(rounds):
            for name in reversed(functions) if number % 2 else functions:
                samples[name].append(time_of(functions[name], calls[name]))
    return samples


def calls_for(function: Callable[[], object], seconds: float) -> int:
    """Find the number of calls that take some seconds; at least one."""
    calls = 1
    while (taken := time_of(function, calls) * calls) < seconds / 4:
        calls *= 4
    return max(1, round(calls * seconds / taken))


def time_of(function: Callable[[], object], calls: int) -> float:
    """Measure the seconds of a call, over a number of calls in a row."""
    repeat = range(calls)
    start = _clock()
    for _ in repeat:
        function()
    return (_clock() - start) / calls


def main() -> None:
    """Run the program."""
    sys.path.insert(0, sys.argv[1])
    plan: Any = json.load(sys.stdin)
    json.dump(measure(plan), sys.stdout)


if __name__ == "__main__":
    main()
