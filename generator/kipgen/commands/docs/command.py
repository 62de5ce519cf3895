"""The command `kipgen docs`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from kipgen.commands.console import SPECS_FOLDER, only_folder, packages_here, print_problems, settings_here
from kipgen.commands.docs.own_site import INDEX, Specs, pages_of
from kipgen.commands.terminal import ERR
from kipgen.language.names import need_package_name
from kipgen.package.package_folder import explain_misplaced
from kipgen.reading.check import read_enums, read_folder, reader_with
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.model.errors import EncodeError
from kipwire.tools.atomic import is_leftover, need_place
from kipwire.tools.files import read_regular, write_whole
from kipwire.tools.text import count_of, print_out

LIST = "pages.txt"
"""The file that lists the pages of a site, by which the next run knows them as its own."""
_HEAD = "Pages that kipgen docs wrote. The next run replaces them, and removes those that it does not write again."
_LONGEST = 1 << 20
"""Bytes of a list that is read."""


@click.command
@click.argument(
    "specs",
    type=SPECS_FOLDER,
    required=False,
    help="A folder of specs, or kafka for Kafka's; that of the settings, or in schemas/, if not given.",
)
@click.option("--out", "-o", required=True, type=PATH, help="The folder for the pages: index.html, one a message.")
@click.option("--package", "-p", default="", show_default=False, help="Name of the package; as kipgen generate has it.")
def docs(specs: Path | None, out: Path, package: str) -> None:
    """Write pages on messages: versions side by side, what each changed, bytes, an example; with no other file."""
    settings = settings_here()
    folder = specs or only_folder(packages_here(settings))
    name = package or settings.package_name(folder)
    try:
        need_package_name(name)
    except ValueError as error:
        fail(str(error))
    if not folder.is_dir():
        fail(f"{folder} is not a folder of specs{'; give the folder that it is in' if folder.is_file() else ''}")
    if why := explain_misplaced(out, [folder]):
        fail(f"the pages would be written into {out}, {why}; give another folder")
    old = _own_pages(out)
    checked, problems = read_folder(folder, read=reader_with(settings.entity_types))
    errors = [one for one in problems if one.severity == "error"]
    if errors:
        print_problems(errors)
        fail(f"{folder} has errors; correct them first")
    messages = [(Path(one.file).relative_to(folder).as_posix(), one.spec) for one in checked if one.spec is not None]
    with ERR.status("Writing pages") as status:
        try:
            pages = pages_of(
                Specs(name, messages, read_enums(folder)),
                lambda done, total: status.update(f"{done} of {count_of(total, 'message')}"),
            )
        except EncodeError as error:
            fail(f"{folder}: no example can be made: {error}")
    _write(out, pages, old)
    print_out(f"{one_line(out / INDEX)}: {count_of(len(pages), 'page')}")


def _own_pages(out: Path) -> set[str]:
    """Name the pages of an earlier run; exit with 2 if the folder has other files and no list of pages."""
    if out.exists() and not out.is_dir():
        fail(f"{out}: is a file, not a folder")
    others = [one.name for one in sorted(out.iterdir()) if not is_leftover(one)] if out.is_dir() else []
    if not others:
        return set()
    if LIST not in others:
        fail(f"{out} has files that kipgen docs did not write, such as {others[0]}; give a new folder")
    head, *listed = read_regular(out / LIST, _LONGEST).decode("utf-8", "replace").splitlines()[:_LONGEST] or [""]
    if head != _HEAD or any("/" in one or "\\" in one or not one.endswith(".html") for one in listed):
        fail(f"{out / LIST} is not a list of pages that kipgen docs wrote; give a new folder")
    return set(listed)


def _write(out: Path, pages: dict[str, str], old: set[str]) -> None:
    """Write the pages, each whole, and remove stale ones; until all is done, the list has old and new pages."""
    for name in pages:
        need_place(out / name)
        if (out / name).exists() and name not in old:
            fail(f"{out / name} is in the way: kipgen docs did not write it; move it away")
    write_whole(out / LIST, _listing({*pages, *old}))
    for name, text in pages.items():
        write_whole(out / name, text)
    for name in old - pages.keys():
        (out / name).unlink(missing_ok=True)
    write_whole(out / LIST, _listing(pages))


def _listing(names: Iterable[str]) -> str:
    return "\n".join([_HEAD, *sorted(names)]) + "\n"
