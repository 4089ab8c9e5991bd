"""Engines: found, started in a sandbox, kept warm, spoken to over gRPC."""
