"""The registry of a generated package: its catalogue of messages, which decodes and encodes their frames, too.

A generated package is its registry: `__init__.py` makes the registry of `Entry`s, and every function of the package
is a method of the registry. What a frame is follows from API key and version alone; `frames` has what frames of all
packages have in common, and the one exception, the answer to ApiVersions.

`Registry` and `Entry` are called by generated code, so their arguments belong to its level.
"""

from __future__ import annotations

from importlib import import_module

from kipwire import message
from kipwire.message.catalogue import Catalogue
from kipwire.message.catalogue import Entry as Entry
from kipwire.message.messages import content_of
from kipwire.model.errors import DecodeError, LevelError, PackageError, UnsupportedVersionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, overload

    from kipwire.message.conversion import Loss
    from kipwire.message.frames import AnsweredBy, Frame, FrameAndRest, RequestHeader, ResponseHeader
    from kipwire.message.messages import Message

    M = TypeVar("M", bound=Message)
    Losses = list[Loss] | None

KAFKA_PACKAGE = "kafka_messages"  # its headers serve packages without header specs of their own
_NAMED_BY = "name a response by its class, by the class of its request, or by API key and version"
_NO_ID = "give a correlation id, or header=, the whole header"


class Registry(Catalogue):
    """All messages of one package, and their frames."""

    def __init__(self, package: str, entries: tuple[Entry, ...]) -> None:
        super().__init__(package, entries)
        self._framed: dict[type[Message], str] = {}  # classes whose messages can be in frames, with their types

    def decode_request(self, frame: bytes) -> Frame[RequestHeader, Message]:
        """Decode a request frame, without the size before it: (header, body).

        Raises:
            DecodeError: the frame is cut short or is not strictly valid; offsets count from the start of the frame.
                `UnknownApiKeyError` and `UnknownVersionError` where the package has no such request, `LeftOverError`
                where bytes follow the body, which `read_request` returns.
        """
        header, body, rest = self._read_request(frame)
        if rest:
            message.frame_errors.refuse_rest(body, frame, rest, body.API_KEY, body.VERSION, header.correlation_id)
        return message.frames.Frame(header, body)

    def read_request(self, frame: bytes) -> FrameAndRest[RequestHeader, Message]:
        """Decode a request frame like `decode_request`, but return what follows the body, too: (header, body, rest).

        Raises:
            DecodeError: as `decode_request`, but for the `LeftOverError`.
        """
        return message.frames.FrameAndRest(*self._read_request(frame))

    if TYPE_CHECKING:

        @overload
        def decode_response(
            self, frame: bytes, cls: type[AnsweredBy[M]], /, *, version: int | None = None, lost: Losses = None
        ) -> Frame[ResponseHeader, M]: ...
        @overload
        def decode_response(
            self, frame: bytes, cls: type[M], /, *, version: int | None = None, lost: Losses = None
        ) -> Frame[ResponseHeader, M]: ...
        @overload
        def decode_response(self, frame: bytes, api_key: int, version: int) -> Frame[ResponseHeader, Message]: ...

    def decode_response(self, frame: bytes, api_key: Any = None, version: Any = None, *, lost: Losses = None) -> Any:
        """Decode a response frame, without the size before it: (header, body).

        A broker that does not support the requested version of ApiVersions answers in version 0 (KIP-511); such an
        answer is read as version 0. If a class is given, any response of another version is converted to it.

        Args:
            frame: the bytes.
            api_key: the API key of the request, which the frame of a response does not have; or the class of the
                response, or of the request.
            version: the version in which the request was sent; by default the version of the class.
            lost: see `kipwire.convert`.

        Raises:
            DecodeError: the frame is not strictly valid; offsets count from the start of the frame. `LeftOverError`
                where bytes follow the body, which `read_response` returns.
            UnsupportedVersionError: the package has no response of that key (`UnknownApiKeyError`), or not in that
                version (`UnknownVersionError`); or the class is not a response, or belongs to another package.
            ConversionError: the class cannot carry what came in the other version.
        """
        header, body, rest = self._read_response(frame, api_key, version, lost)
        if rest:
            message.frame_errors.refuse_rest(body, frame, rest, body.API_KEY, body.VERSION, header.correlation_id)
        return message.frames.Frame(header, body)

    if TYPE_CHECKING:

        @overload
        def read_response(
            self, frame: bytes, cls: type[AnsweredBy[M]], /, *, version: int | None = None, lost: Losses = None
        ) -> FrameAndRest[ResponseHeader, M]: ...
        @overload
        def read_response(
            self, frame: bytes, cls: type[M], /, *, version: int | None = None, lost: Losses = None
        ) -> FrameAndRest[ResponseHeader, M]: ...
        @overload
        def read_response(self, frame: bytes, api_key: int, version: int) -> FrameAndRest[ResponseHeader, Message]: ...

    def read_response(self, frame: bytes, api_key: Any = None, version: Any = None, *, lost: Losses = None) -> Any:
        """Decode a response frame like `decode_response`, but return what follows the body, too: (header, body, rest).

        Raises:
            DecodeError: as `decode_response`, but for the `LeftOverError`.
            UnsupportedVersionError: as `decode_response`.
        """
        return message.frames.FrameAndRest(*self._read_response(frame, api_key, version, lost))

    if TYPE_CHECKING:

        @overload
        def encode_request(
            self,
            body: Message | AnsweredBy[Any],
            correlation_id: int,
            client_id: str | None = None,
            *,
            version: int | None = None,
            lost: Losses = None,
        ) -> bytes: ...
        @overload
        def encode_request(
            self,
            body: Message | AnsweredBy[Any],
            *,
            header: RequestHeader,
            version: int | None = None,
            lost: Losses = None,
        ) -> bytes: ...

    def encode_request(
        self,
        body: Any,
        correlation_id: int | None = None,
        client_id: str | None = None,
        *,
        header: RequestHeader | None = None,
        version: int | None = None,
        lost: Losses = None,
    ) -> bytes:
        """Encode a request frame, without the size before it: the header that belongs to the body, then the body.

        Args:
            body: the request.
            correlation_id: identifies the response.
            client_id: the client's name for itself.
            header: the whole header, in place of correlation id and client id: such as the header of a decoded frame,
                with its unknown tagged fields.
            version: the version to which the body is converted before it is sent; by default the body's own.
            lost: see `kipwire.convert`.

        Raises:
            EncodeError: the body is not a request of this package, a value does not fit its field, or the header
                belongs to another request.
            ConversionError: the version cannot carry what the body has.
            UnsupportedVersionError: the request has no such version.
            TypeError: the body or the header is not a message, or there is neither a header nor a correlation id.
        """
        if self._framed.get(type(body)) != "request":
            self._expect_body(body, "request")
        request: Message = body if version is None else message.conversion.convert(body, version, lost=lost)
        if header is None:
            if correlation_id is None:
                raise TypeError(_NO_ID)
            cls = self.header_class("RequestHeader", request)
            has_client_id = hasattr(cls, "client_id")  # version 0 has none
            made: Message = cls(
                request_api_key=request.API_KEY,
                request_api_version=request.VERSION,
                correlation_id=correlation_id,
                **({"client_id": client_id} if has_client_id else self._without_client_id(cls, client_id)),
            )
        else:
            if correlation_id is not None or client_id is not None:
                raise TypeError("give a correlation id and a client id, or a header that has them")
            message.frame_errors.expect_header(header, self.header_class("RequestHeader", request), request)
            made = header
        return made.encode() + request.encode()

    if TYPE_CHECKING:

        @overload
        def encode_response(
            self, body: Message, correlation_id: int, *, version: int | None = None, lost: Losses = None
        ) -> bytes: ...
        @overload
        def encode_response(
            self, body: Message, *, header: ResponseHeader, version: int | None = None, lost: Losses = None
        ) -> bytes: ...

    def encode_response(
        self,
        body: Message,
        correlation_id: int | None = None,
        *,
        header: ResponseHeader | None = None,
        version: int | None = None,
        lost: Losses = None,
    ) -> bytes:
        """Encode a response frame, without the size before it.

        Args:
            body: the response.
            correlation_id: copied from the request.
            header: the whole header, in place of the correlation id: such as the header of a decoded frame, with its
                unknown tagged fields.
            version: the version of the request, to which the body is converted; by default the body's own.
            lost: see `kipwire.convert`.

        Raises:
            EncodeError: the body is not a response of this package, a value does not fit its field, or the header is
                of another version.
            ConversionError: the version cannot carry what the body has.
            UnsupportedVersionError: the response has no such version.
            TypeError: the body or the header is not a message, or there is neither a header nor a correlation id.
        """
        if self._framed.get(type(body)) != "response":
            self._expect_body(body, "response")
        if version is not None:
            body = message.conversion.convert(body, version, lost=lost)
        if header is None:
            if correlation_id is None:
                raise TypeError(_NO_ID)
            made: Message = self.header_class("ResponseHeader", body)(correlation_id=correlation_id)
        else:
            if correlation_id is not None:
                raise TypeError("give a correlation id, or a header that has one")
            message.frame_errors.expect_header(header, self.header_class("ResponseHeader", body), body)
            made = header
        return made.encode() + body.encode()

    def has_client_ids(self) -> bool:
        """True if the header of requests has a client id; one of a package's own may lack it in all versions."""
        owner = self.with_header("RequestHeader")
        return hasattr(owner.message("RequestHeader", owner.versions("RequestHeader")[-1]), "client_id")

    def _without_client_id(self, header: type[Message], client_id: str | None) -> dict[str, str]:
        """Return no value for a header without a client id.

        Raises:
            EncodeError: there is a client id, which no version of the header has.
        """
        if client_id is not None and not self.has_client_ids():
            message.frame_errors.refuse_client_id(header, self.package)
        return {}

    def with_header(self, name: str) -> Registry:
        """Find the registry that has a header: this one, or Kafka's if the package has no header of its own.

        Args:
            name: `RequestHeader` or `ResponseHeader`.
        """
        return self if name in self._by_name else registry_of(KAFKA_PACKAGE)

    def header_class(self, name: str, body: type[Message] | Message) -> Any:
        """Find the class of the header before a message.

        Args:
            name: `RequestHeader` or `ResponseHeader`.
            body: the message, or its class.

        Raises:
            UnsupportedVersionError: there is no such header.
        """
        return self.with_header(name).message(name, body.HEADER_VERSION)

    def request_header_class(self, api_key: int, version: int) -> Any:
        """Find the class of the header before a request, without importing the class of the request.

        Raises:
            UnsupportedVersionError: the package has no request of that key, or not in that version.
        """
        version = self.request_header_version(api_key, version)
        return self.with_header("RequestHeader").message("RequestHeader", version)

    @property
    def parts(self) -> tuple[Registry, ...]:
        """The registries of the packages whose messages it has: itself; more for what `kipwire.combine` makes."""
        return (self,)

    def _read_request(self, frame: bytes) -> tuple[Any, Message, bytes]:
        """Decode a request frame: (header, body, what is left over)."""
        if type(frame) is not bytes:
            frame = content_of(frame)
        try:
            body_class = self._request_class(frame)
            header, body_at = self.header_class("RequestHeader", body_class).read(frame)
            body, end = body_class.read(frame, body_at)
            return header, body, frame[end:]
        except DecodeError as error:
            raise message.frame_errors.explain_request(error, frame) from None

    def _read_response(self, frame: bytes, api_key: Any, version: Any, lost: Losses) -> tuple[Any, Message, bytes]:
        """Decode a response frame: (header, body, what is left over)."""
        if type(frame) is not bytes:
            frame = content_of(frame)
        wanted = self.response_class(api_key) if isinstance(api_key, type) else None
        asked = self._answer(api_key, version, frame) if wanted is None else message.frames.as_sent(wanted, version)
        try:
            header, body_at = self.header_class("ResponseHeader", asked).read(frame)
            body_class = message.frames.class_of_answer(asked, frame, body_at)
            body, end = body_class.read(frame, body_at)
        except DecodeError as error:
            raise message.frame_errors.explain_response(error, frame, asked.API_KEY, asked.VERSION) from None
        if wanted is not None and body_class is not wanted:
            body = message.conversion.convert(body, wanted, lost=lost)
        return header, body, frame[end:]

    def response_class(self, cls: type[Message] | type[AnsweredBy[Any]]) -> type[Message]:
        """Find the class of a response, by itself or by the class of its request.

        Raises:
            TypeError: the argument is no class of a request or a response.
            UnsupportedVersionError: the class is of another package.
        """
        kind = getattr(cls, "TYPE", None)
        if kind not in ("request", "response"):
            raise TypeError(_NAMED_BY)
        found: Any = cls
        if not self._has(found):
            message.frame_errors.refuse_class(found, self.package)
        return self.counterpart(found) if kind == "request" else found

    def _request_class(self, frame: bytes) -> type[Message]:
        """Find the class of a request by the first bytes of its frame."""
        api_key, version = message.frames.key_and_version(frame)
        try:
            return self.request(api_key, version)
        except UnsupportedVersionError as error:
            is_known = api_key in self._requests
            raise message.frame_errors.unknown_request(frame, str(error), is_api_known=is_known) from None

    def _answer(self, api_key: Any, version: Any, frame: bytes) -> type[Message]:
        """Find the class of a response, from the facts of its request."""
        if version is None:
            raise TypeError(_NAMED_BY)
        try:
            return self.response(api_key, version)
        except UnsupportedVersionError as error:
            entry = self._responses.get(api_key)
            if entry is not None and 0 in entry.versions:
                oldest, frames = self.response(api_key, 0), message.frames
                if frames.may_answer_in_version_0(oldest) and frames.is_refused_version(
                    frame, self.header_class("ResponseHeader", oldest)
                ):
                    return oldest
            unknown, is_known = message.frame_errors.unknown_response, entry is not None
            raise unknown(frame, str(error), api_key, version, is_api_known=is_known) from None

    def _expect_body(self, body: Message, due: str) -> None:
        """Check that a frame of this package can have a body.

        Raises:
            EncodeError: the body is a message of another type, or of another package.
            TypeError: the body is no message.
        """
        cls = type(body)
        if getattr(cls, "TYPE", None) != due or not self._has(cls):
            message.frame_errors.refuse_body(body, due, self.package)
        self._framed[cls] = due

    def _has(self, cls: type[Message]) -> bool:
        """True if a class belongs to this package, or to another one and is the same on the wire."""
        entry = self._by_name.get(cls.NAME)
        if entry is None or not entry.lowest <= cls.VERSION <= entry.highest:
            return False
        own = self._class(entry, cls.VERSION)
        return cls is own or (cls.API_KEY, cls.HEADER_VERSION) == (own.API_KEY, own.HEADER_VERSION)


def registry_of(package: str) -> Registry:
    """Import a generated package and return its registry.

    Args:
        package: dotted name of the package.

    Raises:
        PackageError: the package cannot be imported, or kipgen did not generate it for a level of this runtime.
    """
    try:
        module = import_module(package)
    except LevelError:
        raise
    except Exception as error:  # the package is the user's code, in which anything may go wrong
        if not all(part.isidentifier() for part in package.split(".")):
            reason = f"{package!r} is not a valid name for a Python package; give one such as my_protocol"
            raise PackageError(reason) from None
        hint = "; is its folder on PYTHONPATH?" if isinstance(error, ModuleNotFoundError) else ""
        raise PackageError(f"{package}: cannot be imported ({error}){hint}") from error
    found = getattr(module, "REGISTRY", None)
    if not isinstance(found, Registry):
        raise PackageError(f"{package}: is not a package generated by kipgen")
    return found
