"""Functions that generated classes call to read and write values.

The `__all__` of a module has the names that they may take; all others are for the runtime alone.
"""
