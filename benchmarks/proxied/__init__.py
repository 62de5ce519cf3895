"""`kipwire proxy`, compared with other proxies. `python -m benchmarks.proxied` runs it."""
