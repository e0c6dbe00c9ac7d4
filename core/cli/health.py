"""Setting up and checking: init, doctor."""
