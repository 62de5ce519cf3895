"""From what tcpdump writes to Kafka's frames, without Spark, Arrow or a library for packets (see pyproject.toml).

One direction: `files` reads packets, `rotation` puts several files into one order, `headers` finds the TCP segment in a
packet, `streams` the bytes of a connection in segments, `framing` the frames in bytes, `conversation` the requests and
responses in frames; `connection` has all of these of one connection, `capture` all connections.
"""
