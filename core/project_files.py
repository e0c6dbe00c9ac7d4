"""The files of a project's .swarm folder, as `swarm init` makes them."""

from pathlib import Path

from core import crew, settings
from core.errors import BadConfig
from core.shipped import shipped
from core.yaml_files import shown

GIT_IGNORES = "swarm.db*\nworktrees/\n"
IGNORES_ALL = "*\n"
"""What a folder has that was made by a first request, without init."""

_SETTINGS_HEAD = """\
# How Swarm runs in this project. Every line shows the default: remove the # of a line, and those
# of the lines above it that it hangs from, to change it.
# Keys come from the environment only.

"""
_CREW_HEAD = """\
# Who is on the crew of this project. This file stands in place of Swarm's own as a whole.
"""


def make_project_files(folder: Path, *, small: bool = False) -> tuple[list[Path], list[Path]]:
    """The files that were made, and those that were there and stay as they are."""
    here = folder.resolve()
    own = here / settings.FOLDER
    made: list[Path] = []
    kept: list[Path] = []
    try:
        if not here.is_dir():
            raise BadConfig(f"{shown(here)}: there is no such folder; make it, or name another")
        own.mkdir(exist_ok=True)
        for path, text in _contents(own, small=small).items():
            (made if _made(path, text) else kept).append(path)
    except FileExistsError as error:
        raise BadConfig(
            f"{shown(own)}: this is a file, and Swarm keeps a folder of this name; "
            "rename or remove it"
        ) from error
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BadConfig(f"{shown(own)}: can't be written ({why}); check its rights") from error
    return made, kept


def _made(path: Path, text: str) -> bool:
    """Never through a link: a cloned repository could point it anywhere."""
    if path.name == ".gitignore" and not path.is_symlink() and path.is_file():
        if path.read_text(encoding="utf-8", errors="replace") != IGNORES_ALL:
            return False
        path.write_text(text, encoding="utf-8")
        return True
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _contents(own: Path, *, small: bool) -> dict[Path, str]:
    config = shipped("config")
    crew_of_ours = config / (crew.SMALL_FILE if small else crew.FILE)
    return {
        own / settings.FILE: _SETTINGS_HEAD + _hidden(_body(config / settings.FILE)),
        own / crew.FILE: _CREW_HEAD + _after_first_line(crew_of_ours),
        own / ".gitignore": GIT_IGNORES,
    }


def _body(path: Path) -> str:
    """Without the comment at its top, which speaks of our own file."""
    _, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    return body


def _after_first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[2]


def _hidden(text: str) -> str:
    """Every line a comment, so that our defaults stay in force when they change."""
    return "".join(f"# {line}\n" if line.strip() else "\n" for line in text.splitlines())
