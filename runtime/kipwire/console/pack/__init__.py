"""The parts of `kipwire pack`: the JSON lines of a dump, back to segments."""
