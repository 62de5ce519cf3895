"""Speed compared with other libraries for the same wire protocol; needs the extra `bench`."""
