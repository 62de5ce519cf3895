"""The spec language: specs as frozen data, types, versions, names, and what can be wrong with them."""
