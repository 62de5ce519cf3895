"""kipwire inspect: the bytes of a message, explained."""
