"""The wire description of a class at run time, and everything generic that reads it."""
