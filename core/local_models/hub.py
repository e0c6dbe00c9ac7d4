"""The official model hub, through its own library; the user's HF_ENDPOINT says where it is."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from core.local_models.catalogue import HubFile, Listed
from core.local_models.sources import OutOfReach, no_room

REACH_SECONDS = 8.0


class Hub:
    name = "the model hub"

    def __init__(self, env: Mapping[str, str]) -> None:
        self._endpoint = env.get("HF_ENDPOINT", "").strip() or None

    def serves(self, model: Listed) -> bool:
        return model.hub is not None

    def fetch(self, model: Listed, folder: Path) -> Path:
        assert model.hub is not None, "only asked for what it serves"
        try:
            from huggingface_hub import hf_hub_download
            from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError
        except ImportError as error:
            raise OutOfReach("the model hub needs the extra 'local'") from error
        self._reach(model.hub)
        import httpx2

        lost = (EntryNotFoundError, HfHubHTTPError, httpx2.HTTPError, ValueError)
        try:
            with _silence():
                file = hf_hub_download(
                    model.hub.repository,
                    model.hub.name,
                    local_dir=folder / "hub",
                    endpoint=self._endpoint,
                    # The file is public: nobody's token has to travel.
                    token=False,
                )
        except lost as error:
            raise OutOfReach(f"the model hub broke off ({_first_line(error)})") from error
        except OSError as error:
            raise no_room(error) from error
        return Path(file)

    def _reach(self, wanted: HubFile) -> None:
        """One short try: the library itself would try again for half a minute."""
        import httpx2
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(wanted.repository, wanted.name, endpoint=self._endpoint)
        try:
            answer = httpx2.head(url, timeout=REACH_SECONDS)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise OutOfReach(f"the model hub is out of reach ({_first_line(error)})") from error
        if answer.status_code >= 400:
            raise OutOfReach(f"the model hub answers HTTP {answer.status_code}")


@contextmanager
def _silence() -> Iterator[None]:
    """The library tells of its tries and draws bars of its own."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
