"""The jobs of both command lines, and how a command is made of the function of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from kipwire.cli.jobs import JOBS as JOBS


def job_command(
    name: str,
    about: str,
    function: Callable[..., Any],
    runner: Callable[..., Any],
    options: Sequence[click.Parameter],
) -> click.Command:
    """Return a command that runs a job.

    Args:
        name: of the command.
        about: its help.
        function: of a job; click's decorators gave it parameters.
        runner: makes its first argument, a `Runner`, of the values of `options`.
        options: say how and where the job runs; they come after the others.
    """
    params: list[click.Parameter] = getattr(function, "__click_params__", [])
    names = [str(option.name) for option in options]

    def called(**values: Any) -> None:
        where = runner(**{one: values.pop(one) for one in names})
        function(where, **values)

    return click.Command(name, params=[*reversed(params), *options], callback=called, help=about)
