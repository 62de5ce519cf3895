"""The parts of `kipwire dump`: log segments and captures, line by line."""
