"""kipgen advise: which integer encoding to choose, from real messages."""
