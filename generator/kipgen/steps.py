"""Between layout and templates: the steps in which straight-line Python reads and writes a struct.

Neighbouring values of a fixed width become one call of the `struct` module, together with the length or the count
that follows them. What remains are the values of no fixed width, one step each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kipgen.layout import FieldLayout
from kipwire.types import TYPES

CODES = {row.name: row.code for row in TYPES.values() if row.code}
"""The code of each fixed-width type in the format of the `struct` module; bool and uuid need a conversion besides."""

WIDTHS = {"x": 1, **{row.code: row.width for row in TYPES.values() if row.code}}
"""Bytes by such a code; `x` is a byte of no value."""

_CONVERTED = ("bool", "uuid")

_CLASSIC_PREFIX = {"string": "h", "bytes": "i", "records": "i"}

SHARED_KINDS = ("structs", "texts", "blobs")
"""Arrays that functions of the runtime read and write from their counts on."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One value of a run: a field, or (`field` is None) the length or count of the step that follows.

    The code `x` is a byte of no value: an empty tag section that is written.
    """

    code: str
    field: FieldLayout | None = None

    @property
    def conversion(self) -> str | None:
        """`bool` or `uuid` where the unpacked value is not yet the attribute's."""
        kind = self.field.type.element if self.field else None
        return kind if kind in _CONVERTED else None


@dataclass(frozen=True, slots=True)
class Run:
    """Values of a fixed width that stand side by side."""

    slots: tuple[Slot, ...]

    @property
    def format(self) -> str:
        """The codes of all values, such as `hiii`."""
        return "".join(slot.code for slot in self.slots)

    @property
    def width(self) -> int:
        return sum(WIDTHS[slot.code] for slot in self.slots)

    @property
    def is_one_byte(self) -> bool:
        """Whether it is a single unsigned byte, which needs no unpacking."""
        return self.format == "B"


@dataclass(frozen=True, slots=True)
class Varints:
    """Integers that are varints (KIP-625): one, or several plain ones side by side, which mostly have one byte each."""

    form: str
    """`packed` or `upacked`."""
    fields: tuple[FieldLayout, ...]

    @property
    def format(self) -> str:
        """The `struct` codes of as many single bytes."""
        return "B" * len(self.fields)

    @property
    def bits(self) -> tuple[int, ...]:
        """The width of each."""
        return tuple(field.encoding.bits for field in self.fields if field.encoding is not None)

    def joined(self, form: str, field: FieldLayout) -> Varints | None:
        """With one more; None if it has to stand by itself, as zigzag varints do, which gain nothing from company."""
        return Varints(form, (*self.fields, field)) if form == self.form == "upacked" else None


@dataclass(frozen=True, slots=True)
class Step:
    """What to do with one field of no fixed width, or with the tag section (`field` is None)."""

    kind: str
    """`text`, `blob`, `array` (of what has a fixed width or is a varint), `structs`, `texts`, `blobs`, `nested`,
    `tags`, or `lone_tags` where no run before has read their first byte."""
    field: FieldLayout | None

    @property
    def own_prefix(self) -> str | None:
        """The `struct` code of a classic length or count that is written by itself, since there may be null."""
        if self.field is None or not self.field.nullable or self.field.compact or self.kind in SHARED_KINDS:
            return None
        return None if self.kind == "nested" else _prefix_code(self.field)


@dataclass(frozen=True, slots=True)
class WriteStep:
    """What to write for one field of no fixed width, after the fixed ones before it."""

    step: Step | Varints | None
    """None where only a run is left."""
    run: Run | None
    """The fixed values before it, a classic length or count included; a varint is written by itself."""


ReadStep = Run | Varints | Step


def read_steps(fields: Sequence[FieldLayout], *, tag_section: bool) -> tuple[ReadStep, ...]:
    """The steps that read these fields one after the other; every run takes in the prefix behind it."""
    steps: list[ReadStep] = []
    slots: list[Slot] = []

    def close_run() -> None:
        if slots:
            steps.append(Run(tuple(slots)))
            slots.clear()

    for field in fields:
        code = fixed_code(field)
        if code is not None:
            slots.append(Slot(code, field))
            continue
        form = _varint_form(field)
        if form is not None:
            close_run()
            joined = steps[-1].joined(form, field) if steps and isinstance(steps[-1], Varints) else None
            if joined:
                steps[-1] = joined
            else:
                steps.append(Varints(form, (field,)))
            continue
        prefix = _prefix_code(field)
        if prefix is not None:
            slots.append(Slot(prefix))
        close_run()
        steps.append(_step_of(field))
    if tag_section and slots:
        slots.append(Slot("B"))
        close_run()
        steps.append(Step("tags", None))
    elif tag_section:
        steps.append(Step("lone_tags", None))
    close_run()
    return tuple(steps)


def write_steps(fields: Sequence[FieldLayout], *, tag_section: bool) -> tuple[WriteStep, ...]:
    """The steps that write these fields one after the other; a run takes in a classic length or count after it."""
    steps: list[WriteStep] = []
    slots: list[Slot] = []
    for field in fields:
        code = fixed_code(field)
        if code is not None:
            slots.append(Slot(code, field))
            continue
        form = _varint_form(field)
        if form is not None:
            last = steps[-1] if steps and not slots else None
            joined = last.step.joined(form, field) if last and isinstance(last.step, Varints) else None
            if last and joined:
                steps[-1] = WriteStep(joined, last.run)
            else:
                steps.append(WriteStep(Varints(form, (field,)), Run(tuple(slots)) if slots else None))
                slots.clear()
            continue
        step, prefix = _step_of(field), _prefix_code(field)
        if prefix in ("h", "i") and not field.nullable and step.kind not in SHARED_KINDS:
            slots.append(Slot(prefix))
        steps.append(WriteStep(step, Run(tuple(slots)) if slots else None))
        slots.clear()
    if tag_section:
        steps.append(WriteStep(Step("tags", None), Run((*slots, Slot("x"))) if slots else None))
    elif slots:
        steps.append(WriteStep(None, Run(tuple(slots))))
    return tuple(steps)


def fixed_code(field: FieldLayout) -> str | None:
    """The `struct` code of a field that always takes the same number of bytes, else None."""
    if field.type.is_array:
        return None
    return CODES[field.type.element] if field.type.element in _CONVERTED else number_code(field)


def number_code(field: FieldLayout) -> str | None:
    """The `struct` code of a number of fixed width, or of an array's elements, else None."""
    if field.encoding is not None:
        return CODES[f"int{field.encoding.bits}"] if field.encoding.form == "fixed" else None
    return None if field.type.element in _CONVERTED else CODES.get(field.type.element)


def _varint_form(field: FieldLayout) -> str | None:
    """The form of a single integer that is a varint, else None."""
    if field.type.is_array or field.encoding is None or field.encoding.form == "fixed":
        return None
    return field.encoding.form


def _step_of(field: FieldLayout) -> Step:
    if field.type.is_array:
        shared = {"string": "texts", "bytes": "blobs", "records": "blobs"}.get(field.type.element)
        return Step("structs" if field.type.has_struct else shared or "array", field)
    if field.type.has_struct:
        return Step("nested", field)
    return Step("text" if field.type.element == "string" else "blob", field)


def _prefix_code(field: FieldLayout) -> str | None:
    """The `struct` code of what stands before a value of no fixed width, its first byte if that is a varint."""
    if field.type.is_struct:
        return "B" if field.nullable else None
    if field.type.is_array:
        return "B" if field.compact else "i"
    return "B" if field.compact else _CLASSIC_PREFIX[field.type.element]
