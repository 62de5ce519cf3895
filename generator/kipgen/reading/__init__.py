"""From a JSON file to a checked spec."""
