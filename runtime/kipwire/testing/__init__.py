"""What tests of programs with messages need: Hypothesis strategies for every generated class.

`pip install kipwire[testing]` brings Hypothesis.
"""

from kipwire.testing.strategies import damaged, field_values, messages, same_message, structs, unknown_tagged_fields

__all__ = ["damaged", "field_values", "messages", "same_message", "structs", "unknown_tagged_fields"]
