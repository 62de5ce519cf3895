# cython: language_level=3
"""The interfaces of the kernel's groups, in one name space with their definitions, which _kernel.pyx includes."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from capi cimport *
from cursor cimport Cursor
from output cimport Output

include "objects.pxd"
include "records.pxd"
