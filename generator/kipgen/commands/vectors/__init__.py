"""The command `kipgen vectors`: bytes of a protocol with their meaning, for implementations in any language."""
