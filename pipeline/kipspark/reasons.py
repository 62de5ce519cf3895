"""Errors of Spark as one line: the reason, and the setting that helps, if there is one."""

from __future__ import annotations

import os
import re

from pyspark.errors import PySparkException

# isort: split
# After pyspark, which brings it: where both are missing, the error has to name pyspark, which has an extra.
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from kipwire.tables.errors import ROOM, out_of_space

SPARK_ERRORS = (PySparkException, Py4JError)
"""The exceptions of Spark's Python code."""

_RAISED = re.compile(r"^((?:[\w.]+\.)?\w*(?:Error|Exception)|kipwire\.[\w.]+): (.+)", re.MULTILINE)
"""The line of a traceback that names the exception raised in a Python worker."""
_WAITED = "Exception thrown in awaitResult"
"""Java's text for any failure in another thread, such as in a broadcast of a table."""
_CAUSE = re.compile(r"^Caused by: (.+)", re.MULTILINE)
"""The lines with the reasons, the first one last."""
_OF_TASK = re.compile(r"^.* Lost task .*? executor [^)]*\): (?:[\w.]+: )?")
"""The text before the reason why a task failed in Java."""

_TASK = re.compile(r"Lost task (\d+)\.\d+ in stage (\d+)\.\d+")
"""The numbers of a failed task and its stage."""
_NO_MEMORY = re.compile(r"^(?:[\w.]+\.)?_?(?:Array|Arrow)?MemoryError\b", re.MULTILINE)
"""The line of a traceback of a Python worker for which there was no memory."""

_FULL = "No space left on device"
_FULL_OUTPUT = re.compile(
    rf"FSError: .*{_FULL}|{_FULL}\n(?:\s+at (?!org\.apache\.).*\n)*\s+at org\.apache\.hadoop\.fs\."
)
"""The full disk is one that Spark writes tables to, through Hadoop; its own temporary files it writes without."""
_NO_MODULE = re.compile(r"No module named '((?:kipspark|kipjobs|kipwire|kafka_messages)\b[\w.]*)'")
"""The error of a Python worker that lacks kipwire."""

_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
"""The error of Java about a program that is not there, or not to be run."""

_MEMORY = "SPARK_DRIVER_MEMORY"
"""The environment variable by which Spark chooses the memory of a JVM that it starts."""
_DEFAULT_MEMORY = "1g"


def reason(error: BaseException) -> str:
    """Return the message to print for an error; for one in a Python worker, the exception without its traceback."""
    text = str(error)
    advice = (isinstance(error, OSError) and out_of_space(error)) or _advice(text)
    if advice:
        return advice
    raised = _RAISED.findall(text) if isinstance(error, (PySparkException, Py4JJavaError)) else []
    if raised:
        return str(raised[-1][1])
    if isinstance(error, PySparkException):
        return _OF_TASK.sub("", text.partition("\n")[0])
    if isinstance(error, Py4JJavaError):  # a plain Java error: its second line has the reason
        causes = _CAUSE.findall(text) if _WAITED in text else []
        return _OF_TASK.sub("", causes[-1] if causes else "".join(text.splitlines()[1:2]).removeprefix(": "))
    if isinstance(error, (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError)):
        return f"Spark's JVM has ended before the job, as it does if the system is out of memory; {_more_memory()}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return text.partition("\n")[0] if isinstance(error, Py4JError) else text


def _advice(text: str) -> str:
    """Advise on an error that a setting can prevent; empty for all others."""
    if re.search(r"OutOfMemoryError|GC overhead limit|Not enough memory|CANNOT_ACQUIRE_MEMORY|UNABLE_TO_ACQUIRE", text):
        return f"Spark is out of memory{_place(text)}; {_more_memory()}"
    if _FULL_OUTPUT.search(text):
        return f"no space is left on the disk of --out{_place(text)}; {ROOM}"
    if _FULL in text:
        where = "set SPARK_LOCAL_DIRS to a folder for Spark's temporary files on another"
        return f"no space is left on the device{_place(text)}; {where}"
    fewer = "use fewer at the same time with --master 'local[1]', or a machine with more memory"
    if "Python worker exited unexpectedly" in text:
        return f"a Python worker of Spark was killed{_place(text)}, as it is if the system is out of memory; {fewer}"
    if _NO_MEMORY.search(text):
        return f"a Python worker of Spark is out of memory{_place(text)}; {fewer}"
    program = _NO_PROGRAM.search(text)
    if program is not None:
        return (
            f"Spark cannot run {program[1]}, the Python of its workers{_place(text)}; set PYSPARK_PYTHON to one it can"
        )
    if "Too many open files" in text:
        return f"too many files are open{_place(text)}; raise the limit with ulimit -n 65536"
    missing = _NO_MODULE.search(text)
    if missing is not None:
        ways = "install kipwire for the Python that they run, set PYSPARK_PYTHON to one that has it, or send it along"
        return f"Spark's Python workers have no {missing[1]}: {ways} with spark-submit --py-files kipwire.zip"
    return ""


def _place(text: str) -> str:
    """Name the task and stage of an error, to follow its text; empty if it was not in a task."""
    task = _TASK.search(text)
    return "" if task is None else f" in task {task[1]} of stage {task[2]}"


def _more_memory() -> str:
    now = os.environ.get(_MEMORY, _DEFAULT_MEMORY)
    more = "with spark-submit or another --master, --driver-memory and --executor-memory"
    return f"its JVM may use {now}: set the environment variable {_MEMORY}, such as {_MEMORY}=4g ({more})"
