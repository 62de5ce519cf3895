"""Small helpers that know nothing of messages."""
