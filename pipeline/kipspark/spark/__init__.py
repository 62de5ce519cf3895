"""Spark itself: sessions, Java, the connector, functions and live topics."""
