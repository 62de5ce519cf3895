"""The example proxy, compared with one that passes bytes on unread. `python -m benchmarks.proxied` runs it."""
