"""Handing in work and letting the crew do it: run, add, work."""
