"""Frames of packets in kipwire's own format (`kipspark extract`)."""
