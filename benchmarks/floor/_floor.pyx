# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""The kernel with one more function, `copy_of`: the floor that decoding is compared with. No wheel has it."""

include "_kernel.pyx"
include "copying.pxi"
