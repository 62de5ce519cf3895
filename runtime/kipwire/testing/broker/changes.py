"""Lets requests wait until something has changed."""

from __future__ import annotations

import asyncio


class Changes:
    """Who waits for a change; used by the thread of one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        """Wake all that wait."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seconds: float) -> bool:
        """Whether something changes within that time; may be infinite."""
        if seconds <= 0:
            return False
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            done, _ = await asyncio.wait({future}, timeout=None if seconds == float("inf") else seconds)
            return bool(done)
        finally:
            self._waiting.discard(future)
