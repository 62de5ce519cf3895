"""The two engines of jobs: DuckDB in this process (`embedded`), and Spark, whose side is `kipspark.spark.engine`.

A job is written once, in the words of PySpark: functions from data frames to data frames. All that it may call is in
`frames` and `functions`, and type checkers hold jobs and both engines to it. At the head of a function
`sf = functions_of(frame)` gives the functions of the engine whose frame it is, so both engines live in one process.
What the engines do differently is in `functions.AddedFunctions`, such as `map_batches`, and nowhere else: a job does
not ask which engine it is on.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kipjobs.engines.frames import Column, DataFrame, Frame, Session
from kipjobs.engines.functions import Engine, Functions

__all__ = ["Column", "DataFrame", "Engine", "Frame", "Functions", "Session", "engine_of", "functions_of"]

_SPARK = "kipspark.spark.engine"
"""The module of the engine of PySpark's frames and sessions, which have no attribute `engine`."""


def engine_of(thing: DataFrame | Session) -> Engine:
    """Return the engine of a data frame, or of a session."""
    if hasattr(type(thing), "engine"):  # of the class, since an attribute of PySpark's frames may be a column
        return cast(Engine, getattr(thing, "engine"))  # noqa: B009  PySpark's frames lack it
    return cast(Engine, import_module(_SPARK).ENGINE)


def functions_of(thing: DataFrame | Session) -> Functions:
    """Return the functions for columns of a data frame, or of the frames of a session."""
    return engine_of(thing).functions
