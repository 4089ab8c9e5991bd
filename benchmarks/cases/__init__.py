"""One module a case: a new file here with a `run(scale)` is a new case."""
