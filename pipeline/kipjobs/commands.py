"""The commands of jobs that run in this process, such as `kipwire offsets`: each has the name of its job here.

The module of a job is imported when its command is asked for: `kipjobs.jobs.NAME.command`, whose function `command` has
the arguments and options. `kipspark.commands` makes commands of the same functions that run on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click

from kipjobs.engines import Session
from kipjobs.engines.embedded.progress import Progress
from kipjobs.engines.embedded.session import MEMORY, EmbeddedSession, EngineError
from kipjobs.jobs.catalog import JOBS, job_command
from kipjobs.report.line import repeat_line
from kipwire import KipwireError
from kipwire.cli.command_line import fail, system_error
from kipwire.tables.errors import out_of_space
from kipwire.tables.processes import all_cores
from kipwire.tools.text import print_err

_BYTES_A_SECOND = 100 * 10**6
"""Bytes that one process reads in a second. Measured with `offsets`: 10 GiB took 108 s of processor time, and 101 s in
all, on two cores shared with other programs."""
_CORES = 5
"""Number of cores at which Spark is faster: 10 GiB took it 247 s on two cores, and one process 101 s beside the same
programs. For less its start weighs more: a GiB costs it 13 times the processor time, 10 GiB three times."""
_SECONDS = 600
"""Assumed time that users wait for a result before they look for more machines."""
MANY_BYTES = _SECONDS * _BYTES_A_SECOND
"""Bytes from which on a command prints that a cluster would be faster."""
_GB = 10**9


class Here(NamedTuple):
    """A runner of jobs in this process."""

    memory: int
    """MiB that tables may take before they go to the disk."""
    progress: Progress
    cores: int | None = None
    """Number of cores to use; None for all."""
    are_here: bool = True

    @contextmanager
    def session(self, size: int | None) -> Iterator[Session]:
        """Open a session of the embedded engine; print a hint if a cluster would be faster for so much data."""
        if size is not None and size >= MANY_BYTES:
            minutes = size // (_BYTES_A_SECOND * 60)
            print_err(
                f"{size // _GB:,} GB take this process about {minutes:,} minutes; a cluster of more than {_CORES} "
                "cores takes less: kipspark with --master or --remote runs the same job"
            )
        with EmbeddedSession(self.memory, self.progress, self.cores) as session:
            yield session

    @contextmanager
    def waiting(self, session: Session) -> Iterator[None]:
        """Show the progress of the job as a line on the terminal."""
        with repeat_line(lambda: str(self.progress)):
            yield


_OPTIONS: Sequence[click.Parameter] = (
    click.Option(
        ["--memory"],
        type=click.IntRange(min=64),
        default=MEMORY,
        metavar="MIB",
        help="MiB that tables may take before they go to a folder for temporary files, which TMPDIR chooses.",
    ),
    click.Option(
        ["--cores"],
        type=click.IntRange(min=1),
        default=all_cores,
        show_default="all",
        metavar="N",
        help="Cores to use; as many processes read large files, 1 for none but this one.",
    ),
)


def here(name: str, function: Callable[..., Any]) -> click.Command:
    """Return the command of a job in this process, whose errors are one line and exit status 2."""

    def refusing(runner: Here, **values: Any) -> None:
        try:
            function(runner, **values)
        except EngineError as error:
            fail(f"the job {name}: {error}")
        except KipwireError as error:
            fail(str(error))
        except OSError as error:
            fail(out_of_space(error) or system_error(error))

    refusing.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    return job_command(name, JOBS[name], refusing, lambda memory, cores: Here(memory, Progress(), cores), _OPTIONS)


def __getattr__(name: str) -> click.Command:
    if name not in JOBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return here(name, import_module(f"kipjobs.jobs.{name}.command").command)
