"""What jobs have on Spark alone; their functions, for frames of any engine, are in `kipjobs.jobs`."""
