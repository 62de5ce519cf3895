"""The command `kipwire call`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import click

from kipwire.aio import Address
from kipwire.console.apis import Api, complete, find_api, registry_named
from kipwire.console.brokers import BROKER, TARGET, Settings, Target, broker_options, run
from kipwire.console.call import output
from kipwire.console.call.asking import Answer, Failed, ask, ask_versions, read
from kipwire.console.call.codes import error_lines
from kipwire.console.call.json_text import read_json_argument
from kipwire.console.call.requests import Encoded, negotiated, pinned
from kipwire.console.call.template import template_lines
from kipwire.console.command_line import OneOf, fail
from kipwire.message.registry import Registry
from kipwire.model.errors import DecodeError, KipwireError
from kipwire.tools.text import counted

_HAS_ERRORS, _NO_RESPONSE = 1, 2
_MOST_LINES = 20
"""About errors in one response."""


class Format(StrEnum):
    """How a response is written."""

    TEXT = "text"
    JSON = "json"


class Printing(NamedTuple):
    """How answers are printed."""

    as_text: bool
    records: bool
    explain: bool
    of_many: bool


@click.command
@click.argument("broker", type=BROKER, required=False, help="The address of a broker, as in localhost:9092.")
@click.argument(
    "api",
    required=False,
    shell_complete=complete,
    help="What to ask: the name of an API, such as Metadata, in any case; or its number.",
)
@click.argument(
    "json",
    required=False,
    metavar="[JSON | @FILE | -]",
    help="The request, as in '{\"topics\": null}'; fields that are left out have their defaults.",
)
@click.option("--to", "target", type=TARGET, help=f"The broker that it is for: {TARGET.forms}.")
@click.option("--version", "-V", type=click.IntRange(min=0), metavar="N", help="The version of the request.")
@click.option("--list", "-l", "list_", is_flag=True, help="Show the versions that the broker serves, beside ours.")
@click.option("--template", metavar="API", shell_complete=complete, help="Print a request to edit, with explanations.")
@click.option("--explain", is_flag=True, help="Show what each byte of request and response means.")
@click.option("--dry-run", "-n", is_flag=True, help="Send nothing; print the frame of the request in hex.")
@click.option("--records", "-r", is_flag=True, help="Show records in the place of the bytes of their batches.")
@click.option(
    "--format", "-f", "format_", type=OneOf(Format), help="How to print; by default as text to a terminal only."
)
@click.option("--package", "-p", default="kafka_messages", help="The generated package to take classes from.")
@broker_options
def call(
    broker: Address | None,
    api: str | None,
    json: str | None,
    target: Target | None,
    version: int | None,
    list_: bool,
    template: str | None,
    explain: bool,
    dry_run: bool,
    records: bool,
    format_: Format | None,
    package: str,
    settings: Settings,
) -> None:
    """Send any request of any version to a broker, and print the response; exit 1 if it has an error code."""
    as_text = output.is_terminal() if format_ is None else format_ is Format.TEXT
    printing = Printing(as_text, records, explain, target is not None and target.kind == "all")
    try:
        registry = registry_named(package)
        if template is not None:
            if broker is not None or list_:
                fail("--template stands alone: kipwire call --template Metadata; no broker is asked")
            _print_template(registry, template, version)
            return
        if broker is None:
            fail("say whom to ask for what: kipwire call localhost:9092 Metadata '{\"topics\": null}'")
        if list_:
            if api is not None:
                fail(f"--list shows the versions of all APIs; leave out {api}")
            _list(settings, broker, target, registry, printing)
            return
        if api is None:
            fail("say what to ask for: kipwire call localhost:9092 Metadata; --list shows what a broker serves")
        found = find_api(registry, api)
        value = {} if json is None else read_json_argument(json)
        request = _Request(registry, found, version, value, settings.client_id)
        if dry_run:
            _print_frame(request, printing)
            return
        answers = run(ask(settings, broker, target, registry, request.encode))
    except KipwireError as error:
        fail(str(error))
    status = max((_print(registry, one, printing) for one in answers), default=0)
    if status:
        sys.exit(status)


class _Request(NamedTuple):
    """A request whose version is not known before a broker says which it has."""

    registry: Registry
    api: Api
    version: int | None
    value: dict[str, Any]
    client_id: str

    def encode(self, theirs: Mapping[int, range]) -> Encoded:
        """The request for a broker.

        Raises:
            KipwireError: the JSON does not describe one that the broker can read.
        """
        if self.version is not None:
            return pinned(self.registry, self.api, self.version, self.value, self.client_id)
        return negotiated(self.registry, self.api, theirs, self.value, self.client_id)


def _print_template(registry: Registry, api: str, version: int | None) -> None:
    found = find_api(registry, api)
    newest = found.versions[-1] if version is None else version
    output.print_lines(template_lines(registry.message(found.request, newest)))


def _list(settings: Settings, broker: Address, target: Target | None, registry: Registry, printing: Printing) -> None:
    for node, rows in run(ask_versions(settings, broker, target, registry)):
        output.print_versions(node, rows, as_text=printing.as_text, of_many=printing.of_many)


def _print_frame(request: _Request, printing: Printing) -> None:
    """Print a request that is not sent, in the newest version that fits it."""
    sent = request.encode({request.api.key: request.api.versions})
    if printing.explain:
        output.explain_request(request.registry, sent.frame, as_text=printing.as_text)
    else:
        print(output.sized(sent.frame).hex())


def _print(registry: Registry, answer: Answer | Failed, printing: Printing) -> int:
    """Print an answer; the exit status that it means."""
    if isinstance(answer, Failed):
        output.print_failure(answer, as_text=printing.as_text)
        return _NO_RESPONSE
    output.say(*(f"sent without: {loss}" for loss in answer.sent.lost))
    if printing.explain:
        output.explain(registry, answer, as_text=printing.as_text)
    if answer.frame is None:
        output.say("sent; no response comes to such a request")
        return 0
    try:
        response = read(registry, answer.sent, answer.frame)
        if not printing.explain:
            output.say(*(f"received without: {loss}" for loss in response.lost))
            if response.unconverted:
                output.say(f"shown in the version that came: {response.unconverted}")
            output.print_response(
                answer, response, as_text=printing.as_text, records=printing.records, of_many=printing.of_many
            )
    except DecodeError as error:
        hint = "" if printing.explain else "; --explain shows its bytes"
        output.say(f"{answer.node}: the response cannot be read: {error}{hint}")
        return _NO_RESPONSE
    except KipwireError as error:
        output.say(f"{answer.node}: {error}")
        return _NO_RESPONSE
    if response.rest:
        output.say(f"{answer.node}: {counted(response.rest, 'byte')} more than the response has")
    lines = error_lines(response.body)
    output.say(*lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        output.say(f"{counted(len(lines) - _MOST_LINES, 'more error')}")
    return _HAS_ERRORS if lines else 0
