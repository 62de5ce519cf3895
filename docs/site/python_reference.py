"""The reference of the public Python names. mkdocstrings fills it from signatures and docstrings."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from docs.site.navigation import Page
from docs.site.templating import render

FOR_GENERATED_CODE = frozenset(
    {"DEFAULT", "LazyStruct", "Malformed", "Rows", "slots_of"},
)
"""Names of `kipwire` that generated code imports and that programs do not need."""

ERRORS, INTERNAL = "Errors", "For generated code"
"""Headings on the page of a module."""


@dataclass(frozen=True, slots=True)
class Module:
    """A public module, and the introduction to its names."""

    name: str
    title: str
    about: str
    """Markdown."""


MODULES = (
    Module(
        "kipwire",
        "kipwire",
        "What all generated packages share: the base of every message class, errors, and conversion between versions. "
        "It needs the standard library alone.",
    ),
    Module(
        "kipwire.records",
        "kipwire.records",
        "Record batches and message sets: log segments, and the `records` of Produce and Fetch messages. "
        "`pip install 'kipwire[records]'` brings what it needs. The guide is [Records](../docs/records.md).",
    ),
    Module(
        "kipwire.drafts.kip_82",
        "kipwire.drafts.kip_82",
        "Messages with numbered headers, as version 43 of KIP-82 proposed them. "
        "The guide is [Record formats](../docs/record-formats.md).",
    ),
    Module(
        "kipwire.drafts.kip_98",
        "kipwire.drafts.kip_98",
        "Message sets of the KIP-98 draft, which Kafka did not release. "
        "The guide is [Record formats](../docs/record-formats.md#sets-of-the-kip-98-draft).",
    ),
    Module(
        "kipwire.columns",
        "kipwire.columns",
        "Many messages at once as Arrow columns, and columns as messages. `pip install 'kipwire[columns]'` brings "
        "pyarrow. The guide is [Columns](../docs/columns.md).",
    ),
    Module(
        "kipwire.tables",
        "kipwire.tables",
        "Topics and captures as Arrow batches and lazy frames of polars. `pip install 'kipwire[tables]'` brings what "
        "they need, `kipwire[polars]` polars, too. The guide is [A topic as a table](../docs/tables.md).",
    ),
    Module(
        "kipwire.projection",
        "kipwire.projection",
        "Chosen fields of a message, read and replaced without decoding the rest. "
        "The guide is [Projections](../docs/projection.md).",
    ),
    Module(
        "kipwire.connection",
        "kipwire.connection",
        "Both sides of a connection without I/O: bytes and events in, bytes and events out. "
        "The guide is [Connections](../docs/connections.md).",
    ),
    Module(
        "kipwire.aio",
        "kipwire.aio",
        "One connection over asyncio, and servers. The guide is [One connection, with asyncio](../docs/aio.md).",
    ),
    Module(
        "kipwire.cluster",
        "kipwire.cluster",
        "The brokers of a cluster: leaders, offsets, records, and the lag of groups. "
        "The guide is [Clusters](../docs/cluster.md).",
    ),
    Module(
        "kipwire.proxy",
        "kipwire.proxy",
        "A proxy between clients and brokers, with filters that are typed functions. "
        "The guide is [A proxy in ten lines](../docs/proxy.md).",
    ),
    Module(
        "kipwire.testing",
        "kipwire.testing",
        "Hypothesis strategies for every generated class, a test of a whole package, and a Kafka broker in the process "
        "of a test. `pip install 'kipwire[testing]'` brings what they need. "
        "The guide is [Testing](../docs/testing.md).",
    ),
    Module(
        "kipspark",
        "kipspark",
        "Messages in Spark: column functions and data sources. `pip install 'kipwire[spark]'` brings what it needs "
        "besides Java. The guide is [Spark](../docs/spark.md). These names may still change in any release.",
    ),
)

SMALLER = (
    "kipwire.native",
    "kipwire.model.abi",
    "kipwire.drafts.kip_625",
    "kipwire.model.enums",
    "kipwire.cluster.lag",
    "kipwire.drafts.header_keys",
    "kipwire.records.producer_sequence",
    "kipwire.drafts.wire_format_08",
)
"""Public modules that share a page; all their names without an underscore are public."""


def reference_pages() -> list[Page]:
    """Return the start page of the reference, a page for each public module, and one for generated packages."""
    pages = [
        Page(
            f"reference/{one.name}.md",
            one.title,
            render("module.md.j2", module=one, groups=_groups(one.name), inheriting=_inheriting(one.name)),
        )
        for one in MODULES
    ]
    package = Page("reference/generated-packages.md", "Generated packages", render("generated_package.md.j2"))
    smaller = Page("reference/smaller-modules.md", "Smaller modules", render("smaller_modules.md.j2", modules=SMALLER))
    index = Page(
        "reference/index.md",
        "Python API",
        render("reference.md.j2", modules=MODULES, smaller=SMALLER),
        is_index=True,
    )
    return [index, pages[0], package, *pages[1:], smaller]


def public_names(module: str) -> tuple[str, ...]:
    """Return the public names of a module, without modules, which have their own pages.

    Args:
        module: its dotted name.
    """
    found = import_module(module)
    return tuple(name for name in found.__all__ if not _is_module(found, name))


def _is_module(package: ModuleType, name: str) -> bool:
    """True if a name of a package is a module; lazy names are looked for as files, and stay lazy."""
    if name in vars(package):
        return isinstance(vars(package)[name], ModuleType)
    return find_spec(f"{package.__name__}.{name}") is not None


def _groups(module: str) -> list[tuple[str, list[str]]]:
    """Return identifiers under headings: first without one, then errors, then the ones that programs do not need."""
    names = public_names(module)
    internal = [name for name in names if module == "kipwire" and name in FOR_GENERATED_CODE]
    errors = [name for name in names if name.endswith("Error")]
    main = [name for name in names if name not in (*internal, *errors)]
    groups = ((heading, some) for heading, some in (("", main), (ERRORS, errors), (INTERNAL, internal)) if some)
    return [(heading, [f"{module}.{name}" for name in some]) for heading, some in groups]


def _inheriting(module: str) -> set[str]:
    """Return the identifiers of classes with a base without an entry: their entries have its members, too."""
    found = import_module(module)
    bases = {name: getattr(getattr(found, name), "__bases__", ()) for name in public_names(module) if name[0].isupper()}
    return {
        f"{module}.{name}"
        for name, its in bases.items()
        if any(base.__name__.startswith("_") and base.__module__.startswith("kip") for base in its)
    }
