"""Parts of jobs that Spark alone has; functions of jobs, for frames of any engine, are in `kipjobs.jobs`."""
