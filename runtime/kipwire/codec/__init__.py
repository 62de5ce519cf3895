"""Functions that generated classes call to read and write values."""
