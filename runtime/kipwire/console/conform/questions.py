"""From vectors to what a program is asked, and from its answers to verdicts.

A verdict depends on the vector, the operation and the answer alone. What several readers do differently without being
wrong is allowed for here: tagged fields at their defaults that are written or left out, and arrays without an order if
the program claims none. A crash, a time-out or an answer of no known form is a failure of the level `required`,
whatever the vector's own level is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from kipwire.conformance.vectors import VECTOR_FORMS, Index, Level, Vector, same_json, without_defaults
from kipwire.console.conform.program import Answer, Death, ProgramError, Question
from kipwire.tools.text import cut, json_words, printable_line

Op = Literal["decode", "encode", "reencode", "accept"]
Outcome = Literal["passed", "failed", "skipped"]

OPS: tuple[Op, ...] = ("decode", "encode", "reencode", "accept")
_RESULTS: dict[Op, str] = {"decode": "json", "encode": "bytes", "reencode": "bytes", "accept": "accepted"}
"""The key of a result in an answer."""
_SHOWN = 160
_HIGHEST_VERSION = 2**15 - 1


@dataclass(frozen=True, slots=True)
class Claims:
    """Abilities that a program claims."""

    name: str
    release: str
    ops: frozenset[Op]
    versions: Mapping[str, Mapping[str, range]]
    """The versions of each message, by the form of vectors."""
    keeps_order: bool = True
    """True if arrays that it reads and writes keep their order; else written bytes are compared without order."""

    def has(self, vector: Vector) -> bool:
        """True if the program claims the vector's message and version."""
        return vector.version in self.versions.get(vector.form, {}).get(vector.message, range(0))

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any]) -> Claims:
        """Parse the claims in an answer to `hello`.

        Raises:
            ProgramError: it is not such an answer.
        """
        for key in ("name", "ops", "claims"):
            if key not in answer:
                raise ProgramError(f"its answer to hello has no {key!r}")
        try:
            name, release = _text(answer["name"], "name"), _text(answer.get("release", ""), "release")
            keeps_order = answer.get("keeps_order", True) is not False
            return cls(name, release, _known_ops(answer["ops"]), _claimed_versions(answer["claims"]), keeps_order)
        except ValueError as error:
            raise ProgramError(f"its answer to hello is wrong: {printable_line(str(error))}") from None


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} is {json_words(value)}; write text")
    return cut(printable_line(value), _SHOWN)


def _known_ops(value: object) -> frozenset[Op]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one in OPS for one in value):
        raise ValueError(f"ops must be some of {', '.join(OPS)}, in a list")
    return cast("frozenset[Op]", frozenset(value))


def _claimed_versions(value: object) -> dict[str, dict[str, range]]:
    """Read the versions of each message, by form; `value` is anything that JSON has."""
    form = "; write an object of messages by form, with the lowest and the highest version of each"
    if not isinstance(value, dict):
        raise ValueError(f"claims is {json_words(value)}{form}")
    claimed: dict[str, dict[str, range]] = {}
    for kind, messages in value.items():
        if kind not in VECTOR_FORMS:
            raise ValueError(f"unknown form {cut(kind, _SHOWN)!r}; the forms are {', '.join(VECTOR_FORMS)}")
        if not isinstance(messages, dict):
            raise ValueError(f"claims of {kind} is {json_words(messages)}{form}")
        for name, ends in messages.items():
            is_pair = isinstance(ends, list) and len(ends) == 2
            if not is_pair or not all(type(end) is int and -1 <= end <= _HIGHEST_VERSION for end in ends):
                due = f"write the lowest and the highest version as [0, 3]; they are numbers up to {_HIGHEST_VERSION}"
                shown = f"[{', '.join(map(json_words, ends))}]" if is_pair else json_words(ends)
                raise ValueError(f"the versions of {cut(name, _SHOWN)} are {shown}; {due}")
        claimed[kind] = {name: range(low, high + 1) for name, (low, high) in messages.items()}
    return claimed


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one question."""

    vector: Vector
    op: Op
    level: Level
    outcome: Outcome
    reason: str = ""
    """Reason why it failed, or was skipped."""
    given: str = ""
    """The bytes that the program gave instead, in hex; "" where it gave none."""

    @property
    def id(self) -> str:
        """Name in lists of expected failures."""
        return f"{self.vector.id} {self.op}"


@dataclass(frozen=True, slots=True)
class _Subject:
    vector: Vector
    op: Op
    level: Level
    keeps_order: bool


def questions(vectors: Iterable[Vector], claims: Claims) -> Iterator[Question]:
    """Yield the questions about vectors that the program claims."""
    for vector in vectors:
        for op, level in _ops(vector, claims.ops):
            body: dict[str, Any] = {"op": op, "form": vector.form, "message": vector.message, "version": vector.version}
            body |= {"json": vector.json} if op == "encode" else {"bytes": vector.data.hex()}
            subject = _Subject(vector, op, level, claims.keeps_order)
            yield Question(vector.message, body, subject, (vector.json, len(vector.data)))


def _ops(vector: Vector, can: frozenset[Op]) -> Iterator[tuple[Op, Level]]:
    """Yield the operations that a vector tests.

    A program that decodes and encodes need not do both at once, but for unknown tags.
    """
    is_accepted = vector.kind in ("valid", "unknown_tags")
    if "decode" in can:
        yield "decode", vector.level
    if "encode" in can and vector.kind == "valid" and vector.is_canonical and vector.encodes is None:
        yield "encode", vector.level
    if "reencode" in can and vector.is_canonical:
        if vector.kind == "unknown_tags" or (vector.encodes is not None and "decode" in can):
            yield "reencode", "recommended"
        elif not ({"decode", "encode"} <= can) and (is_accepted or "decode" not in can):
            yield "reencode", vector.level if vector.encodes is None else "recommended"
    if "accept" in can and "decode" not in can and vector.kind != "may_refuse":
        yield "accept", vector.level


def evaluate(question: Question, answer: Answer, index: Index) -> Verdict:
    """Judge an answer."""
    subject: _Subject = question.subject
    vector, op = subject.vector, subject.op
    outcome, reason, given, level = _evaluate(subject, answer, index)
    return Verdict(vector, op, level, outcome, reason, given)


def _evaluate(subject: _Subject, answer: Answer, index: Index) -> tuple[Outcome, str, str, Level]:
    vector, op, level = subject.vector, subject.op, subject.level
    if isinstance(answer, Death):
        return "failed", answer.reason, "", "required"
    if "skipped" in answer:
        return "skipped", _abbreviate(answer["skipped"]), "", level
    is_accepted = vector.kind in ("valid", "unknown_tags")
    if "refused" in answer:
        if is_accepted:
            return "failed", f"refuses it: {_abbreviate(answer['refused'])}", "", level
        return "passed", "", "", level
    key = _RESULTS[op]
    if key not in answer:
        return "failed", f"its answer has neither {key!r} nor 'refused' nor 'skipped'", "", "required"
    if vector.kind == "refuse":
        return "failed", f"accepts it, although {vector.why}", "", level
    if op == "accept":
        if answer["accepted"] is not True:
            return "failed", f"'accepted' is {_abbreviate(answer['accepted'])}, not true", "", "required"
        return "passed", "", "", level
    if op != "decode":
        given = answer["bytes"]
        is_kept = op == "reencode" and given == vector.data.hex()  # a tagged field that was there with its default
        is_shuffled = op == "reencode" and not subject.keeps_order and _is_shuffled(given, vector)
        if vector.kind == "may_refuse" or is_kept or is_shuffled or given == vector.written.hex():
            return "passed", "", "", level
        if vector.kind == "unknown_tags":
            return "failed", "does not write the unknown tagged fields back", _hex(given), level
        return "failed", _bytes_reason(given, vector.written), _hex(given), level
    if (vector.kind == "may_refuse" and vector.json is None) or same_json(answer["json"], vector.json):
        return "passed", "", "", level
    value, due = (_without_defaults(one, vector, index) for one in (answer["json"], vector.json))
    if same_json(value, due):
        return "passed", "", "", level
    return "failed", f"reads other values: {difference(value, due)}", "", level


def _without_defaults(value: Any, vector: Vector, index: Index) -> Any:
    """Remove tagged fields at their defaults, which a program may write or leave out, from a JSON form."""
    tagged = index.tagged(vector.message, vector.version)
    if vector.form == "frame":
        return without_defaults(value, {f"body.{path}": default for path, default in tagged.items()})
    return without_defaults(value, tagged)


def _bytes_reason(given: object, expected: bytes) -> str:
    if not isinstance(given, str):
        return f"its bytes are not hex text: {_abbreviate(given)}"
    due = expected.hex()
    at = next((at for at in range(0, len(due), 2) if given[at : at + 2] != due[at : at + 2]), len(due)) // 2
    there = given[2 * at : 2 * at + 2]
    if at * 2 >= len(due):
        return f"writes {len(given) // 2} bytes, not {len(expected)}"
    return f"writes other bytes: at {at} {there or 'nothing'}, not {due[2 * at : 2 * at + 2]}"


def _is_shuffled(given: object, vector: Vector) -> bool:
    """True if a program gave the same bytes in another order."""
    return isinstance(given, str) and _is_hex(given) and sorted(bytes.fromhex(given)) == sorted(vector.written)


def _hex(given: object) -> str:
    return given if isinstance(given, str) and len(given) <= 2**17 and _is_hex(given) else ""


def _is_hex(text: str) -> bool:
    try:
        bytes.fromhex(text)
    except ValueError:
        return False
    return True


def difference(given: Any, expected: Any, path: str = "") -> str:
    """Describe the first difference of two JSON values in words."""
    if isinstance(given, dict) and isinstance(expected, dict):
        for key in expected:
            inner = f"{path}.{key}" if path else key
            if key not in given:
                return f"{inner} is missing"
            if not same_json(given[key], expected[key]):
                return difference(given[key], expected[key], inner)
        surplus = next(key for key in given if key not in expected)
        return f"{_abbreviate(f'{path}.{surplus}' if path else surplus)} is unexpected"
    if isinstance(given, list) and isinstance(expected, list):
        for number, (one, other) in enumerate(zip(given, expected, strict=False)):
            if not same_json(one, other):
                return difference(one, other, f"{path}[{number}]")
        return f"{path} has {len(given)} elements, not {len(expected)}"
    return f"{path or 'it'} is {_abbreviate(given)}, not {_abbreviate(expected)}"


def _abbreviate(value: object) -> str:
    return "..." if _is_deep(value) else cut(printable_line(value if isinstance(value, str) else repr(value)), _SHOWN)


def _is_deep(value: object) -> bool:
    """True if a value is not worth printing, since it may be of any depth."""
    return isinstance(value, (dict, list))
