"""Records, memory and use of the kernel: no references are lost, and it is used where it is built."""

from __future__ import annotations

import copy
import os
import random
import subprocess
import sys
import sysconfig
import uuid
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_records.record_batch.v2 import RecordBatch
from kipwire import LazyStruct, Message, Struct
from kipwire.codec import checksums
from kipwire.records import Record, read_batches, write_batch
from tests.support import golden_data, native_checks
from tests.support.subjects.kernel_classes import FETCH, KERNEL, METADATA, needs_kernel

# Records, which the kernel reads and writes without the instances of their layout.

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
BLOBS = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=10), BLOBS), max_size=3)
RECORDS = st.lists(
    st.builds(Record, offset=INT32, timestamp=INT64, key=BLOBS, value=BLOBS, headers=HEADERS), min_size=1, max_size=5
)


@needs_kernel
@given(records=RECORDS, base_timestamp=INT64, seed=st.integers(0, 2**32))
def test_kernel_and_python_agree_on_records(records: list[Record], base_timestamp: int, seed: int) -> None:
    chance = random.Random(seed)
    data = native_checks.check_write_records(KERNEL, records, 0, base_timestamp)
    fits = all(-(2**63) <= record.timestamp - base_timestamp < 2**63 for record in records)
    assert (data is not None) == fits
    if data is not None:
        assert native_checks.check_read_records(KERNEL, data, 0, base_timestamp) == records
        native_checks.check_read_records(KERNEL, data, chance.choice([0, 2**63 - 1, -(2**63), 2**63]), 0)
        for _ in range(5):
            native_checks.check_read_records(KERNEL, native_checks.damage(data, chance), 5, base_timestamp)
    for _ in range(3):
        spoilt = copy.deepcopy(records)
        native_checks.spoil_records(spoilt, chance)
        native_checks.check_write_records(KERNEL, spoilt, 0, base_timestamp)


@needs_kernel
def test_kernel_knows_the_order_of_offsets() -> None:
    one, other = Record(offset=1), Record(offset=2)
    with native_checks.alone(KERNEL):
        assert KERNEL.ordered_records([], 2) == [] and KERNEL.ordered_records((one, other), 2) == [one, other]
        for wrong in ([other, one], [one, one]):
            with pytest.raises(native_checks.GaveUpError):
                KERNEL.ordered_records(wrong, 2)


@needs_kernel
def test_kernel_needs_no_library_for_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [Record(offset=7, timestamp=8, value=b"x" * size) for size in range(20)]
    for record in records:  # checksums of all numbers of bytes left over
        data = write_batch([record])
        assert int.from_bytes(data[17:21], "big") == checksums.crc32c(data[21:])
        with monkeypatch.context() as patch:
            patch.setattr(checksums, "crc32c", None)
            assert next(read_batches(data)).records == [record]


# Memory.


@needs_kernel
def test_nothing_is_left_behind_by_good_and_by_failed_calls() -> None:
    cls, chance = METADATA.MetadataResponse, random.Random(2)
    data = next(bytes.fromhex(one["hex"]) for one in golden_data.messages()["MetadataResponse", 12])
    inputs = [data, *(native_checks.damage(data, chance) for _ in range(50))]
    message = FETCH.FetchRequest(replica_state=FETCH.ReplicaState(replica_id=1), topics=[FETCH.FetchTopic()] * 3)
    message.unknown_tagged_fields = {9: b"x" * 5000, 7: b""}
    wrong = FETCH.FetchRequest(topics=[FETCH.FetchTopic(), None])

    batch = RecordBatch(records=b"abc")
    records = [Record(offset=1, key=b"k", value=b"v" * 5000, headers=[("a", None), ("b", b"c")]), Record(offset=2)]
    section = KERNEL.write_records(records, 0, 0)
    sections = [section, *(native_checks.damage(section, chance) for _ in range(50))]

    def work() -> None:
        for one in inputs:
            with suppress(native_checks.GaveUpError):
                KERNEL.decode(cls, one)
        for one in sections:
            with suppress(native_checks.GaveUpError):
                KERNEL.read_records(one, 0, 0)
        assert KERNEL.write_records(records, 0, 0) == section
        with pytest.raises(native_checks.GaveUpError):
            KERNEL.write_records([*records, None], 0, 0)
        assert KERNEL.decode(RecordBatch, KERNEL.encode(batch)) == batch
        assert KERNEL.decode(FETCH.FetchRequest, KERNEL.encode(message)) == message
        assert KERNEL.encoded_size(message) > 5000
        with pytest.raises(native_checks.GaveUpError):
            KERNEL.encode(wrong)

    with native_checks.alone(KERNEL):
        work()
        before = sys.getallocatedblocks(), sys.getrefcount(None), sys.getrefcount(METADATA.MetadataResponse)
        for _ in range(50):
            work()
        after = sys.getallocatedblocks(), sys.getrefcount(None), sys.getrefcount(METADATA.MetadataResponse)
    assert all(abs(one - other) < 300 for one, other in zip(before, after, strict=True))


@needs_kernel
@pytest.mark.parametrize("wrong", [5, None, "text", object(), int, Message, Struct, uuid.UUID(int=1)])
def test_calls_with_what_is_not_a_message_are_errors(wrong: Any) -> None:
    for call in (
        lambda: KERNEL.decode(wrong, b"\0"),
        lambda: KERNEL.read(wrong, b"\0", 0),
        lambda: Message.encode(wrong),
        lambda: Message.encoded_size(wrong),
    ):
        with pytest.raises((AttributeError, TypeError)):
            call()


# The kernel in use, or not.


def reported(environment: dict[str, str], before: str = "") -> str:
    """Use the kernel in a fresh interpreter; return the `in_use` and `reason` that it then prints."""
    program = (
        f"{before}\nfrom kipwire import native, Message"
        "\nfrom kafka_messages.heartbeat_request.v4 import HeartbeatRequest"
        "\nassert HeartbeatRequest.decode(HeartbeatRequest(group_id='g').encode()).group_id == 'g'"
        "\nassert 'path of the field' in Message.decode.__doc__"
        "\nprint(native.in_use, native.reason)"
    )
    variables = {name: value for name, value in os.environ.items() if name != "KIPWIRE_NATIVE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**variables, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_environment_switches_the_kernel_off() -> None:
    assert reported({"KIPWIRE_NATIVE": "0"}) == "False KIPWIRE_NATIVE=0 switches it off"


def test_all_works_in_silence_without_a_built_kernel() -> None:
    missing = "import sys; sys.modules['kipwire._kernel'] = None"
    assert reported({}, missing).startswith("False it is not built for this Python: ")


IN_ANOTHER_INTERPRETER = """
from kipwire import native
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
assert HeartbeatRequest.decode(HeartbeatRequest(group_id='g').encode()).group_id == 'g'
assert not native.in_use
print(native.reason, flush=True)
"""


@needs_kernel
def test_a_subinterpreter_goes_without_the_kernel_and_says_why() -> None:
    program = f"""
try:
    import _interpreters as interpreters  # Python 3.13
    kinds = ("isolated", "legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    kinds = ("isolated",)
from kipwire import native
assert native.in_use
for kind in kinds:
    one = interpreters.create(kind) if len(kinds) > 1 else interpreters.create()
    assert interpreters.run_string(one, {IN_ANOTHER_INTERPRETER!r}) is None
    interpreters.destroy(one)
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
assert native.kernel.serves(HeartbeatRequest)
assert HeartbeatRequest.decode(HeartbeatRequest(group_id='g').encode()).group_id == 'g'
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    reasons = done.stdout.splitlines()
    assert reasons and all(one.startswith("it cannot be loaded here: ") for one in reasons)


@needs_kernel
def test_kernel_needs_no_gil() -> None:
    program = "import sys; from kipwire import native; print(native.in_use, getattr(sys, '_is_gil_enabled', bool)())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info >= (3, 13)
    assert done.stdout.split() == ["True", str(has_gil)]


@needs_kernel
def test_kernel_is_used_where_it_is_built() -> None:
    assert reported({}).startswith("True it is built: ")


def test_lazy_structs_are_known_by_their_slots() -> None:
    """The kernel writes to the slot that the descriptor names."""
    descriptor = vars(FETCH.FetchRequest)["replica_state"]
    assert isinstance(descriptor, LazyStruct)
    assert descriptor.slot in FETCH.FetchRequest.__slots__
