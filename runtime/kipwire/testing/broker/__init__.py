"""A Kafka broker in the process of a test: `FakeBroker`.

* `fake`: what tests hold. It starts, stops, looks inside, and takes faults.
* `server`: sockets in an event loop, its thread, and the way from a request to its answer.
* `apis`: how each API is answered.
* `state`: topics, groups, transactions, as plain data without I/O and without a clock.
"""

from kipwire.testing.broker.fake import FakeBroker
from kipwire.testing.broker.state.groups import GroupMember, GroupState

__all__ = ["FakeBroker", "GroupMember", "GroupState"]
