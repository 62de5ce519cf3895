"""The page shows what the commands print, lets nothing out, and stays in hand with any input."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browser_page import Shown, act, choose, paste
from tests.support.chromium import Tab, chromium
from tests.support.command_line import Done
from tests.support.places import DATA

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

CASES = DATA / "cases"
RECORDED = sorted((CASES / "pasted-bytes" / "recorded").glob("*.txt"))[::3]
REPORTS = sorted((CASES / "pasted-bytes" / "reports").iterdir())
REFUSED = sorted((CASES / "pasted-bytes" / "refused").glob("*.txt"))
FRAME = "0000001b00000007000000000000000000000001036b31000023840105016e"
REQUEST = "000000230012000400000004000a70726f64756365722d3100096b61666b612d676f04302e3400"


def same(shown: Shown, call: Callable[..., Done], folder: Path, text: str | None = None) -> None:
    """Check that the page shows what the command prints."""
    if text is not None:
        (folder / "pasted.txt").write_text(text, encoding="utf-8")
    done = call(*shown.words[1:])
    assert shown.out == done.stdout, shown.words
    assert shown.notes.startswith(done.stderr.rstrip()), shown.words
    assert shown.status == done.returncode, shown.words


@pytest.mark.parametrize("file", [*RECORDED, *REPORTS, *REFUSED], ids=lambda file: file.name)
def test_pasted_bytes_are_shown_as_the_command_prints_them(
    tab: Tab, file: Path, call: Callable[..., Done], tmp_path: Path
) -> None:
    text = file.read_text(encoding="utf-8")
    form = "response:ApiVersions:3" if file in REPORTS else ""
    same(paste(tab, text, form), call, tmp_path, text)


@pytest.mark.parametrize(
    ("text", "form", "words", "status"),
    [
        (REQUEST, "", ["inspect", "--request"], 0),
        (FRAME, "response:FindCoordinator:3", ["inspect", "--response", "FindCoordinator", "3"], 0),
        (FRAME, "response:FindCoordinator", ["inspect", "--response", "FindCoordinator", "3"], 0),
        ("0000", "HeartbeatResponse", ["inspect", "HeartbeatResponse", "0"], 0),  # the newest that reads all
        ("00000000001900", "HeartbeatResponse v4", ["inspect", "HeartbeatResponse", "4"], 0),
        (FRAME[:30], "response:FindCoordinator:3", ["inspect", "--response", "FindCoordinator", "3"], 1),  # a half
        (FRAME, "", ["inspect", "--request"], 1),  # a response
        ("474554202f20485454502f312e310d0a", "", ["inspect", "--request"], 1),  # another protocol
        ("no bytes at all", "", ["inspect", "--request"], 2),
        (FRAME, "NoSuchMessage:1", ["inspect", "NoSuchMessage", "1"], 2),
    ],
)
def test_the_command_follows_from_the_bytes_or_from_what_is_chosen(
    tab: Tab, text: str, form: str, words: list[str], status: int, call: Callable[..., Done], tmp_path: Path
) -> None:
    shown = paste(tab, text, form)
    assert shown.words == ["kipwire", *words, "pasted.txt"]
    assert shown.status == status
    same(shown, call, tmp_path, text)
    assert ("Only requests say what they are" in shown.notes) == (status == 1 and not form)


@pytest.mark.parametrize("view", ["text", "json", "page"])
@pytest.mark.parametrize(
    "source",
    [
        "cases/captures/young-9092.pcap",
        "cases/captures/newer_version_first.pcap",
        "segments/orders-0/00000000000000000000.log",
        "segments/__consumer_offsets-0/00000000000000000000.log",
        "partition_files/replication-offset-checkpoint",
        "snapshots/__cluster_metadata-0/00000000000000000045-0000000001.checkpoint",
    ],
)
def test_files_are_shown_as_the_commands_print_them(
    tab: Tab, source: str, view: str, call: Callable[..., Done], tmp_path: Path
) -> None:
    file = tmp_path / Path(source).name
    found = DATA / source
    if not found.exists():
        found = next(found.parent.glob("*.checkpoint"))
        file = tmp_path / found.name
    shutil.copy(found, file)
    shown = choose(tab, [file], view)
    if view == "page":
        assert call(*shown.words[1:], "--html", "page.html").returncode == shown.status
        assert shown.out == (tmp_path / "page.html").read_text(encoding="utf-8")
    else:
        done = call(*shown.words[1:], "--format", view)
        assert (shown.out, shown.status) == (done.stdout, done.returncode)


def test_a_pasted_dump_of_a_whole_capture_is_a_capture(tab: Tab) -> None:
    shown = paste(tab, (CASES / "captures" / "young-9092.pcap").read_bytes().hex())
    assert shown.words[:2] == ["kipwire", "tap"]
    assert shown.status == 0 and " v" in shown.out


def test_a_link_has_the_bytes_in_its_fragment_and_is_read(tab: Tab, address: str) -> None:
    act(tab, f"location.hash = 'hex={FRAME}&as=response:FindCoordinator:3'", "page")
    first = tab.run("document.getElementById('page').srcdoc")
    assert "FindCoordinatorResponse v3" in first
    tab.until("!document.getElementById('link').hidden")
    assert tab.run("location.hash") == f"#hex={FRAME}&as=response:FindCoordinator:3"
    assert all(FRAME not in request.partition("#")[0] for request in tab.requests)
    paste(tab, REQUEST)
    tab.until(f"location.hash === '#hex={REQUEST}'")


def test_names_with_html_are_text(tab: Tab) -> None:
    """Texts of a message are escaped, the frame has no rights, and the policy lets no script of theirs run."""
    name = b'<img src=x onerror="parent.document.title=1"><script>parent.document.title=2</script>'
    frame = bytes.fromhex("0003000900000007") + len(name).to_bytes(2, "big") + name + bytes.fromhex("0001000000")
    shown = paste(tab, frame.hex(), view="page")
    assert "&lt;script&gt;" in shown.out and "<img" not in shown.out
    assert tab.run("document.title") == "Bytes in the browser: kipwire"
    assert not [said for said in tab.said if "script" in said.lower()]


def test_the_policy_lets_neither_page_nor_python_reach_another_host(tab: Tab, address: str) -> None:
    other = address.replace("127.0.0.1", "localhost")  # another origin, where the same server answers
    assert tab.run(f"fetch('{other}').then(() => 'sent', () => 'refused')") == "refused"
    worker = "import('data:text/javascript,0').then(() => 'run', () => 'refused')"
    assert tab.run(worker) == "refused"
    said = tab.run(f"""new Promise((done) => {{
          const code = `fetch('{other}').then(() => postMessage('sent'), () => postMessage('refused'));`;
          const worker = new Worker(URL.createObjectURL(new Blob([code])));
          worker.onmessage = ({{data}}) => {{ worker.terminate(); done(data); }};
        }})""")
    assert said == "refused"
    paste(tab, REQUEST)
    assert {request.split("/")[2] for request in tab.requests} == {address.split("/")[2]}


def test_a_hundred_megabytes_are_read_in_pieces_and_can_be_stopped(tab: Tab, tmp_path: Path) -> None:
    one = (DATA / "segments" / "orders-0" / "00000000000000000000.log").read_bytes()
    large = tmp_path / "large.log"
    large.write_bytes(one * (100 * 2**20 // len(one)))
    shown = choose(tab, [large])
    assert len(shown.out) > 1_000_000
    assert "This is the beginning" in shown.notes
    nothing = tmp_path / "nothing.bin"
    nothing.write_bytes(bytes(100 * 2**20))
    assert "is longer than 67108864 bytes, the limit" in choose(tab, [nothing]).notes
    tab.give("#files", [large])
    tab.run("document.querySelector('[data-view=json]').click()")
    tab.run("document.getElementById('stop').click()")
    tab.until("document.getElementById('said').textContent.startsWith('Ready')")
    assert paste(tab, REQUEST).status == 0


def test_a_batch_that_says_it_is_huge_is_refused_as_the_command_does(
    tab: Tab, call: Callable[..., Done], tmp_path: Path
) -> None:
    """A bomb: a batch whose 100 MiB of records are zeros."""
    import cramjam

    from kipwire.records import Record, write_batch

    batch = bytearray(
        write_batch([Record(offset=0, timestamp=0, key=None, value=bytes(100 * 2**20))], compression="zstd")
    )
    assert len(batch) < 2**20 and cramjam is not None
    file = tmp_path / "bomb.log"
    file.write_bytes(batch)
    shown = choose(tab, [file])
    done = call(*shown.words[1:])
    assert (shown.out[:1000], shown.status) == (done.stdout[:1000], done.returncode)


def test_own_specs_are_checked_generated_and_read(tab: Tab, tmp_path: Path) -> None:
    spec = {
        "type": "data", "name": "Order", "validVersions": "0", "flexibleVersions": "0+",
        "fields": [{"name": "Customer", "type": "string", "versions": "0+", "about": "<b>Who</b>."}],
    }  # fmt: skip
    file = tmp_path / "Order.json"
    file.write_text(json.dumps({**spec, "validVersions": "x"}))
    shown = choose(tab, [file])
    assert "Order.json:1:" in shown.out and "Found 1 problem" in shown.out
    file.write_text(json.dumps(spec))
    assert "no problems found" in choose(tab, [file]).out
    assert "class Order(" in tab.run("document.getElementById('source').textContent")
    assert "Order:0" in tab.run("[...document.getElementById('forms').children].map((one) => one.value).join()")
    shown = paste(tab, "0441646100", "Order")
    assert shown.words == ["kipwire", "inspect", "Order", "0", "pasted.txt", "--package", "own"]
    assert "'Ada'" in shown.out and shown.status == 0


def test_a_first_result_comes_soon_after_a_cold_load(
    address: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The limit is five seconds on a quiet machine; on a busy one only the order of loading is sure."""
    with chromium(tmp_path / "profile") as tab:
        tab.look(390, 844)
        start = time.monotonic()
        tab.open(f"{address}#hex={REQUEST}")
        said = set()
        while not tab.run("document.documentElement?.dataset.shown"):
            said.add(tab.run("document.getElementById('said')?.textContent"))
            assert time.monotonic() < start + 60
        record_property("seconds", round(tab.run("performance.now()") / 1000, 1))
        print(f"\nfirst result {time.monotonic() - start:.1f} s after the page was asked for")
        assert any(one and one.endswith(" MB") for one in said), said
        assert tab.said == []
        assert tab.run("document.documentElement.scrollWidth") <= 390
