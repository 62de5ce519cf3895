"""The unsigned varints of one and two bytes.

A module of its own: few messages need the table. Making it takes 2 ms, importing a first message 10.
"""

from __future__ import annotations

from kipwire.codec.wire import ONE_BYTE

VARINTS = (*ONE_BYTE[:128], *(bytes((low | 0x80, high)) for high in range(1, 128) for low in range(128)))
"""By number."""
