"""Spark itself: sessions, Java, and functions for columns."""
