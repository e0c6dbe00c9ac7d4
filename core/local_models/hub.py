"""The official model hub: one file over HTTP, taken up again where it was cut."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from core.local_models.catalogue import HubFile, Listed
from core.local_models.sources import OutOfReach, no_room, size_of

if TYPE_CHECKING:
    import httpx2

ENDPOINT = "https://huggingface.co"
ENDPOINT_VARIABLE = "HF_ENDPOINT"
"""The name the hub's own tools have for it, so that a mirror is named once."""
CONNECT_SECONDS = 8.0
SILENCE_SECONDS = 60.0


class Hub:
    name = "the model hub"

    def __init__(self, env: Mapping[str, str]) -> None:
        self._endpoint = (env.get(ENDPOINT_VARIABLE, "").strip() or ENDPOINT).rstrip("/")

    def serves(self, model: Listed) -> bool:
        return model.hub is not None

    def so_far(self, model: Listed, folder: Path) -> int:
        return size_of(_file(folder))

    def fetch(self, model: Listed, folder: Path) -> Path:
        # Only who pulls pays for loading it.
        import httpx2

        file, timeout = _file(folder), httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
        try:
            with httpx2.Client(timeout=timeout, follow_redirects=True) as client:
                self._until_whole(client, model, file)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise OutOfReach(f"the model hub is out of reach ({_why(error)})") from error
        except OSError as error:
            raise no_room(error) from error
        return file

    def _until_whole(self, client: "httpx2.Client", model: Listed, file: Path) -> None:
        """A connection that breaks is taken up again as long as each one brings something."""
        import httpx2

        assert model.hub is not None, "only asked for what it serves"
        while (there := size_of(file)) < model.size_bytes:
            try:
                self._go_on(client, model.hub, file, model.size_bytes)
            except httpx2.HTTPError:
                if size_of(file) <= there:
                    raise

    def _go_on(self, client: "httpx2.Client", wanted: HubFile, file: Path, size_bytes: int) -> None:
        there = size_of(file)
        url = f"{self._endpoint}/{wanted.repository}/resolve/main/{wanted.name}"
        headers = {"Range": f"bytes={there}-", "Accept-Encoding": "identity"}
        with client.stream("GET", url, headers=headers) as answer:
            if answer.status_code >= 400:
                raise OutOfReach(f"the model hub answers HTTP {answer.status_code}")
            goes_on = answer.status_code == 206
            with file.open("ab" if goes_on else "wb") as opened:
                left = size_bytes - (there if goes_on else 0)
                for piece in answer.iter_raw():
                    opened.write(piece[:left])
                    left -= len(piece)
                    if left <= 0:
                        return


def _file(folder: Path) -> Path:
    return folder / "hub.gguf"


def _why(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
