"""What a fake broker knows: nodes, topics, groups, transactions. Plain data and functions, without I/O or a clock."""
