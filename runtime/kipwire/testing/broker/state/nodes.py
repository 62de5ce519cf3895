"""The nodes of a fake cluster: where each is reached, whether it runs, and what it coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.state.refusals import Refused

_SLOTS = 50
"""Kafka's default number of partitions of its internal topics, whose leaders coordinate what is hashed to them."""


@dataclass(slots=True)
class Place:
    """A node, as others see it."""

    node_id: int
    host: str
    """The one that clients are told."""
    port: int
    """0 until it listens for the first time, if the system chooses one."""
    is_running: bool = True
    is_paused: bool = False
    """True if it takes requests without answering them."""

    @property
    def address(self) -> dict[str, Any]:
        """The node, as responses have it."""
        return {"node_id": self.node_id, "host": self.host, "port": self.port}


class Nodes:
    """All nodes. Everything that a node did goes to the next one that runs when it stops, and stays there."""

    def __init__(self, host: str, ports: Sequence[int]) -> None:
        """Number nodes from 1 on."""
        self.by_id = {at: Place(at, host, port) for at, port in enumerate(ports, 1)}
        self.controller = 1
        self._coordinators = {
            kind: [self.leader_of_new(slot) for slot in range(_SLOTS)]
            for kind in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION)
        }

    @property
    def running(self) -> list[Place]:
        """Those that have not been stopped."""
        return [one for one in self.by_id.values() if one.is_running]

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of each, as clients take them."""
        return ",".join(f"{one.host}:{one.port}" for one in self.by_id.values())

    def __getitem__(self, node_id: int) -> Place:
        """A node.

        Raises:
            Refused: there is none of that id.
        """
        if node_id not in self.by_id:
            reason = f"there is no node {node_id}; the nodes are 1 to {len(self.by_id)}"
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, reason)
        return self.by_id[node_id]

    def expect_running(self, node_id: int) -> None:
        """Check that a node can be given something to do.

        Raises:
            Refused: there is none of that id, or it is stopped.
        """
        if not self[node_id].is_running:
            raise Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"node {node_id} is stopped")

    def leader_of_new(self, index: int) -> int:
        """The node that leads a new partition: they are dealt out, beginning with the first node."""
        return self.or_next(index % len(self.by_id) + 1)

    def or_next(self, node_id: int) -> int:
        """A node, or the next one that runs; itself if none does."""
        after = [*range(node_id, len(self.by_id) + 1), *range(1, node_id)]
        return next((one for one in after if self.by_id[one].is_running), node_id)

    def coordinator(self, kind: CoordinatorType, key: str) -> int:
        """The node that coordinates a group or a transactional id, by Kafka's hash of it."""
        return self._coordinators[kind][_slot(key)]

    def move_coordinator(self, kind: CoordinatorType, key: str, to: int) -> None:
        """Let another node coordinate a group or a transactional id, and all others with its hash."""
        self.expect_running(to)
        self._coordinators[kind][_slot(key)] = to

    def move_controller(self, to: int) -> None:
        """Let another node be the controller."""
        self.expect_running(to)
        self.controller = to

    def start(self, node_id: int) -> None:
        """Let a node go on that was stopped or paused."""
        self[node_id].is_running, self[node_id].is_paused = True, False

    def pause(self, node_id: int) -> None:
        """Let a node answer nothing."""
        self[node_id].is_paused = True

    def stop(self, node_id: int) -> None:
        """Let a node end; the next one coordinates and controls instead."""
        self[node_id].is_running = False
        self.controller = self.or_next(self.controller)
        for nodes in self._coordinators.values():
            nodes[:] = [self.or_next(one) for one in nodes]


def _slot(key: str) -> int:
    """The partition of an internal topic that has a key: the absolute value of Java's hash, as Kafka takes it."""
    units = key.encode("utf-16-be", "surrogatepass")
    found = 0
    for at in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[at : at + 2])) & 0xFFFF_FFFF
    return (2**32 - found if found > 2**31 else found % 2**31) % _SLOTS
