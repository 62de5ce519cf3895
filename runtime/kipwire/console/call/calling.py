"""The work of `kipwire call`: from the words of a command line to a response, and to an exit status.

The steps of one call: find API and package, read JSON, ask the brokers (`asking`), print what came. The JSON is encoded
for each broker by itself, because each may serve other versions. The exit status is the worst of all answers: 1 if a
response has an error code, 2 if there is no response that can be read. The response goes to standard output, and
whatever is said about it to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from kipwire.aio import Address
from kipwire.cli.apis import Api, find_api, registry_named
from kipwire.cli.command_line import fail
from kipwire.cluster.given import Target
from kipwire.cluster.settings import Settings
from kipwire.connection.framing import add_size
from kipwire.console.brokers.running import prepare, run
from kipwire.console.call import output
from kipwire.console.call.asking import Answer, Failed, ask, ask_versions, read
from kipwire.console.call.codes import error_lines
from kipwire.console.call.json_text import read_json_argument
from kipwire.console.call.requests import Encoded, encode_negotiated, encode_pinned
from kipwire.console.call.template import template_lines
from kipwire.console.dump.values import Decoders
from kipwire.message.registry import Registry
from kipwire.model.errors import DecodeError, KipwireError
from kipwire.tools.text import count_of

_HAS_ERRORS, _NO_RESPONSE = 1, 2
_MOST_LINES = 20
"""About errors in one response."""


class What(NamedTuple):
    """The request to make."""

    packages: tuple[str, ...]
    api: str
    version: int | None
    json: str | None
    """An argument: JSON, `@FILE` or `-`."""


class Whom(NamedTuple):
    """The brokers to ask."""

    settings: Settings
    brokers: tuple[Address, ...]
    target: Target | None

    @property
    def are_all(self) -> bool:
        return self.target is not None and self.target.kind == "all"


class How(NamedTuple):
    """Output options."""

    as_text: bool | None
    """None: as text to a terminal."""
    decoders: Decoders | None
    """Functions of the user for keys and values, which may be none; None if records are not shown."""
    explain: bool

    @property
    def is_text(self) -> bool:
        return sys.stdout.isatty() if self.as_text is None else self.as_text


class _Request(NamedTuple):
    """A request whose version depends on the broker's versions."""

    registry: Registry
    api: Api
    version: int | None
    value: dict[str, Any]
    client_id: str | None
    """None where the header of the package has none."""

    def encode(self, theirs: Mapping[int, range]) -> Encoded:
        """Encode the request in a version that a broker serves, or in the one that was given.

        Raises:
            KipwireError: the JSON does not describe one that the broker can read.
        """
        if self.version is not None:
            return encode_pinned(self.registry, self.api, self.version, self.value, self.client_id)
        return encode_negotiated(self.registry, self.api, theirs, self.value, self.client_id)


def call(what: What, whom: Whom, how: How) -> None:
    """Send a request and print the response; exit with 1 if it has an error code, and with 2 if there is none."""
    with _failing():
        request = _request(what, whom.settings.client_id)
        prepare(whom.settings)
        answers = run(ask(whom.settings, whom.brokers, whom.target, request.registry, request.encode))
    status = max((_print(request.registry, one, how, of_many=whom.are_all) for one in answers), default=0)
    if status:
        sys.exit(status)


def show_frame(what: What, client_id: str, how: How) -> None:
    """Print a request that is not sent, in the newest version that fits it."""
    with _failing():
        request = _request(what, client_id)
        sent = request.encode({request.api.key: request.api.versions})
    if how.explain:
        output.explain_request(request.registry, sent.frame, as_text=how.is_text)
    else:
        print(add_size(sent.frame).hex())


def list_versions(packages: tuple[str, ...], whom: Whom, how: How) -> None:
    """Print the versions that brokers serve, beside the package's own."""
    with _failing():
        registry = registry_named(*packages)
    prepare(whom.settings)
    for node, rows in run(ask_versions(whom.settings, whom.brokers, whom.target, registry)):
        output.print_versions(node, rows, as_text=how.is_text, of_many=whom.are_all)


def template(packages: tuple[str, ...], api: str, version: int | None) -> None:
    """Print a request to edit."""
    with _failing():
        registry = registry_named(*packages)
        found = find_api(registry, api)
        cls = registry.message(found.request, found.versions[-1] if version is None else version)
    output.print_lines(template_lines(cls))


@contextmanager
def _failing() -> Iterator[None]:
    """Make an error one line and an exit status."""
    try:
        yield
    except KipwireError as error:
        fail(str(error))


def _request(what: What, client_id: str) -> _Request:
    registry = registry_named(*what.packages)
    value = {} if what.json is None else read_json_argument(what.json)
    own_id = client_id if registry.has_client_ids() else None
    return _Request(registry, find_api(registry, what.api), what.version, value, own_id)


def _print(registry: Registry, answer: Answer | Failed, how: How, *, of_many: bool) -> int:
    """Print an answer; the exit status that it means."""
    if isinstance(answer, Failed):
        output.print_failure(answer, as_text=how.is_text)
        return _NO_RESPONSE
    output.say(*(f"sent without: {loss}" for loss in answer.sent.lost))
    if how.explain:
        output.explain(registry, answer, as_text=how.is_text, of_many=of_many)
    if answer.frame is None:
        output.say("sent; the request has no response")
        return 0
    try:
        response = read(registry, answer.sent, answer.frame)
        if not how.explain:
            output.say(*(f"received without: {loss}" for loss in response.lost))
            if response.unconverted:
                output.say(f"shown in the version that was received: {response.unconverted}")
            output.print_response(answer, response, as_text=how.is_text, decoders=how.decoders, of_many=of_many)
    except DecodeError as error:
        hint = "" if how.explain else "; --explain shows its bytes"
        output.say(f"{answer.node}: the response cannot be decoded: {error}{hint}")
        return _NO_RESPONSE
    except KipwireError as error:
        output.say(f"{answer.node}: {error}")
        return _NO_RESPONSE
    if response.rest:
        output.say(f"{answer.node}: {count_of(response.rest, 'extra byte')} after the response")
    lines = error_lines(response.body)
    output.say(*lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        output.say(count_of(len(lines) - _MOST_LINES, "more error"))
    return _HAS_ERRORS if lines else 0
