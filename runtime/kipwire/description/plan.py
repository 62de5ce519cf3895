"""The plan of a class: its items on the wire in order, with everything resolved, as plain data.

A generated class is straight-line Python for one version. All other code that works with the same bytes works from a
plan. A plan is made from `FIELDS`, `FLEXIBLE` and `DECLARED_TAGS` of the class alone, when first asked for, and is kept
in the class. It needs neither the spec nor the generator, so it also serves classes that an earlier release generated.

Its users:

* the compiled kernel: `plans.pxi` copies a plan into C structs, with the position of each attribute, and every loop of
  the kernel follows these: reading and writing messages, columns and projections;
* `trace`, the tracer: it is slow and keeps track of the path. It finds the place of an error after a
  reader has failed, and gives `kipwire inspect` each value with its bytes;
* `values`: it looks for the value that does not fit, after a writer has failed.

Generated code, kernel and tracer must agree on every byte. Bytes that a reader refuses and the tracer accepts are an
`AssertionError` (`messages._explain_decode`), which `test_damaged_and_random_bytes_are_refused_or_have_a_meaning` would
meet; `test_encoding_refuses_what_checking_refuses` is its pair for `values`.
`test_kernel_and_python_agree_on_every_class` compares the kernel with generated code.

Invariants, on which all users rely:

1. `items` are in the order of the bytes, and reading needs no other order. `tagged` are in ascending order of their
   tags, as a tag section has them. Both together are `in_order`, the order of the spec and of the attributes.
2. What an item depends on comes before it. The bit that says whether a value or a prefix is there is in an integer
   before it (the rule `presence-bit`); an array whose length another one repeats, too. The exceptions go to the end of
   a struct: a value that takes the rest, whose `after` says how many bytes follow it; and a size or a checksum over
   what comes after it, which a writer fills in last (`start`, `is_after`, `width_to_end`).
3. Single bits are not items. They are in the `bits` of their integer, and `number` is the place of that integer in
   `in_order`. `attributes` is the other view: what attributes hold, without integers made of bits, sizes, constants and
   checksums, and with the bits that are values.
4. Names are resolved. Items refer to each other as objects: `presence`, `prefix_presence`, `of`. `kind` and `prefix`
   say how a value is on the wire, whatever property or version of the spec it came from. No tracer looks at a version.
5. Structs are shared. A struct has one plan, wherever it is used, and what a plan computes about inner structs it
   remembers. So thirty levels, each with two fields of the level below, take thirty looks and not 2**30
   (test_shared_structs.py).
6. A plan from `plan_of` ends: no struct contains itself, or there is `NoPlanError`
   (`test_no_plan_is_made_for_structs_that_contain_themselves`). The kernel asks for such a plan; the tracer and
   `values` take any, by `struct_plan`.
7. Messages are the plain case. `is_plain` is true if types and `compact` say everything, and then all attributes that
   only record formats have keep the values of the class `Item`.

`test_plan_says_everything_that_the_bytes_depend_on` and `test_plan_of_a_layout_says_every_part` show plans of both
kinds.

A plan is for reading. After it is made it only remembers what it has computed, and threads share it
(`test_threads_that_use_a_class_first_at_the_same_time_share_what_is_made_of_it`). Other facts have other owners:
ranges, defaults, JSON and columns to `kipwire.model.types` and the `Field` of each item, conditions on values to
`fields`. A new property of record formats that changes bytes gets an attribute of `Item` here and its place in
`_resolve_items`; the kernel then leaves classes with it to Python until `plans.pxi` supports it.
"""

from __future__ import annotations

from functools import cached_property

from kipwire.model.lazy import get_or_set
from kipwire.model.structs import Field, Struct
from kipwire.model.types import ENCODINGS, PLUS_ONE, PREFIXES, TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kipwire.model.types import Encoding

PREFIX_WIDTHS = {row.name: row.width for row in PREFIXES.values() if row.width}
"""Bytes of those prefixes that do not vary."""


class Item:
    """One item on the wire."""

    # These are of record formats alone and set where they differ; an item of a message has nothing of the kind.
    after = 0
    """Number of bytes after a value that may take the rest."""
    presence: Item | None = None
    """The bit that says if the value is present; None if it always is."""
    prefix_presence: Item | None = None
    """The bit that says if the prefix is present; if it is not, the value takes the rest. None if it always is."""
    bits: tuple[Item, ...] = ()
    """The named bits, for an integer made of bits."""
    integer: Item | None = None
    """The integer that it is a bit of, or several."""
    lowest = 0
    """The lowest bit, for such a bit or several; 0 is the lowest of the integer."""
    bit_count = 0
    """Number of bits."""
    number = 0
    """The place of the integer in its struct."""
    of: Item | None = None
    """The value whose presence the bit states. A nullable value is absent if it is None, any other if it is empty."""
    means_present = False
    """True if the value is present where the bit is 1; else it is present where the bit is 0."""
    start = 0
    """Position in its struct of the first item that a checksum covers."""
    is_after = False
    """True if the checksum follows the bytes that it covers; else it covers everything to the end of the struct."""
    width_to_end: int | None = None
    """The bytes from the checksum to the end of its struct, if all items there have a fixed width."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.name = field.name
        self.role = field.role
        self.kind = _kind(field)
        """Kind of one value: `bool`, `float64`, `uuid`, `string`, `bytes` (records, too) or `struct`; an integer of a
        fixed width, `int8` to `uint32`; an integer as varint, `packed16` to `upacked64` (KIP-625)."""
        self.array = field.array
        """True for an array of such values."""
        self.nullable = field.nullable
        """True if null is allowed: as a length or count, or as the marker of a struct."""
        self.compact = field.compact
        """True if lengths and counts are unsigned varints of n + 1 (KIP-482), not fixed-width integers of n."""
        type_ = TYPES.get(self.kind)
        self.element_width = type_.width if type_ else 0
        """Bytes of one value, or of one element of an array; 0 where not all take the same number."""
        self.width = 0 if self.array else self.element_width
        """Bytes of the whole item; 0 where their number varies."""
        prefix = type_.prefix if type_ else ""
        self.element_prefix = PLUS_ONE if prefix and self.compact else prefix
        """Prefix of one value, or of one element of an array."""
        self.prefix = field.prefix or (self.element_prefix if not self.array else PLUS_ONE if self.compact else "int32")
        """Type of the length prefix; empty if the type implies the length.

        Like `Field.prefix`, or `uvarint_plus_one` (KIP-482), where 0 is null; in others null is -1.
        """
        self.tag = field.tag
        """Number of a tagged field; None for a positional one."""
        self.default = field.default
        """Value of a tagged field that is left out; `()` means a new empty array or a new struct of defaults. Value of
        a constant.
        """

    @cached_property
    def plan(self) -> Plan | None:
        """The plan of the struct or of an array's elements; None for primitives."""
        return None if self.field.struct is None else struct_plan(self.field.struct)

    @property
    def code(self) -> str:
        """The code of the whole item in the format of the `struct` module; empty where its width varies."""
        code = TYPES[self.kind].code if self.width else ""
        return code.upper() if self.role in ("bits", "checksum") else code  # these have no sign

    @property
    def varint(self) -> Encoding | None:
        """The encoding of its integer, or of the elements, if that is a varint."""
        return ENCODINGS.get(self.kind)

    @property
    def has_empty_elements(self) -> bool:
        """True for an array of structs that can take no byte, of which a message may have any number."""
        return self.array and self.plan is not None and self.plan.minimum_size == 0

    @property
    def mask(self) -> int:
        """The bits of the integer that it is."""
        return (1 << self.bit_count) - 1 << self.lowest

    @property
    def unnamed(self) -> int:
        """The bits without a name, which must be zero, for an integer made of bits."""
        return (1 << 8 * self.width) - 1 - sum(bit.mask for bit in self.bits)


class Plan:
    """One struct on the wire."""

    def __init__(self, cls: type[Struct], make_item: Callable[[Field], Item] = Item) -> None:
        self.cls = cls
        self.flexible = cls.FLEXIBLE
        """True if a tag section follows the items."""
        items = [make_item(field) for field in cls.FIELDS]
        self.is_plain = not any(map(_says_more, cls.FIELDS))
        """True if type and `compact` alone determine the length of every item."""
        self.in_order = items if self.is_plain else _resolve_items(items)
        """All items in the order of the spec, without single bits."""
        self.items = [item for item in self.in_order if item.tag is None]
        """The items before the tag section, in the order of the bytes."""
        self.tagged = sorted((one for one in items if one.tag is not None), key=lambda one: one.tag or 0)
        """The fields of the tag section in the order of their tags."""

    @cached_property
    def declared_tags(self) -> list[int]:
        """The tags that any version declares, ascending: no unknown field can have one of them."""
        return sorted(self.cls.DECLARED_TAGS)

    @cached_property
    def attributes(self) -> list[Item]:
        """All values that attributes hold, in the order of the spec."""
        return [one for item in self.in_order for one in item.bits or (item,) if one.role == "value"]

    @cached_property
    def ends_at_limit(self) -> bool:
        """True if the struct takes all remaining bytes, by a value that takes the rest."""
        return any(item.field.prefix == "rest" and item.presence is None for item in self.items)

    # What follows looks at the structs within and remembers what it finds, since a struct may occur many times.

    @cached_property
    def minimum_size(self) -> int:
        """The fewest bytes that the struct takes; with a tag section, or if it is not plain, only a lower bound: 1."""
        return 1 if self.flexible or not self.is_plain else sum(map(_minimum, self.items))

    @cached_property
    def depth(self) -> int:
        """Depth of nested structs, this one included.

        Raises:
            NoPlanError: a struct contains itself.
        """
        return _depth(self, {})

    @cached_property
    def has_floats(self) -> bool:
        """True if there is a float at any depth: 0.0 and -0.0 are equal and have different bytes."""
        return any(item.kind == "float64" or (item.plan is not None and item.plan.has_floats) for item in self.in_order)

    @cached_property
    def default_structs(self) -> int:
        """Greatest number of structs in an instance of defaults, this one included."""
        made = (item.plan for item in self.in_order if not item.array and item.default is not None)
        return 1 + sum(plan.default_structs for plan in made if plan is not None)


class NoPlanError(Exception):
    """A class whose bytes a plan cannot describe; only its generated code can read and write them."""


def plan_of(cls: type[Struct]) -> Plan:
    """Return the plan of a generated class in which no struct contains itself; one struct has one plan everywhere.

    Raises:
        NoPlanError: a struct contains itself.
    """
    plan = struct_plan(cls)
    assert plan.depth
    return plan


def struct_plan(cls: type[Struct]) -> Plan:
    """Return the plan of a generated class, made when first asked for."""
    plan: Plan | None = cls.__dict__.get("_plan")
    return get_or_set(cls, "_plan", Plan(cls)) if plan is None else plan


def _kind(field: Field) -> str:
    if field.struct is not None:
        return "struct"
    if field.encoding is not None:
        return field.encoding.replace("fixed", "int")
    return "bytes" if field.element == "records" else field.element


def _minimum(item: Item) -> int:
    if item.array:
        return 4
    if item.plan is not None:
        return 1 if item.nullable else item.plan.minimum_size
    return item.width or PREFIX_WIDTHS.get(item.prefix, 1)


def _depth(plan: Plan, depths: dict[Plan, int]) -> int:
    """Compute the depth of a plan; `depths` has the known depths, and 0 for the plans around this one."""
    depth = depths.get(plan)
    if depth == 0:
        raise NoPlanError(f"{plan.cls.__qualname__} contains itself")
    if depth is None:
        depths[plan] = 0
        inner = (item.plan for item in plan.in_order)
        depth = depths[plan] = 1 + max((_depth(one, depths) for one in inner if one is not None), default=0)
    return depth


# What fields of record formats say of each other, by name, until here.


def _says_more(field: Field) -> bool:
    return bool(field.role != "value" or field.bit is not None or field.prefix or field.present_if or field.absent_if)


def _resolve_items(named: list[Item]) -> list[Item]:
    """Point the items of a struct of a record format at each other; put bits into their integers."""
    items: list[Item] = []
    bits: dict[str, Item] = {}
    values: dict[str, Item] = {}
    for item in named:
        field = item.field
        if field.bit is not None:
            item.integer, item.number = items[-1], len(items) - 1
            item.lowest, item.bit_count = field.bit, field.bits or 1
            items[-1].bits += (item,)
            bits[item.name] = item
            continue
        if name := field.present_if or field.absent_if:
            bit = item.presence = bits[name]
            bit.of, bit.means_present = item, bool(field.present_if)
        values[item.name] = item
        items.append(item)
    numbers = {item.name: number for number, item in enumerate(items)}
    for number, item in enumerate(items):
        if item.role == "checksum":
            item.start = numbers[item.field.start]
            item.is_after = item.start < number
            after = items[number:]
            item.width_to_end = sum(one.width for one in after) if all(one.width for one in after) else None
        if item.field.size_only_with:
            item.prefix_presence = values[item.field.size_only_with].presence
        if item.prefix_presence or item.field.prefix == "rest":
            # What has no fixed width among them is not there when the value takes the rest.
            item.after = sum(one.width for one in items[number + 1 :])
    return items
