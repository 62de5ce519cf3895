"""The files that the pipeline reads, on this machine and in stores."""
