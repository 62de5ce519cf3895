"""The plan of a class: what stands on the wire field by field, as plain data.

Whoever reads or writes messages without their generated code works from it, such as the compiled kernel. It is made of
the field metadata alone and tells everything that the bytes depend on.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.fields import Default, Field
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

    __slots__ = ("cls", "declared_tags", "depth", "fields", "flexible", "minimum_size", "tagged")

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
        self.minimum_size = minimum_size(cls)
        """The fewest bytes that the struct takes."""
        self.depth: int = 1 + max((one.plan.depth for one in operations if one.plan is not None), default=0)
        """How many structs stand within each other, this one counted."""


class NoPlanError(Exception):
    """A class whose bytes a plan cannot describe; its generated code alone knows them."""


def plan_of(cls: type[Struct]) -> Plan:
    """The plan of a generated class and of all structs in it; a struct that stands at many places has one plan.

    Raises:
        NoPlanError: a struct has a layout of its own, or contains itself.
    """
    return _plan(cls, {})


def _plan(cls: type[Struct], plans: dict[type[Struct], Plan | None]) -> Plan:
    if cls in plans:
        known = plans[cls]
        if known is None:
            raise NoPlanError(f"{cls.__qualname__} contains itself")
        return known
    if getattr(cls, "LAYOUT", None) is not None:
        raise NoPlanError(f"{cls.__qualname__} has a layout of its own")
    plans[cls] = None  # until it is known: who meets it before is inside it
    operations = [Operation(field, _plan(field.struct, plans) if field.struct else None) for field in cls.FIELDS]
    plan = plans[cls] = Plan(cls, operations)
    return plan


def _kind(field: Field) -> str:
    if field.struct is not None:
        return "struct"
    if field.encoding is not None:
        return field.encoding.replace("fixed", "int")
    return "bytes" if field.element == "records" else field.element


def minimum_size(cls: type[Struct]) -> int:
    """The fewest bytes that the struct takes."""
    if cls.FLEXIBLE:
        return 1
    return sum(_minimum(field) for field in cls.FIELDS)


def _minimum(field: Field) -> int:
    if field.array:
        return 4
    if field.struct is not None:
        return 1 if field.nullable else minimum_size(field.struct)
    if field.encoding is not None:
        return 1
    return {"string": 2, "bytes": 4, "records": 4}.get(field.element) or WIDTHS[field.element]
