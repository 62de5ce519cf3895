"""The command `kipwire broker`."""
