"""The plan of a class: what stands on the wire field by field, as plain data.

Whoever reads or writes messages without their generated code works from it, such as the compiled kernel. It is made of
the field metadata alone and tells everything that the bytes depend on.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.fields import Default, Field
    from kipwire.layout_plan import PlannedPart
    from kipwire.structs import Struct

WIDTHS = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
"""Bytes of the types that always take the same number."""


class Operation:
    """One field on the wire."""

    __slots__ = ("array", "compact", "default", "kind", "name", "nullable", "plan", "tag")

    def __init__(self, field: Field, plan: Plan | None) -> None:
        self.name = field.name
        """The attribute's name."""
        self.kind = _kind(field)
        """What one value is: `bool`, `float64`, `uuid`, `string`, `bytes` (records, too) or `struct`; an integer of a
        fixed width, `int8` to `uint32`; an integer as varint, `packed16` to `upacked64` (KIP-625)."""
        self.array = field.array
        """Whether a count and so many values stand there."""
        self.nullable = field.nullable
        """Whether there may be null: as a length or count, or as the marker of a struct."""
        self.compact = field.compact
        """Whether lengths and counts are unsigned varints of n + 1 (KIP-482) rather than fixed-width integers of n."""
        self.tag = field.tag
        """Number of a tagged field; None for a positional one."""
        self.default: Default = field.default
        """What a tagged field is when it is left out; `()` stands for a new empty array or a new struct of defaults."""
        self.plan = plan
        """The plan of the struct or of an array's elements; None for primitives."""


class Plan:
    """One struct on the wire."""

    __slots__ = (
        "cls",
        "declared_tags",
        "default_structs",
        "depth",
        "fields",
        "flexible",
        "has_floats",
        "minimum_size",
        "parts",
        "tagged",
    )

    def __init__(self, cls: type[Struct], operations: list[Operation]) -> None:
        self.cls = cls
        self.flexible = cls.FLEXIBLE
        """Whether a tag section stands behind the fields."""
        self.fields = [operation for operation in operations if operation.tag is None]
        """The positional fields in the order of the bytes."""
        self.tagged = sorted((one for one in operations if one.tag is not None), key=lambda one: one.tag or 0)
        """The fields of the tag section in the order of their tags."""
        self.declared_tags = sorted(cls.DECLARED_TAGS)
        """The tags that any version has fields for: none of them can be that of an unknown field."""
        self.parts: list[PlannedPart] | None = None
        """Of a layout: what stands in each place, in the order of the bytes. None where `fields` say it all."""
        self.minimum_size = minimum_size(cls)
        """The fewest bytes that the struct takes; of a layout 1, which is not more."""
        self.depth: int = 1 + max((one.plan.depth for one in operations if one.plan is not None), default=0)
        """How many structs stand within each other, this one counted."""
        self.has_floats: bool = any(
            one.kind == "float64" or (one.plan is not None and one.plan.has_floats) for one in operations
        )
        """Whether a float is in it, at any depth: 0.0 and -0.0 are equal and have other bytes."""
        self.default_structs: int = 1 + sum(
            one.plan.default_structs for one in operations if one.plan and not one.array and one.default is not None
        )
        """How many structs an instance of defaults is made of at most, this one counted."""


class NoPlanError(Exception):
    """A class whose bytes a plan cannot describe; its generated code alone knows them."""


def plan_of(cls: type[Struct]) -> Plan:
    """The plan of a generated class and of all structs in it; a struct that stands at many places has one plan.

    Raises:
        NoPlanError: a struct contains itself.
    """
    return _plan(cls, {})


def _plan(cls: type[Struct], plans: dict[type[Struct], Plan | None]) -> Plan:
    if cls in plans:
        known = plans[cls]
        if known is None:
            raise NoPlanError(f"{cls.__qualname__} contains itself")
        return known
    plans[cls] = None  # until it is known: who meets it before is inside it
    operations = [Operation(field, _plan(field.struct, plans) if field.struct else None) for field in cls.FIELDS]
    plan = plans[cls] = Plan(cls, operations)
    if cls.LAYOUT is not None:
        from kipwire.layout_plan import planned_parts  # here, since most programs have no layouts

        plan.parts = planned_parts(cls, {operation.name: operation for operation in operations})
    return plan


def _kind(field: Field) -> str:
    if field.struct is not None:
        return "struct"
    if field.encoding is not None:
        return field.encoding.replace("fixed", "int")
    return "bytes" if field.element == "records" else field.element


def minimum_size(cls: type[Struct]) -> int:
    """The fewest bytes that the struct takes; of a layout, whose structs take at least one, just that."""
    return _minimum_size(cls, {})


def _minimum_size(cls: type[Struct], known: dict[type[Struct], int]) -> int:
    """The same, and remembered: a struct may stand at many places, with structs that do so as well."""
    if cls.FLEXIBLE or cls.LAYOUT is not None:
        return 1
    if cls not in known:
        known[cls] = sum(_minimum(field, known) for field in cls.FIELDS)
    return known[cls]


def _minimum(field: Field, known: dict[type[Struct], int]) -> int:
    if field.array:
        return 4
    if field.struct is not None:
        return 1 if field.nullable else _minimum_size(field.struct, known)
    if field.encoding is not None:
        return 1
    return {"string": 2, "bytes": 4, "records": 4}.get(field.element) or WIDTHS[field.element]
