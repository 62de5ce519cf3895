"""The command `kipwire call`: its arguments and options.

`calling` does the work, imported when the command is called; `kipwire.console.brokers.options` has the reason.
"""

from __future__ import annotations

import click

from kipwire.cli.apis import complete
from kipwire.cli.command_line import OneOf, fail
from kipwire.cli.options import OutputFormat, packages_option
from kipwire.console.brokers import BROKERS, TARGET, broker_options
from kipwire.console.opening import opened_by, records_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.cluster.given import Target
    from kipwire.cluster.settings import Settings


@click.command
@click.argument(
    "brokers",
    metavar="[BROKER]",
    type=BROKERS,
    required=False,
    help="The address of a broker, as in localhost:9092, or several with commas between, of which one must answer.",
)
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
@click.option("--to", "target", type=TARGET, help=f"The broker that it is for: {TARGET.syntax}.")
@click.option("--version", "-V", type=click.IntRange(min=0), metavar="N", help="The version of the request.")
@click.option("--list", "-l", "list_", is_flag=True, help="Show the versions that the broker serves, beside ours.")
@click.option("--template", metavar="API", shell_complete=complete, help="Print a request to edit, with explanations.")
@click.option("--explain", is_flag=True, help="Show what each byte of request and response means.")
@click.option("--dry-run", "-n", is_flag=True, help="Send nothing; print the frame of the request in hex.")
@records_options
@click.option(
    "--format", "-f", "format_", type=OneOf(OutputFormat), help="How to print; by default as text to a terminal only."
)
@packages_option
@broker_options
def call(
    brokers: tuple[Address, ...] | None,
    api: str | None,
    json: str | None,
    target: Target | None,
    version: int | None,
    list_: bool,
    template: str | None,
    explain: bool,
    dry_run: bool,
    records: bool,
    value: str | None,
    record_key: str | None,
    schema_registry: str | None,
    format_: OutputFormat | None,
    packages: tuple[str, ...],
    settings: Settings,
) -> None:
    """Send any request of any version to a broker, and print the response; exit 1 if it has an error code."""
    from kipwire.console.call import calling

    as_text = None if format_ is None else format_ is OutputFormat.TEXT
    try:
        decoders = opened_by(records, value, record_key, schema_registry)
    except ValueError as error:
        fail(str(error))
    how = calling.How(as_text, decoders, explain)
    if template is not None:
        if brokers is not None or list_:
            fail(f"--template cannot be used with a broker or --list: kipwire call --template {template}")
        calling.template(packages, template, version)
        return
    if brokers is None:
        fail("the broker and the API are missing: kipwire call localhost:9092 Metadata '{\"topics\": null}'")
    if list_:
        if api is not None:
            fail(f"--list cannot be used with an API; remove {api}")
        calling.list_versions(packages, calling.Whom(settings, brokers, target), how)
        return
    if api is None:
        fail("the API is missing: kipwire call localhost:9092 Metadata; --list shows the APIs of a broker")
    what = calling.What(packages, api, version, json)
    if dry_run:
        calling.show_frame(what, settings.client_id, how)
    else:
        calling.call(what, calling.Whom(settings, brokers, target), how)
