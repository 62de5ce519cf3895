"""Jobs: from the tables of the data sources to tables of answers.

Each folder is one job. The functions in `tables` take data frames and give data frames, on any engine, and need no
session; docs/jobs.md has the schemas. `report` has what the command line shows: only what the notes say is
computed there, the rest is computed when the report is shown. `shared` has what several jobs need.
"""
