"""`kipgen compat` over four releases of Kafka, whose specs lie in its jars: every finding has an explanation.

Needs mvn and a network (`make test-maven`); nothing of the specs is kept.
"""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

import pytest

from kipgen.commands.compat.revisions import compare_paths
from tests.support.kafka_jars import ARTIFACTS, fetch_jars

pytestmark = pytest.mark.maven

_FOLDERS = ("common/message", "common/metadata", "message")
_EARLY_ACCESS = "share groups were an early access in 4.0: their records were not final, which no spec could say then"
_RENAMED_API = "KIP-1142 gave ListClientMetricsResources a wider use and a new name; version 0 has the same bytes"

_EXPLAINED: dict[tuple[str, str], dict[tuple[str, str], str]] = {
    ("4.0.0", "4.1.1"): {
        ("lowest-version-lowered", "JoinGroupRequest"): "4.1 speaks versions 0 and 1 again",
        ("lowest-version-lowered", "JoinGroupResponse"): "as its request",
        ("message-renamed", "ListConfigResourcesRequest"): _RENAMED_API,
        ("message-renamed", "ListConfigResourcesResponse"): _RENAMED_API,
        ("struct-renamed", "ListConfigResourcesResponse.ConfigResources"): _RENAMED_API,
        ("message-removed", "ShareGroupPartitionMetadataKey"): _EARLY_ACCESS,
        ("message-removed", "ShareGroupPartitionMetadataValue"): _EARLY_ACCESS,
        ("field-added", "ShareGroupMetadataValue.MetadataHash"): _EARLY_ACCESS,
        ("field-added", "ShareGroupStatePartitionMetadataValue.InitializingTopics"): _EARLY_ACCESS,
        ("field-added", "ShareSnapshotValue.CreateTimestamp"): _EARLY_ACCESS,
        ("field-added", "ShareSnapshotValue.WriteTimestamp"): _EARLY_ACCESS,
        ("type-changed", "ShareSnapshotValue.SnapshotEpoch"): _EARLY_ACCESS,
        ("type-changed", "ShareUpdateValue.SnapshotEpoch"): _EARLY_ACCESS,
    },
    ("4.1.1", "4.3.1"): {},
    ("4.3.1", "4.4.0"): {},
}
"""The findings by rule and path that break bytes or code, and why they are there. All of them are true."""


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the specs of each release, by component."""
    folder = tmp_path_factory.mktemp("releases")
    for version in sorted({version for pair in _EXPLAINED for version in pair}):
        for artifact, jar in fetch_jars(folder / "jars", version, ARTIFACTS).items():
            _extract_specs(jar, folder / version / artifact)
    return folder


def _extract_specs(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as jar:
        for name in map(PurePosixPath, jar.namelist()):
            if name.suffix == ".json" and str(name.parent) in _FOLDERS:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name.name).write_bytes(jar.read(str(name)))


@pytest.mark.parametrize("pair", _EXPLAINED, ids=" to ".join)
def test_every_finding_between_two_releases_has_an_explanation(pair: tuple[str, str], releases: Path) -> None:
    compared = compare_paths(*(releases / version for version in pair))
    assert compared.messages > 250
    serious = [one for one in compared.findings if one.severity != "notice"]
    assert {(one.rule.id, one.path) for one in serious} == set(_EXPLAINED[pair])
