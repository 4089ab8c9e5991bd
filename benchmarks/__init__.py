"""Benchmarks: ratios against raw library calls on the same data in the same run."""
