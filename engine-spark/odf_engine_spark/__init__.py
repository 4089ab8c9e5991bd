"""The Spark engine: runs one pure SELECT over the new part of its inputs."""

__version__ = "0.1.0"
