"""Read the pieces of a plan with several processes, in the order of the plan, as if one had read them.

`Readers` is the side of the process that wants rows, `_Worker` the side of one that reads. A worker writes each Arrow
batch into memory that both have mapped, and only says where: the rows are not copied a second time, and the place is
free again once no row is held. Such memory is also the bound: a worker that has filled it waits.

Processes are neither forks of this one, which may have threads, nor does the main module of the program run again in
them: a new Python imports what reads, and forks itself before it has threads. They live as long as their sockets.
"""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import select
import signal
import subprocess
import sys
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from socket import socketpair
from tempfile import TemporaryFile
from threading import Lock
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kipwire.tables.errors import SourceError

Read = Callable[[Any], Iterator[pa.RecordBatch]]
"""Yields the rows of a piece of work; it can be pickled, and so can the piece."""

ROOM = 32 * 1024 * 1024
"""Bytes of rows that a worker may be ahead; the read-ahead should have about a piece of work."""
PIECE = 16 * 1024 * 1024
"""Bytes of files in a piece of work: the rows of one should have room."""
_MOST_BATCHES = 64
"""Batches that a worker may be ahead, so that no message about them ever waits for its reader."""
_ALIGNMENT = 64
_AHEAD = 2
"""Pieces that a worker has: the one that it reads, and the next."""
MIN_SECONDS_LEFT = 2.0
"""Seconds of reading that must be left before processes are started, which takes 0.4 s."""
MIN_SECONDS_READ = 0.1
"""Seconds of reading after which the pace is known."""
_SECONDS_BETWEEN_LOOKS = 0.05
"""Time after which places are given back at the latest while a worker waits for them."""
_SECONDS_TO_END = 1
"""Time that a process may take to notice that it is not needed any more: it looks after each batch."""
START_PROGRAM = """import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from kipwire.tables.processes import serve
serve(sys.argv[1:])"""
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # numpy's library for matrices would start threads, before the fork
    "MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),  # without these two glibc gives the memory of each batch
    "MALLOC_TRIM_THRESHOLD_": str(64 * 1024 * 1024),  # back, and reading takes 1.7 times as long
}
_CAN_START = os.name == "posix"


def all_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# What this process says to a worker: a piece of work is its number.


class _Work(NamedTuple):
    """Work to do from now on."""

    read: Read
    pieces: Sequence[Any]


class _Free(NamedTuple):
    """Places in the shared memory that are read no more."""

    starts: list[int]


class _Stop(NamedTuple):
    """Read nothing more of this work."""


# What a worker says.


class _Ready(NamedTuple):
    """The worker can read."""

    process: int


class _Shared(NamedTuple):
    """Rows in the shared memory."""

    start: int
    size: int


class _Sent(NamedTuple):
    """Rows that are too large for the shared memory."""

    data: bytes


class _Warned(NamedTuple):
    """Reading has warned, such as of records that are gone."""

    warning: Warning


class _Done(NamedTuple):
    """A piece has no more rows."""


class _Failed(NamedTuple):
    """A piece could not be read further."""

    error: BaseException


class _Stopped(NamedTuple):
    """The worker has stopped."""


class _End:
    """One end of a socket, with messages in both directions."""

    def __init__(self, file: int) -> None:
        self._connection = Connection(file)
        self._poll = select.poll()  # made once: the poll of a connection costs as much as to decode a small batch
        self._poll.register(file, select.POLLIN)
        self.send, self.receive = self._connection.send, self._connection.recv
        self.send_packed, self.close = self._connection.send_bytes, self._connection.close

    def has_message(self, seconds: float = 0) -> bool:
        """True if a message is there, or comes within some seconds, or the other end is closed."""
        return bool(self._poll.poll(seconds * 1000))


class _Place(weakref.ref[Any]):
    """A place in the shared memory whose rows may still be read: once they are not, its callback is called.

    That must be compiled code: an interrupt that arrives in a callback in Python is printed, and lost.
    """

    __slots__ = ("size", "start")
    start: int
    size: int


class _Reader:
    """A worker, as this process has it."""

    def __init__(self) -> None:
        ours, theirs = socketpair()
        self.end = _End(ours.detach())
        self.their_end = theirs.detach()
        self.file = _memory_file()
        self.memory = mmap.mmap(self.file, ROOM)
        self.process: int | None = None
        """None until it is ready."""
        self.held: dict[int, _Place] = {}
        """Places that the worker has not back, by their starts."""
        self._freed: deque[Any] = deque()
        """Places whose rows are read no more."""

    def close_theirs(self) -> None:
        """Close what the worker has opened."""
        os.close(self.their_end)
        os.close(self.file)

    def is_ready(self) -> bool:
        """True once the worker has said that it is ready.

        Raises:
            EOFError, OSError: it has ended.
        """
        if self.process is None and self.end.has_message():
            self.process = self.end.receive().process
        return self.process is not None

    def receive(self) -> Any:
        """Return the next message, and give back places meanwhile.

        Raises:
            EOFError, OSError: the worker has ended.
        """
        while not self.end.has_message(_SECONDS_BETWEEN_LOOKS):
            self.give_back()
        self.give_back()
        return self.end.receive()

    def give_back(self) -> None:
        """Tell the worker which places are free."""
        starts = [self._freed.popleft().start for _ in range(len(self._freed))]
        if starts:
            for start in starts:
                del self.held[start]
            self.end.send(_Free(starts))

    def rows(self, shared: _Shared) -> pa.RecordBatch:
        """Return rows in the shared memory, whose place is free once they are dropped.

        If whoever gets the rows keeps them, they are copies from some number on, since the worker needs the place.
        """
        is_much = sum(place.size for place in self.held.values()) > ROOM // 4
        held = self._hold(shared)
        return _batch(held.tobytes() if is_much or len(self.held) > _MOST_BATCHES // 4 else held)

    def _hold(self, shared: _Shared) -> Any:
        """Return the bytes of rows; their place is free once Arrow, or whoever else has them, drops them."""
        held = np.frombuffer(self.memory, np.uint8, shared.size, shared.start)
        place = _Place(held, self._freed.append)
        place.start, place.size = shared
        self.held[shared.start] = place
        return held

    def stop(self) -> None:
        """Stop reading, and forget what has been read since.

        Raises:
            EOFError, OSError: the worker has ended.
        """
        self.end.send(_Stop())
        while not isinstance(message := self.receive(), _Stopped):
            if isinstance(message, _Shared):
                self._hold(message)
        self.give_back()


def _memory_file() -> int:
    """Return a new file of memory, or else one without a name on the disk."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("kipwire-rows")
    else:
        with TemporaryFile() as opened:
            file = os.dup(opened.fileno())
    os.ftruncate(file, ROOM)
    return file


def _batch(data: Any) -> pa.RecordBatch:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()


class Readers:
    """Processes that read; they are started when it is worth it, and end with this object, or with this process."""

    def __init__(self, cores: int | None = None) -> None:
        """Take the number of processes that may read at once, by default the number of cores; 1 is this one alone."""
        self.cores = all_cores() if cores is None else cores
        self._readers: list[_Reader] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._can_start = self.cores > 1 and _CAN_START and bool(sys.executable)
        self._in_use = Lock()

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(
        self, read: Read, pieces: Sequence[Any], sizes: Sequence[int], beyond: int = 0
    ) -> Iterator[Iterator[pa.RecordBatch]]:
        """Yield the rows of each piece of work, in the order of the pieces; each must be read before the next.

        This process reads until it knows that the rest takes long enough, and until the others are ready. It also
        reads by itself if they are busy: for two tables at once.

        Args:
            read: reads a piece.
            pieces: of work.
            sizes: of the pieces, in any unit.
            beyond: size of what is read by later calls.

        Raises:
            SourceError: a process has ended before its work was done.
            Exception: as `read` raises it, where the rows before it end.
        """
        left, done, seconds = sum(sizes) + beyond, 0, _Clock()
        for number, piece in enumerate(pieces):
            if self._are_worth(seconds.passed, done, left) and self._in_use.acquire(blocking=False):
                try:
                    if self._are_ready():
                        yield from self._read_by_others(_Work(read, pieces), range(number, len(pieces)))
                        return
                finally:
                    self._in_use.release()
            yield seconds.counted(read(piece))
            left, done = left - sizes[number], done + sizes[number]

    def _are_worth(self, seconds: float, done: int, left: int) -> bool:
        """True if the others should read the rest, by the pace so far; no time at all if they are there already."""
        if not self._can_start:
            return False
        enough = MIN_SECONDS_READ if self._readers else MIN_SECONDS_LEFT
        return seconds >= MIN_SECONDS_READ and done > 0 and seconds * left / done >= enough

    def _are_ready(self) -> bool:
        """Start the processes if there are none, and return True once they are ready."""
        try:
            if not self._readers:
                self._start()
            return all(reader.is_ready() for reader in self._readers)
        except (EOFError, OSError):  # no processes, no memory: this one can read
            self.close()
            self._can_start = False
            return False

    def _start(self) -> None:
        for _ in range(self.cores):
            self._readers.append(_Reader())
        files = [(reader.their_end, reader.file) for reader in self._readers]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", START_PROGRAM, *(f"{end}:{file}" for end, file in files)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[file for pair in files for file in pair],
                env={**os.environ, **_ENVIRONMENT},
            )
        finally:
            for reader in self._readers:
                reader.close_theirs()
        assert self._process.stdin is not None
        with self._process.stdin as stdin:
            stdin.write(pickle.dumps(sys.path))

    def _read_by_others(self, work: _Work, numbers: Sequence[int]) -> Iterator[Iterator[pa.RecordBatch]]:
        waiting, order = iter(numbers), deque[_Reader]()

        def give(reader: _Reader) -> None:
            number = next(waiting, None)
            if number is not None:
                reader.end.send(number)
                order.append(reader)

        is_whole = False
        try:
            packed = pickle.dumps(work)
            for reader in self._readers:
                reader.end.send_packed(packed)
            for _ in range(_AHEAD):
                for reader in self._readers:
                    give(reader)
            while order:
                reader = order.popleft()
                yield self._rows_of(reader)
                give(reader)
            is_whole = True
        except (EOFError, OSError):
            raise self._ended() from None
        finally:
            if not is_whole:
                self._stop()

    def _rows_of(self, reader: _Reader) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the piece that a worker reads."""
        while True:
            try:
                message = reader.receive()
            except (EOFError, OSError):
                raise self._ended() from None
            except BaseException:  # Ctrl-C, in the middle of a message
                self.close()
                raise
            match message:
                case _Shared():
                    yield reader.rows(message)
                case _Sent():
                    yield _batch(message.data)
                case _Warned():
                    warnings.warn(message.warning, stacklevel=2)
                case _Failed():
                    raise message.error
                case _:
                    return

    def _ended(self) -> SourceError:
        """End all processes, since one has ended; return the error."""
        self.close()
        return SourceError(
            f"one of {self.cores} processes that read files was killed, as systems do that run out of memory; "
            "with one core (--cores 1) no other process reads"
        )

    def _stop(self) -> None:
        """Let the processes stop reading, so that they can read something else."""
        try:
            for reader in self._readers:
                reader.stop()
        except (EOFError, OSError):
            self.close()
        except BaseException:  # Ctrl-C
            self.close()
            raise

    def close(self) -> None:
        """End the processes."""
        readers, self._readers = self._readers, []
        process, self._process = self._process, None
        for reader in readers:
            reader.end.close()
        if process is None:
            return
        try:
            process.wait(_SECONDS_TO_END)
        except BaseException as error:
            for reader in readers:  # numbers of forks of a process that is still there are their own
                if reader.process is not None:
                    with suppress(OSError):
                        os.kill(reader.process, signal.SIGKILL)
            process.kill()
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise


def read_pieces(
    read: Read, pieces: Sequence[Any], sizes: Sequence[int], cores: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of pieces of work with processes that end with the rows, or when the iterator is closed.

    Args:
        read: as of `Readers.read`, which raises the errors.
        pieces: of work.
        sizes: of the pieces.
        cores: as of `Readers`.
    """
    with Readers(cores) as readers:
        for rows in readers.read(read, pieces, sizes):
            yield from rows


class _Clock:
    """Counts the seconds of reading.

    They are of processor time: where other programs have the cores, more processes are no gain.
    """

    def __init__(self) -> None:
        self.passed = 0.0

    def counted(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the same rows."""
        while True:
            start = thread_time()
            batch = next(rows, None)
            self.passed += thread_time() - start
            if batch is None:
                return
            yield batch


# The other side.


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
        _Worker(_End(mine[0]), mmap.mmap(mine[1], ROOM)).run()
    with suppress(ChildProcessError):
        while mine == pairs[0]:
            os.wait()  # so that their processor time is known


def _whole(warning: Warning | str, category: type[Warning]) -> Warning:
    return warning if isinstance(warning, Warning) else category(warning)


class _StoppedError(Exception):
    """A piece that is not read further."""


class _Worker:
    """Reads pieces, one after the other."""

    def __init__(self, end: _End, memory: mmap.mmap) -> None:
        self._end = end
        self._memory = memoryview(memory)
        self._used: dict[int, int] = {}
        """Places with rows that are not free again, with their sizes, in the order of their starts."""
        self._work = _Work(iter, ())
        self._pieces: deque[int] = deque()

    def run(self) -> None:
        """Read what the other side asks for, until it is gone.

        Raises:
            EOFError, OSError: it is gone.
        """
        self._end.send(_Ready(os.getpid()))
        warnings.simplefilter("always")  # the other side decides
        warnings.showwarning = lambda warning, category, *_: self._end.send(_Warned(_whole(warning, category)))
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
            case _Free(starts):
                for start in starts:
                    del self._used[start]
            case _Work():
                self._work = message
            case _Stop():
                self._pieces.clear()
                self._end.send(_Stopped())
                raise _StoppedError

    def _read(self, piece: Any) -> None:
        rows = self._work.read(piece)
        while (batch := self._next(rows)) is not None:
            self._hand_over(batch)
        self._end.send(_Done())

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
                pickle.loads(packed := pickle.dumps(_Failed(error)))
            except Exception:  # an error that cannot be copied
                packed = pickle.dumps(_Failed(RuntimeError(f"{type(error).__name__}: {error}")))
            self._end.send_packed(packed)
            raise _StoppedError from None

    def _hand_over(self, batch: pa.RecordBatch) -> None:
        size = _write(pa.MockOutputStream(), batch)
        if size > ROOM:
            sink = pa.BufferOutputStream()
            _write(sink, batch)
            self._look()
            self._end.send(_Sent(sink.getvalue().to_pybytes()))
            return
        self._look()
        while (start := self._place(size)) is None:
            self._take(self._end.receive())
        _write(pa.FixedSizeBufferWriter(pa.py_buffer(self._memory[start : start + size])), batch)
        self._used = dict(sorted({**self._used, start: size}.items()))
        self._end.send(_Shared(start, size))

    def _look(self) -> None:
        """Take what the other side has said meanwhile."""
        while self._end.has_message():
            self._take(self._end.receive())

    def _place(self, size: int) -> int | None:
        """Return the first place for so many bytes; None if there is none."""
        if len(self._used) >= _MOST_BATCHES:
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
