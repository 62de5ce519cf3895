"""`python -m kipspark`, and what spark-submit is given."""

import sys

if (
    not __package__
):  # spark-submit runs this file alone, and then what is beside it hides modules of Python, such as types
    sys.path[:] = [folder for folder in sys.path if folder != __file__.rpartition("/")[0]]

from kipspark.cli import main

main()
