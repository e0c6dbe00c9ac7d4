"""The version of Swarm."""

__version__ = "0.1.0"
