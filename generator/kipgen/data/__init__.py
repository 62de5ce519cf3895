"""From wire descriptions to plain data: the resolved specs of a package as JSON, for programs in any language."""
