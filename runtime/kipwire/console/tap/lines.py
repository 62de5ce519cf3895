"""The lines of exchanges: for people one for each, for programs a JSON object for each."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from kipwire.console.json_text import JsonText
from kipwire.console.reading import unread_of
from kipwire.console.tap.topics import TopicNames
from kipwire.message.registry import Registry
from kipwire.model.errors import KipwireError
from kipwire.tools.text import Part, has_colour, is_terminal, printable_line, style_line
from kipwire.tools.times import moment_text_of_ns
from kipwire.traffic.exchanges import Errors, Exchange, Row
from kipwire.traffic.frame_facts import decode_frame, error_text

if TYPE_CHECKING:
    from kipwire.console.dump.values import Decoders

_NS_OF_MS = 10**6
_NO_SIZE = "none"


class TextLines:
    """Lines for people: with colours, and without the date, on a terminal."""

    def __init__(
        self, registry: Registry, names: TopicNames, *, bodies: bool, decoders: Decoders | None = None
    ) -> None:
        self.has_bodies, self._names = bodies, names
        self._bodies = _Bodies(registry, decoders, ascii=False) if bodies else None
        self._coloured = has_colour(sys.stdout)
        self._has_date = not is_terminal(sys.stdout)

    def exchange(self, capture: str, exchange: Exchange) -> str:
        """Format an exchange on a line, followed by its bodies if they are wanted."""
        first = exchange.first
        found, request = first.found, first.found.request
        moment = moment_text_of_ns(found.time)
        parts: list[Part] = [(moment if self._has_date else moment.rpartition("T")[2], "dim")]
        if found.connection is not None:
            parts.append(f" {found.client or f'connection-{found.connection}'} > {found.listener or 'broker'}")
        if request is not None:
            parts.append((f" {first.api} v{request.api_version}", "bold"))
            topics = self._names.shown(exchange)
            if topics:
                parts.append(f" topic={topics[0]!r}" if len(topics) == 1 else f" topic={topics[0]!r}+{len(topics) - 1}")
            if request.client_id is not None:
                parts.append(f" client={request.client_id!r}")
            sizes = (_NO_SIZE if row is None or row.size is None else row.size for row in exchange)
            parts.append(" request={} response={}".format(*sizes))
        elif found.direction is not None:
            parts.append(f" {found.direction}")
        if exchange.latency is not None:
            parts.append(f" latency={exchange.latency / _NS_OF_MS:.3f}ms")
        if exchange.errors:
            texts = ",".join(error_text(one.code, one.name, one.times) for one in exchange.errors)
            parts.append((f" errors={texts}", "red"))
        if exchange.notes:
            parts.append((f" note={'; '.join(exchange.notes)!r}", "dim"))
        numbers = ",".join(str(row.number) for row in exchange if row is not None and row.number is not None)
        if numbers:
            parts.append((f" frames={numbers}", "dim"))
        parts += [(f" error={error!r}", "red") for error in exchange.problems]
        line = style_line(parts, coloured=self._coloured, one_line=True)
        return line if self._bodies is None else line + self._of_bodies(exchange, self._bodies)

    def _of_bodies(self, exchange: Exchange, texts: _Bodies) -> str:
        lines = []
        for what, row in zip(("request", "response"), exchange, strict=True):
            body = None if row is None else texts.of(row)
            if body is not None:
                lines.append(f"  {what} {printable_line(body)}\n")
        return "".join(lines)


class JsonLines:
    """Lines for programs."""

    def __init__(
        self, registry: Registry, names: TopicNames, *, bodies: bool, decoders: Decoders | None = None
    ) -> None:
        self.has_bodies, self._names = bodies, names
        self._bodies = _Bodies(registry, decoders, ascii=True) if bodies else None

    def exchange(self, capture: str, exchange: Exchange) -> str:
        """Format an exchange as a JSON object."""
        first = exchange.first
        found, request = first.found, first.found.request
        asked, answered = exchange
        shown: dict[str, Any] = {
            "type": "exchange" if request is not None else "error",
            "capture": capture,
            "timestamp_ns": found.time,
            "connection": found.connection,
            "client": found.client,
            "broker": found.listener,
        }
        if request is not None:
            shown |= {
                "client_id": request.client_id,
                "api": first.api,
                "api_key": request.api_key,
                "api_version": request.api_version,
                "topics": self._names.shown(exchange),
                "correlation_id": request.correlation_id,
                "request_size": None if asked is None else asked.size,
                "response_size": None if answered is None else answered.size,
                "request_frame": None if asked is None else asked.number,
                "response_frame": None if answered is None else answered.number,
                "latency_ns": exchange.latency,
                "error_codes": [_error(one) for one in exchange.errors],
                "note": "; ".join(exchange.notes) or None,
            }
        else:
            shown |= {"direction": found.direction, **unread_of(first.unread)}
        shown["error"] = "; ".join(exchange.problems) or None
        text = json.dumps(shown, separators=(",", ":"))
        if self._bodies is not None and request is not None:
            bodies = [None if row is None else self._bodies.of(row) for row in exchange]
            text = text[:-1] + ',"request":{},"response":{}}}'.format(*(body or "null" for body in bodies))
        return text + "\n"


def _error(error: Errors) -> dict[str, Any]:
    return {"path": error.path, "code": error.code, "error": error.name, "count": error.times}


class _Bodies:
    """Texts of the bodies of frames, as JSON."""

    def __init__(self, registry: Registry, decoders: Decoders | None, *, ascii: bool) -> None:
        self._registry, self._decoders, self._texts = registry, decoders, JsonText(ascii=ascii)

    def of(self, row: Row) -> str | None:
        """Format the JSON of a message, with records if they are opened; None if there is none that can be decoded."""
        found = row.found
        if found.request is None or found.frame is None or found.direction is None or row.error is not None:
            return None
        key, version = found.request.api_key, found.request.api_version
        try:
            body = decode_frame(self._registry, found.direction, key, version, found.frame)
        except KipwireError:
            return None
        if self._decoders is None:
            return self._texts.of(body)
        from kipwire.console.records import with_readable_records  # more imports than all of tap

        return self._texts.any(with_readable_records(type(body), body.to_json(), self._decoders))
