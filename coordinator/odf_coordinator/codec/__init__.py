"""Bytes and text <-> values. Parse at the edge, trust inside."""
