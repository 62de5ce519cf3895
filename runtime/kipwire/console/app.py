"""The commands of the program `kipwire`."""

from __future__ import annotations

from kipwire.cli.command_line import Command, CommandLine
from kipwire.cli.jobs import JOBS

app = CommandLine(
    "kipwire",
    "What bytes of Kafka's protocol mean, in logs, captures, frames and messages; what brokers say; a test broker.",
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
        "pack": Command(
            "kipwire.console.pack.command:pack",
            "Turn the JSON lines of a dump back into segments; exit 1 if they say that something could not be read.",
        ),
        "produce": Command(
            "kipwire.console.produce.command:produce",
            "Write the JSON lines of a dump into a topic, each record once; exit 1 if they say that something was "
            "unreadable.",
        ),
        "tap": Command(
            "kipwire.console.tap.command:tap",
            "Show what clients and brokers say, a line for each request with its response; exit 1 if something is "
            "damaged.",
        ),
        "inspect": Command(
            "kipwire.console.inspect.command:inspect",
            "Show what each byte of a message means; exit 1 if the bytes are wrong, and show where.",
        ),
        "call": Command(
            "kipwire.console.call.command:call",
            "Send any request of any version to a broker, and print the response; exit 1 if it has an error code.",
        ),
        "offsets": Command(
            "kipwire.console.offsets.command:offsets",
            "Show how far behind groups are: at the brokers of a cluster, also for Prometheus, or over time in log "
            "folders.",
        ),
        "transactions": Command(
            "kipwire.console.transactions.command:transactions",
            "Show open and hanging transactions, and what they hold back: at the brokers of a cluster, or in log "
            "folders.",
        ),
        "proxy": Command(
            "kipwire.console.proxy.command:proxy",
            "Pass on Kafka's protocol between clients and brokers, through filters; clients stay on it until Ctrl-C.",
        ),
        "conform": Command(
            "kipwire.console.conform.command:conform",
            "Ask a program, in any language, what it makes of a protocol's bytes; exit 1 if it is wrong.",
        ),
        **{
            name: Command(f"kipjobs.commands:{name}", about, "jobs")
            for name, about in JOBS.items()
            if name not in ("offsets", "transactions")
        },
    },
    {
        "topics": """kipwire call BROKERS Metadata '{"topics": null}'""",
        "groups": "kipwire offsets --brokers BROKERS",
        "lag": "kipwire offsets --brokers BROKERS",
        "consume": "kipwire dump --brokers BROKERS --records TOPIC",
    },
)


def main() -> None:
    """Run the program."""
    app.main(prog_name=app.name)
