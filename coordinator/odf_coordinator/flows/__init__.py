"""The walks: each file is one, and reads like the spec's own list of steps."""
