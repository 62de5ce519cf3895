"""What the nodes of a fake cluster do: who leads, coordinates and controls, which of them run, and what time it is."""

from __future__ import annotations

from kafka_messages.enums import CoordinatorType
from kipwire.testing.broker.lifecycle import Lifecycle


class Cluster(Lifecycle):
    """Nodes, which tests stop, start and give things to do."""

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of the nodes."""
        return tuple(self._node.nodes.by_id)

    def advance(self, seconds: float) -> None:
        """Move the clock of sessions, rebalances and transactions; it goes on as usual, too.

        Raises:
            ValueError: time does not go back.
        """
        if seconds < 0:
            raise ValueError(f"the clock cannot go back, by {seconds} s")
        self._call(lambda: self._node.advance(seconds))

    def leader(self, topic: str, partition: int = 0) -> int:
        """The id of the node that leads a partition.

        Raises:
            ValueError: there is no such topic or partition.
        """
        return self._call(lambda: self._node.topics.named(topic).partition(partition).leader)

    def move_leader(self, topic: str, partition: int = 0, *, to: int) -> None:
        """Let another node lead a partition, in its next epoch. A Fetch that waits is answered, with an error.

        Raises:
            ValueError: there is no such topic, partition or node, or the node is stopped.
        """

        def move() -> None:
            self._node.nodes.expect_running(to)
            self._node.topics.named(topic).partition(partition).move(to)

        self._change(move)

    def coordinator(self, *, group: str | None = None, transactional_id: str | None = None) -> int:
        """The id of the node that coordinates a group or a transactional id, one of which is given."""
        kind, key = _coordinated(group, transactional_id)
        return self._call(lambda: self._node.nodes.coordinator(kind, key))

    def move_coordinator(self, *, group: str | None = None, transactional_id: str | None = None, to: int) -> None:
        """Let another node coordinate a group or a transactional id, and those that Kafka keeps in one place with it.

        Raises:
            ValueError: there is no such node, or it is stopped.
        """
        kind, key = _coordinated(group, transactional_id)
        self._change(lambda: self._node.nodes.move_coordinator(kind, key, to))

    @property
    def controller(self) -> int:
        """The id of the node that creates and deletes topics."""
        return self._call(lambda: self._node.nodes.controller)

    def move_controller(self, *, to: int) -> None:
        """Let another node be the controller.

        Raises:
            ValueError: there is no such node, or it is stopped.
        """
        self._change(lambda: self._node.nodes.move_controller(to))

    def stop_node(self, node: int) -> None:
        """Close the connections of a node, and listen there no more. What it did goes to the next node that runs.

        With `async with`, connections are closed when the event loop goes on.

        Raises:
            ValueError: there is no such node.
        """
        self._call(lambda: self._node.stop(node))
        self._update(node)

    def is_running(self, node: int) -> bool:
        """Whether a node has not been stopped.

        Raises:
            ValueError: there is no such node.
        """
        return self._call(lambda: self._node.nodes[node].is_running)

    def start_node(self, node: int) -> None:
        """Let a node that was stopped or paused go on. It leads nothing until it is given something.

        Raises:
            ValueError: there is no such node.
            OSError: it cannot listen at its port any more.
        """
        self._change(lambda: self._node.nodes.start(node))
        self._update(node)

    def pause_node(self, node: int) -> None:
        """Let a node take connections and requests without answering, until `start_node`. It stays what it is.

        Raises:
            ValueError: there is no such node.
        """
        self._change(lambda: self._node.nodes.pause(node))

    def _update(self, node: int) -> None:
        if self._running is not None:
            self._running.update(node)


def _coordinated(group: str | None, transactional_id: str | None) -> tuple[CoordinatorType, str]:
    """What is coordinated, of two names one of which is given."""
    if group is not None and transactional_id is None:
        return CoordinatorType.GROUP, group
    if transactional_id is not None and group is None:
        return CoordinatorType.TRANSACTION, transactional_id
    raise ValueError("give either a group or a transactional id")
