"""`python -m kipspark`, and what spark-submit is given."""

from kipspark.cli import main

main()
