"""Sources: what a pull asks of any place a model comes from."""

import errno
from pathlib import Path
from typing import Protocol

from core.local_models.catalogue import Listed


class OutOfReach(Exception):
    """This source can't be used now; another one may."""


class NoRoom(Exception):
    """The disk is full."""


class Source(Protocol):
    name: str

    def serves(self, model: Listed) -> bool: ...

    def so_far(self, model: Listed, folder: Path) -> int:
        """How many bytes of it have come; asked from another thread meanwhile."""
        ...

    def fetch(self, model: Listed, folder: Path) -> Path:
        """The file, unchecked, in this folder; goes on where an earlier fetch was cut."""
        ...


def size_of(file: Path) -> int:
    """0 for what is not there, or not any more."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def no_room(error: OSError) -> Exception:
    """A full disk by its own name, anything else as it is."""
    return NoRoom() if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else error
