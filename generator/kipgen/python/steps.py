"""Between plans and templates: the steps in which straight-line Python reads and writes a struct.

Neighbouring values of a fixed width become one call of the `struct` module, together with the length or the count
that follows them. Each value without a fixed width is a step of its own.

A step is as large as one call can be. MetadataResponse v12 with 100 partitions is read in about 60 us with a call for
each run of numbers, and in about 100 us with a call for each field. The templates print a step as it is; which calls
there are is decided here alone.

Reading and writing differ in two places. The first byte of a compact length is mostly the whole of it, so reading takes
it with the run before it and looks for more bytes only if it is above 127; written, it has no fixed width. And a
computed item is a number like others when it is read, but is written when all that it covers is there.

The kernel has no steps: it follows the plan that the items come from. read.py.j2 and write.py.j2 begin with what holds
between two steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import calcsize
from typing import Literal

from kipgen.code import Code
from kipgen.language.layout_properties import PREFIX_TYPES, REST
from kipwire.description.plan import Item
from kipwire.model.types import KINDS, PLUS_ONE, TYPES

Kind = Literal[
    "run", "varints", "mark", "computed", "text", "blob", "array", "structs", "texts", "blobs", "nested", "tags"
]

_COUNTS = {PLUS_ONE: Code("size - 1"), "varint": Code("size >> 1")}
"""The length or count by its prefix, if reading gets it from the wire in another form."""

_FIXED_PREFIXES = {type_: TYPES[type_].code for type_ in PREFIX_TYPES if type_ in TYPES}


@dataclass(frozen=True, slots=True)
class FixedNumber:
    """One number of a run: a field, or (`field` is None) the length or count of the step that follows.

    The code `x` is a byte without a value: an empty tag section, when writing.
    """

    code: str
    """Code in the format of the `struct` module."""
    field: Item | None = None

    @property
    def conversion(self) -> str | None:
        """`bool` or `uuid` where the unpacked value is not yet the attribute's."""
        return self.field.kind if self.field and self.field.kind in ("bool", "uuid") else None


@dataclass(frozen=True, slots=True)
class FixedFields:
    """Neighbouring numbers of a fixed width."""

    slots: tuple[FixedNumber, ...]

    @property
    def format(self) -> str:
        """The codes of all values, such as `hiii`."""
        return "".join(slot.code for slot in self.slots)

    @property
    def width(self) -> int:
        return calcsize(f">{self.format}")

    @property
    def is_one_byte(self) -> bool:
        """True for a single unsigned byte, which needs no unpacking."""
        return self.format == "B"


@dataclass(frozen=True, slots=True)
class Step:
    """The next step: for numbers of a fixed width, then for one field without a fixed width."""

    kind: Kind
    """`run`: nothing more; `varints`: one, or several plain ones side by side, which mostly have one byte each; `mark`:
    remember where a checksum begins; `computed`: a checksum after what it covers or, when writing, anything computed;
    `array`: one of what has a fixed width or is a varint; the name of another kind of value; or `tags`, the section."""
    run: FixedFields | None = None
    """The fixed numbers before it, and the prefix that is one of them; writing, a compact one is written by itself."""
    fields: tuple[Item, ...] = ()
    """One; of varints one or more, of a run and of tags none."""
    own_prefix: bool = False
    """True if the value has a prefix that is not in the run."""
    end: str = ""
    """Name of the variable with the end of its struct; empty if there is none."""

    @property
    def field(self) -> Item:
        return self.fields[0]

    @property
    def may_be_null(self) -> bool:
        """True if the value itself marks null; else a bit does, if anything."""
        return self.field.nullable and self.field.presence is None

    @property
    def is_shared(self) -> bool:
        """True for an array that functions of the runtime write from its count on."""
        return self.kind in ("structs", "texts", "blobs") and not self.end

    @property
    def count(self) -> Code:
        """The length or count as an expression of `size`, which is what reading finds on the wire."""
        return _COUNTS.get(self.field.prefix, Code("size"))

    @property
    def value_end(self) -> Code:
        """The position after a value of `count` bytes, when `pos` is its first byte."""
        return Code(f"pos + ({self.count})" if ">>" in self.count else f"pos + {self.count}")

    @property
    def bits(self) -> tuple[int, ...]:
        """The width of each, for varints."""
        return tuple(field.varint.bits for field in self.fields if field.varint is not None)


def read_steps(items: Sequence[Item], *, tag_section: bool, is_bounded: bool = False) -> tuple[Step, ...]:
    """Plan the steps that read these items one after the other; every run includes the prefix after it."""
    return _steps(items, tag_section, is_bounded, is_reading=True)


def write_steps(items: Sequence[Item], *, tag_section: bool, is_bounded: bool = False) -> tuple[Step, ...]:
    """Plan the steps that write these items one after the other; a run includes a classic length or count after it."""
    return _steps(items, tag_section, is_bounded, is_reading=False)


def _steps(items: Sequence[Item], tag_section: bool, is_bounded: bool, *, is_reading: bool) -> tuple[Step, ...]:
    steps: list[Step] = []
    slots: list[FixedNumber] = []
    marked = {item.field.start for item in items}
    end = "bound" if is_bounded else ""

    def run() -> FixedFields | None:
        closed = FixedFields(tuple(slots)) if slots else None
        slots.clear()
        return closed

    for item in items:
        # When reading, a size or a checksum in front of its bytes is one more number of a run; only a checksum after
        # them is compared in its place.
        is_computed = item.role in ("size", "checksum") and (not is_reading or item.is_after)
        # The run before ends here: the checksum needs the position where this item begins.
        if item.name in marked and not is_computed:
            steps.append(Step("mark", run(), (item,)))
        if is_computed:
            steps.append(Step("computed", run(), (item,)))
        elif item.code:
            slots.append(FixedNumber(item.code, item))
            if item.role == "size":
                # The size ends its run, since the steps after it need the `limit` that it sets.
                steps.append(Step("run", run()))
        elif item.varint is not None and not item.array:
            # Numbers of fixed width that are not in a step yet would come between the two varints.
            last = steps[-1] if steps and not slots else None
            if last and last.kind == "varints" and _is_plain(last.field) and _is_plain(item):
                steps[-1] = Step("varints", last.run, (*last.fields, item))
            else:
                steps.append(Step("varints", run(), (item,)))
        else:
            step = Step(_kind(item), None, (item,), False, end)
            prefix = _prefix_code(step, is_reading)
            if prefix:
                slots.append(FixedNumber(prefix))
            own_prefix = not prefix and item.prefix not in ("", REST)
            steps.append(Step(step.kind, run(), (item,), own_prefix, end))
        if item.role == "size":
            end = "limit"
    # The section is mostly one zero byte. So reading takes its first byte with the run, and writing packs a zero (`x`
    # needs no argument), which a section with fields replaces.
    if tag_section and slots:
        slots.append(FixedNumber("B" if is_reading else "x"))
    if tag_section:
        steps.append(Step("tags", run()))
    elif slots:
        steps.append(Step("run", run()))
    return tuple(steps)


def step_formats(steps: Sequence[Step]) -> set[str]:
    """Collect the formats of the `struct` module that these steps need.

    Sizes, checksums and prefixes outside of runs are single integers, which the runtime packs and unpacks.
    """
    runs = {step.run.format for step in steps if step.run and not step.run.is_one_byte}
    return runs | {"B" * len(step.fields) for step in steps if step.kind == "varints" and len(step.fields) > 1}


def _is_plain(item: Item) -> bool:
    """True for a varint that is worth reading together with its neighbours; zigzag ones gain nothing."""
    return item.role == "value" and item.varint is not None and item.varint.scheme == "upacked"


def _kind(item: Item) -> Kind:
    if item.kind == "struct":
        return "structs" if item.array else "nested"
    kind = KINDS.get(item.kind)
    if item.array:
        return "texts" if kind == "text" else "blobs" if kind == "blob" else "array"
    return "text" if kind == "text" else "blob"


def _prefix_code(step: Step, is_reading: bool) -> str:
    """Return the `struct` code of the prefix that is the last number of the run before a value; empty if none is.

    Of a compact one it is the first byte. What is null is written by itself, and what functions of the runtime write.
    """
    item = step.field
    # A bit decides at run time if the prefix is on the wire at all.
    if item.presence or item.prefix_presence:
        return ""
    if not is_reading:
        return "" if step.may_be_null or step.is_shared else _FIXED_PREFIXES.get(item.prefix, "")
    # The marker of a nullable struct has one byte in both forms: 1, or else 0 in tagged data and -1, which is 255 here,
    # elsewhere.
    if item.prefix == PLUS_ONE or (step.kind == "nested" and step.may_be_null):
        return "B"
    return _FIXED_PREFIXES.get(item.prefix, "")
