"""Jobs: from the tables of the data sources to tables of answers.

Each folder is one job. The functions in `tables` take data frames and give data frames, on any engine, and need no
session; docs/jobs.md has the schemas. `report` has what the command line shows: only what the notes say is
computed there, the rest is computed when the report is shown. `shared` has what several jobs need.

To add a job:

1. Write its folder. `tables.py` has functions from data frames to data frames, `report.py` says which tables and charts
   they make, `command.py` has the options, in a function `command`; `on_logs` of `shared/running.py` makes that where a
   job needs no options of its own. A short report is in `command.py`, too. `__init__.py` exports what users call.
2. Add its line to `JOBS` in `kipwire/cli/jobs.py`, with its help: `kipwire` and `kipspark` then have its command.
3. docs/commands.md gets a row for `kipwire`, docs/jobs.md its row, and docs/spark.md counts the jobs.
4. `tests/support/subjects/both_engines.py` gets its report, so that both engines must give the same rows, and
   `tests/pipeline/jobs/test_small_data.py` has the commands by what they read. Its rules are tested with the fixture
   `session`: in the process by day, on Spark too at night.

A job is written in the words of PySpark: `sf = functions_of(frame)` at the head of a function gives the functions of
the engine. All that it may call is in `engines/frames.py` and `engines/functions.py`; more is added there and to
`engines/embedded/`, with an example in `test_functions.py`. A difference between engines gets a name there, and no job
asks for its engine. A job for Spark alone is a folder of `kipspark/jobs/`.
"""
