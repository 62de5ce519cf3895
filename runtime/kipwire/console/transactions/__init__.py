"""The command `kipwire transactions`."""
