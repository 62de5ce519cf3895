"""Messages: one by itself, in a frame, in a registry, and from one version to another."""
