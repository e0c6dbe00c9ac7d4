"""Real processes on one file: killed, stopped and started again while they work."""
