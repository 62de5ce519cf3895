"""The two engines of jobs: DuckDB in this process (`embedded`), and Spark, whose side is `kipspark.spark.engine`.

A job is written once, in the words of PySpark: functions from data frames to data frames. At the head of a function
`sf = functions_of(frame)` gives the functions of the engine whose frame it is, so both engines live in one process.
What the engines do differently is in the methods of `functions.Functions` that PySpark does not have, such as
`mapped`, and nowhere else: a job does not ask which engine it is on.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kipjobs.engines.functions import Column as Column
from kipjobs.engines.functions import DataFrame as DataFrame
from kipjobs.engines.functions import Engine, Functions
from kipjobs.engines.functions import Session as Session

__all__ = ["Column", "DataFrame", "Engine", "Functions", "Session", "engine_of", "functions_of"]

_SPARK = "kipspark.spark.engine"
"""The module of the engine whose frames and sessions are PySpark's, which name none."""


def engine_of(thing: DataFrame | Session) -> Engine:
    """Return the engine of a data frame, or of a session."""
    # Of the class, since an attribute of PySpark's frames may be a column. Each module imports its engine's library.
    return cast(Engine, import_module(getattr(type(thing), "engine", _SPARK)).ENGINE)


def functions_of(thing: DataFrame | Session) -> Functions:
    """Return the functions for columns of a data frame, or of the frames of a session."""
    return engine_of(thing).functions
