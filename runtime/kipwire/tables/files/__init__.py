"""The files that tables are made of, on this machine and in stores."""
