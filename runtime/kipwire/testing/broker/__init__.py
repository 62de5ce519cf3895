"""A Kafka broker in the process of a test: `FakeBroker`.

fake      what tests hold: start, stop, look inside, ask for faults
server    sockets, in an event loop
answering from a request to its answer
apis      how each API is answered
state     topics, groups, transactions: plain data, without I/O and without a clock
"""

from kipwire.testing.broker.fake import FakeBroker
from kipwire.testing.broker.views import GroupMember, GroupState

__all__ = ["FakeBroker", "GroupMember", "GroupState"]
