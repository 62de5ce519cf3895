"""What a fake broker knows: topics, groups and transactions. Plain data and functions, without I/O or a clock."""
