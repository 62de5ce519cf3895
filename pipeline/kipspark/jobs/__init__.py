"""Jobs: from the tables that the data sources give to the tables that people ask for.

Each module is one job. Its functions take data frames and give data frames, and know of no session; docs/spark.md has
the schemas. `kipspark.job_reports` runs them from the command line.
"""
