"""The two classes under every generated class: `Struct`, and `Message` for the outermost one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar, overload

from kipwire.errors import DecodeError, shown
from kipwire.fields import Field
from kipwire.wire import DEFAULT as DEFAULT
from kipwire.wire import new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Self

T = TypeVar("T")

Add = Callable[[bytes], object]
"""Takes the next piece of what is written."""
Rows = Iterable[Iterable[Any]]
"""The values of neighbours, by attribute."""


class LazyStruct(Generic[T]):
    """A tagged struct that is made when it is first asked for, since most are never sent nor looked at."""

    def __init__(self, make: Callable[[], T]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.slot = f"_lazy_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Struct, owner: type) -> T: ...
    def __get__(self, instance: Struct | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = getattr(instance, self.slot)
        if value is DEFAULT:
            value = self.make()
            setattr(instance, self.slot, value)
        return value  # type: ignore[no-any-return]

    def __set__(self, instance: Struct, value: T) -> None:
        setattr(instance, self.slot, value)


class UnknownTaggedFields:
    """The tagged fields that came with a struct and that its spec does not know, by tag; made when asked for."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Struct, owner: type) -> dict[int, bytes]: ...
    def __get__(self, instance: Struct | None, owner: type) -> Self | dict[int, bytes]:
        if instance is None:
            return self
        fields = instance._unknown_tagged_fields
        if fields is None:
            fields = instance._unknown_tagged_fields = {}
        return fields

    def __set__(self, instance: Struct, value: dict[int, bytes]) -> None:
        instance._unknown_tagged_fields = value


class _DeclaredTags:
    """Gives a class its `DECLARED_TAGS`, made when they are first asked for."""

    def __get__(self, instance: Struct | None, owner: type[Struct]) -> frozenset[int]:
        tags = owner.OTHER_TAGS.union(field.tag for field in owner.FIELDS if field.tag is not None)
        setattr(owner, "DECLARED_TAGS", tags)  # noqa: B010 - a type checker would take it for an instance's
        return tags


class Struct:
    """A struct of one message in one version. Generated classes add the attributes, `__init__` and the codec."""

    # Only flexible classes set and offer it, as `unknown_tagged_fields`; None is the same as no unknown field.
    __slots__ = ("_unknown_tagged_fields",)
    __hash__ = None  # type: ignore[assignment]

    FIELDS: ClassVar[tuple[Field, ...]]
    """The fields of this version in the order of the spec; of record formats also what is computed."""
    ATTRIBUTES: ClassVar[tuple[Field, ...]]
    """Those of `FIELDS` that are attributes."""
    _plan: ClassVar[Any]
    """The `kipwire.plan` of the class, once somebody asked for it."""
    FLEXIBLE: ClassVar[bool]
    """Whether the version is flexible (KIP-482): compact lengths, and a tag section after the fields."""
    OTHER_TAGS: ClassVar[frozenset[int]] = frozenset()
    """The tags that only other versions have fields for; they are errors here, not unknown tags."""
    DECLARED_TAGS = _DeclaredTags()
    """The tags that any version has fields for."""

    _rows: ClassVar[Any] = None
    """What reads neighbours of equal shape, a `kipwire.rows.Rows`, once there was a long array."""
    _unknown_tagged_fields: dict[int, bytes] | None

    if TYPE_CHECKING:
        _read: ClassVar[Callable[..., int]]
        """Sets every slot from the bytes at a position; gives the position after them."""
        _write: ClassVar[Callable[..., None]]
        """Hands over the bytes, piece by piece."""

    @staticmethod
    def _fill(items: list[Any], rows: Rows) -> None:
        """Set the slots of new instances from rows of values; for classes whose neighbours can have equal shape."""
        raise NotImplementedError

    def __init_subclass__(cls) -> None:
        """Tell a generated class its attributes, with their types for `typing.get_type_hints`."""
        fields = cls.__dict__.get("FIELDS")
        if fields is None:
            return
        cls.ATTRIBUTES = tuple([field for field in fields if field.role == "value"])
        for field in fields:
            field.owner = cls
        if "__init__" in vars(cls):
            types = vars(cls)["__init__"].__annotations__
            attributes = {name: types[name] for name in types if name != "return"}
            cls.__annotations__ = attributes | vars(cls).get("__annotations__", {})

    def _read_tagged_field(self, tag: int, data: bytes, pos: int) -> int | None:
        """Read one field of the tag section; the position after it, or None where the tag is not known."""
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or type(self) is not type(other):
            return NotImplemented
        if any(getattr(self, field.name) != getattr(other, field.name) for field in self.ATTRIBUTES):
            return False
        return not self.FLEXIBLE or (self._unknown_tagged_fields or {}) == (other._unknown_tagged_fields or {})

    def __repr__(self) -> str:
        values = [f"{field.name}={getattr(self, field.name)!r}" for field in self.ATTRIBUTES]
        if self.FLEXIBLE and self._unknown_tagged_fields:
            values.append(f"unknown_tagged_fields={self._unknown_tagged_fields!r}")
        return f"{type(self).__name__}({', '.join(values)})"

    def __replace__(self, **changes: Any) -> Self:
        """A copy with other values, for `copy.replace`."""
        values = {field.name: getattr(self, field.name) for field in self.ATTRIBUTES}
        unknown = {"unknown_tagged_fields": dict(self._unknown_tagged_fields or {})} if self.FLEXIBLE else {}
        unknown_changes = {name: changes.pop(name) for name in unknown if name in changes}
        copy = type(self)(**{**values, **changes})
        for name, fields in {**unknown, **unknown_changes}.items():
            setattr(copy, name, fields)
        return copy


class Message(Struct):
    """A message of one version: what can be sent, received or stored by itself."""

    __slots__ = ()

    NAME: ClassVar[str]
    """The message's name in its spec."""
    TYPE: ClassVar[str]
    """The spec's `type`, such as `request`."""
    API_KEY: ClassVar[Any]
    """An int; None where the spec has none."""
    HEADER_VERSION: ClassVar[Any]
    """An int, of requests and responses only: the version of the header that stands before them."""
    VERSION: ClassVar[int]
    MIN_VERSION: ClassVar[int]
    """The lowest version of this message that there is a class for."""
    MAX_VERSION: ClassVar[int]

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The message that the buffer holds, from its first to its last byte.

        Raises:
            DecodeError: the buffer is not exactly one message of this version; it tells field path and byte offset.
        """
        if type(data) is not bytes:
            data = content_of(data)
        try:
            message = new(cls)
            end = message._read(data, 0)
            if end == len(data):
                return message
        except Exception as failure:
            _explain_decode(cls, data, 0, failure, whole=True)
        _explain_decode(cls, data, 0, None, whole=True)

    @classmethod
    def read(cls, data: bytes, offset: int = 0) -> tuple[Self, int]:
        """The message that starts at `offset` of a longer buffer, and the offset behind it.

        Pass `bytes` where you can: any other buffer is copied first, at each call.

        Raises:
            DecodeError: no message of this version stands there; its offset counts from the start of the buffer.
            ValueError: the offset lies outside the buffer.
        """
        if type(data) is not bytes:
            data = content_of(data)
        if not 0 <= offset <= len(data):
            raise ValueError(f"offset {offset} lies outside the buffer of {len(data)} bytes")
        try:
            message = new(cls)
            end = message._read(data, offset)
            if end <= len(data):
                return message, end
        except Exception as failure:
            _explain_decode(cls, data, offset, failure, whole=False)
        _explain_decode(cls, data, offset, None, whole=False)

    def encode(self) -> bytes:
        """The message's bytes, without a header.

        Raises:
            EncodeError: a value does not fit its field; it tells the field's path.
        """
        parts: list[bytes] = []
        try:
            self._write(parts.append)
            return b"".join(parts)
        except Exception as failure:
            _explain_encode(self, failure)

    def encoded_size(self) -> int:
        """How many bytes `encode` gives, without putting them together.

        Raises:
            EncodeError: as `encode`.
        """
        parts: list[bytes] = []
        try:
            self._write(parts.append)
            return sum(map(len, parts))
        except Exception as failure:
            _explain_encode(self, failure)

    def to_json(self) -> dict[str, Any]:
        """The JSON form that Kafka's Java converters use, as plain data for `json.dumps`; see docs/json.md.

        Unknown tagged fields are not part of it.

        Raises:
            EncodeError: a value does not fit its field.
        """
        from kipwire.json_form import write_json

        return write_json(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The message that a JSON object describes, the reverse of `to_json`.

        A key of a field that only other versions have is accepted where its value may be dropped: where it is the
        default, or the field is ignorable.

        Raises:
            JsonError: a key is unknown or missing, or a value is not of its field's type; it tells the path.
        """
        from kipwire.json_form import read_json

        return read_json(cls, value)


def content_of(data: object) -> bytes:
    """The content of a buffer.

    Raises:
        TypeError: it is not a buffer. A number is none, though `bytes` makes so many zeros of it.
    """
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        what = "None" if data is None else f"{type(data).__name__} {shown(data)}"
        raise TypeError(f"a message is decoded from bytes or another buffer, not from {what}") from None
    return view.tobytes()


def expect_end(cls: type[Message], end: int, data: bytes) -> None:
    """See that a message which ends there takes the buffer to its last byte.

    Raises:
        DecodeError: bytes are left over.
    """
    if end < len(data):
        from kipwire.words import left_over  # only errors need it

        raise DecodeError(cls.NAME, cls.VERSION, "", end, left_over(len(data) - end, "the message"))


def _explain_decode(
    cls: type[Message], data: bytes, offset: int, failure: Exception | None, *, whole: bool
) -> NoReturn:
    """Raise the DecodeError that tells where the fault is that the reader stumbled over."""
    from kipwire.walk import walk

    end = walk(cls, data, offset)
    if whole:
        expect_end(cls, end, data)
    raise failure or AssertionError(f"{cls.NAME} v{cls.VERSION}: the reader refused what the walker accepts")


def _explain_encode(message: Message, failure: Exception) -> NoReturn:
    """Raise the EncodeError that tells which value the writer stumbled over."""
    from kipwire.values import check

    check(message)
    raise failure
