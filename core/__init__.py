"""Swarm: a board of tasks that a crew of agents works off, and that loses nothing."""
