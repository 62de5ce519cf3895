"""A Kafka broker in the process of a test, or a cluster of several: `FakeBroker`.

Its nodes speak Kafka's protocol on sockets, keep everything in memory, and do what Kafka does as far as clients can
tell (test_fake_broker_like_kafka.py). Rooms, each of which uses those below it:

* `fake`: what tests hold; `lifecycle`: the thread of the event loop, which alone touches the state while it runs.
* `server`: listens for each node; the way of a request: `authentication` (SASL), `interceptors` of the test, an API.
* `apis`: how each API is answered, in a module of its key and name, such as `k03_metadata`.
* `node`: all that requests act on, what takes several parts of it, such as the end of a transaction, and the clock.
* `state`: each part by itself, as data without I/O, which is given the time (test_fake_broker_groups.py).

The `answer` of an API returns the fields of the response, or raises `Refused` with a code, which
`kipwire.connection.refusal` puts where Kafka does, and `apis/rows` for each topic, partition or group. `build` then
makes the response of the asked version and drops what that does not have: so handlers have no versions, but for what
Kafka itself does otherwise in some; these are constants in their modules.

A handler that has to wait, as of a Fetch without enough bytes, is a coroutine, which awaits `node.changes` and looks
again. Requests, tests and the moved clock notify all who wait; nothing polls but `FakeBroker.wait_until`.
"""

from kipwire.testing.broker.fake import FakeBroker
from kipwire.testing.broker.state.groups import GroupMember, GroupState

__all__ = ["FakeBroker", "GroupMember", "GroupState"]
