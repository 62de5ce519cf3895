"""Parts of several jobs."""
