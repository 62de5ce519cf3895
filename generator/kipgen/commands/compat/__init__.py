"""Changes between two revisions of specs, and the parties that each change breaks (`kipgen compat`).

`wire_items` says what is on the wire, `compare` and `tags` find what differs, and `rules` says whom it breaks, with an
example of each. A test proves for every change that is not refused that the bytes stay the same.
"""
