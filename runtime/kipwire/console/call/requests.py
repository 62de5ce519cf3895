"""From JSON to a request: which class it is of, and in which version it goes over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import kipwire
from kipwire.cli.apis import Api
from kipwire.connection import best_version
from kipwire.console.records import with_bytes
from kipwire.description.json_codec import read_partial_json
from kipwire.message.conversion import Loss
from kipwire.message.messages import Message
from kipwire.message.registry import Registry
from kipwire.model.errors import ConversionError, JsonError
from kipwire.model.structs import Struct

_WAITING = {"timeoutMs": 30_000}
_OWN: dict[str, dict[str, Any]] = {
    "ApiVersionsRequest": {"clientSoftwareName": "kipwire", "clientSoftwareVersion": kipwire.__version__},
    "DescribeAclsRequest": {"resourceTypeFilter": 1, "patternTypeFilter": 1, "operation": 1, "permissionType": 1},
    "ListOffsetsRequest": {"replicaId": -1, **_WAITING},
    **dict.fromkeys(
        (
            "AddRaftVoterRequest",
            "CreatePartitionsRequest",
            "DeleteRecordsRequest",
            "DeleteTopicsRequest",
            "ProduceRequest",
        ),
        _WAITING,
    ),
}
"""Values of fields that Kafka's clients always set, since the default makes no sense from a client: the name of its
software, a replica that it is not, filters by a kind that there is not in place of any kind, no time at all to wait."""


class Encoded(NamedTuple):
    """A request that can be sent."""

    body: Message
    """Request in the version of the class that the JSON describes."""
    version: int
    """The version of the wire."""
    frame: bytes
    """Without a size."""
    lost: tuple[Loss, ...]
    """Values that the version of the wire does not carry."""


def own_values(cls: type[Struct]) -> dict[str, Any]:
    """Return the values of a request that have another default here than in its spec, in the JSON form."""
    names = {field.json_name for field in cls.ATTRIBUTES}
    return {name: value for name, value in _OWN.get(getattr(cls, "NAME", ""), {}).items() if name in names}


def encode_pinned(registry: Registry, api: Api, version: int, value: dict[str, Any], client_id: str | None) -> Encoded:
    """Encode the request in one version, whose fields the JSON has.

    Args:
        registry: the registry of the package.
        api: the API of the request.
        version: of both the JSON and the wire.
        value: the JSON object.
        client_id: the client's name for itself, if its header has one.

    Raises:
        JsonError: the JSON does not describe a request of this version.
        UnsupportedVersionError: the package has no such version.
        EncodeError: a value does not fit its field.
    """
    body = _body(registry.message(api.request, version), value)
    return Encoded(body, version, registry.encode_request(body, 0, client_id), ())


def encode_negotiated(
    registry: Registry, api: Api, theirs: Mapping[int, range], value: dict[str, Any], client_id: str | None
) -> Encoded:
    """Encode the request in the highest common version, from the newest class that fits both the JSON and that version.

    Args:
        registry: the registry of the package.
        api: the API of the request.
        theirs: the versions that the broker serves.
        value: the JSON object.
        client_id: the client's name for itself, if its header has one.

    Raises:
        JsonError: the JSON describes a request of no version.
        ConversionError: no version that the broker has can carry what the JSON has.
        UnsupportedVersionError: there is no version in common.
        EncodeError: a value does not fit its field.
    """
    errors: list[JsonError | ConversionError] = []
    best_version(registry.message(api.request, api.versions[-1]), theirs)  # an error of versions comes first
    for version in reversed(api.versions):
        if version < theirs[api.key].start:
            break
        cls = registry.message(api.request, version)
        lost: list[Loss] = []
        try:
            body = _body(cls, value)
            wire = best_version(cls, theirs)
            frame = registry.encode_request(body, 0, client_id, version=wire, lost=lost)
        except (JsonError, ConversionError) as error:
            errors.append(error)
            continue
        return Encoded(body, wire, frame, tuple(lost))
    # The one that came furthest is about what is wrong, and not about what other versions have.
    raise max(errors, key=lambda error: error.path.count("."))


def _body(cls: type[Message], value: dict[str, Any]) -> Message:
    return read_partial_json(cls, with_bytes(cls, own_values(cls) | value))
