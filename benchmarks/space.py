"""Bytes that message formats add to a batch, next to the draft of KIP-98; frames of the 0.8 proposal and alternatives.

python -m benchmarks.space

The tables go to the terminal and, with a plot, to benchmarks/RESULTS-space.md. They are sums of bytes, the same on
every machine, so a test compares the file with them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import wire_format_08
from benchmarks.options import parsed, parser_of
from benchmarks.reporting.report import Table, markdown, show
from kafka_records.message_and_offset.v1 import MessageAndOffset
from kafka_records.record_batch.v2 import RecordBatch
from kafka_records.records.v2 import Record, Records
from kipwire.drafts.proposals.message_set.v2 import Message, MessageSet

RESULTS = Path(__file__).parent / "RESULTS-space.md"
PLOT = Path(__file__).parent / "kip-98-space.svg"

DRAFT_TABLE = {1: (34, 62), 3: (102, 96), 10: (340, 215), 50: (1700, 895), 100: (3400, 1745)}
"""The draft's table: by messages in a batch, the bytes that the old and the new format add to them."""

KEY = bytes(100)
VALUE = bytes(1024 - len(KEY))
"""The draft's contents: messages of 1 KiB, including a key of 100 bytes."""

TIMESTAMP = 1_480_000_000_000
"""Milliseconds since 1970, when the draft was written; each message is a millisecond later than the one before."""

WHAT_DIFFERS = """\
The draft's sums are exact. Its text says that a message costs 14 to 25 bytes, which its schema does not give: with
Length, OffsetDelta and KeyLen of one to five bytes it is 15 (no key and no value) to 28. In format 2, as it was
released, messages have no CRC, and timestamps take few bytes: a batch costs 61, a message 10 to 12 here."""


def old_overhead(count: int) -> int:
    """Return the bytes that format 1 adds to a number of messages."""
    entries = [
        MessageAndOffset(offset=number, timestamp=TIMESTAMP + number, key=KEY, value=VALUE) for number in range(count)
    ]
    return sum(entry.encoded_size() for entry in entries) - _contents(count)


def draft_overhead(count: int) -> int:
    """Return the bytes that the KIP-98 draft adds to a number of messages in one set."""
    messages = [
        Message(timestamp=TIMESTAMP + number, offset_delta=number, key=KEY, value=VALUE) for number in range(count)
    ]
    whole = MessageSet(
        offset_delta=count, max_timestamp=TIMESTAMP + count - 1, pid=0, epoch=0, sequence=0, messages=messages
    )
    return whole.encoded_size() - _contents(count)


def released_overhead(count: int) -> int:
    """Return the bytes that format 2, as released, adds to a number of records in one batch."""
    records = [Record(timestamp_delta=number, offset_delta=number, key=KEY, value=VALUE) for number in range(count)]
    batch = RecordBatch(
        last_offset_delta=count - 1,
        base_timestamp=TIMESTAMP,
        max_timestamp=TIMESTAMP + count - 1,
        records_count=count,
        records=Records(records=records).encode(),
    )
    return batch.encoded_size() - _contents(count)


def _contents(count: int) -> int:
    return count * (len(KEY) + len(VALUE))


def table() -> Table:
    """Return a table of the draft's figures and kipwire's."""
    header = ("messages", "old: draft", "old: ours", "new: draft", "new: ours", "released: ours")
    rows = []
    for count, (old, new) in DRAFT_TABLE.items():
        ours = (old_overhead(count), draft_overhead(count), released_overhead(count))
        rows.append(tuple(f"{number:,}" for number in (count, old, ours[0], new, ours[1], ours[2])))
    return Table("Bytes beyond the contents of a batch", header, tuple(rows))


def draw(file: Path) -> None:
    """Draw the overhead of one message by the size of its batch; the file's suffix chooses the kind of picture.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
        ValueError: there is no such kind of picture.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    counts = range(1, max(DRAFT_TABLE) + 1)
    formats = (
        ("format 1", "#9aa5b1", old_overhead),
        ("KIP-98 draft", "#e0a030", draft_overhead),
        ("format 2, as released", "#2a7f9e", released_overhead),
    )
    # The same data make the same file, so that it changes only if the figures do.
    with rc_context({"svg.hashsalt": "kipwire", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 4.2), dpi=130, layout="constrained")
        axes = figure.add_subplot()
        for name, colour, overhead in formats:
            axes.plot(counts, [overhead(count) / count for count in counts], color=colour, label=name)
        for column, (name, colour, _) in enumerate(formats[:2]):
            figures = [row[column] / count for count, row in DRAFT_TABLE.items()]
            axes.plot(list(DRAFT_TABLE), figures, "o", color=colour, label=f"{name}, in the draft's table")
        axes.set_xscale("log")
        axes.set_xticks(list(DRAFT_TABLE), [str(count) for count in DRAFT_TABLE])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("messages in a batch")
        axes.set_ylabel("bytes beyond the contents, per message")
        axes.set_title("Messages of 1 KiB with keys of 100 bytes", loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.legend(frameon=False)
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def results() -> str:
    """Return the text of the results file."""
    contents = (
        f"Topics of the 0.8 frames are {', '.join(f'`{topic}`' for topic in wire_format_08.TOPICS)}, the client is "
        f"`{wire_format_08.CLIENT_ID}`. In brackets is the difference from the proposal; an empty cell is unchanged. "
        "The last row is the list that the proposal replaces, in the frame of a ProduceRequest."
    )
    plot = f"![Bytes beyond the contents, per message, by messages in a batch]({PLOT.name})"
    texts = (" ".join(WHAT_DIFFERS.split()), contents, " ".join(wire_format_08.handshake().split()), plot)
    how = "\n\n".join(texts)
    return markdown(_tables(), None, how, title="Results: bytes of message formats", command="make bench-space")


def _tables() -> list[Table]:
    return [table(), *(wire_format_08.table(contents) for contents in (wire_format_08.ONE, wire_format_08.MANY))]


def main() -> int:
    """Show the tables, and write them and the plot; return the exit status."""
    options = parsed(parser_of(__doc__))
    show(_tables())
    print(WHAT_DIFFERS)
    print(wire_format_08.handshake())
    if not options.smoke:
        draw(PLOT)
        RESULTS.write_text(results(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
