"""A Kafka broker for programs that are tried out: without a JVM, a configuration or a disk; it forgets all at the end.

    python examples/fake_broker.py --port 9092 --topic orders:3
    python examples/fake_broker.py --fail PRODUCE:NOT_LEADER_OR_FOLLOWER:2 --delay FETCH:0.5

It prints every request, and at the end what is in its topics and groups. Clients create topics by using them.
"""

from __future__ import annotations

import argparse
import signal
from enum import Enum
from threading import Event
from typing import TypeVar

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import Request
from kipwire.testing import FakeBroker

E = TypeVar("E", bound=Enum)

SECONDS_BETWEEN_LOOKS = 0.2


def topic(text: str) -> tuple[str, int]:
    """Name and number of partitions in `orders:3`; one partition if it has no number."""
    name, _, count = text.partition(":")
    return name, int(count or 1)


def fault(text: str) -> tuple[ApiKey, ErrorCode, int | None]:
    """The API, the error and how often in `PRODUCE:NOT_LEADER_OR_FOLLOWER:2`; always if it has no number."""
    api, error, *times = text.split(":")
    return member(ApiKey, api), member(ErrorCode, error), int(times[0]) if times else None


def delay(text: str) -> tuple[ApiKey, float]:
    """The API and the seconds in `FETCH:0.5`."""
    api, seconds = text.split(":")
    return member(ApiKey, api), float(seconds)


def member(names: type[E], name: str) -> E:
    """The member of an enum.

    Raises:
        argparse.ArgumentTypeError: it has none of that name.
    """
    if name not in names.__members__:
        raise argparse.ArgumentTypeError(f"{name!r} is not a name of {names.__name__}")
    return names[name]


def line(request: Request) -> str:
    """A request in one line."""
    return f"{ApiKey.text(request.api_key)} v{request.api_version} #{request.correlation_id}, {len(request.raw)} B"


def show_requests(broker: FakeBroker) -> None:
    """Print the requests that have come since the last call."""
    for request in broker.clear_requests():
        print(line(request), flush=True)


def summary(broker: FakeBroker) -> list[str]:
    """What is in the topics, a line each."""
    lines = []
    for name, partitions in broker.topics().items():
        counts = [len(broker.records(name, partition)) for partition in range(partitions)]
        lines.append(f"{name}: {sum(counts)} records, by partition {counts}")
    return lines


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Run a fake Kafka broker.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--topic", type=topic, action="append", default=[], help="such as orders:3")
    parser.add_argument("--no-auto-create", action="store_true", help="clients do not create topics by using them")
    parser.add_argument("--fail", type=fault, action="append", default=[], help="API:ERROR or API:ERROR:TIMES")
    parser.add_argument("--delay", type=delay, action="append", default=[], help="API:SECONDS")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    options = parsed(arguments)
    topics, create = dict(options.topic), not options.no_auto_create
    broker = FakeBroker(topics, host=options.host, port=options.port, auto_create_topics=create)
    for api, error, times in options.fail:
        broker.fail(api, error, times=times)
    for api, seconds in options.delay:
        broker.delay(api, seconds, times=None)
    try:
        broker.start()
    except OSError as error:
        raise SystemExit(f"fake_broker: cannot listen at {options.host}:{options.port}: {error.strerror}") from None
    ended = Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())  # an exception could come between a request and its line
    print(f"listening at {broker.bootstrap_servers}; Ctrl-C ends it", flush=True)
    while not ended.wait(SECONDS_BETWEEN_LOOKS):
        show_requests(broker)
    broker.stop()
    show_requests(broker)
    print("\n".join(summary(broker)))


if __name__ == "__main__":
    main()
