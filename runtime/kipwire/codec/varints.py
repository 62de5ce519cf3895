"""The unsigned varints of one and two bytes: a table of its own, since few programs need it and it takes a moment."""

from __future__ import annotations

from kipwire.codec.wire import ONE_BYTE

VARINTS = (*ONE_BYTE[:128], *(bytes((low | 0x80, high)) for high in range(1, 128) for low in range(128)))
"""By number."""
