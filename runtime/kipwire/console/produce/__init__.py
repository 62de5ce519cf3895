"""The parts of `kipwire produce`: the JSON lines of a dump, or plain lines, into a topic of a cluster."""
