"""The headers before requests and responses: which version of a header each version of a message has (KIP-1313).

Kafka's generator has most of these rules, since a header that a peer does not expect shifts all bytes after it. It
demands more where only the form is at stake, that ranges begin with 0 and end open, which is a rule of `rules.kafka`;
and it accepts a flexible header before an inflexible message, which is a warning here. A package's own specs of headers
say which versions there are, so these rules look at a whole folder; without such a spec, Kafka's headers count.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from kipgen.language.spec import HEADERS, KAFKA_HEADERS, MessageSpec
from kipgen.language.versions import Versions
from kipgen.reading.draft import Draft
from kipgen.reading.rules.examples import spec
from kipgen.reading.rules.rule import Finding, Folder, folder_rule, message_rule

_PROPERTY = "headerVersions"


def _request(headers: str, name: str = "ProbeRequest", key: int = 900) -> str:
    return spec(name=name, type_="request", more=f'"apiKey": {key}, "headerVersions": {headers}')


def _response(headers: str, name: str = "ProbeResponse", key: int = 900) -> str:
    return spec(name=name, type_="response", more=f'"apiKey": {key}, "headerVersions": {headers}')


_GOOD = _request('{"0-1": "1", "2+": "2"}')
_GOOD_PAIR = (_GOOD, _response('{"0-1": "0", "2+": "1"}'))


@message_rule(
    needs=("type", _PROPERTY),
    summary="Only requests and responses have headerVersions: no other message has a header before it.",
    good=_GOOD,
    bad=spec(more='"headerVersions": {"0-1": "1", "2+": "2"}'),
)
def header_versions_on_requests(draft: Draft) -> Iterator[Finding]:
    if draft.message.header_versions and draft.message.type not in HEADERS:
        text = f"a message of type {draft.message.type} has headerVersions; leave them out, only requests and responses"
        yield Finding(draft.part, f"{text} have a header", _PROPERTY)


@message_rule(
    needs=("type", _PROPERTY),
    summary="A version has one header.",
    good=_GOOD,
    bad=_request('{"0-2": "1", "2+": "2"}'),
)
def header_versions_overlap(draft: Draft) -> Iterator[Finding]:
    if draft.message.type in HEADERS:
        for earlier, later in _overlaps(draft.message):
            text = f"{earlier} and {later} both contain version {earlier.intersect(later)}; keep one of them"
            yield _at(draft, later, text)
            return


@message_rule(
    needs=("type", "validVersions", _PROPERTY),
    summary="headerVersions begin with version 0 or the lowest valid version, have no gap, and go up to the highest.",
    good=_GOOD,
    bad=_request('{"0": "1", "2+": "2"}'),
)
def header_versions_coverage(draft: Draft) -> Iterator[Finding]:
    message = draft.message
    ranges = [versions for versions, _ in message.header_versions]
    if not ranges or message.type not in HEADERS or message.valid_versions.is_open:
        return
    lowest, highest = message.valid_versions.lowest, message.valid_versions.highest
    due = lowest if ranges[0].lowest else 0
    for versions in ranges:
        if versions.lowest > due:
            text = f"version {Versions(due, versions.lowest - 1)} has no header before {versions}; add it"
            yield _at(draft, versions, text)
            return
        due = max(due, versions.highest + 1)
    if due <= highest:
        text = f"version {Versions(due, highest)} has no header after {ranges[-1]}; add it, as in {ranges[-1].lowest}+"
        yield _at(draft, ranges[-1], text)


@message_rule(
    needs=("type", _PROPERTY),
    summary="A later version does not have an earlier header.",
    good=_GOOD,
    bad=_request('{"0-2": "2", "3+": "1"}'),
)
def header_versions_falling(draft: Draft) -> Iterator[Finding]:
    message = draft.message
    if message.type not in HEADERS or next(_overlaps(message), None) is not None:
        return
    for (earlier, before), (later, after) in itertools.pairwise(message.header_versions):
        if after < before:
            text = f"version {later} has header {after}, after header {before} in {earlier}; write {before} or later"
            yield _at(draft, later, text)
            return


@message_rule(
    needs=("name", "type", "apiKey", _PROPERTY),
    summary="ApiVersionsResponse, API key 18, has header 0 in all versions: a client reads it before it knows which "
    "versions the broker has (KIP-511).",
    good=_response('{"0+": "0"}', "ApiVersionsResponse", 18),
    bad=_response('{"0-1": "0", "2+": "1"}', "ApiVersionsResponse", 18),
)
def api_versions_header(draft: Draft) -> Iterator[Finding]:
    if draft.message.has_oldest_header:
        for versions, header in draft.message.header_versions:
            if header:
                text = f'version {versions} has header {header}; write "headerVersions": {{"0+": "0"}}'
                yield _at(draft, versions, f"{text}, since older brokers answer with it")
                return


@folder_rule(
    summary="A header has the versions that headerVersions name: the package's RequestHeader or ResponseHeader, or "
    "Kafka's where the package has none.",
    good=_GOOD_PAIR,
    bad=(_request('{"0-1": "1", "2": "2", "3+": "3"}'), _GOOD_PAIR[1]),
)
def header_version_unknown(folder: Folder) -> Iterator[Finding]:
    for draft, header in _headed(folder):
        for versions, number in draft.message.header_versions:
            if number not in header.valid:
                text = f"{header.name} {number} does not exist: {header.whose} has versions {header.valid}"
                yield _at(draft, versions, f"{text}; write one of these, or {header.remedy} {number}")
                break


@folder_rule(
    summary="A flexible version has a flexible header, if there is one: peers of flexible versions expect tags in it "
    "(KIP-482).",
    good=_GOOD_PAIR,
    bad=(_request('{"0-2": "1", "3+": "2"}'), _GOOD_PAIR[1]),
)
def flexible_header(folder: Folder) -> Iterator[Finding]:
    for draft, header in _headed(folder):
        if not draft.message.has_oldest_header and header.has_both:
            for version, versions, number in _numbers(draft.message):
                if version in draft.message.flexible_versions and number in header.inflexible:
                    text = f"version {version} is flexible, but {header.name} {number} is not"
                    yield _at(draft, versions, f"{text}; write {header.flexible.lowest} or later for it")
                    break


@folder_rule(
    summary="An inflexible version has an inflexible header, as in all of Kafka's releases up to 4.4.",
    good=_GOOD_PAIR,
    bad=(_request('{"0": "1", "1+": "2"}'), _GOOD_PAIR[1]),
    severity="warning",
    kafka="warning",
)
def inflexible_header(folder: Folder) -> Iterator[Finding]:
    for draft, header in _headed(folder):
        if header.has_both:
            for version, versions, number in _numbers(draft.message):
                if version not in draft.message.flexible_versions and number in header.flexible:
                    text = f"version {version} is inflexible, but {header.name} {number} is flexible"
                    yield _at(draft, versions, f"{text}; write a header below {header.flexible.lowest} for it")
                    break


class _Header(NamedTuple):
    """The header before a message."""

    name: str
    valid: Versions
    flexible: Versions
    """The valid versions of the header that are flexible."""
    whose: str
    remedy: str
    """Advice on a version that the header lacks, without the number of the version, which follows."""

    @property
    def inflexible(self) -> range:
        """The valid versions of the header that are not flexible."""
        end = self.valid.highest + 1 if self.flexible.is_empty else self.flexible.lowest
        return range(self.valid.lowest, end)

    @property
    def has_both(self) -> bool:
        """True if the header has inflexible and flexible versions, so that a message can have the right one."""
        return not self.flexible.is_empty and len(self.inflexible) > 0


def _headed(folder: Folder) -> Iterator[tuple[Draft, _Header]]:
    """Yield the messages with headerVersions, each with its header; none whose header is not known well enough."""
    own = {draft.message.name: draft for draft in folder.messages}
    for draft in folder.messages:
        message = draft.message
        if not message.header_versions or message.type not in HEADERS or draft.part.broken & _READ:
            continue
        name = HEADERS[message.type]
        found = own.get(name)
        if found is None and folder.is_complete:
            valid, flexible = KAFKA_HEADERS[name]
            whose, remedy = "Kafka's", f"add a spec of {name} to the package that has version"
            yield draft, _Header(name, valid, flexible.intersect(valid), whose, remedy)
        elif found is not None and not found.part.broken & _READ:
            valid, flexible = found.message.valid_versions, found.message.flexible_versions
            whose = f"the package's ({found.part.location('validVersions')})"
            yield draft, _Header(name, valid, flexible.intersect(valid), whose, "add version")


_READ = frozenset({"name", "type", "validVersions", "flexibleVersions", _PROPERTY})


def _numbers(message: MessageSpec) -> Iterator[tuple[int, Versions, int]]:
    """Yield each valid version that has a header, with its range and the version of the header."""
    for versions, number in message.header_versions:
        for version in versions.intersect(message.valid_versions).each():
            yield version, versions, number


def _overlaps(message: MessageSpec) -> Iterator[tuple[Versions, Versions]]:
    # Neighbours are enough, because the parser puts the ranges in order.
    for (earlier, _), (later, _) in itertools.pairwise(message.header_versions):
        if earlier.highest >= later.lowest:
            yield earlier, later


def _at(draft: Draft, versions: Versions, text: str) -> Finding:
    """Report something at the value of a range, which may be written with blanks."""
    written = next(key for key in draft.part.keys(_PROPERTY) if Versions.parse(key) == versions)
    return Finding(draft.part, text, _PROPERTY, (written,))
