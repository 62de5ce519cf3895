"""The side of a process that reads for another one: `serve`, which a new Python calls, and its forks."""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import signal
import traceback
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import pyarrow as pa

from kipwire.tables.processes.exchange import (
    MOST_BATCHES,
    ROOM,
    Done,
    End,
    Failed,
    Free,
    Ready,
    Sent,
    Shared,
    Stop,
    Stopped,
    Warned,
    Work,
)

_ALIGNMENT = 64


def serve(files: Sequence[str]) -> None:
    """Read for another process, as several processes: one for each socket.

    Args:
        files: the numbers of a socket and of a file of shared memory for each process, with a colon between them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other side, which ends this one
    import_module("kipwire.tables.sources.formats")  # before the fork, so that it is imported once
    gc.freeze()  # what is imported stays
    pairs = [tuple(map(int, pair.split(":"))) for pair in files]
    mine = next((pair for pair in pairs[1:] if os.fork() == 0), pairs[0])
    for end, file in pairs:
        if end != mine[0]:
            os.close(end)
            os.close(file)
    with suppress(EOFError, OSError):  # the other side is gone
        _Worker(End(mine[0]), mmap.mmap(mine[1], ROOM)).run()
    with suppress(ChildProcessError):
        while mine == pairs[0]:
            os.wait()  # so that their processor time is known


def _whole(warning: Warning | str, category: type[Warning]) -> Warning:
    return warning if isinstance(warning, Warning) else category(warning)


class _StoppedError(Exception):
    """A piece that is not read further."""


class _Worker:
    """Reads pieces, one after the other."""

    def __init__(self, end: End, memory: mmap.mmap) -> None:
        self._end = end
        self._memory = memoryview(memory)
        self._used: dict[int, int] = {}
        """Places with rows that are not free again, with their sizes, in the order of their starts."""
        self._work = Work(iter, ())
        self._pieces: deque[int] = deque()

    def run(self) -> None:
        """Read what the other side asks for, until it is gone.

        Raises:
            EOFError, OSError: it is gone.
        """
        self._end.send(Ready(os.getpid()))
        warnings.simplefilter("always")  # the other side decides
        warnings.showwarning = lambda warning, category, *_: self._end.send(Warned(_whole(warning, category)))
        while True:
            with suppress(_StoppedError):
                self._take(self._end.receive())
                while self._pieces:
                    self._read(self._work.pieces[self._pieces.popleft()])

    def _take(self, message: Any) -> None:
        """Note what the other side has said.

        Raises:
            _StoppedError: it wants no more rows; what it says after that is about other work.
        """
        match message:
            case int():
                self._pieces.append(message)
            case Free(starts):
                for start in starts:
                    del self._used[start]
            case Work():
                self._work = message
            case Stop():
                self._pieces.clear()
                self._end.send(Stopped())
                raise _StoppedError

    def _read(self, piece: Any) -> None:
        rows = self._work.read(piece)
        while (batch := self._next(rows)) is not None:
            self._hand_over(batch)
        self._end.send(Done())

    def _next(self, rows: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        """Return the next rows; None at the end of the piece.

        Raises:
            _StoppedError: there is an error, and the other side has it now.
        """
        try:
            return next(rows, None)
        except Exception as error:
            error.add_note(traceback.format_exc())
            try:
                pickle.loads(packed := pickle.dumps(Failed(error)))
            except Exception:  # an error that cannot be copied
                packed = pickle.dumps(Failed(RuntimeError(f"{type(error).__name__}: {error}")))
            self._end.send_packed(packed)
            raise _StoppedError from None

    def _hand_over(self, batch: pa.RecordBatch) -> None:
        size = _write(pa.MockOutputStream(), batch)
        if size > ROOM:
            sink = pa.BufferOutputStream()
            _write(sink, batch)
            self._look()
            self._end.send(Sent(sink.getvalue().to_pybytes()))
            return
        self._look()
        while (start := self._place(size)) is None:
            self._take(self._end.receive())
        _write(pa.FixedSizeBufferWriter(pa.py_buffer(self._memory[start : start + size])), batch)
        self._used = dict(sorted({**self._used, start: size}.items()))
        self._end.send(Shared(start, size))

    def _look(self) -> None:
        """Take what the other side has said meanwhile."""
        while self._end.has_message():
            self._take(self._end.receive())

    def _place(self, size: int) -> int | None:
        """Return the first place for so many bytes; None if there is none."""
        if len(self._used) >= MOST_BATCHES:
            return None
        start = 0
        for used, its_size in self._used.items():
            if used - start >= size:
                break
            start = -(-(used + its_size) // _ALIGNMENT) * _ALIGNMENT
        return start if start + size <= ROOM else None


def _write(sink: Any, batch: pa.RecordBatch) -> int:
    """Write rows with their schema; return the number of bytes."""
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    size: int = sink.tell()
    return size
