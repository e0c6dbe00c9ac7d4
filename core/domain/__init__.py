"""Nouns and rules: pure, synchronous, no input or output."""
