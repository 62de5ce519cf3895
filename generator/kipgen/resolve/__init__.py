"""From a spec and a version to what is on the wire, in order."""
