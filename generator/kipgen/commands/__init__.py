"""The commands of kipgen, a folder for each that has more than one module."""
