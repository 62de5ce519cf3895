"""From another version or from plain values to a message, and back to plain values.

Kafka's rule for writers holds: what may be dropped is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, overload

from kipwire.description.fields import Visitor, fields_of_other_versions, in_version, is_narrow, is_required
from kipwire.description.values import MISSING, out_of_range
from kipwire.message import native
from kipwire.message.messages import Message, described
from kipwire.message.shapes import Shapes, reshape, shapes_between
from kipwire.model.errors import ConversionError, EncodeError, UnsupportedVersionError, abbreviate, path_text
from kipwire.model.structs import DEFAULT, Field, Root, Struct
from kipwire.tools.text import count_of, did_you_mean

M = TypeVar("M", bound="Message")


class Loss(NamedTuple):
    """A field that one of the two versions of a conversion does not have."""

    field: str
    """Its path, without indexes: `topics.partitions.leader_epoch`."""
    version: int
    """The version that has no such field."""
    is_dropped: bool
    """True if the new version lacks the field, so that its value is dropped; else the old version lacks it, and the
    field has its default.
    """
    places: int
    """Number of structs of the message in which this happens."""
    path: str
    """The first place: `topics[0].partitions[2].leader_epoch`."""
    value: Any
    """The value at the first place: the dropped value, or the default."""

    @property
    def why(self) -> str:
        """Explain what happens to the value, and why."""
        what = (
            f"{abbreviate(self.value)} is dropped" if self.is_dropped else f"it is {abbreviate(self.value)} by default"
        )
        more = f", and so in {count_of(self.places - 1, 'more place')}" if self.places > 1 else ""
        return f"version {self.version} has no such field; {what}{more}"

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


@overload
def convert(message: Message, version: int, *, lost: list[Loss] | None = None, strict: bool = False) -> Message: ...
@overload
def convert(message: Message, version: type[M], *, lost: list[Loss] | None = None, strict: bool = False) -> M: ...
@native.from_kernel("convert")
def convert(
    message: Message, version: int | type[Message], *, lost: list[Loss] | None = None, strict: bool = False
) -> Message:
    """Convert a message to another version; the given one stays as it is, and the two share nothing that can change.

    A field that the other version does not have is dropped if it has its default value or is ignorable (the spec's
    `ignorable`). Fields that only the other version has get their defaults. Unknown tagged fields are kept if the
    other version is flexible, and read if that version knows them. A message that has the version is returned as it is.
    Where newer versions have several of what older ones have one of, one becomes one (see `kipwire.message.shapes`).

    Args:
        message: in any version.
        version: the other version's number, or its class.
        lost: a list that gets an entry for each field that one of the versions cannot carry: for a field that
            is dropped although it is not at its default, and for a field that the message's own version does not have.
        strict: make each such entry an error, except a default of an older version whose field was removed since.

    Raises:
        ConversionError: something would be lost: a field that may not be dropped, a null where the other version
            allows none, a number that its narrower encoding in the other version does not hold, unknown tagged fields.
            All losses are named. Or an attribute was deleted.
        UnsupportedVersionError: the message has no such version, or the class belongs to another message.
        TypeError: the message or the version has another type.
    """
    target = _target_of(message, version)
    if target is type(message):
        return message
    conversion = _Conversion(target, type(message) if strict or lost is not None else None)
    shapes = shapes_between(type(message), target)
    result: Message = conversion.all_of(message if shapes is None else conversion.reshaped(message, shapes), target)
    losses = [*conversion.noted.values()]
    if strict:
        refused = [one for one in losses if one.is_dropped or one.version < target.VERSION]
        conversion.lost += [(one.path, one.why) for one in refused]
    result = conversion.whole(result, message.VERSION)
    if lost is not None:
        lost += losses
    return result


def _target_of(message: Message, version: int | type[Message]) -> type[Message]:
    """Find the class that a message is to become, by a version's number or by the class itself."""
    if not isinstance(message, Message):
        raise TypeError(f"a message can be converted, but not {described(message)}")
    if hasattr(version, "__index__") and not isinstance(version, type):
        return in_version(type(message), version)
    if not isinstance(version, type) or not issubclass(version, Message):
        what = f"{message.NAME} must be converted to a version number or a message class"
        raise TypeError(f"{what}, not {described(version)}")
    if version.NAME != message.NAME:
        what = f"{message.NAME} cannot become {version.NAME}, which is another message"
        raise UnsupportedVersionError(f"{what}; give a class of {message.NAME}")
    return version


def build(cls: type[M], values: Mapping[str, Any]) -> M:
    """Make a message of plain values: numbers, texts, lists, for structs a mapping each or an instance of any version.

    A value whose field only other versions have is dropped by the rule of `convert`: if it is the field's default or
    the field is ignorable. Fields without a value get their defaults; a required field has no default. Values are
    checked when the message is encoded, not before.

    Args:
        cls: the class of the message.
        values: by the names of attributes, as in `{"topics": [{"name": "orders"}]}`.

    Raises:
        ConversionError: something would be lost (all losses are named), no version has a field of some name, or a
            required field has no value.
    """
    conversion = _Conversion(cls)
    result: M = conversion.whole(conversion.all_of(values, cls), cls.VERSION)
    return result


def asdict(struct: Struct) -> dict[str, Any]:
    """Convert a message or struct to plain values, by the names of attributes, of which `build` makes an equal message.

    Structs are mappings and arrays new lists; other values stay as they are, such as `bytes` and `uuid.UUID`. Unknown
    tagged fields are under `unknown_tagged_fields`, where there are any. `to_json` gives JSON in Kafka's form instead.

    Raises:
        EncodeError: an attribute was deleted.
    """
    try:
        return _asdict(struct)
    except AttributeError:
        path = next(_missing(struct), None)
        if path is None:
            raise
        version = getattr(struct, "VERSION", None) or int(type(struct).__module__.rpartition(".v")[2])
        name = getattr(struct, "NAME", type(struct).__name__)
        raise EncodeError(name, version, path_text(path), MISSING) from None


def _asdict(struct: Struct) -> dict[str, Any]:
    values = {field.name: _plain(_value(field, struct)) for field in struct.ATTRIBUTES}
    if unknown := _unknown_tagged_fields(struct):
        values["unknown_tagged_fields"] = dict(unknown)
    return values


def _missing(value: Any) -> Iterator[list[Any]]:
    """Yield the paths of attributes that were deleted from a struct, or from structs in it."""
    if isinstance(value, (list, tuple)):
        for number, element in enumerate(value):
            yield from ([number, *path] for path in _missing(element))
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from ([name, *path] for path in _missing(part))
    elif isinstance(value, Struct):
        for field in value.ATTRIBUTES:
            if not hasattr(value, field.slot):
                yield [field.name]
            elif not field.is_unmade(value):
                yield from ([field.name, *path] for path in _missing(getattr(value, field.name)))
        if value.FLEXIBLE and not hasattr(value, "_unknown_tagged_fields"):
            yield ["unknown_tagged_fields"]


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return _asdict(value)
    return [_plain(element) for element in value] if isinstance(value, (list, tuple)) else value


def _value(field: Field, struct: Struct) -> Any:
    """Get the value of an attribute, without making an unused default a part of the struct."""
    return field.default_value() if field.is_unmade(struct) else getattr(struct, field.name)


class _Conversion(Visitor):
    """One conversion: its place in the message, its losses, and the losses that are allowed."""

    def __init__(self, target: type[Root], source: type[Root] | None = None) -> None:
        """Begin at the message.

        Args:
            target: the class of the result.
            source: the class of the message, if what may be lost is to be noted; that takes time.
        """
        super().__init__(target)
        self.source = source
        self.lost: list[tuple[str, str]] = []
        self.noted: dict[tuple[str, bool], Loss] = {}
        self.advice = ""
        """Advice at the end of an error."""

    def lose(self, why: str) -> None:
        self.lost.append((path_text(self.path), why))

    def note(self, version: int, value: Any) -> None:
        """Note that a version does not have the field at the path, which is lost without an error."""
        key = ".".join(name for name in self.path if isinstance(name, str)), version == self.message.VERSION
        known = self.noted.get(key) or Loss(key[0], version, key[1], 0, path_text(self.path), value)
        self.noted[key] = known._replace(places=known.places + 1)

    def whole(self, result: Any, version: int) -> Any:
        """Return the result, if nothing is lost.

        Raises:
            ConversionError: something is lost.
        """
        if not self.lost:
            return result
        reason = "; ".join(f"{path}: {why}" for path, why in self.lost)
        raise ConversionError(
            self.message.NAME,
            version,
            self.lost[0][0],
            f"cannot become version {self.message.VERSION}: {reason}{self.advice}",
        )

    def reshaped(self, message: Message, shapes: Shapes) -> Struct | Mapping[str, Any]:
        """Return the values of a message in the shape of the other version; itself where there is nothing to change."""
        number: int = message.VERSION
        is_to_old = number >= shapes.since
        kept = {field.name for field in self.message.ATTRIBUTES}
        moved = (field for field in message.ATTRIBUTES if field.name not in kept)
        if all(field.is_unmade(message) or field.is_default(getattr(message, field.name, None)) for field in moved):
            return message
        try:
            values = reshape(shapes, asdict(message), to_old=is_to_old)
        except (EncodeError, TypeError, ValueError):  # an attribute was deleted, or is no value of its field
            return message
        self.advice = f"; to reach older peers, too, write for version {shapes.since - 1}" if is_to_old else ""
        if values is None:
            return message
        if self.source is not None:
            self.note_reshaped(message, shapes, values, is_to_old=is_to_old)
        return values

    def note_reshaped(self, message: Message, shapes: Shapes, values: Mapping[str, Any], *, is_to_old: bool) -> None:
        """Note what the one element of the new shape has, and the old shape has not."""
        row: Any = getattr(message, shapes.several)[0] if is_to_old else values[shapes.several][0]
        of_new = (type(message) if is_to_old else self.message).ATTRIBUTES
        struct = next(field.struct for field in of_new if field.name == shapes.several)
        for field in () if struct is None else struct.ATTRIBUTES:
            self.path[:] = [shapes.several, 0, field.name]
            if not is_to_old and field.name not in row:
                self.note(message.VERSION, field.default_value())
            elif is_to_old and field.name not in (*values, shapes.moved):
                value = getattr(row, field.name)
                if value is not None and not field.is_default(value):
                    self.note(self.message.VERSION, value)
        self.path.clear()

    def all_of(self, item: Struct | Mapping[str, Any], target: type[Root]) -> Any:
        """Convert a message, or its values; without a result where an attribute was deleted, which is noted."""
        try:
            return self.struct(item, target)
        except AttributeError:
            self.lost = [(path_text(path), MISSING) for path in _missing(item)]
            if not self.lost:
                raise
            return None

    def struct(self, item: Struct | Mapping[str, Any], target: type[Struct]) -> Any:
        targets = {field.spec_name: field for field in target.ATTRIBUTES}
        values = {}
        for name, field, value in self.given(item, target):
            self.path.append(name)
            other = targets.get(field.spec_name) if field is not None else None
            if value is DEFAULT and field is not None:
                # A default that was never used stays unmade: it is the default of the other version too, or it is
                # dropped.
                if other is not None and not other.is_lazy:
                    values[other.name] = self.field(other, field.default_value())
            elif other is not None:
                values[other.name] = self.field(other, value)
            elif field is None:
                self.lose(
                    f"no version has a field of this name{did_you_mean(name, [one.name for one in target.ATTRIBUTES])}"
                )
            elif (self.source is not None or not field.ignorable) and not self.is_default(field, value):
                if field.ignorable:
                    self.note(self.message.VERSION, value)
                else:
                    self.lose(self.not_ignorable(field, target))
            self.path.pop()
        if self.source is not None and isinstance(item, Struct):
            self.note_defaults(self.source.VERSION, item, target)
        for narrow in _narrow_fields(target):  # type: ignore[arg-type]  # mypy asks its instances for a hash
            self.numbers(narrow, values.get(narrow.name))
        for field in _required_fields(target):  # type: ignore[arg-type]  # likewise
            if field.name not in values:
                self.path.append(field.name)
                self.lose("a value is required, since the field has no default")
                self.path.pop()
                values[field.name] = None
        result = target(**values)
        unknown = _unknown_tagged_fields(item)
        if unknown:
            self.unknown(unknown, target, result)
        return result

    def note_defaults(self, version: int, item: Struct, target: type[Struct]) -> None:
        """Note the fields of a struct that its own version does not have."""
        known = {field.spec_name for field in item.ATTRIBUTES}
        for field in target.ATTRIBUTES:
            if field.spec_name not in known:
                self.path.append(field.name)
                self.note(version, field.default_value())
                self.path.pop()

    def not_ignorable(self, field: Field, target: type[Struct]) -> str:
        """Explain why the value of a field cannot be dropped, and where it could go instead."""
        others = fields_of_other_versions(self.message, target)
        having = sorted({version for version, other in others if other.spec_name == field.spec_name})
        default = "[]" if field.array else abbreviate(field.default_value())
        right = f"leave it at its default, {default}"
        if having:
            several = f"one of the versions {having[0]} to {having[-1]}"
            right += f", or use {several if len(having) > 1 else f'version {having[0]}'}"
        return f"version {self.message.VERSION} has no such field, and it is not ignorable; {right}"

    def given(self, item: Struct | Mapping[str, Any], target: type[Struct]) -> Iterator[tuple[str, Field | None, Any]]:
        """Yield the values of a struct, by name, each with its field in any version; None where no version has one."""
        if isinstance(item, Struct):
            for field in item.ATTRIBUTES:
                yield field.name, field, DEFAULT if field.is_unmade(item) else getattr(item, field.name)
            return
        fields = {field.name: field for field in target.ATTRIBUTES}
        for name, value in item.items():
            if name != "unknown_tagged_fields":
                yield name, fields.get(name) or self.foreign(name, target), value

    def foreign(self, name: str, target: type[Struct]) -> Field | None:
        """Find the field of that name in the nearest of the other versions with such a field."""
        return next((field for _, field in fields_of_other_versions(self.message, target) if field.name == name), None)

    def is_default(self, field: Field, value: Any) -> bool:
        """True if a value to be dropped is the default of its field, as plain data or as a message holds it."""
        if field.struct is not None and not field.array and isinstance(value, Mapping):
            value = _Conversion(self.message).struct(value, field.struct)
        return field.is_default(value)

    def unknown(self, fields: dict[int, bytes], target: type[Struct], result: Any) -> None:
        self.path.append("unknown_tagged_fields")
        if target.FLEXIBLE:
            result.unknown_tagged_fields = self.known(fields, target, result) if isinstance(fields, dict) else fields
        else:
            self.lose(f"version {self.message.VERSION} is not flexible and has no tagged fields")
        self.path.pop()

    def known(self, fields: dict[int, bytes], target: type[Struct], result: Any) -> dict[int, bytes]:
        """Read the fields that the other version knows, and return the rest (see `extensibleTaggedVersions`)."""
        rest = dict(fields)
        for field in target.ATTRIBUTES:
            if field.tag is not None and field.tag in rest:
                data = rest.pop(field.tag)
                is_field = f"tag {field.tag} is {field.name} in version {self.message.VERSION}"
                if not field.is_default(_value(field, result)):
                    self.lose(f"{is_field}, which has a value already")
                    continue
                try:
                    is_read = result._read_tagged_field(field.tag, data, 0) == len(data)
                except Exception:  # as when a message is decoded
                    is_read = False
                if not is_read:
                    self.lose(f"{is_field}, and its bytes are no value of that field")
        return rest

    def field(self, other: Field, value: Any) -> Any:
        if value is None:
            if not other.nullable:
                self.lose(f"null, which version {self.message.VERSION} does not allow here")
            return None
        if other.struct is None:
            return list(value) if other.array and isinstance(value, (list, tuple)) else value
        if not other.array:
            return self.element(value, other.struct)
        if not isinstance(value, (list, tuple)):
            return value
        return [self.element(element, other.struct) for element in self.each(value)]

    def numbers(self, other: Field, value: Any) -> None:
        """Note the numbers of a field that its narrower form does not hold; anything else fails when it is encoded."""
        self.path.append(other.name)
        if not other.array:
            self.number(other, value)
        elif isinstance(value, (list, tuple)):
            for number in self.each(value):
                self.number(other, number)
        self.path.pop()

    def number(self, other: Field, value: Any) -> None:
        if isinstance(value, int) and (why := out_of_range(other, value)):
            self.lose(why)

    def element(self, value: Any, target: type[Struct]) -> Any:
        """Convert a struct or a mapping; anything else stays as it is, and is refused when the message is encoded."""
        return self.struct(value, target) if isinstance(value, (Struct, Mapping)) else value


@lru_cache(maxsize=1024)
def _narrow_fields(target: type[Struct]) -> tuple[Field, ...]:
    """Find the fields of a class that hold fewer numbers than their types; most classes have none, and lose no time."""
    return tuple(field for field in target.ATTRIBUTES if is_narrow(field))


@lru_cache(maxsize=1024)
def _required_fields(target: type[Struct]) -> tuple[Field, ...]:
    """Find the fields of a class that have no default; most classes have none, and lose no time."""
    return tuple(filter(is_required, target.ATTRIBUTES))


def _unknown_tagged_fields(item: Struct | Mapping[str, Any]) -> dict[int, bytes] | None:
    if isinstance(item, Struct):
        return item._unknown_tagged_fields if item.FLEXIBLE else None
    return item.get("unknown_tagged_fields")
