"""The files that a command line names, by kind, and which options go with them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kipwire.cli.command_line import system_error
from kipwire.console.dump.log_files import STANDARD_INPUT, LogFile, find_log_files
from kipwire.console.dump.partition_files import Kind, kind_of
from kipwire.console.dump.standard_input import LogStream, open_standard_input
from kipwire.tools.files import need_file
from kipwire.tools.text import nearest
from kipwire.traffic.any_capture import Capture, capture_at


@dataclass
class Inputs:
    """Inputs to dump."""

    captures: list[Capture] = field(default_factory=list)
    logs: list[LogFile] = field(default_factory=list)
    streams: list[LogStream] = field(default_factory=list)
    """The log on standard input, if there is one."""
    others: list[tuple[Path, Kind]] = field(default_factory=list)
    """Files beside segments."""
    failed: list[str] = field(default_factory=list)
    """Why others cannot be dumped, which keeps none of the above from it: one line for each."""


def find_inputs(names: Collection[str], decode_as: str | None, before_waiting: Callable[[], None]) -> Inputs:
    """Look what is at each path.

    Args:
        names: of files and folders; `-` is standard input.
        decode_as: as for `log_file`.
        before_waiting: as for `open_standard_input`.

    Raises:
        ValueError: standard input is named twice.
    """
    found = Inputs()
    if list(names).count(str(STANDARD_INPUT)) > 1:
        raise ValueError("standard input can be read once; give - once")
    for name in names:
        try:
            if name == str(STANDARD_INPUT):
                _add_standard_input(found, decode_as, before_waiting)
            else:
                _add(found, Path(name), decode_as)
        except OSError as error:
            found.failed.append(system_error(error))
        except ValueError as error:
            found.failed.append(str(error))
    return found


def _add(found: Inputs, path: Path, decode_as: str | None) -> None:
    """Add what is at a path.

    Raises:
        OSError: it cannot be read.
        ValueError: there is nothing, or nothing that can be dumped.
    """
    if not path.exists():
        near = nearest(path.name, _names_beside(path))
        hint = "give a log segment, a folder of a partition or a capture"
        raise ValueError(f"{path} does not exist; {f'did you mean {path.with_name(near)}?' if near else hint}")
    try:
        need_file(path)
    except OSError as error:
        raise ValueError(f"{path} {error.strerror}; give a file, or - for standard input") from None
    kind = kind_of(path)
    capture = None if kind is not None else capture_at(path)
    if kind is not None:
        found.others.append((path, kind))
    elif capture is not None:
        found.captures.append(capture)
    else:
        found.logs += find_log_files(path, decode_as)


def _names_beside(path: Path) -> list[str]:
    """List the files and folders that are where a path should be."""
    with suppress(OSError):
        return sorted(one.name for one in path.parent.iterdir())
    return []


def _add_standard_input(found: Inputs, decode_as: str | None, before_waiting: Callable[[], None]) -> None:
    opened = open_standard_input(before_waiting, decode_as)
    if isinstance(opened, Capture):
        found.captures.append(opened)
    else:
        found.streams.append(opened)


def expect_fit(found: Inputs, given: Collection[str]) -> None:
    """Check that the options fit the inputs.

    Args:
        found: the inputs.
        given: the options that were given, such as `--records`; `offsets` and `times` for the options of bounds,
            `the end` if it has to be known first.

    Raises:
        ValueError: an option does not fit.
    """
    if found.captures and set(given) - {"times", "--port"}:
        of_logs = "--records, --summary, --follow, --as, --magic-2, --last and offsets are for logs"
        raise ValueError(f"{found.captures[0].name} is a capture; {of_logs}")
    if found.others and given:
        path, kind = found.others[0]
        raise ValueError(f"{path} is {kind.what}, which is always shown whole; only --format can be used with it")
    logs = [log.path for log in found.logs] + [stream.file.path for stream in found.streams]
    if logs and "--port" in given:
        raise ValueError(f"{_name(logs[0])} is a log; --port is for captures")
    if found.streams and "--follow" in given:
        raise ValueError("--follow cannot be used with standard input, which is always read to its end")
    if found.streams and "the end" in given:
        raise ValueError(
            "--last and negative offsets cannot be used with standard input, which is not read backwards; give a file"
        )


def _name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)
