"""Where Swarm's own config and skills are found."""

from pathlib import Path

_CORE = Path(__file__).parent


def shipped(folder: str) -> Path:
    """In a wheel under core/defaults; in a checkout beside core/."""
    installed = _CORE / "defaults" / folder
    return installed if installed.is_dir() else _CORE.parent / folder
