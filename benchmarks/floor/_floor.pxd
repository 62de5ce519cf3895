# cython: language_level=3
"""The kernel's interfaces, for the copy of the kernel in _floor.pyx."""

include "_kernel.pxd"
