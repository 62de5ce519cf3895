"""The state of a fake broker: nodes, topics, groups, transactions. Plain data and functions, without I/O or a clock."""
