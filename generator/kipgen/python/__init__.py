"""From a wire description to Python source."""
