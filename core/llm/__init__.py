"""Talking to a model."""
