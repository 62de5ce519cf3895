"""What generated classes call to read and write values."""
