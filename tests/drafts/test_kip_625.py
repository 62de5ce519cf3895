"""KIP-625: the bytes of every encoding at every boundary of its length, its errors, its examples and its sizes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kafka_messages
from benchmarks import encodings, kip625
from benchmarks.reporting import report
from kipwire import DecodeError, EncodeError
from kipwire.drafts import proposals
from kipwire.drafts.proposals.too_small import v0 as narrow
from kipwire.drafts.proposals.too_small import v2 as wide
from tests.support import golden_data
from tests.support.cases import of_each
from tests.support.spec_package import generated

ENCODINGS = [f"{scheme}{bits}" for scheme in ("fixed", "packed", "upacked") for bits in (16, 32, 64)]

SPEC = {
    "name": "Number",
    "type": "data",
    "validVersions": f"0-{len(ENCODINGS) - 1}",
    "flexibleVersions": "none",
    "fields": [
        {
            "name": "Value",
            "type": "int64",
            "versions": "0+",
            "encoding": {
                f"{version}+" if encoding == ENCODINGS[-1] else str(version): encoding
                for version, encoding in enumerate(ENCODINGS)
            },
        },
    ],
}


@pytest.fixture(scope="session")
def number(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function from an encoding to the class of the version that has it."""
    folder = tmp_path_factory.mktemp("kip625")
    (folder / "numbers").mkdir()
    (folder / "numbers/Number.json").write_text(json.dumps(SPEC))
    with generated(folder / "numbers", "numbers_of_tests", folder) as package:
        classes = {encoding: package.message("Number", version) for version, encoding in enumerate(ENCODINGS)}
    return lambda encoding: classes[encoding]


def lengths_end_at(scheme: str, bits: int) -> list[int]:
    """Return the numbers at which a varint of this form gets one byte longer, on both sides of each boundary."""
    values = {0, 1, -1, -(1 << bits - 1), (1 << bits - 1) - 1}
    for shift in range(7, bits, 7):
        if scheme == "packed":
            values |= {(1 << shift - 1) - 1, 1 << shift - 1, -(1 << shift - 1), -(1 << shift - 1) - 1}
        else:
            values |= {(1 << shift) - 1, 1 << shift}
    return sorted(value for value in values if -(1 << bits - 1) <= value < 1 << bits - 1)


CASES = [
    (f"{scheme}{bits}", value)
    for scheme in ("packed", "upacked")
    for bits in (16, 32, 64)
    for value in lengths_end_at(scheme, bits)
]


def java_bytes() -> dict[tuple[str, int], str]:
    """Return the bytes that Java's ByteUtils writes, by kind and value."""
    lines = [line for line in golden_data.lines("primitives") if line["kind"].endswith(("varint", "varlong"))]
    return {(line["kind"], line["value"]): line["hex"] for line in lines if "value" in line}


@of_each("encoding, value", CASES, together=lambda encoding, value: encoding)
def test_boundaries_have_javas_bytes(encoding: str, value: int, number: Any) -> None:
    bits = int(encoding[-2:])
    kind = "varlong" if bits == 64 else "varint"
    pattern = value if encoding.startswith("packed") else value & (1 << bits) - 1
    expected = java_bytes()[kind if encoding.startswith("packed") else f"unsigned_{kind}", pattern]
    assert number(encoding)(value=value).encode().hex() == expected
    assert number(encoding).decode(bytes.fromhex(expected)).value == value
    assert number(encoding)(value=value).encoded_size() == len(expected) // 2


@pytest.mark.parametrize(
    ("encoding", "lengths"),
    [
        ("packed32", [(-64, 1), (63, 1), (-65, 2), (64, 2), (-8192, 2), (8191, 2), (-8193, 3), (8192, 3)]),
        ("packed32", [(-1048576, 3), (1048575, 3), (-1048577, 4), (1048576, 4), (-134217728, 4), (134217727, 4)]),
        ("packed32", [(-134217729, 5), (134217728, 5), (-(2**31), 5), (2**31 - 1, 5)]),
        ("upacked32", [(0, 1), (127, 1), (128, 2), (16383, 2), (16384, 3), (2097151, 3), (2097152, 4)]),
        ("upacked32", [(268435455, 4), (268435456, 5), (2**31 - 1, 5), (-1, 5), (-(2**31), 5)]),
        ("packed16", [(63, 1), (-64, 1), (64, 2), (8191, 2), (8192, 3), (-32768, 3)]),
        ("upacked16", [(127, 1), (128, 2), (16383, 2), (16384, 3), (-1, 3)]),
        ("packed64", [(2**62 - 1, 9), (2**62, 10), (-(2**62), 9), (-(2**63), 10)]),
        ("upacked64", [(2**63 - 1, 9), (-1, 10)]),
    ],
)
def test_the_histograms_of_the_kip_have_their_true_ends(
    encoding: str, lengths: list[tuple[int, int]], number: Any
) -> None:
    """The KIP's ranges overlap at their negative ends and leave out the highest number; these do not."""
    for value, length in lengths:
        assert number(encoding)(value=value).encoded_size() == length, value


@pytest.mark.parametrize("encoding", [one for one in ENCODINGS if not one.startswith("fixed")])
def test_numbers_that_are_longer_than_needed_are_refused(encoding: str, number: Any) -> None:
    for data in ("8000", "ff00", "818000"):
        with pytest.raises(DecodeError, match="redundant trailing bytes"):
            number(encoding).decode(bytes.fromhex(data))


@pytest.mark.parametrize(
    ("bits", "data"),
    [
        (16, "808004"),
        (16, "ffff07"),
        (16, "80808001"),
        (32, "8080808010"),
        (32, "ffffffff1f"),
        (32, "808080808001"),
        (64, "ff" * 9 + "02"),
        (64, "80" * 10 + "01"),
    ],
)
@pytest.mark.parametrize("scheme", ["packed", "upacked"])
def test_numbers_of_too_many_bits_are_refused(scheme: str, bits: int, data: str, number: Any) -> None:
    with pytest.raises(DecodeError, match=f"more than {bits} bits"):
        number(f"{scheme}{bits}").decode(bytes.fromhex(data))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_values_beyond_a_narrower_encoding_are_refused_when_written(encoding: str, number: Any) -> None:
    bits = int(encoding[-2:])
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1
    for value in (lowest, highest):
        assert number(encoding).decode(number(encoding)(value=value).encode()).value == value
    for value in (lowest - 1, highest + 1, 2**200):
        with pytest.raises(EncodeError) as caught:
            number(encoding)(value=value).encode()
        assert caught.value.path == "value"
        assert caught.value.version == ENCODINGS.index(encoding)
        assert bits == 64 or encoding in caught.value.reason


def test_a_field_that_outgrew_its_type_is_promoted_when_it_is_read() -> None:
    assert narrow.TooSmall.decode(bytes.fromhex("fffffffe")).too_small == -2
    assert narrow.TooSmall(too_small=-2).encode() == bytes.fromhex("fffffffe")
    assert wide.TooSmall(too_small=-2).encode() == bytes.fromhex("fffffffffffffffe")
    with pytest.raises(EncodeError, match="too_small: 2147483648 is out of range: fixed32 holds"):
        narrow.TooSmall(too_small=2**31).encode()
    assert wide.TooSmall(too_small=2**31).encode() == bytes.fromhex("0000000080000000")


def test_the_fixed_form_of_the_metadata_is_kafkas_own() -> None:
    data = kip625.plain(kip625.FIXED).encode()
    kafka = kafka_messages.message("MetadataResponse", 9).decode(data)
    assert kafka.encode() == data
    assert kafka.to_json() == kip625.plain(kip625.FIXED).to_json()


def test_every_encoding_carries_the_same_values() -> None:
    plain = kip625.plain(kip625.FIXED).to_json()
    for version in proposals.versions("EncodedMetadata"):
        message = kip625.plain(version)
        assert type(message).decode(message.encode()).to_json() == plain


def test_plain_contents_have_the_derived_sizes() -> None:
    sizes = {version: kip625.plain(version).encoded_size() for version in proposals.versions("EncodedMetadata")}
    assert sizes == {
        kip625.FIXED: 3471,
        kip625.PARTITIONS_UNSIGNED: 1271,
        kip625.ALL_UNSIGNED: 1248,
        kip625.PARTITIONS_SIGNED: 1307,
        kip625.ALL_SIGNED: 1286,
    }


def test_most_of_a_metadata_response_is_partition_data_so_that_it_shrinks_with_it() -> None:
    sizes = {version: (kip625.plain(version).encoded_size(), size_without_partitions(version)) for version in (9, 11)}
    assert all(rest < 0.05 * whole for whole, rest in sizes.values())
    assert sizes[11][0] < 0.4 * sizes[9][0]


def size_without_partitions(version: int) -> int:
    message = kip625.plain(version)
    message.topics[0].partitions = []
    return int(message.encoded_size())


def test_worst_contents_have_the_derived_sizes() -> None:
    assert kip625.worst(kip625.PARTITIONS_SIGNED, everywhere=False).encoded_size() == 4271
    assert kip625.worst(kip625.ALL_SIGNED, everywhere=True).encoded_size() == 4280


def test_contents_found_by_arithmetic_give_two_of_the_kips_sizes() -> None:
    assert kip625.arithmetic(kip625.FIXED).encoded_size() == 3216
    assert kip625.arithmetic(kip625.ALL_UNSIGNED).encoded_size() == 1170


@pytest.mark.parametrize("values", [[], [0], [1, 2], [127] * 5, [128], [63, 64, -65], [-1], [2**31 - 1, -(2**31)]])
def test_elements_of_arrays_are_packed_one_by_one(values: list[int]) -> None:
    for version in (kip625.PARTITIONS_UNSIGNED, kip625.PARTITIONS_SIGNED):
        message = kip625.plain(version)
        for partition in message.topics[0].partitions:
            partition.replica_nodes = values
        data = message.encode()
        assert len(data) == message.encoded_size()
        assert type(message).decode(data) == message
        for offset in range(0, len(data), 97):
            with pytest.raises(DecodeError):
                type(message).decode(data[:offset])


@pytest.mark.parametrize("scheme", ["packed", "upacked"])
def test_long_arrays_have_javas_bytes_of_each_element(scheme: str) -> None:
    """They are longer than the buffer that writing begins with, and numbers of all lengths follow one another."""
    message = kip625.plain(kip625.PARTITIONS_SIGNED if scheme == "packed" else kip625.PARTITIONS_UNSIGNED)
    values: list[Any] = 300 * lengths_end_at(scheme, 32)
    message.topics[0].partitions[7].isr_nodes = values
    kind = "varint" if scheme == "packed" else "unsigned_varint"
    java = java_bytes()
    expected = "".join(java[kind, value if scheme == "packed" else value & 0xFFFFFFFF] for value in values)
    data = message.encode()
    assert expected in data.hex()
    assert len(data) == message.encoded_size() > 12_000
    assert type(message).decode(data) == message
    for wrong in (2**31, -(2**31) - 1, 2**64, "1", None):
        values[-1] = wrong
        with pytest.raises(EncodeError, match=rf"partitions\[7\]\.isr_nodes\[{len(values) - 1}\]"):
            message.encode()


KIPS_TABLE = """\
fixed	3216	56,458	14,416	7,215	11,508
variable (best case)	1170	65,226	14,713	7,667	10,155
variable (worst case)	4026	81,328	14,755	21,400	17,681
"""
"""The table of the KIP: bytes, µs to serialize and to deserialize a Struct, and both again for a Buffer."""


def test_the_table_of_the_kip_is_printed_whole() -> None:
    table = encodings.kip_table()
    assert table.header[3:] == (
        "Struct Serialize µs",
        "Struct Deserialize µs",
        "Buffer Serialize µs",
        "Buffer Deserialize µs",
    )
    lines = [line.split("\t") for line in KIPS_TABLE.splitlines()]
    assert [(row[0], row[1].replace(",", ""), *row[3:]) for row in table.rows] == [tuple(line) for line in lines]
    assert [row[2] for row in table.rows] == ["", "2.75 times smaller", "1.25 times larger"]


def test_our_sizes_and_times_are_printed_beside_the_kips(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def samples(functions: dict[str, Any], rounds: int, seconds: float) -> dict[str, list[float]]:
        """Return samples of as many microseconds as the number of the encoding, and ten times as many for decoding."""
        tenfold = 1 if functions["fixed"].__name__ == "encode" else 10
        return {name: [tenfold * number * 1e-6] * rounds for number, name in enumerate(functions, 1)}

    monkeypatch.setattr(encodings, "interleaved", samples)
    measured = encodings.rows()
    times = encodings.measure(measured, rounds=3, seconds=1)
    ours = encodings.our_table(measured, times)
    assert {row[0]: row[3:] for row in ours.rows} == {
        row.name: (f"{number:.1f}", f"{number:.2f}", f"{10 * number:.1f}", f"{number:.2f}")
        for number, row in enumerate(measured, 1)
    }
    assert encodings.times_table(times).rows == (
        ("fixed", "1.00", "1.00", "1.00", "1.00", "1.00", "1.00"),
        ("variable (best case)", "1.16", "1.02", "1.06", "0.88", "3.00", "3.00"),
        ("variable (worst case)", "1.44", "1.02", "2.97", "1.54", "7.00", "7.00"),
    )
    report.show([encodings.kip_table(), ours])
    shown = capsys.readouterr().out
    for text in ("3,216", "1,170", "4,026", "3,471", "1,248", "4,280", "56,458", "17,681"):
        assert text in shown


def test_every_function_that_is_timed_does_what_its_row_says() -> None:
    times = encodings.measure(encodings.rows(), rounds=1, seconds=0.0001)
    assert {row.name for row in encodings.rows()} == {*times}
    for name, one in times.items():
        assert min(one) > 0, name
    assert (times["fixed"].encode_ratio, times["fixed"].decode_ratio) == (1, 1)
