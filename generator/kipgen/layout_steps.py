"""Between layout and templates, for record formats: the steps in which straight-line Python reads and writes a struct.

As in other messages, neighbouring values of a fixed width become one call of the `struct` module, together with the
size or the count that follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kipgen.layout_parts import BitsPart, ChecksumPart, ConstantPart, Part, SizePart, ValuePart
from kipgen.steps import CODES, WIDTHS
from kipgen.wire_form import REST

_UNSIGNED = {"b": "B", "h": "H", "i": "I", "q": "Q"}
_PREFIXES = {"int16": "h", "int32": "i"}


@dataclass(frozen=True, slots=True)
class Slot:
    """One number of a run."""

    code: str
    """Its code in the format of the `struct` module."""
    part: Part | None
    """What it is; None for the size or the count of the value that follows."""

    @property
    def conversion(self) -> str | None:
        """`bool` or `uuid` where the unpacked value is not yet the attribute's."""
        kind = self.part.field.type.element if isinstance(self.part, ValuePart) else None
        return kind if kind in ("bool", "uuid") else None


@dataclass(frozen=True, slots=True)
class Run:
    """Numbers of a fixed width that stand side by side."""

    slots: tuple[Slot, ...]
    kind: Literal["run"] = "run"

    @property
    def format(self) -> str:
        return "".join(slot.code for slot in self.slots)

    @property
    def width(self) -> int:
        return sum(WIDTHS[slot.code.lower()] for slot in self.slots)

    @property
    def ends_in_size(self) -> bool:
        """Whether its last number bounds the struct."""
        return isinstance(self.slots[-1].part, SizePart)


@dataclass(frozen=True, slots=True)
class Mark:
    """Remember where a checksum begins."""

    name: str
    """The part that starts there."""
    kind: Literal["mark"] = "mark"


@dataclass(frozen=True, slots=True)
class Varint:
    """An integer that is a varint: an attribute, or the size of the rest."""

    part: ValuePart | SizePart
    form: str
    """`packed` or `upacked`."""
    bits: int
    kind: Literal["varint"] = "varint"


@dataclass(frozen=True, slots=True)
class Computed:
    """A part by itself that follows from others: reading, a checksum behind what it covers; writing, each of them."""

    part: SizePart | ChecksumPart
    kind: Literal["computed"] = "computed"

    @property
    def is_size(self) -> bool:
        return isinstance(self.part, SizePart)


@dataclass(frozen=True, slots=True)
class Value:
    """A value of no fixed width."""

    part: ValuePart
    run: Run | None
    """The run before it that ends in its size or count, where there is one."""
    prefix: str | None
    """The form of its size or count where that is not part of a run; None where it is, or where there is none."""
    behind: int
    """How many bytes the parts behind it take, of a value that goes on to the end of its struct."""
    is_bounded: bool
    """Whether the size of the rest stands before it, which bounds it."""
    kind: Literal["value"] = "value"

    @property
    def takes_the_rest(self) -> bool:
        """Whether the value always goes on to the end of its struct, or to the parts of fixed width before that."""
        return self.part.size == REST and self.part.presence is None and self.part.size_only_with is None

    @property
    def shape(self) -> Literal["text", "blob", "array", "nested"]:
        """Which kind of value it is."""
        type_ = self.part.field.type
        if type_.is_array:
            return "array"
        return "nested" if type_.has_struct else "text" if type_.element == "string" else "blob"


LayoutStep = Run | Mark | Varint | Computed | Value


def read_steps(parts: Sequence[Part]) -> tuple[LayoutStep, ...]:
    """The steps that read the parts one after the other."""
    return tuple(_steps(parts, lambda part: isinstance(part, ChecksumPart) and part.is_behind))


def write_steps(parts: Sequence[Part]) -> tuple[LayoutStep, ...]:
    """The steps that write the parts one after the other; the run before a value is a part of the value's step."""
    steps = _steps(parts, lambda part: isinstance(part, SizePart | ChecksumPart))
    merged = [step.run for step in steps if isinstance(step, Value)]
    return tuple(step for step in steps if not any(step is run for run in merged))


def _steps(parts: Sequence[Part], stands_alone: Callable[[Part], bool]) -> list[LayoutStep]:
    marked = {part.start for part in parts if isinstance(part, ChecksumPart)}
    steps: list[LayoutStep] = []
    slots: list[Slot] = []

    def close_run() -> Run | None:
        run = Run(tuple(slots)) if slots else None
        slots.clear()
        if run:
            steps.append(run)
        return run

    for number, part in enumerate(parts):
        if part.name in marked:
            close_run()
            steps.append(Mark(part.name))
        code = fixed_code(part)
        if isinstance(part, SizePart | ChecksumPart) and stands_alone(part):
            close_run()
            steps.append(Computed(part))
        elif code is not None:
            slots.append(Slot(code, part))
            if isinstance(part, SizePart):
                close_run()
        elif isinstance(part, SizePart) or (isinstance(part, ValuePart) and _is_varint(part)):
            close_run()
            encoding = part.encoding if isinstance(part, SizePart) else part.field.encoding
            assert encoding is not None
            steps.append(Varint(part, encoding.form, encoding.bits))
        else:
            assert isinstance(part, ValuePart)
            form = part.count if part.size in (None, REST) else part.size
            in_run = form in _PREFIXES and part.presence is None and part.size_only_with is None
            if in_run and form is not None:
                slots.append(Slot(_PREFIXES[form], None))
            run = close_run()
            is_bounded = any(isinstance(before, SizePart) for before in parts[:number])
            behind = _width_behind(parts, number)
            steps.append(Value(part, run if in_run else None, None if in_run else form, behind, is_bounded))
    close_run()
    return steps


def formats_of(steps: Sequence[LayoutStep]) -> set[str]:
    """The formats of the `struct` module that the steps need."""
    found: set[str] = set()
    for step in steps:
        if isinstance(step, Run):
            found.add(step.format)
        elif isinstance(step, Computed):
            found.add(fixed_code(step.part) or "")
        elif isinstance(step, Value):
            found.add(_PREFIXES.get(step.prefix or "", ""))
            if step.run:
                found.add(step.run.format)
    return found - {""}


def fixed_code(part: Part) -> str | None:
    """The `struct` code of a part that always takes the same number of bytes, else None."""
    if isinstance(part, ChecksumPart):
        return "I"
    if isinstance(part, ConstantPart):
        return CODES[part.type]
    if isinstance(part, BitsPart):
        return _UNSIGNED.get(CODES[part.type], CODES[part.type])
    if isinstance(part, SizePart):
        if part.encoding is None:
            return CODES[part.type]
        return CODES[f"int{part.encoding.bits}"] if part.encoding.form == "fixed" else None
    field = part.field
    if field.type.is_array or part.presence is not None:
        return None
    if field.encoding is not None:
        return CODES[f"int{field.encoding.bits}"] if field.encoding.form == "fixed" else None
    return CODES.get(field.type.element)


def _is_varint(part: ValuePart) -> bool:
    field = part.field
    return not field.type.is_array and field.encoding is not None and field.encoding.form != "fixed"


def _width_behind(parts: Sequence[Part], number: int) -> int:
    """The bytes that the parts behind one take, where all of them have a fixed width; else 0, and nobody asks."""
    codes = [fixed_code(part) for part in parts[number + 1 :]]
    return sum(WIDTHS[code.lower()] for code in codes if code is not None)
