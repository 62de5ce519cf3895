"""A Kafka broker in the process of a test, or a cluster of several: `FakeBroker`.

Its nodes speak Kafka's protocol on sockets, keep everything in memory, and do what Kafka does as far as clients can
tell. Kafka's answers to the cases of tests/support/broker_cases are recorded, and test_fake_broker_like_kafka.py
compares.

Rooms, each of which uses those below it:

* `fake`: what tests hold, as one list of methods. Each asks the rooms below.
* `lifecycle`: the thread of the event loop, from the start to the end; and how a test acts on the state there.
* `server`: a server of `kipwire.aio` for each node, and the way from a request to its answer.
* `interceptors`: functions of tests before the handlers. `fail`, `delay` and `disconnect` are such functions.
* `apis`: how each API is answered, in a module of its key and name, such as `k03_metadata`: a function from a node and
  the body of a request to plain values, without a version. `APIS` and `SERVED`, the versions, are made of the modules.
  Their heads say how the answers differ from Kafka's, and docs/testing.md repeats it.
* `node`: all that requests act on, as one object: topics, groups, producers, settings; what takes several of them, such
  as the end of a transaction; and the clock.
* `state`: each of these by itself, as data without I/O. It is given the time, so that tests move the clock
  (test_fake_broker_groups.py).

`authentication` stands beside them: SASL, for one connection.

How a request goes through:

1. `kipwire.aio` reads bytes and calls `server` with each request. It is kept for `FakeBroker.requests`, as a frame,
   which is decoded when its handler, or a test, looks at it; the oldest are forgotten when they are too many.
2. On a connection with SASL, `Authentication` has it until the client has proved who it is.
3. A version that ApiVersions does not name closes the connection, as Kafka does; only ApiVersions itself has an answer
   then (`test_every_request_that_is_not_served_closes_the_connection`).
4. The functions of the test that take the request go around each other, in the order in which they were added. Each
   may answer, or go on to the next, and from the last to the handler.
5. The `answer` of the API acts on the node. It returns the fields of the response, or raises `Refused` with an error
   code, which `kipwire.connection.refusal` then puts where Kafka does. That follows from the fields of the response;
   from them `apis/rows` makes the rows of topics, partitions and groups, too, so that one that raises `Refused` has its
   code there (`test_every_code_of_a_refusal_is_the_one_that_was_given`).
6. `build` makes the response of the asked version, and drops what the version does not have. So handlers know no
   versions, but for what Kafka itself does otherwise in some; these are constants in their modules.
   `test_every_served_request_is_answered` asks each API in each version.
7. The response goes out. Only then the next request of this connection is taken, as in Kafka.

Nodes. A `Node` is what one of them sees: the state, which all share, and its own id and fetch sessions. Data is never
copied between nodes, so that the only thing a node does by itself is to say no: `led`, `expect_coordinator` and
`expect_controller` refuse what another node has to answer. Who that is, `state/nodes` and the leaders of logs say. A
node that stops gives what it has to the next one (`test_what_a_node_did_goes_to_the_next_one_when_it_stops`).

Waiting. A Fetch without enough bytes, or a JoinGroup whose group is not complete, is answered later. Its handler is a
coroutine, which looks at the state and, while that is not enough, awaits `node.changes` for as long as the client or
the group allows. After every request that was handled, and after a test has changed something or moved the clock, all
who wait are woken and look again. Transactions and members that are silent for too long are looked for before a
request, and when whoever waits for them has to. Nothing polls but `FakeBroker.wait_until`, because time alone may
fulfil its condition. A group decides about its members by `Ticket`s: one is found at some time, or refused
(`test_all_tickets_are_decided_in_the_end_and_generations_only_grow`).
In a group of the consumer protocol each heartbeat is answered at once, with the next step of its member.

One thread. While the broker runs, the thread of its event loop alone touches the state, so nothing needs a lock, and a
handler that does not await is not interrupted. What a test calls is run there, by `Lifecycle.call`. With `async with`
this thread is the test's own.

Errors. What is wrong with a request closes its connection alone, with a line in the log
(`test_bytes_that_are_no_request_close_their_connection_alone`). An error of the fake broker itself is kept, and raised
when the broker stops, so that no test passes by it (`test_an_error_of_the_fake_broker_itself_is_raised_at_the_end`).

To add an API: a module `apis/kNN_name.py` with `answer`, what it keeps in `state`, and cases in
tests/support/broker_cases, which a real broker answers first.
"""

from kipwire.testing.broker.fake import FakeBroker
from kipwire.testing.broker.state.groups import GroupMember, GroupState

__all__ = ["FakeBroker", "GroupMember", "GroupState"]
