"""Jobs: from the tables of the data sources to tables of answers.

Each module is one job. Its functions take data frames and give data frames, and need no session; docs/spark-jobs.md has
the schemas. `kipspark.job_reports` runs them from the command line.
"""
