"""Jobs on DuckDB in this process: PySpark's data frames, as far as jobs use them, as text of SQL.

A column (`columns`) is an SQL expression, a frame (`frames`) a query over other frames, and nothing is computed until
rows are asked for. A `session` runs queries, with a bound of memory, in a folder for what does not fit.

This is not sqlframe, which has all of PySpark on many engines: to plan the tables of `offsets` takes it two seconds of
CPU, and here milliseconds; it also brings pandas.
"""
