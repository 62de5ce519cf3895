"""A Kafka broker in the process of a test, or a cluster of several: `FakeBroker`.

Its nodes speak Kafka's protocol on sockets, keep everything in memory, and do what Kafka does as far as clients can
tell (test_fake_broker_like_kafka.py).

Rooms, each of which uses those below it:

* `fake`: what tests hold, as one list of methods. Each asks the rooms below.
* `lifecycle`: the thread of the event loop, from the start to the end; and how a test acts on the state there.
* `server`: a server of `kipwire.aio` for each node, and the way from a request to its answer.
* `interceptors`: functions of tests before the handlers. `fail`, `delay` and `disconnect` are such functions.
* `apis`: how each API is answered, in a module of its key and name, such as `k03_metadata`. Beside them,
  `authentication` is SASL, for one connection.
* `node`: all that requests act on, as one object: topics, groups, producers, settings; what takes several of them, such
  as the end of a transaction; and the clock.
* `state`: each of these by itself, as data without I/O. It is given the time, so that tests move the clock
  (test_fake_broker_groups.py).

How a request goes through:

1. `kipwire.aio` reads bytes and calls `server` with each request, which is kept for `FakeBroker.requests`.
2. On a connection with SASL, `Authentication` has it until the client has proved who it is.
3. A version that ApiVersions does not name closes the connection, as Kafka does; only ApiVersions itself has an answer
   then (`test_every_request_that_is_not_served_closes_the_connection`).
4. The functions of the test that take the request go around each other, in the order in which they were added.
5. The `answer` of the API acts on the node. It returns the fields of the response, or raises `Refused` with an error
   code, which `kipwire.connection.refusal` then puts where Kafka does; `apis/rows` does so for each topic, partition
   or group (`test_every_code_of_a_refusal_is_the_one_that_was_given`).
6. `build` makes the response of the asked version, and drops what the version does not have. So handlers know no
   versions, but for what Kafka itself does otherwise in some; these are constants in their modules.
   `test_every_served_request_is_answered` asks each API in each version.
7. The response goes out. Only then the next request of this connection is taken, as in Kafka.

Nodes. A `Node` is what one of them sees: the state, which all share, and its own id and fetch sessions. Data is never
copied between nodes, so that the only thing a node does by itself is to refuse what another one has to answer. Who that
is, `state/nodes` and the leaders of logs say (`test_what_a_node_did_goes_to_the_next_one_when_it_stops`).

Waiting. A Fetch without enough bytes, or a JoinGroup whose group is not complete, is answered later. Its handler is a
coroutine, which looks at the state and, while that is not enough, awaits `node.changes` for as long as the client or
the group allows. After every request, and after a test has changed something or moved the clock, all who wait look
again. Nothing polls but `FakeBroker.wait_until`, because time alone may fulfil its condition. Members of a group wait
with a `Ticket` (`test_all_tickets_are_decided_in_the_end_and_generations_only_grow`).

One thread. While the broker runs, the thread of its event loop alone touches the state, so nothing needs a lock, and a
handler that does not await is not interrupted. What a test calls is run there, by `Lifecycle.call`.

Errors. What is wrong with a request closes its connection alone, with a line in the log
(`test_bytes_that_are_no_request_close_their_connection_alone`). An error of the fake broker itself is kept, and raised
when the broker stops, so that no test passes by it (`test_an_error_of_the_fake_broker_itself_is_raised_at_the_end`).
"""

from kipwire.testing.broker.fake import FakeBroker
from kipwire.testing.broker.state.groups import GroupMember, GroupState

__all__ = ["FakeBroker", "GroupMember", "GroupState"]
