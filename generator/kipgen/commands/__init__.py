"""The commands of kipgen, a folder for each that has more than one module.

The head of `kipwire.console` says how to add one.
"""
