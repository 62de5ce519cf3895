"""A proxy that passes on bytes without reading them, to compare with `kipwire proxy`.

python -m benchmarks.proxied.pass_through --to HOST:PORT --listen HOST:PORT
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress
from functools import partial


async def pass_on(broker: list[str], from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
    """Pass on one connection, until one side closes it."""
    from_broker, to_broker = await asyncio.open_connection(*broker)
    sides = [copy(from_client, to_broker), copy(from_broker, to_client)]
    tasks = [asyncio.create_task(side) for side in sides]
    with suppress(asyncio.CancelledError):  # when the program ends
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for writer in (to_client, to_broker):
        writer.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on one direction."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--to", required=True)
    parser.add_argument("--listen", required=True)
    options = parser.parse_args()
    await asyncio.start_server(partial(pass_on, options.to.split(":")), *options.listen.split(":"))
    await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
