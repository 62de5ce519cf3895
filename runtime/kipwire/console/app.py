"""The commands of the program `kipwire`."""

from __future__ import annotations

from kipwire.console.command_line import Command, CommandLine

app = CommandLine(
    "kipwire",
    "What bytes of Kafka's protocol mean: log segments, captures, frames and messages; and a broker for tests.",
    {
        "broker": Command(
            "kipwire.console.broker.command:broker",
            "Run a Kafka broker in memory, for tests, until Ctrl-C: without a JVM, a configuration or a disk.",
        ),
        "dump": Command(
            "kipwire.console.dump.command:dump",
            "Show what log segments and captures hold, one line for each batch or frame; exit 1 if something is "
            "damaged.",
        ),
        "inspect": Command(
            "kipwire.console.inspect.command:inspect",
            "Show what each byte of a message means; exit 1 if the bytes are wrong, and show where.",
        ),
    },
)


def main() -> None:
    """Run the program."""
    app.main(prog_name=app.name)
