"""Bad clients of any listener, and what it takes of its process while they are there, and after they have left.

Each client is a coroutine with a socket of its own, which asyncio does not read by itself. A listener that closes a
connection ends a client; all others go on until `growth_under` has seen enough.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import struct
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

_LOOKS = 15
"""Looks without a new peak after which nothing more is expected."""
_MOST_LOOKS = 300
_SECONDS_BETWEEN_LOOKS = 0.01
_LITTLE = 1 << 16
"""Bytes of memory that are no new peak."""
_MOST_SENT = 1 << 20
"""Bytes that a client sends at most."""
_FLOOD = 50
"""Requests of which all responses are read."""
_NAME = "bad client"
"""Name of the tasks of clients, which are none of the listener's."""


class Talk(NamedTuple):
    """Bytes of the listener's protocol."""

    request: bytes
    """A whole request, best one with a large response."""
    endless: bytes
    """The beginning of a request that promises more bytes than the listener takes."""


BadClient = Callable[[socket.socket, Talk], Awaitable[None]]


class Use(NamedTuple):
    """Resources of a process."""

    memory: int
    """Bytes: traced ones of this process, else resident ones."""
    descriptors: int
    tasks: int
    """Tasks of the event loop; 0 for another process."""


class Growth(NamedTuple):
    """Resources that a listener has taken, more than before the first client."""

    peak: Use
    """The most of each while clients were there, without their own."""
    left: Use
    """The rest after the last has left."""


async def silent(client: socket.socket, talk: Talk) -> None:
    """Say nothing."""
    await asyncio.Event().wait()


async def slow(client: socket.socket, talk: Talk) -> None:
    """Send a byte at a time, and never the last one."""
    for byte in talk.request[:-1]:
        await _send(client, bytes([byte]))
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
    await asyncio.Event().wait()


async def half_closed(client: socket.socket, talk: Talk) -> None:
    """Stop sending after a request, and do not read the response."""
    await _send(client, talk.request)
    client.shutdown(socket.SHUT_WR)
    await asyncio.Event().wait()


async def cut_short(client: socket.socket, talk: Talk) -> None:
    """Stop sending within a request."""
    await _send(client, talk.request[: len(talk.request) // 2])
    client.shutdown(socket.SHUT_WR)
    await asyncio.Event().wait()


async def resetting(client: socket.socket, talk: Talk) -> None:
    """Reset the connection after some requests."""
    await _send(client, talk.request * 3)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def flooding(client: socket.socket, talk: Talk) -> None:
    """Send requests as fast as the listener takes them, and read all responses."""
    sending = asyncio.create_task(_send(client, talk.request * _FLOOD), name=_NAME)
    try:
        while await asyncio.get_running_loop().sock_recv(client, 1 << 18):
            pass
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def never_reading(client: socket.socket, talk: Talk) -> None:
    """Send requests as long as the listener takes them, and read no response."""
    await _send(client, talk.request * max(1, _MOST_SENT // len(talk.request)))
    await asyncio.Event().wait()


async def garbage(client: socket.socket, talk: Talk) -> None:
    """Send bytes of no protocol."""
    await _send(client, Random(1).randbytes(100_000))
    await asyncio.Event().wait()


async def huge(client: socket.socket, talk: Talk) -> None:
    """Begin a request that is too large, and go on with it."""
    await _send(client, talk.endless + bytes(_MOST_SENT))
    await asyncio.Event().wait()


KINDS: tuple[BadClient, ...] = (
    silent,
    slow,
    half_closed,
    cut_short,
    resetting,
    flooding,
    never_reading,
    garbage,
    huge,
)


async def growth_under(
    address: tuple[str, int],
    talk: Talk,
    *,
    kinds: Iterable[BadClient] = KINDS,
    each: int = 2,
    process: int | None = None,
) -> Growth:
    """Let bad clients come to a listener, leave when its process takes no more, and return what it has taken.

    Args:
        address: of the listener.
        talk: its protocol.
        kinds: kinds of clients, all at the same time.
        each: number of clients of each kind.
        process: id of the listener's process; None for this one, whose memory `tracemalloc` then has to trace.
    """
    before = _use(process)
    clients: list[socket.socket] = []
    tasks: list[asyncio.Task[None]] = []
    try:
        for kind in [one for one in kinds for _ in range(each)]:
            clients.append(client := _socket(address, reads=kind is flooding))
            await asyncio.get_running_loop().sock_connect(client, address)
            tasks.append(asyncio.create_task(_run(kind, client, talk), name=_NAME))
        peak = await _peak(process, before, clients)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for client in clients:
            client.close()
    return Growth(peak, await _left(process, before))


def _socket(address: tuple[str, int], *, reads: bool) -> socket.socket:
    """Make a socket, which buffers few bytes of those that it does not read."""
    client = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    if not reads:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    return client


async def _send(client: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(client, data)


async def _run(kind: BadClient, client: socket.socket, talk: Talk) -> None:
    """Run a client until it ends, or the listener has had enough of it."""
    try:
        with suppress(OSError):
            await kind(client, talk)
    finally:
        client.close()


async def _peak(process: int | None, before: Use, clients: list[socket.socket]) -> Use:
    """Look until nothing has grown for a while."""
    peak, since = Use(0, 0, 0), 0
    for _ in range(_MOST_LOOKS):
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        own = 0 if process else sum(one.fileno() >= 0 for one in clients)
        memory, descriptors, tasks = (one - was for one, was in zip(_use(process), before, strict=True))
        higher = Use(*map(max, peak, (memory, descriptors - own, tasks)))
        is_new = higher.memory > peak.memory + _LITTLE or higher[1:] != peak[1:]
        peak, since = higher, 0 if is_new else since + 1
        if since == _LOOKS:
            break
    return peak


async def _left(process: int | None, before: Use) -> Use:
    """Look until everything is as before, or stays as it is."""
    for _ in range(_MOST_LOOKS):
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        left = Use(*(one - was for one, was in zip(_use(process), before, strict=True)))
        if left.descriptors <= 0 and left.tasks <= 0:
            break
    gc.collect()  # errors keep the buffers of their frames until then
    return Use(*(one - was for one, was in zip(_use(process), before, strict=True)))


def _use(process: int | None) -> Use:
    folder = Path(f"/proc/{process or os.getpid()}")
    descriptors = sum(1 for _ in (folder / "fd").iterdir())
    if process is None:
        tasks = sum(one.get_name() != _NAME for one in asyncio.all_tasks())
        return Use(tracemalloc.get_traced_memory()[0], descriptors, tasks)
    pages = int((folder / "statm").read_text().split()[1])
    return Use(pages * os.sysconf("SC_PAGE_SIZE"), descriptors, 0)
