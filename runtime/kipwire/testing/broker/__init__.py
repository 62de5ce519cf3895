"""A Kafka broker in the process of a test: `FakeBroker`.

It is one node that speaks Kafka's protocol on a socket, keeps everything in memory, and does what Kafka does as far as
clients can tell. Kafka's answers to the cases of tests/support/broker_cases are recorded, and
test_fake_broker_like_kafka.py compares.

Rooms, each knows those below it:

* `fake`: what tests hold. It starts, stops, looks inside, and takes faults.
* `server`: a server of `kipwire.aio`, its thread, and the way from a request to its answer.
* `apis`: how each API is answered, in a module of its key and name, such as `k03_metadata`: a function from a node and
  a request to plain values, without a version. `APIS` and `SERVED`, the versions, are made of the modules. Their heads
  say how the answers differ from Kafka's, and docs/testing.md repeats it.
* `node`: all that requests act on, as one object: topics, groups, producers, settings; what takes several of them, such
  as the end of a transaction; and the clock.
* `state`: each of these by itself, as data without I/O. It is given the time, so that tests move the clock
  (test_fake_broker_groups.py).

`faults` stands beside them: it says what is to happen to a request, and `server` does it.

How a request goes through:

1. `kipwire.aio` reads bytes and calls `server` with each request. It is kept for `FakeBroker.requests`, as a frame: it is
   decoded when its handler, or a test, looks at it.
2. A version that ApiVersions does not name closes the connection, as Kafka does; only ApiVersions itself has an answer
   then (`test_every_request_that_is_not_served_closes_the_connection`).
3. The first fault that fits the request is taken. `Delay` waits, `Disconnect` closes before or after the next step,
   `Fail` replaces it by the `refuse` of the API, with the error code that the test has given.
4. The `answer` of the API acts on the node. It returns the fields of the response, or raises `Refused` with an error
   code, which `refuse` then puts where a response of this API has codes. That follows from the fields of the response:
   `apis/rows` makes refusals, and the rows of topics, partitions and groups, so that one that raises `Refused` has its
   code there (`test_every_code_of_a_refusal_is_the_one_that_was_given`).
5. `build` makes the response of the asked version, and drops what the version does not have. So handlers know no
   versions, but for what Kafka itself does otherwise in some; these are constants in their modules.
   `test_every_served_request_is_answered` asks each API in each version.
6. The response goes out. Only then the next request of this connection is taken, as in Kafka.

Waiting. A Fetch without enough bytes, or a JoinGroup whose group is not complete, is answered later. Its handler is a
coroutine, which looks at the state and, while that is not enough, awaits `node.changes` for as long as the client or
the group allows. After every request that was handled, and after a test has appended, all who wait are woken and look
again. Transactions and members that are silent for too long are looked for before a request, and when whoever waits for
them has to. Nothing polls but `FakeBroker.wait_until`, because time alone may fulfil its condition. A group decides
about its members by `Ticket`s: one is found at some time, or refused
(`test_all_tickets_are_decided_in_the_end_and_generations_only_grow`).

One thread. While the broker runs, the thread of its event loop alone touches the node, so nothing needs a lock, and a
handler that does not await is not interrupted. What a test calls is run there, by `Running.call`. With `async with`
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
