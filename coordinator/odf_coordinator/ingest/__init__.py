"""Fetch and read: what a polling source has to offer, as Arrow rows."""
