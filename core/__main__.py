"""`python -m core` is `swarm`."""

from core.cli import main

if __name__ == "__main__":
    main()
