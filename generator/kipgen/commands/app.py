"""The commands of the program `kipgen`."""

from __future__ import annotations

from kipwire.cli.command_line import Command, CommandLine

app = CommandLine(
    "kipgen",
    "Typed Python classes from JSON message specs, in the language of KIP-482 and KIP-625.",
    {
        "generate": Command(
            "kipgen.commands.generate_command:generate",
            "Generate a package of Python classes from each folder of specs.",
        ),
        "vendor": Command(
            "kipgen.commands.vendor.command:vendor",
            "Write a package of chosen messages and versions, with the headers and enums that they need.",
        ),
        "check": Command(
            "kipgen.commands.check_command:check",
            "Check specs against the rules of the language; all problems at once.",
        ),
        "resolve": Command(
            "kipgen.commands.resolve_command:resolve",
            "Write what is on the wire in each version of each message, as JSON for programs in any language.",
        ),
        "rules": Command(
            "kipgen.commands.language_commands:rules",
            "Show the rules of the language and of kipgen compat, each with a good and a bad example.",
        ),
        "new": Command(
            "kipgen.commands.new_command:new",
            "Start a new message with a commented spec.",
        ),
        "schema": Command(
            "kipgen.commands.language_commands:schema",
            "Print the JSON Schema of specs, with which editors check them as they are written.",
        ),
        "advise": Command(
            "kipgen.commands.advise.command:advise",
            "Advise which encodings (KIP-625) or tags save bytes, from sample messages, with the text for the spec.",
        ),
        "compat": Command(
            "kipgen.commands.compat.command:compat",
            "Find what changes of specs break: bytes of released versions, or code; exit 1 if they break something.",
        ),
        "tags": Command(
            "kipgen.commands.compat.tags_command:tags",
            "List the tags of a message and its structs, of all versions and git's history, with the lowest free one.",
        ),
        "drift": Command(
            "kipgen.commands.drift.command:drift",
            "Show what a release of Kafka has that the specs lack, and the reverse; exit 1 if anything differs.",
        ),
        "docs": Command(
            "kipgen.commands.docs.command:docs",
            "Write pages on messages: versions side by side, what each changed, bytes, an example; with no other file.",
        ),
        "vectors": Command(
            "kipgen.commands.vectors.command:vectors",
            "Write bytes with their meaning, valid and damaged, for implementations of a protocol in any language.",
        ),
    },
    elsewhere={"dump": "kipwire dump", "inspect": "kipwire inspect"},
)


def main() -> None:
    """Run the program."""
    app.main(prog_name=app.name)
