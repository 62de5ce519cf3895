"""The side of the process that wants rows: `Readers` reads the pieces of a plan in their order, as if alone.

It reads by itself until it knows that the rest takes long enough, and then starts workers, which it talks to by
`exchange`.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Lock
from time import thread_time
from typing import Any

import pyarrow as pa

from kipwire.tables.errors import SourceError
from kipwire.tables.processes.exchange import Failed, Read, Reader, Sent, Shared, Warned, Work, batch_of

PIECE = 16 * 1024 * 1024
"""Bytes of files in a piece of work: the rows of one should have room."""
_AHEAD = 2
"""Pieces that a worker has: the one that it reads, and the next."""
MIN_SECONDS_LEFT = 2.0
"""Seconds of reading that must be left before processes are started, which takes 0.4 s."""
MIN_SECONDS_READ = 0.1
"""Seconds of reading after which the pace is known."""
_SECONDS_TO_END = 1
"""Time that a process may take to notice that it is not needed any more: it looks after each batch."""
START_PROGRAM = """import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from kipwire.tables.processes.worker import serve
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


class Readers:
    """Processes that read; they are started when it is worth it, and end with this object, or with this process."""

    def __init__(self, cores: int | None = None) -> None:
        """Take the number of processes that may read at once, by default the number of cores; 1 is this one alone."""
        self.cores = all_cores() if cores is None else cores
        self._readers: list[Reader] = []
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
                        yield from self._read_by_others(Work(read, pieces), range(number, len(pieces)))
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
            self._readers.append(Reader())
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

    def _read_by_others(self, work: Work, numbers: Sequence[int]) -> Iterator[Iterator[pa.RecordBatch]]:
        waiting, order = iter(numbers), deque[Reader]()

        def give(reader: Reader) -> None:
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

    def _rows_of(self, reader: Reader) -> Iterator[pa.RecordBatch]:
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
                case Shared():
                    yield reader.rows(message)
                case Sent():
                    yield batch_of(message.data)
                case Warned():
                    warnings.warn(message.warning, stacklevel=2)
                case Failed():
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
