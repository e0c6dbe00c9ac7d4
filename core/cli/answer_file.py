"""The file an answer is written to: whole or not at all, and checked before any call is paid."""

import os
import tempfile
from pathlib import Path

from core.cli.command import STDIN
from core.cli.plain import one_line
from core.cli.reading import BadInput


class AnswerFile:
    def __init__(self, path: Path) -> None:
        """Refused where it could not be written."""
        shown = one_line(str(path))
        if str(path) == STDIN:
            raise BadInput("the answer goes to stdout anyway; leave -o - out")
        self._path = Path(os.path.realpath(path))
        if self._path.is_dir():
            raise BadInput(f"'{shown}' is a folder; name a file for the answer")
        if self._path.exists() and not os.access(self._path, os.W_OK):
            raise BadInput(f"'{shown}' can't be written; check its rights, or name another file")
        self._whole = not self._path.exists() or self._path.is_file()
        if self._whole:
            self._try(shown)

    def _try(self, shown: str) -> None:
        try:
            with tempfile.NamedTemporaryFile(dir=self._path.parent):
                pass
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(f"'{shown}' can't be written ({why}); name another file") from error

    def write(self, answer: str) -> None:
        text = answer if answer.endswith("\n") else f"{answer}\n"
        try:
            if self._whole:
                self._replace(text.encode())
            else:
                # A device or a pipe can't be replaced.
                self._path.write_bytes(text.encode())
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(
                f"the answer could not be written to '{one_line(str(self._path))}' ({why}); "
                "it is kept on the board: swarm show"
            ) from error

    def _replace(self, data: bytes) -> None:
        mode = self._path.stat().st_mode & 0o777 if self._path.exists() else 0o666 & ~_umask()
        number, name = tempfile.mkstemp(dir=self._path.parent, prefix=".swarm-")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(mode)
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
