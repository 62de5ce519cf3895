"""KIP-82's registers of header keys: every cell of the document's tables, the look-ups, and where names are shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kipwire.drafts.proposals.enums
from kipwire.console.app import app
from kipwire.drafts.header_keys import KEY_SPACES, key_name, key_of, key_space
from kipwire.drafts.proposals.enums import KafkaHeaderKeys, LocalHeaderKeys
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.model.enums import HeaderKey
from tests.support.places import ROOT

URL = "some url to a document about it"
DOCUMENT = "some internal document about it"


def rows(register: type[HeaderKey]) -> list[tuple[int, str, str, str | None, str | None]]:
    return [(int(one), one.header, one.by, one.url, one.notes) for one in register]


def message(*keys: int) -> MessageAndOffset:
    return MessageAndOffset(value=b"v", headers=[Header(key=key, value=b"ab") for key in keys])


# The registers


def test_the_open_source_register_has_every_row_and_column_of_the_document() -> None:
    assert rows(KafkaHeaderKeys) == [
        (1, "client.id", "Apache Kafka", URL, None),
        (2, "cluster.id", "Apache Kafka", URL, None),
        (3, "correlation.id", "Apache Kafka", URL, None),
        (2100001, "new.relic", "New Relic", URL, None),
        (2100002, "appdynamics", "AppDynamics", URL, None),
    ]


def test_the_local_register_has_every_row_and_column_of_the_document() -> None:
    assert rows(LocalHeaderKeys) == [
        (1050000, "charge.tag", "IG", None, DOCUMENT),
        (1114000, "app.name", "IG", None, DOCUMENT),
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (KafkaHeaderKeys.CLIENT_ID_KEY, ["client id", "producer"]),
        (KafkaHeaderKeys.CLUSTER_ID_KEY, ["cluster", "where the message first originated"]),
        (KafkaHeaderKeys.CORRELATION_ID_KEY, ["correlation id", "mutex response", "request"]),
        (KafkaHeaderKeys.NEW_RELIC_KEY, ["stores", "guid", "transaction", "links", "new relic"]),
        (KafkaHeaderKeys.APPDYNAMICS_KEY, ["stores", "guid", "transaction", "links", "appdynamics"]),
        (LocalHeaderKeys.CHARGE_TAG_KEY, ["tag", "each message", "charge"]),
        (LocalHeaderKeys.APP_NAME_KEY, ["ig's unique name", "application", "produces"]),
    ],
)
def test_descriptions_say_what_the_document_says(row: HeaderKey, words: list[str]) -> None:
    assert [word for word in words if word not in row.about.lower()] == []


def test_constants_are_those_of_the_class_in_the_document() -> None:
    assert (KafkaHeaderKeys.CLIENT_ID_KEY, KafkaHeaderKeys.CLUSTER_ID_KEY, KafkaHeaderKeys.CORRELATION_ID_KEY) == (
        1,
        2,
        3,
    )
    assert [one.name for one in KafkaHeaderKeys][3:] == ["NEW_RELIC_KEY", "APPDYNAMICS_KEY"]
    assert list(LocalHeaderKeys.__members__) == ["CHARGE_TAG_KEY", "APP_NAME_KEY"]


def test_registered_keys_lie_where_the_document_puts_them() -> None:
    areas = [key_space(key).area for key in KafkaHeaderKeys]
    assert areas == ["Kafka open source"] * 3 + ["open use"] * 2
    assert {key_space(key)[2:] for key in LocalHeaderKeys} == {("local use", "infrastructure", False)}


def test_the_areas_of_registers_are_those_of_the_key_space() -> None:
    schema = json.loads((ROOT / "schemas/enum.schema.json").read_text())
    areas = dict.fromkeys(space.area for space in KEY_SPACES if not space.is_reserved)
    assert schema["properties"]["keyAreas"]["items"]["enum"] == list(areas)


# Looking up


def test_keys_and_names_are_looked_up_in_any_number_of_registers() -> None:
    both = KafkaHeaderKeys, LocalHeaderKeys
    for row in (*KafkaHeaderKeys, *LocalHeaderKeys):
        assert key_name(int(row), *both) == row.header
        assert key_of(row.header, *both) is row
    assert key_name(1114000, KafkaHeaderKeys) is None
    assert key_of("app.name", KafkaHeaderKeys) is None
    assert key_name(4, *both) is None
    assert key_name(1) is None
    assert key_of("Client.Id", *both) is None
    assert KafkaHeaderKeys.text(2) == "2 cluster.id"
    assert KafkaHeaderKeys.text(4) == "4"


def test_the_first_register_that_has_a_key_names_it() -> None:
    class Mine(HeaderKey):
        CLIENT_KEY = 1, "my.client", "Mine.", "me"

    assert key_name(1, Mine, KafkaHeaderKeys) == "my.client"
    assert key_name(1, KafkaHeaderKeys, Mine) == "client.id"
    assert (Mine.CLIENT_KEY.url, Mine.CLIENT_KEY.notes, Mine.CLIENT_KEY.kip) == (None, None, None)


@pytest.mark.parametrize("look_up", [key_space, lambda key: key_name(key, KafkaHeaderKeys)])
@pytest.mark.parametrize("key", [1.5, 1.0, True, "1", None, b"\x01"])
def test_what_is_not_a_whole_number_is_not_a_key(key: Any, look_up: Any) -> None:
    with pytest.raises(TypeError, match="is not a header key; write a whole number, 0 to 0xffffffff") as caught:
        look_up(key)
    assert str(caught.value).startswith(repr(key))


@pytest.mark.parametrize("key", [-1, 0x100000000])
def test_names_are_asked_of_keys_only(key: int) -> None:
    with pytest.raises(ValueError, match="is not a header key; the range is 0 to 0xffffffff"):
        key_name(key, KafkaHeaderKeys)


def test_key_spaces_need_no_generated_package() -> None:
    program = "import sys, kipwire.drafts.header_keys; assert 'kipwire.drafts.proposals' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


# Names in repr and inspections


def test_repr_has_the_constants_of_registered_keys_and_makes_an_equal_message() -> None:
    assert repr(Header(key=1, value=b"a")) == "Header(key=KafkaHeaderKeys.CLIENT_ID_KEY, value=b'a')"
    assert repr(Header(key=1114000)) == "Header(key=1114000, value=b'')"  # one organisation has registered this key
    decoded = MessageAndOffset.decode(message(1, 4, 2100002).encode())
    assert type(decoded.headers[0].key) is int
    names = {**vars(kipwire.drafts.proposals.enums), "Header": Header, "MessageAndOffset": MessageAndOffset}
    assert "key=KafkaHeaderKeys.APPDYNAMICS_KEY" in repr(decoded)
    assert "key=4," in repr(decoded)
    assert eval(repr(decoded), names) == decoded
    assert repr(Header(key=KafkaHeaderKeys.CLUSTER_ID_KEY)) == repr(Header(key=2))


@pytest.mark.parametrize("wrong", ["x", None, 1.5, True, [1]])
def test_repr_shows_what_is_not_a_key_as_it_is(wrong: Any) -> None:
    shown = "[KafkaHeaderKeys.CLIENT_ID_KEY]" if wrong == [1] else repr(wrong)
    assert repr(Header(key=wrong)) == f"Header(key={shown}, value=b'')"


def test_inspect_shows_the_names_of_keys(tmp_path: Path) -> None:
    data = message(2, 4, 1114000).encode().hex()
    command = ["inspect", "--package", "kipwire.drafts.proposals", "MessageAndOffset", "2", data]
    lines = [line.split() for line in CliRunner().invoke(app, command).stdout.splitlines() if "].key" in line]
    assert [line[-1] for line in lines] == ["cluster.id", "4", "1114000"]
    assert lines[0][-2:] == ["2", "cluster.id"]
    elements = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)["elements"]
    assert [it["name"] for it in elements if it["path"].endswith("].key")] == ["cluster.id", None, None]
    page = tmp_path / "page.html"
    assert CliRunner().invoke(app, [*command, "--html", str(page)]).exit_code == 0
    assert "2 cluster.id" in page.read_text()
    assert "cluster.id: Id of the cluster where the message first originated." in page.read_text()
