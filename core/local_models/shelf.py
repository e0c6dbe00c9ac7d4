"""Shelf: the models that are on this machine, each in a folder of its own in the user's cache."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from core.errors import BadModelFile, ModelFolder
from core.local_models.catalogue import CATALOGUE, Listed

FOLDER_VARIABLE = "SWARM_MODELS"
A_PIECE = 8 * 1024 * 1024

Progress = Callable[[int], object]
"""Told how many bytes are done."""


class Loaded(NamedTuple):
    """What a model took when it was last loaded here."""

    seconds: float
    memory_bytes: int


class Shelf:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of_user(cls, env: Mapping[str, str]) -> "Shelf":
        own = env.get(FOLDER_VARIABLE, "").strip()
        return cls(Path(own) if own else platformdirs.user_cache_path("swarm") / "models")

    def file(self, model: Listed) -> Path:
        return self.folder / model.name / f"{model.name}.gguf"

    def work_folder(self, model: Listed) -> Path:
        """What is still on its way; nothing in it is ever loaded."""
        return self.folder / model.name / "coming"

    def licence_file(self, model: Listed) -> Path:
        return self.folder / model.name / "LICENCE.txt"

    def has(self, model: Listed) -> bool:
        try:
            return self.file(model).stat().st_size == model.size_bytes
        except OSError:
            return False

    def here(self) -> list[Listed]:
        """The models that are here, the default first."""
        return [model for model in CATALOGUE.values() if self.has(model)]

    def ready(self, model: Listed) -> Path:
        """Its file, checked against its hash unless this very file has been before."""
        file = self.file(model)
        if self._notes(model).get("checked") != _identity(file):
            if sha256_of(file) != model.sha256:
                raise BadModelFile(str(file), model.name)
            self.mark_checked(model)
        return file

    def mark_checked(self, model: Listed) -> None:
        self._note(model, "checked", _identity(self.file(model)))

    def mark_loaded(self, model: Listed, loaded: Loaded) -> None:
        self._note(model, "loaded", loaded._asdict())

    def loaded(self, model: Listed) -> Loaded | None:
        said = self._notes(model).get("loaded", {})
        try:
            return Loaded(float(said["seconds"]), int(said["memory_bytes"]))
        except (TypeError, KeyError, ValueError):
            return None

    def remove(self, model: Listed) -> int:
        """How many bytes that freed; also what a pull that was cut left behind."""
        folder = self.folder / model.name
        sizes = [path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()]
        with self.held(model):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise ModelFolder(str(folder), error.strerror or str(error)) from error
        return sum(sizes)

    @contextmanager
    def held(self, model: Listed) -> Iterator[Path]:
        """Its folder, in which nobody else puts or removes anything meanwhile."""
        folder = self.folder / model.name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY)
        except OSError as error:
            raise ModelFolder(str(folder), error.strerror or str(error)) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield folder
        except BlockingIOError as error:
            raise ModelFolder(str(folder), "another process is at work in it") from error
        finally:
            os.close(handle)

    def _notes(self, model: Listed) -> dict[str, Any]:
        try:
            found = json.loads(self._notes_file(model).read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _note(self, model: Listed, name: str, value: object) -> None:
        """A note that can't be written costs a check or a figure, so it is let go."""
        file = self._notes_file(model)
        new = file.with_suffix(f".{os.getpid()}")
        try:
            new.write_text(json.dumps(self._notes(model) | {name: value}))
            new.replace(file)
        except OSError:
            return

    def _notes_file(self, model: Listed) -> Path:
        return self.folder / model.name / "notes.json"


def sha256_of(file: Path, progress: Progress = lambda done: None) -> str:
    digest, done = hashlib.sha256(), 0
    with file.open("rb") as opened:
        while piece := opened.read(A_PIECE):
            digest.update(piece)
            done += len(piece)
            progress(done)
    return digest.hexdigest()


def _identity(file: Path) -> list[int]:
    """Changes when another file takes the place of this one, or this one is written to."""
    found = file.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ino]
