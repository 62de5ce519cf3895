"""`kipgen new --negotiated` writes what peers need to agree on versions, once, under a key that its author chooses."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kipgen.commands.app import app
from kipwire import EncodeError
from kipwire.connection import served_versions, versions_answer
from kipwire.connection.negotiation import versions_key
from kipwire.console.app import app as kipwire_app
from tests.support.spec_package import importable, write_package

HEADER = """{"type": "header", "name": "RequestHeader", "validVersions": "1-2", "flexibleVersions": "2+", "fields": [
  {"name": "RequestApiKey", "type": "int16", "versions": "0+"},
  {"name": "RequestApiVersion", "type": "int16", "versions": "0+"},
  {"name": "CorrelationId", "type": "int32", "versions": "0+"},
  {"name": "Tenant", "type": "string", "versions": "0+"}]}"""


def new(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["new", "--out", "specs", *arguments])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_specs_are_right_at_once_and_their_package_tells_versions(here: Path) -> None:
    for name in ("Get", "Set"):  # the second finds ApiVersions, which stays
        assert new("--negotiated", name, *(("--versions-key", "77") if name == "Get" else ())).exit_code == 0
    files = sorted(path.relative_to(here / "specs").as_posix() for path in (here / "specs").rglob("*.json"))
    both = [f"{name}{kind}.json" for name in ("ApiVersions", "Get", "Set") for kind in ("Request", "Response")]
    assert files == [*both, "enums/ErrorCode.enum.json"]
    done = CliRunner().invoke(app, ["check", "specs", "--strict"])
    assert (done.exit_code, done.stdout) == (0, "6 specs: no problems found.\n")
    write_package(here / "specs", here / "negotiated_77")
    with importable(here):
        package = import_module("negotiated_77")
        assert versions_key(package.REGISTRY) == 77
        table = versions_answer(package.REGISTRY, 0)
        assert served_versions(table) == {77: range(1), 1000: range(1), 1001: range(1)}
        assert package.response_header_version(77, 0) == 0
        assert [one.name for one in import_module("negotiated_77.enums").ErrorCode] == [
            "UNKNOWN_SERVER_ERROR",
            "NONE",
            "UNSUPPORTED_VERSION",
        ]


REFUSED = {
    ("Get", "--versions-key", "7"): "--versions-key needs --negotiated",
    ("Get", "--negotiated", "-t", "data"): "--negotiated needs a request or a response: of nothing else do peers agree",
    ("Get", "--negotiated", "--api-key", "18"): "API key 18 of ApiVersions belongs to Get; give another one as "
    "--versions-key",
    ("Get", "--negotiated", "--versions-key", "5"): "API key 5 of ApiVersions belongs to FiveRequest; give another",
    ("ApiVersions",): "ApiVersions has a form by which kipwire knows it; kipgen new --negotiated writes its specs",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_what_does_not_fit_is_one_line_and_writes_nothing(arguments: tuple[str, ...], here: Path) -> None:
    assert new("Five", "--api-key", "5").exit_code == 0
    done = new(*arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert REFUSED[arguments] in done.stderr
    assert sorted(path.name for path in (here / "specs").iterdir()) == ["FiveRequest.json", "FiveResponse.json"]


def test_another_key_than_the_one_that_is_there_is_refused(here: Path) -> None:
    assert new("--negotiated", "Get").exit_code == 0
    assert new("--negotiated", "Set", "--versions-key", "18").exit_code == 0
    done = new("--negotiated", "Drop", "--versions-key", "19")
    assert done.exit_code == 2
    assert "--versions-key 19: the folder has ApiVersions, with API key 18" in done.stderr


def test_a_client_id_that_no_header_has_is_refused_and_not_dropped(here: Path) -> None:
    assert new("Get").exit_code == 0
    (here / "specs/RequestHeader.json").write_text(HEADER)
    write_package(here / "specs", here / "with_tenants")
    with importable(here):
        package = import_module("with_tenants")
        request = package.request(1000, 0)(key="k")
        assert package.decode_request(package.encode_request(request, 7)).body == request
        with pytest.raises(EncodeError, match="client_id: with_tenants has headers without it; leave it out, or give"):
            package.encode_request(request, 7, "me")
        # A name for itself that a tool gives by default is none of the user's.
        done = CliRunner().invoke(
            kipwire_app, ["call", "--package", "with_tenants", "-n", "localhost", "Get", '{"key": "k"}']
        )
        assert (done.exit_code, bytes.fromhex(done.stdout)[4:8]) == (0, bytes.fromhex("03e8 0000")), done.stderr
