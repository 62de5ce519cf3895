"""Regular expressions as Kafka has them: RE2's, which take time in proportion to the text, whatever a client asks for.

google-re2 is imported when there is an expression, since few tests have one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kafka_messages.enums import ErrorCode
from kipwire.model.extras import missing_extra
from kipwire.testing.broker.state.refusals import Refused

_MOST_SHOWN = 100
"""Characters of an expression."""


@lru_cache(128)  # each heartbeat of a group needs the expressions of all members
def matching(regex: str) -> Callable[[str], bool]:
    """A function that tells whether an expression matches a whole name.

    Raises:
        Refused: it is no expression of RE2.
        MissingExtraError: google-re2 is not installed.
    """
    try:
        import re2
    except ImportError:
        raise missing_extra("regular expressions need", "google-re2", "testing") from None
    options = re2.Options()
    options.log_errors = False  # to standard error
    try:
        found = re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        what = repr(regex[:_MOST_SHOWN]) + ("..." if len(regex) > _MOST_SHOWN else "")
        reason = f"{what} is no regular expression: {reason.partition(':')[0]}"  # after which comes the whole of it
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, reason) from None
    return lambda name: found.fullmatch(name) is not None
