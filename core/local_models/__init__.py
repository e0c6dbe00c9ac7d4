"""Models that run on this machine: which there are, which are here, and how they get here."""
