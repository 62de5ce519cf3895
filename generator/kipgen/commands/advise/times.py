"""Times of encoding and decoding samples as their fields are and as advised: the costs beside the bytes (KIP-625).

The next version of the message is generated twice into a temporary folder: with the encodings that it has if nothing is
changed, and with the advised ones. `stopwatch`, a program of its own, converts the samples to it and times both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from kipgen.commands.advise.savings import Advice
from kipgen.commands.advise.stopwatch import Form, Measured, Plan
from kipgen.language.names import class_name, module_name
from kipgen.language.spec import FieldSpec, MessageSpec
from kipgen.language.versions import Versions
from kipgen.python.render import render_message
from kipgen.resolve.headers import HeaderVersions

ROUNDS = 15
SECONDS = 0.02
"""Length of a sample of time. Each form gives one a round for encoding, and one for decoding."""

NOW, ADVISED = "now", "advised"
"""The forms, which are the names of their packages, too."""

STOPWATCH = "kipgen.commands.advise.stopwatch"
"""The program that measures."""


class TimesError(ValueError):
    """Times cannot be measured; the text is the reason."""


@dataclass(frozen=True, slots=True)
class FormTimes:
    """Measurements of one form."""

    bytes: int
    """Bytes of all messages that were timed."""
    encode: float
    """Median seconds to encode a message."""
    decode: float
    """Median seconds to decode one message."""


@dataclass(frozen=True, slots=True)
class Times:
    """Times of the samples in the next version."""

    messages: int
    """Number of messages that were timed."""
    left_out: tuple[str, ...]
    """Reasons why other messages were not timed: their content cannot be carried over to the next version."""
    kernel: bool
    """True if the compiled kernel did the work, not plain Python."""
    now: FormTimes
    advised: FormTimes
    encode_ratio: float
    """Median over the rounds of the ratio of the advised form to the present one in the same round."""
    decode_ratio: float


def measure_times(advice: Advice, samples: Sequence[tuple[int, bytes]]) -> Times:
    """Measure the times of samples under the advice, which must change something.

    Args:
        advice: all advice on one message.
        samples: versions and bytes of messages.

    Raises:
        TimesError: none of the samples can be carried over to the next version, or the stopwatch broke off.
    """
    with TemporaryDirectory(prefix="kipgen-") as folder:
        for form, spec in zip((NOW, ADVISED), forms_of(advice), strict=True):
            for path, code in render_message(spec, HeaderVersions(), Path(advice.spec.location.file).name).items():
                file = Path(folder, form, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(code, encoding="utf-8")
        measured = run_stopwatch(folder, plan_of(advice, samples))
    if not measured["messages"]:
        reason = f": {measured['left_out'][0]}" if measured["left_out"] else ""
        raise TimesError(f"no sample can be carried over to version {advice.next_version}, to time it there{reason}")
    now, advised = (measured["forms"][form] for form in (NOW, ADVISED))
    return Times(
        messages=measured["messages"],
        left_out=tuple(measured["left_out"]),
        kernel=measured["kernel"],
        now=_form_times(now),
        advised=_form_times(advised),
        encode_ratio=_ratio(advised["encode"], now["encode"]),
        decode_ratio=_ratio(advised["decode"], now["decode"]),
    )


def forms_of(advice: Advice) -> tuple[MessageSpec, MessageSpec]:
    """Extend the spec by the next version: as its fields are, and with the advised encodings."""
    versions = Versions(advice.spec.valid_versions.lowest, advice.next_version)
    now = replace(advice.spec, valid_versions=versions, served_versions=versions)
    encodings = {one.field: one.encodings for one in advice.fields if one.encodings}

    def advised(fields: tuple[FieldSpec, ...]) -> tuple[FieldSpec, ...]:
        return tuple(replace(field, encodings=encodings.get(field, field.encodings)) for field in fields)

    structs = tuple(replace(struct, fields=advised(struct.fields)) for struct in now.structs)
    return now, replace(now, fields=advised(now.fields), structs=structs)


def plan_of(advice: Advice, samples: Sequence[tuple[int, bytes]]) -> Plan:
    """Make the task of the stopwatch."""
    return {
        "forms": [NOW, ADVISED],
        "module": module_name(advice.spec.name),
        "class_name": class_name(advice.spec.name),
        "lowest": advice.spec.valid_versions.lowest,
        "version": advice.next_version,
        "rounds": ROUNDS,
        "seconds": SECONDS,
        "messages": [(version, b64encode(data).decode()) for version, data in samples],
    }


def run_stopwatch(folder: str, plan: Plan) -> Measured:
    """Measure the packages in a folder by a process of its own.

    Raises:
        TimesError: the process broke off.
    """
    # -P: what lies in the current folder must not be imported in place of a module that the stopwatch needs.
    command = [sys.executable, "-P", "-m", STOPWATCH, folder]
    done = subprocess.run(command, input=json.dumps(plan).encode(), capture_output=True, check=False)
    if done.returncode:
        fault = done.stderr.decode(errors="replace").strip().splitlines()
        raise TimesError(f"the stopwatch broke off: {fault[-1] if fault else f'exit status {done.returncode}'}")
    measured: Measured = json.loads(done.stdout)
    return measured


def _form_times(form: Form) -> FormTimes:
    return FormTimes(form["bytes"], median(form["encode"]), median(form["decode"]))


def _ratio(samples: Sequence[float], base: Sequence[float]) -> float:
    return median(one / other for one, other in zip(samples, base, strict=True))
