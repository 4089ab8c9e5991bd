"""Frozen values: what the fabric consists of. No input, no output, no clock."""
