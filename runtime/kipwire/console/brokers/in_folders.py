"""A command with two ways to find its data: `--brokers`, or a job of the same name on log folders."""

from __future__ import annotations

from typing import Any

import click

from kipwire.cli.command_line import Command, Later


class AtBrokersOrInFolders(click.Command):
    """The command with `--brokers`, which also has the help; all else is for the job, which the extra "jobs" brings."""

    def __init__(self, *args: Any, what: str, without: str | None = None, **attributes: Any) -> None:
        """Make the command; the job has its name.

        Args:
            args: as `click.Command` takes them.
            what: things that options are for, such as `groups`.
            without: an option that needs neither brokers nor folders.
            attributes: as `click.Command` takes them.
        """
        super().__init__(*args, **attributes)
        assert self.name is not None
        self._what = what
        self._without = without
        self._job = Later(self.name, Command(f"kipjobs.commands:{self.name}", "", "jobs"))

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the context of this command or of the job of the same name, by the options that are given."""
        names = {arg.partition("=")[0] for arg in args}
        is_ours = not names.isdisjoint(("--brokers", self._without)) or (names and names <= {"-h", "--help"})
        if is_ours or (parent is not None and parent.resilient_parsing):
            return super().make_context(info_name, args, parent, **extra)
        try:
            return self._job.make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as error:
            if any(error.option_name in (*param.opts, *param.secondary_opts) for param in self.params):
                wrong = f"{error.option_name} is for {self._what} at brokers; add --brokers HOST:PORT, or leave it out"
                raise click.UsageError(wrong, error.ctx) from None
            raise

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both ways to call it."""
        formatter.write_usage(ctx.command_path, "--brokers HOST:PORT[,...] [OPTIONS]")
        formatter.write_usage(ctx.command_path, "[PATH]... [OPTIONS]", " " * len("Usage: "))
