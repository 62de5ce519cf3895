"""`python -m kipspark`, and the script for spark-submit."""

import sys

# spark-submit runs this file alone. Modules next to it must not hide Python's own, such as types.
if not __package__:
    sys.path[:] = [folder for folder in sys.path if folder != __file__.rpartition("/")[0]]

from kipspark.cli import main

main()
