"""What changes between two revisions of specs, and whom each change breaks (`kipgen compat`)."""
