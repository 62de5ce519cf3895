"""The column functions under their own names in SQL: `spark.sql("select from_message(value, 'OffsetCommitValue')")`.

The type of what they give follows from their constants, which is not possible for what `spark.udf` registers. So they
are registered as Spark's own functions are, by what makes an expression of the arguments. That runs in this process
while Spark analyzes a query; Spark Connect has no such way.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf

from kipspark.sources import register as register_sources
from kipspark.spark import worker_python
from kipspark.spark.functions import (
    error_name,
    error_of_coordinator,
    error_of_message,
    error_of_metadata,
    from_coordinator,
    from_message,
    from_metadata,
    to_message,
)
from kipspark.spark.session import is_local
from kipwire import KipwireError
from kipwire.tables.errors import JobError
from kipwire.tables.sources.options import parse_list

_WHERE = "classic sessions of Spark 4.0 to 4.3 have them"

_OPTIONS = """
      * options - constant map of strings: {}
"""
_MESSAGE = """
    Arguments:
      * {} - {}
      * message - constant string: name of the message
      * version - constant integer: that of all rows; null, which is the default: each has its own"""


class SqlFunction(NamedTuple):
    """One function of SQL."""

    function: Callable[..., Column]
    columns: int
    """Number of arguments that are columns; all others are constants."""
    most: int
    """Largest number of arguments besides options."""
    options: tuple[str, ...]
    """Names of options; those that are lists are separated by commas."""
    usage: str
    arguments: str
    example: str

    @property
    def name(self) -> str:
        """Name in SQL, the same as in Python."""
        return self.function.__name__


_LISTS = ("fields", "types")
"""Options that are lists."""

FUNCTIONS = (
    SqlFunction(
        from_message,
        1,
        3,
        ("fields", "mode", "package"),
        "_FUNC_(data, message[, version[, options]]) - The messages that a column of bytes holds, as structs.",
        _MESSAGE.format("data", "binary: the messages")
        + _OPTIONS.format("fields (paths, separated by commas), mode (FAILFAST or PERMISSIVE), package"),
        "SELECT _FUNC_(value, 'OffsetCommitValue').offset FROM log",
    ),
    SqlFunction(
        error_of_message,
        1,
        3,
        ("fields", "package"),
        "_FUNC_(data, message[, version[, options]]) - What is wrong with the messages of a column, or null.",
        _MESSAGE.format("data", "binary: the messages") + _OPTIONS.format("fields, package, as in from_message"),
        "SELECT _FUNC_(value, 'OffsetCommitValue').reason FROM log",
    ),
    SqlFunction(
        to_message,
        1,
        3,
        ("mode", "package"),
        "_FUNC_(rows, message[, version[, options]]) - The bytes of a column of structs, the reverse of from_message.",
        _MESSAGE.format("rows", "struct: the columns of the message")
        + _OPTIONS.format("mode (FAILFAST or PERMISSIVE), package"),
        "SELECT _FUNC_(commit, 'OffsetCommitValue', 3) FROM commits",
    ),
    SqlFunction(
        from_coordinator,
        2,
        2,
        ("coordinator", "types", "mode"),
        "_FUNC_(key, value[, options]) - The records of a coordinator's topic, as structs of type, key and value.",
        "\n    Arguments:\n      * key, value - binary: of the record"
        + _OPTIONS.format("coordinator (group, transaction or share), types (separated by commas), mode"),
        "SELECT _FUNC_(key, value).key.offset_commit.group FROM log",
    ),
    SqlFunction(
        error_of_coordinator,
        2,
        2,
        ("coordinator", "types"),
        "_FUNC_(key, value[, options]) - What is wrong with the records of a coordinator's topic, or null.",
        "\n    Arguments:\n      * key, value - binary: of the record"
        + _OPTIONS.format("coordinator, types, as in from_coordinator"),
        "SELECT _FUNC_(key, value).reason FROM log",
    ),
    SqlFunction(
        from_metadata,
        1,
        1,
        ("types", "mode"),
        "_FUNC_(value[, options]) - The records of __cluster_metadata, as structs with a column for each type.",
        "\n    Arguments:\n      * value - binary: of the record"
        + _OPTIONS.format("types (separated by commas), mode"),
        "SELECT _FUNC_(value).topic_record.name FROM log",
    ),
    SqlFunction(
        error_of_metadata,
        1,
        1,
        ("types",),
        "_FUNC_(value[, options]) - What is wrong with the records of __cluster_metadata, or null.",
        "\n    Arguments:\n      * value - binary: of the record" + _OPTIONS.format("types, as in from_metadata"),
        "SELECT _FUNC_(value).reason FROM log",
    ),
    SqlFunction(
        error_name,
        1,
        1,
        (),
        "_FUNC_(code) - The name that Kafka gives to an error code, or null.",
        "\n    Arguments:\n      * code - integer: the error code\n",
        "SELECT _FUNC_(16)",
    ),
)
"""Every function of SQL."""


def register(spark: SparkSession) -> None:
    """Register the formats of kipspark's sources in a session and, if it is a classic one, the SQL functions.

    In local mode Python workers then run this Python, unless theirs has kipspark, too. A warning is given if the
    functions cannot be registered.

    Raises:
        JobError: workers in other processes on this machine would run a Python without kipspark.
    """
    _use_python_with_kipspark(spark)
    register_sources(spark)
    why = _why_without_functions(spark)
    if why is not None:
        text = f"kipspark has no SQL functions here: {why}; {_WHERE}; the column functions of Python work all the same"
        warnings.warn(text, stacklevel=2)


def _use_python_with_kipspark(spark: Any) -> None:
    """Let the workers of a session on this machine run a Python with kipspark: sources take it when registered."""
    if not hasattr(spark, "_jsparkSession") or not spark.sparkContext.master.startswith("local"):
        return
    context = spark.sparkContext
    sent = context.getConf().get("spark.submit.pyFiles", "")
    why = None if sent else worker_python.why_not(context.pythonExec)
    if why is not None and not is_local(context.master):
        raise JobError(why)
    if why is not None:
        context.pythonExec = sys.executable


def _why_without_functions(spark: Any) -> str | None:
    """Register the functions; return the reason if that is not possible."""
    if not hasattr(spark, "_jsparkSession"):
        return "Spark Connect has no way to register them"
    try:
        _register_functions(spark)
    except Exception as error:  # Spark's internals may change with any version, and a platform may hide them
        first = next(iter(str(error).splitlines()), "")
        return f"Spark {spark.version} refuses them ({type(error).__name__}: {first})"
    return None


def _register_functions(spark: Any) -> None:
    from pyspark import java_gateway

    gateway: Any = java_gateway  # its functions have no types
    gateway.ensure_callback_server_started(spark.sparkContext._gateway)
    state = spark._jsparkSession.sessionState()
    registry, catalog = state.functionRegistry(), state.catalog()
    for one in FUNCTIONS:
        builder = _Builder(one, spark)
        catalog.dropTempFunction(one.name, True)  # Spark prints a warning for each function that is replaced
        registry.createOrReplaceTempFunction(one.name, builder, "python_udf")
        identifier = _identifier(registry, one.name)
        registry.dropFunction(identifier)
        registry.registerFunction(identifier, _info(spark._jvm, one), builder)


def _identifier(registry: Any, name: str) -> Any:
    """Find Spark's identifier of a registered function: since 4.2 with a catalog and a schema."""
    known = registry.listFunction()
    found = (known.apply(number) for number in range(known.size()))
    return next(one for one in found if one.funcName() == name)


def _info(jvm: Any, one: SqlFunction) -> Any:
    """Make the text that `DESCRIBE FUNCTION EXTENDED` shows."""
    example = f"\n    Examples:\n      > {one.example};\n  "
    info = jvm.org.apache.spark.sql.catalyst.expressions.ExpressionInfo
    class_name = f"{one.function.__module__}.{one.name}"
    return info(
        class_name, None, one.name, one.usage, one.arguments, example, "", "misc_funcs", "4.0.0", "", "python_udf"
    )


class _Builder:
    """Makes the expression of a call; Spark calls it from the JVM."""

    def __init__(self, function: SqlFunction, spark: Any) -> None:
        self._function = function
        self._session = spark._jsparkSession
        self._jvm = spark._jvm

    def apply(self, children: Any) -> Any:
        """Return the expression of a call with these arguments, which are expressions too."""
        arguments = [children.apply(number) for number in range(children.size())]
        try:
            column = self._column(arguments)
        except KipwireError as error:  # an exception here would reach the user with the traces of two languages
            column = sf.raise_error(sf.lit(f"{self._function.name}: {error}"))
        return self._session.expression(column._jc)

    def _column(self, arguments: list[Any]) -> Column:
        from pyspark.sql.classic.column import Column as ClassicColumn

        one = self._function
        utils = self._jvm.org.apache.spark.sql.classic.ExpressionUtils
        columns = [ClassicColumn(utils.column(argument)) for argument in arguments[: one.columns]]
        constants = [self._constant(argument) for argument in arguments[one.columns :]]
        options = constants.pop() if constants and isinstance(constants[-1], Mapping) else {}
        if len(columns) < one.columns or one.columns + len(constants) > one.most:
            raise JobError(f"wrong number of arguments; it is {one.usage.replace('_FUNC_', one.name)}")
        return one.function(*columns, *constants, **_check_options(options, one.options))

    def _constant(self, argument: Any) -> Any:
        """Return the value of an argument that is no column."""
        if not argument.foldable():
            raise JobError(f"{argument.sql()} is not a constant; only the columns of bytes and of structs may vary")
        converters = self._jvm.org.apache.spark.sql.catalyst.CatalystTypeConverters
        value = converters.convertToScala(argument.eval(None), argument.dataType())
        if argument.dataType().typeName() == "map":
            return dict(self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(value))
        return value

    class Java:
        """The interface that the JVM sees."""

        implements = ["scala.Function1"]  # noqa: RUF012 - the form that py4j requires


def _check_options(options: Mapping[str, str], known: tuple[str, ...]) -> dict[str, Any]:
    """Return options as arguments of a function."""
    for name in options:
        if name not in known:
            raise JobError(f"unknown option {name!r}; the options are {', '.join(known) or 'none'}")
    return {name: parse_list(text) if name in _LISTS else text for name, text in options.items()}
