"""From files of tcpdump to Kafka's frames, without a library for packets (see pyproject.toml).

Each module uses only those before it: `files` reads packets, `rotation` puts several files into one order, `headers`
finds the TCP segment in a
packet, `streams` the bytes of a connection in segments, `framing` the frames in bytes, `conversation` the requests and
responses in frames; `connection` does all this for one connection, `capture` for all connections.
"""
