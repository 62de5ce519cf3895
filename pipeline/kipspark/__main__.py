"""`python -m kipspark`, and what spark-submit is given."""

import sys

# spark-submit runs this file alone. What is beside it must not hide modules of Python's own, such as types.
if not __package__:
    sys.path[:] = [folder for folder in sys.path if folder != __file__.rpartition("/")[0]]

from kipspark.cli import main

main()
