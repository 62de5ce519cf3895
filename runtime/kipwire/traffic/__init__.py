"""Network traffic: Kafka's frames, found in files of tcpdump or kept in captures of kipwire's own form.

`captures` reads the own form. Packets are read without a library (see pyproject.toml). Of these modules each uses only
those before it: `packet_files` reads packets, `rotation` puts several files into one order, `packet_headers` finds the
TCP segment in a packet, `streams` the bytes of a connection in segments, `framing` the frames in bytes, `conversation`
the requests and responses in frames; `connection` does all this for one connection, `packet_captures` for all of them.

`any_capture` numbers the frames of both forms, `frame_facts` finds facts in a frame without decoding it, `exchanges`
pairs requests with responses, `summary` counts them, and `upgrades` has the versions that releases of Kafka serve.
"""
