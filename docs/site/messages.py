"""A page for each message of `kafka_messages`, and the pages that list them and name their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from markupsafe import Markup

import kafka_messages
from docs.site.example import examples
from docs.site.navigation import Page
from docs.site.real_messages import real_messages
from docs.site.templating import render
from kipgen.commands.docs.enums import enum_tables
from kipgen.commands.docs.example import Example
from kipgen.commands.docs.pages import MessagePage, Package, by_kind, has_page, message_page
from kipgen.commands.docs.related import pairs
from kipgen.language.names import module_name
from kipgen.language.spec import MessageSpec
from kipgen.python.render import registry_entry
from kipgen.reading import check
from kipgen.resolve.headers import header_versions

PACKAGE = "kafka_messages"
ENUMS = "messages/enums.md"
_ABOUT_ENUMS = Markup(
    "What the numbers in messages mean: error codes, API keys, ACL operations and the like. In Python they are the "
    "classes of\n`kafka_messages.enums`: [how they are used](../docs/names.md)."
)


@cache
def kafka_specs(root: Path) -> tuple[tuple[Path, MessageSpec], ...]:
    """Read the specs of `kafka_messages`, each with its file.

    Args:
        root: the repository.
    """
    checked, _ = check.read_folder(root / "schemas" / PACKAGE)
    return tuple((Path(one.file), one.spec) for one in checked if one.spec is not None)


@cache
def kafka_examples(root: Path) -> Mapping[str, Example]:
    """Choose the example of each message of `kafka_messages`, by name.

    Args:
        root: the repository.
    """
    folders = [(file.parent.name, spec) for file, spec in kafka_specs(root)]
    keyed = {(folder, spec.type, spec.api_key): spec.name for folder, spec in folders if spec.api_key is not None}
    return examples(real_messages(root, keyed), kafka_messages.REGISTRY)


def message_pages(root: Path) -> list[Page]:
    """Return the list of messages, the names of their numbers, then a page for each.

    Retired messages have no version to show, and layouts no versions side by side; both are only in the specs.

    Args:
        root: the repository.
    """
    files, found = kafka_specs(root), kafka_examples(root)
    enums = check.read_enums(root / "schemas" / PACKAGE)
    package = Package(
        PACKAGE,
        header_versions(spec for _, spec in files),
        pairs((file.parent.name, spec) for file, spec in files if has_page(spec)),
        frozenset(enum.name for enum in enums),
    )
    pages = [
        message_page(spec, file.relative_to(root).as_posix(), package, _modules(root, spec), found[spec.name])
        for file, spec in sorted(files, key=lambda it: it[0].name)
        if has_page(spec)
    ]
    index = Page("messages/index.md", "All messages", _index(pages), is_index=True)
    entries = [registry_entry(spec, package.headers) for _, spec in files]
    tables = enum_tables(enums, entries)
    return [
        index,
        Page(ENUMS, "Names for numbers", render("enums.md.j2", enums=tables, about=_ABOUT_ENUMS)),
        *(Page(f"messages/{one.spec.name}.md", one.spec.name, _text(one)) for one in pages),
    ]


def _modules(root: Path, spec: MessageSpec) -> dict[int, str]:
    folder = root / "generated" / PACKAGE / module_name(spec.name)
    return {version: (folder / f"v{version}.py").read_text("utf-8") for version in spec.valid_versions.each()}


def _index(pages: list[MessagePage]) -> str:
    about = "What each is for, its versions, and the bytes of each. The search field finds messages and fields by name."
    return render("messages.md.j2", groups=by_kind(pages), title="All messages", about=about, has_enums=True)


def _text(page: MessagePage) -> str:
    return render("message.md.j2", page=page, link=f"../browser/#{fragment_of(page.example)}")


def fragment_of(example: Example) -> str:
    """Return the fragment of a link to the page that shows bytes in the browser: the example, and what it is.

    A request says itself what it is; so it is a whole frame, as a response is.

    Args:
        example: a message of `kafka_messages`.
    """
    message = kafka_messages.message(type(example.message).NAME, example.message.VERSION).decode(example.data)
    name, version = message.NAME, message.VERSION
    match message.TYPE:
        case "request":
            return f"hex={kafka_messages.encode_request(message, 1, 'me').hex()}"
        case "response":
            frame = kafka_messages.encode_response(message, 1)
            return f"hex={frame.hex()}&as=response:{name.removesuffix('Response')}:{version}"
        case _:
            return f"hex={example.data.hex()}&as={name}:{version}"
