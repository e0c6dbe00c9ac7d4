"""Remembering: stores know how to keep rows and nothing of what they mean."""
