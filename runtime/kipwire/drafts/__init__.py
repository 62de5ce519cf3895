"""Formats that no release of Kafka speaks: what proposals had before they were changed or dropped, or have still."""
