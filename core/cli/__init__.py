"""The command `swarm`: one file per group of commands; each reads its options and calls core."""

from core.cli import deciding, health, looking, models, store, trusting, working
from core.cli.command import main

__all__ = ["deciding", "health", "looking", "main", "models", "store", "trusting", "working"]
