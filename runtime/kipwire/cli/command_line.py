"""Common parts of the command lines `kipwire`, `kipgen` and `kipspark`.

Exit status: 0 success, 1 something was found, 2 the command cannot run, 130 interrupted. An error is one line on
standard error, after the name of the program.

A command is imported when it is called, so that each module may import what it needs at its head, and `--help` of the
program imports none of them.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, NamedTuple, NoReturn, TypeVar

import click
from click.shell_completion import get_completion_class

from kipwire.cli.release import release_line
from kipwire.model.extras import INTERRUPTED, explain_missing
from kipwire.tools.text import print_err, print_out, printable_line, printable_text

E = TypeVar("E", bound=StrEnum)

FAILED = 2
"""The exit status of a command that cannot run, or not for all that it was given."""

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end a program; Windows has no SIGHUP."""
_SIGNALLED = 128
"""The exit status after a signal, without its number."""

PATH = click.Path(path_type=Path)
"""A path of anything; the command itself reports a wrong one."""


class Command(NamedTuple):
    """A command that is not imported yet."""

    where: str
    """`module:function`."""
    summary: str
    """The first paragraph of its help."""
    extra: str = ""
    """The extra that brings what it needs, if the program itself does without."""


class CommandLine(click.Group):
    """A program of several commands."""

    def __init__(
        self, name: str, about: str, commands: Mapping[str, Command], elsewhere: Mapping[str, str] | None = None
    ) -> None:
        """Make one.

        Args:
            name: the name of the program.
            about: the help of the program, in one paragraph.
            commands: its commands by their names, in the order of the help.
            elsewhere: names that are no commands of this program, and the command lines that are meant.
        """
        super().__init__(
            name,
            commands={one: Later(one, command) for one, command in commands.items()},
            help=about,
            no_args_is_help=True,
            context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
            params=_common_options(),
        )
        self._elsewhere = elsewhere or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of the commands, in the order in which they were given."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command and the arguments after its name; for a name from elsewhere, fail with what it means."""
        if args[0] in self._elsewhere and not ctx.resilient_parsing:
            meant = self._elsewhere[args[0]]
            shown = meant if "'" in meant else repr(meant)
            ctx.fail(f"No such command {args[0]!r}. Did you mean {shown}?")
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the context of a call; an error about its arguments shows control characters as escapes."""
        with _printable_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; what interrupts it, or ends it, ends in one line and an exit status."""
        try:
            with _printable_errors(), _ended_by_signals():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            print_err(f"{self.name}: interrupted")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            discard_output()
            ctx.exit(1)
        except OSError as error:
            fail(system_error(error))


class OneOf(click.Choice[E]):
    """A member of an enum, given by its value."""

    def __init__(self, members: type[E]) -> None:
        """Take the members of an enum, in its order."""
        super().__init__(list(members))

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """Return the text that means a member: its value, not its name."""
        return str(choice)


class Later(click.Command):
    """A command that is imported when it is called."""

    def __init__(self, name: str, command: Command) -> None:
        super().__init__(name, short_help=command.summary)
        self._where = command.where
        self._extra = command.extra

    @cached_property
    def loaded(self) -> click.Command:
        """The command itself."""
        module, _, function = self._where.partition(":")
        try:
            found = getattr(import_module(module), function)
        except ImportError as error:
            missing = explain_missing(f"{self.name} needs", self._extra, error) if self._extra else None
            raise missing or error from None
        assert isinstance(found, click.Command)
        return found

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the context of the command itself, which is called through it."""
        return self.loaded.make_context(info_name, args, parent, **extra)


@contextmanager
def _printable_errors() -> Iterator[None]:
    """Make errors of click safe to show: it prints arguments as they are."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:  # whose text is the help
        raise
    except click.UsageError as error:
        raise click.UsageError(printable_text(error.format_message()), error.ctx) from None


class _EndedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP.

    Python ends by SIGINT after a plain KeyboardInterrupt in `exec` of a text, as dataclasses have it, although caught.
    """


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that nothing is left on the disk; exit as shells say."""
    got: list[signal.Signals] = []

    def end(number: int, frame: FrameType | None) -> None:
        got.append(signal.Signals(number))
        as_ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(as_ctrl_c) or as_ctrl_c is signal.default_int_handler:
            raise _EndedError("KeyboardInterrupt")
        as_ctrl_c(signal.SIGINT, frame)  # of an event loop, which cancels its task first

    is_main = current_thread() is main_thread()  # no other one gets signals
    ours = [one for one in _ENDING if is_main and signal.getsignal(one) is signal.SIG_DFL]  # nohup ignores SIGHUP
    for one in ours:
        signal.signal(one, end)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):  # a command may exit by itself when it is interrupted
        if not got:
            raise
        for one in ours:
            signal.signal(one, signal.SIG_IGN)  # while what is left is removed
        print_err(f"{_program()}: terminated by {got[0].name}")
        sys.exit(_SIGNALLED + got[0])
    finally:
        if not got:
            for one in ours:
                signal.signal(one, signal.SIG_DFL)


def _program() -> str:
    return str(click.get_current_context().find_root().info_name)


def fail(*lines: str) -> NoReturn:
    """Say why a command cannot run, each text on a line of its own, and exit with 2."""
    report_failure(*lines)
    sys.exit(FAILED)


def report_failure(*lines: str) -> None:
    """Say why a command cannot do a part of its work, each text on a line of its own; the exit status is for later."""
    for number, line in enumerate(lines):
        print_err(*([(f"{_program()}: ", "red")] if not number else []), one_line(line))


def system_error(error: OSError) -> str:
    """Format a system error in one line, with what is in the way where the system's own words leave that open."""
    if not isinstance(error.filename, str):
        return error.strerror or str(error)
    path = Path(error.filename)
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        for part in (*reversed(path.parents), path):
            if os.path.lexists(part) and not part.is_dir():
                return f"{part}: is a file, not a folder"
    if error.errno == errno.ENOENT and not path.parent.exists():
        return f"{path}: the folder {path.parent} does not exist"
    return f"{path}: {error.strerror or error}"


def one_line(text: object) -> str:
    """Format a path or a name for a message: always one line."""
    return printable_line(str(text))


def discard_output() -> None:
    """Drop what is still to be written to standard output, whose reader, such as head, has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _common_options() -> Sequence[click.Parameter]:
    """Make the options that come before the name of a command."""
    return [
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_release,
            help="Show the release and exit.",
        ),
        click.Option(
            ["--show-completion"],
            type=click.Choice(["bash", "fish", "powershell", "zsh"]),
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
            help="Print what makes a shell complete commands and options, and exit.",
        ),
    ]


def _print_release(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        print_out(release_line(str(ctx.info_name)))
        ctx.exit()


def _print_completion(ctx: click.Context, _: click.Parameter, shell: str | None) -> None:
    completion = None if shell is None or ctx.resilient_parsing else get_completion_class(shell)
    if completion is not None:
        name = str(ctx.info_name)
        click.echo(completion(ctx.command, {}, name, f"_{name.upper()}_COMPLETE").source())
        ctx.exit()
