"""Agreement on versions by the answer to ApiVersions: how a client asks, and how a server answers (KIP-511)."""

from __future__ import annotations

from typing import Any

from kipwire.message.conversion import build
from kipwire.message.frames import lists_versions
from kipwire.message.messages import described
from kipwire.model.api_keys import PRODUCE_KEY, UNSUPPORTED_VERSION, VERSIONS_ANSWER
from kipwire.model.errors import UnsupportedVersionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kipwire.message.frames import AnsweredBy
    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry


def versions_key(registry: Registry) -> int | None:
    """Find the API key of a package's ApiVersions, which may be any; None where it has none of Kafka's form.

    Args:
        registry: the registry of the package of messages.
    """
    if VERSIONS_ANSWER not in registry.names():
        return None
    entry = registry.entry(VERSIONS_ANSWER)
    key = entry.api_key
    if key is None or not entry.versions or not registry.request_versions(key):
        return None
    return key if lists_versions(registry.message(VERSIONS_ANSWER, entry.versions[-1])) else None


def common_versions(registry: Registry, answer: Message) -> dict[int, int]:
    """Choose the highest version of each API that the package and the peer both have, by API key.

    Versions that are no longer served count, too: older peers have no others.

    Args:
        registry: the registry of the package of messages.
        answer: an ApiVersionsResponse of any version.
    """
    common = {}
    for key, theirs in served_versions(answer).items():
        both = [version for version in registry.request_versions(key) if version in theirs]
        if both:
            common[key] = both[-1]
    return common


def served_versions(answer: Message) -> dict[int, range]:
    """Read the versions of each API that a peer has, by API key.

    Args:
        answer: an ApiVersionsResponse of any version.
    """
    return {row.api_key: range(row.min_version, row.max_version + 1) for row in _listed(answer)}


def _listed(answer: Message) -> Any:
    cls = type(answer)
    if not hasattr(cls, "TYPE") or not lists_versions(cls):
        raise TypeError(f"expected an ApiVersionsResponse, not {described(answer)}")
    return getattr(answer, "api_keys", ())


def table_fault(registry: Registry, answer: Message) -> str | None:
    """Explain why the versions that a peer lists cannot be meant; None if they can.

    Args:
        registry: the registry of the package of messages: of other APIs a peer may list anything.
        answer: an ApiVersionsResponse of any version.
    """
    seen: set[int] = set()
    for row in _listed(answer):
        if not registry.request_versions(row.api_key):
            continue
        if not 0 <= row.min_version <= row.max_version:
            return f"API key {row.api_key} has versions {row.min_version} to {row.max_version}"
        if row.api_key in seen:
            return f"API key {row.api_key} is listed twice"
        seen.add(row.api_key)
    return None


def best_version(request: Message | AnsweredBy[Any] | type[Message], theirs: Mapping[int, range]) -> int:
    """Choose the highest version of a request that both the peer and the program have.

    A later version than the program's own is not used, although the package may have it: the program is not written for
    what is new there.

    Args:
        request: in the version that the program is written for, or its class.
        theirs: the versions that the peer has, as `served_versions` gives them.

    Raises:
        UnsupportedVersionError: both sides have no version in common.
    """
    cls: Any = request if isinstance(request, type) else type(request)
    if getattr(cls, "TYPE", None) != "request":
        raise TypeError(f"expected a request, not {described(request)}")
    served = theirs.get(cls.API_KEY, range(0))
    common = range(max(cls.MIN_VERSION, served.start), min(cls.VERSION, served.stop - 1) + 1)
    if served and common:
        return common[-1]
    if not served:
        raise UnsupportedVersionError(f"{cls.NAME}: the peer does not support API key {cls.API_KEY}")
    ours = range(cls.MIN_VERSION, cls.VERSION + 1)
    what = f"{cls.NAME}: the peer has {versions_text(served)}, and this program {versions_text(ours)}"
    if served[-1] < cls.MIN_VERSION:
        raise UnsupportedVersionError(f"{what}; the peer is older than all versions that the package has")
    if served[0] <= cls.MAX_VERSION:
        raise UnsupportedVersionError(f"{what}; write it for the class of version {served[0]} or a later one")
    raise UnsupportedVersionError(f"{what}; the peer needs a newer package, since this one ends at {cls.MAX_VERSION}")


def versions_text(versions: range) -> str:
    """Format versions as texts name them; `no version` where there is none."""
    if not versions:
        return "no version"
    return f"version {versions[0]}" if len(versions) == 1 else f"versions {versions[0]} to {versions[-1]}"


def version_to_retry(registry: Registry, answer: Message) -> int | None:
    """Choose the version in which to ask for ApiVersions again; None if the answer does not refuse the version.

    Brokers from 2.4 on list their versions of ApiVersions; older brokers are asked in version 0.

    Args:
        registry: the registry of the package of messages.
        answer: an ApiVersionsResponse of any version.
    """
    ranges = served_versions(answer)
    if getattr(answer, "error_code", 0) != UNSUPPORTED_VERSION:
        return None
    theirs = ranges.get(answer.API_KEY, range(1))
    return max((one for one in registry.api_versions()[answer.API_KEY] if one in theirs), default=0)


def versions_answer(
    registry: Registry, version: int, served: Mapping[int, range] | None = None, **values: Any
) -> Message:
    """Make the answer to an ApiVersions request: the served versions; or, in version 0, the refusal of its version.

    As Kafka's brokers do, it lists Produce from version 0 on where all versions of the package are served.

    Args:
        registry: the registry of the package of messages.
        version: the request's version.
        served: the versions of each API, by API key; by default all that the package serves.
        values: of other fields, such as `throttle_time_ms`; dropped where the version has none and they are ignorable.

    Raises:
        ConversionError: a value would be lost.
        UnsupportedVersionError: the package has no ApiVersions.
    """
    key = versions_key(registry)
    if key is None:
        raise UnsupportedVersionError(f"{registry.package} has no ApiVersions; see kipgen new --negotiated")
    served = registry.api_versions() if served is None else served
    own = served.get(key, range(0))
    if version not in own:
        refusal = {"error_code": UNSUPPORTED_VERSION, "api_keys": _rows(registry, {key: own})}
        return build(registry.response(key, 0), refusal)
    return build(registry.response(key, version), {**values, "api_keys": _rows(registry, served)})


def _rows(registry: Registry, served: Mapping[int, range]) -> list[dict[str, int]]:
    return [
        {"api_key": key, "min_version": _lowest_listed(registry, key, versions), "max_version": versions[-1]}
        for key, versions in served.items()
        if versions
    ]


def _lowest_listed(registry: Registry, key: int, versions: range) -> int:
    """Return the lowest version to list, which of Produce is 0, as of Kafka's brokers, which do not serve 0 to 2.

    librdkafka before 2.8 compresses by gzip, snappy and lz4 only where version 0 is listed (KAFKA-18659).
    """
    own = registry.request_versions(key) if key == PRODUCE_KEY else range(0)
    is_kafkas = own and registry.request(key, own[-1]).NAME == "ProduceRequest"
    return 0 if is_kafkas and versions[0] == registry.api_versions()[key][0] else versions[0]
