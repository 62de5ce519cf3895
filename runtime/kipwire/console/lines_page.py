"""The lines of `kipwire tap` and `kipwire dump` as one page: a row for each exchange, batch or frame, which opens.

It is made of the JSON lines of these commands, so it shows the same. In an exchange are its bodies, in a batch its
records. A browser needs kilobytes for each row, hence the limits; JSON has all. `kipwire.cli.page` has the shell, and
why each text is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kipwire.cli.command_line import one_line
from kipwire.cli.output import Output
from kipwire.cli.page import escaped, part
from kipwire.cli.page import page as shell
from kipwire.tools.atomic import write_atomically
from kipwire.tools.text import count_of, cut, print_err
from kipwire.tools.times import moment_text_of_ns

MOST_ROWS = 2_000
"""Rows of a page."""
MOST_RECORDS = 10_000
"""Records of a page."""
_MOST_CHARACTERS = 20_000
"""Characters of a body, or of a key or a value; more are cut."""
_NS_OF_MS = 10**6
_RECORD_HEAD = "<thead><tr><th>offset</th><th>time</th><th>key</th><th>value</th><th>headers</th></tr></thead>"


@dataclass(slots=True)
class _Row:
    """One row, with the records below it."""

    line: dict[str, Any]
    records: list[dict[str, Any]] = field(default_factory=list)


class LinesPage(Output):
    """Takes JSON lines in place of standard output, and makes a page of them."""

    def __init__(self) -> None:
        """Begin with no lines."""
        super().__init__()
        self._rows: list[_Row] = []
        self._records = self._more = self._more_records = 0
        self._is_kept = True

    def write(self, text: str) -> None:
        """Take lines, each a JSON object."""
        for one in text.splitlines():
            line = json.loads(one)
            if line["type"] == "record":
                self._add_record(line)
            elif len(self._rows) < MOST_ROWS or line["type"] == "reading":
                self._rows.append(_Row(line))
                self._is_kept = True
            else:
                self._more += 1
                self._is_kept = False

    def flush(self) -> None:
        """Do nothing: the page is made when all lines are there."""

    def _add_record(self, line: dict[str, Any]) -> None:
        if self._is_kept and self._rows and self._records < MOST_RECORDS:
            self._rows[-1].records.append(line)
            self._records += 1
        else:
            self._more_records += 1

    def html(self, title: str) -> str:
        """Build the page as HTML text; it loads nothing from anywhere.

        Args:
            title: what stands above, such as the names of the files.
        """
        left = [count_of(self._more, "line")] if self._more else []
        left += [count_of(self._more_records, "record")] if self._more_records else []
        rest = f'<p class="bad">not on this page: {" and ".join(left)}; --format json has them</p>\n' if left else ""
        count = count_of(sum(row.line["type"] != "reading" for row in self._rows), "row")
        body = (
            f"<header>\n<h1>{escaped(title)}</h1>\n<p>{count}"
            + (f", {count_of(self._records, 'record')}" if self._records else "")
            + f"; each opens.</p>\n{rest}</header>\n<main>\n{''.join(map(_row, self._rows))}</main>"
        )
        package = "kipwire.console"
        return shell(title, body, part(package, "lines_page.css"), part(package, "lines_page.js"))


def write_page(file: Path, html: str) -> None:
    """Write a page, and say so on standard error."""
    write_atomically(file, html.encode())
    print_err(f"wrote {one_line(file)}")


def _row(row: _Row) -> str:
    line = row.line
    kind = str(line["type"])
    cells = "".join(f"<span>{cell}</span>" for cell in _CELLS.get(kind, _others)(line))
    inside = "".join([*_frames(line), *_bodies(line), _records(row.records), _all_of(line)])
    bad = ' class="fault"' if line.get("error") or kind == "error" else ""
    return f'<details{bad}><summary class="{escaped(kind)}">{cells}</summary>\n{inside}</details>\n'


def _exchange(line: Mapping[str, Any]) -> Iterator[str]:
    yield escaped(_moment(line["timestamp_ns"]))
    yield f"<b>{escaped(line['api'])}</b> v{line['api_version']}"
    yield escaped(line["client_id"] if line["client_id"] is not None else line["client"] or "")
    topics = line["topics"]
    yield escaped("" if not topics else topics[0] if len(topics) == 1 else f"{topics[0]} +{len(topics) - 1}")
    yield f"{_size(line['request_size'])} > {_size(line['response_size'])}"
    yield "" if line["latency_ns"] is None else f"{line['latency_ns'] / _NS_OF_MS:.3f} ms"
    yield _bad_texts(line)


def _frame(line: Mapping[str, Any]) -> Iterator[str]:
    yield escaped(_moment(line["timestamp_ns"]))
    yield f"<b>{escaped(line['api'])}</b> v{line['api_version']} {escaped(line['direction'])}"
    yield escaped(line["client_id"] if line["client_id"] is not None else line["client"] or "")
    yield f"frame {line['frame']}"
    yield _size(line["size"])
    yield "" if line["latency_ns"] is None else f"{line['latency_ns'] / _NS_OF_MS:.3f} ms"
    yield _bad_texts(line)


def _batch(line: Mapping[str, Any]) -> Iterator[str]:
    yield f"<b>{line['base_offset']}</b> to {line['last_offset']}"
    yield escaped(_moment(line["max_timestamp"] * _NS_OF_MS)) if line["max_timestamp"] >= 0 else ""
    place = line["topic"] or line.get("file") or ""
    yield escaped(place if line["partition"] is None else f"{place} {line['partition']}")
    yield count_of(line["records_count"], "record")
    yield _size(line["size"])
    yield escaped(line["compression"])
    kinds = [name for name in ("is_transactional", "is_control") if line[name]]
    producer = [] if line["producer_id"] < 0 else [f"producer {line['producer_id']}"]
    yield escaped(", ".join([*producer, *(kind[3:] for kind in kinds)]))


def _error(line: Mapping[str, Any]) -> Iterator[str]:
    yield f'<i class="bad">{escaped(line.get("error") or line.get("reason") or "error")}</i>'


def _others(line: Mapping[str, Any]) -> Iterator[str]:
    for name, value in line.items():
        if name != "type" and value not in (None, [], ""):
            yield f"<i>{escaped(name)}</i> {escaped(cut(str(value), 80))}"


_CELLS: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "exchange": _exchange,
    "frame": _frame,
    "batch": _batch,
    "error": _error,
}


def _frames(line: Mapping[str, Any]) -> Iterator[str]:
    """Make a button for each frame, which is there where a program explains frames: on the page for browsers."""
    for name in ("request_frame", "response_frame", "frame"):
        if line.get(name) is not None:
            label = "frame" if name == "frame" else name.removesuffix("_frame")
            yield f'<button hidden data-frame="{line[name]}">bytes of the {label}</button>\n'


def _bodies(line: Mapping[str, Any]) -> Iterator[str]:
    for name in ("request", "response"):
        if line.get(name) is not None:
            text = json.dumps(line[name], ensure_ascii=False, indent=1)
            yield f"<h2>{name}</h2>\n<pre>{_text(text)}</pre>\n"


def _records(records: list[dict[str, Any]]) -> str:
    if not records:
        return ""
    rows = "".join(
        f"<tr><td>{one['offset']}</td><td>{escaped(_moment(one['timestamp'] * _NS_OF_MS))}</td>"
        f"<td>{_value(one['key'])}</td><td>{_value(one['value'])}{_bad(one.get('error'))}</td>"
        f"<td>{_value(one['headers']) if one['headers'] else ''}</td></tr>\n"
        for one in records
    )
    return f"<table>\n{_RECORD_HEAD}\n<tbody>\n{rows}</tbody>\n</table>\n"


def _all_of(line: Mapping[str, Any]) -> str:
    facts = {name: value for name, value in line.items() if name not in ("type", "request", "response")}
    items = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(_plain(value))}</dd>" for name, value in facts.items())
    return f"<dl>{items}</dl>\n"


def _value(value: Any) -> str:
    return "<i>null</i>" if value is None else escaped(cut(_plain(value), _MOST_CHARACTERS))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(text: str) -> str:
    """Escape a text of several lines."""
    return "\n".join(map(escaped, cut(text, _MOST_CHARACTERS).split("\n")))


def _bad_texts(line: Mapping[str, Any]) -> str:
    codes = [str(one["error"] or one["code"]) for one in line["error_codes"]]
    return _bad(", ".join([*dict.fromkeys(codes), *([line["error"]] if line["error"] else [])]))


def _bad(text: str | None) -> str:
    return f' <i class="bad">{escaped(text)}</i>' if text else ""


def _size(size: int | None) -> str:
    return "none" if size is None else count_of(size, "byte")


def _moment(nanoseconds: int) -> str:
    return "" if nanoseconds < 0 else moment_text_of_ns(nanoseconds)
