"""Changes between two revisions of specs, and the parties that each change breaks (`kipgen compat`)."""
