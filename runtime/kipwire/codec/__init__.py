"""Functions that generated classes call to read and write values.

What they may take from a module is its `__all__`; other names are of the runtime alone.
"""
