"""Looking at the board: status, show, mail, agents."""
