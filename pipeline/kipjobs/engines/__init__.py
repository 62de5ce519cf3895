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

_EMBEDDED, _SPARK = "kipjobs.engines.embedded.engine", "kipspark.spark.engine"
"""The modules with the engines: each imports a library that the other one does without."""


def engine_of(thing: DataFrame | Session) -> Engine:
    """Return the engine of a data frame, or of a session."""
    is_ours = type(thing).__module__.startswith("kipjobs.")
    return cast(Engine, import_module(_EMBEDDED if is_ours else _SPARK).ENGINE)


def functions_of(thing: DataFrame | Session) -> Functions:
    """Return the functions for columns of a data frame, or of the frames of a session."""
    return engine_of(thing).functions
