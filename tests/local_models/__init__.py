"""Models of this machine: how they come, and which one is used."""
