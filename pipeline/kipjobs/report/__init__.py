"""Reports of jobs: on terminals, as pages with charts, as Parquet files."""
