"""The command `kipwire proxy`: a proxy before the brokers of a cluster, with filters from files."""
