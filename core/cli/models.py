"""Models of this machine: list, pull, remove, licence."""

import os
import sys
from types import TracebackType
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from core.cli.command import app
from core.cli.options import Json
from core.cli.paper import block, columns, paper, print_json
from core.cli.plain import one_line
from core.cli.reading import BadInput
from core.cli.reporting import say
from core.layers import nearest
from core.local_models.catalogue import CATALOGUE, DEFAULT, MB, Listed
from core.local_models.choice import meant
from core.local_models.pull import Teller, pull
from core.local_models.shelf import Shelf
from core.yaml_files import quoted

BAR_WIDTH = 30

Name = Annotated[str, Parameter(help="A model of the list.")]

_EXAMPLES = """\
Examples:
  swarm models
  swarm models pull
  swarm models pull smollm2-135m
  swarm models remove smollm2-135m
"""
models = App(
    name="models",
    help="Models that run on this machine, without any server or key.",
    help_epilogue=_EXAMPLES,
    default_parameter=Parameter(show_default=False),
)
app.command(models)


def _listed(name: str) -> Listed:
    found = CATALOGUE.get(name.strip())
    if found is None:
        raise BadInput(f"the model {quoted(name)} is unknown; {nearest(name, [*CATALOGUE])}")
    return found


@models.default
def overview(*, json: Json = False) -> None:
    """List them."""
    list_(json=json)


@models.command(name="list", help_epilogue="Examples:\n  swarm models list --json")
def list_(*, json: Json = False) -> None:
    """Show each model with its size, its licence, and whether it is here."""
    shelf, used = Shelf.of_user(os.environ), meant(os.environ)
    if json:
        shown = [_as_data(model, shelf) for model in CATALOGUE.values()]
        print_json({"folder": str(shelf.folder), "used": used, "models": shown})
        return
    console = paper()
    head = [Text(word, "dim") for word in ("name", "size", "memory", "loads in", "licence", "here")]
    columns(console, [head, *(_row(model, shelf) for model in CATALOGUE.values())], stretch=0)
    console.print()
    for model in CATALOGUE.values():
        block(console, f"{model.name}: {model.title}, for {model.fit_for}.", 0)
    console.print()
    block(console, _in_use(used, shelf), 0)
    block(console, f"They are kept in {shelf.folder}.", 0)


def _in_use(used: str | None, shelf: Shelf) -> str:
    if used is not None:
        return f"The crew uses {one_line(used)}, as no other model is configured or you named it."
    if shelf.here():
        return "The crew uses the model server that is configured, none of these."
    return f"None is here; get one with: swarm models pull {DEFAULT.name}"


def _row(model: Listed, shelf: Shelf) -> list[Text]:
    loaded, here = shelf.loaded(model), shelf.has(model)
    memory = loaded.memory_bytes if loaded else 0
    return [
        Text(model.name, "bold"),
        Text(_size(model.size_bytes)),
        Text(_size(memory) if memory else f"about {_size(model.memory_bytes)}"),
        Text(f"{loaded.seconds:.1f} s" if loaded else "-"),
        Text(model.licence.name),
        Text("yes" if here else "no", "green" if here else "dim"),
    ]


def _as_data(model: Listed, shelf: Shelf) -> dict[str, Any]:
    loaded, here = shelf.loaded(model), shelf.has(model)
    return {
        "name": model.name,
        "title": model.title,
        "size_bytes": model.size_bytes,
        "sha256": model.sha256,
        "licence": model.licence.name,
        "fit_for": model.fit_for,
        "here": here,
        "file": str(shelf.file(model)) if here else None,
        "expected_memory_bytes": model.memory_bytes,
        "memory_bytes": loaded.memory_bytes if loaded else None,
        "load_seconds": round(loaded.seconds, 2) if loaded else None,
    }


def _size(size_bytes: int) -> str:
    return (
        f"{size_bytes / 1000 / MB:.1f} GB" if size_bytes >= 1000 * MB else f"{size_bytes // MB} MB"
    )


@models.command(
    name="pull", help_epilogue="Examples:\n  swarm models pull\n  swarm models pull smollm2-135m"
)
def pull_(name: Name = DEFAULT.name, /, *, json: Json = False) -> None:
    """Fetch a model, or go on where that was cut, and check every byte of it."""
    model, shelf = _listed(name), Shelf.of_user(os.environ)
    if not json:
        say(f"{model.title}: {_size(model.size_bytes)} into {one_line(str(shelf.folder))}")
        say(f"licence: {model.licence.notice} Read it: swarm models licence {model.name}")
    was_here = shelf.has(model)
    if json:
        file = pull(model, shelf, os.environ)
        print_json({"name": model.name, "file": str(file), "was_here": was_here})
        return
    with _Bar() as bar:
        file = pull(model, shelf, os.environ, bar)
    say(f"{model.name} {'was here already' if was_here else 'is here'}: {one_line(str(file))}")
    say(f"({model.caution})")


@models.command(help_epilogue="Examples:\n  swarm models remove smollm2-135m")
def remove(name: Name, /, *, json: Json = False) -> None:
    """Remove a model, and what a cut pull left of it."""
    model = _listed(name)
    freed = Shelf.of_user(os.environ).remove(model)
    if json:
        print_json({"name": model.name, "freed_bytes": freed})
    elif freed:
        say(f"{model.name} is removed; that freed {_size(freed)}")
    else:
        say(f"{model.name} was not here")


@models.command(help_epilogue="Examples:\n  swarm models licence qwen2.5-coder-1.5b")
def licence(name: Name = DEFAULT.name, /) -> None:
    """Print the licence of a model, whole."""
    model = _listed(name)
    print(f"{model.title}: {model.licence.notice}\n\n{model.licence.text}")


class _Bar(Teller):
    """A bar on a terminal; elsewhere a line when something begins."""

    def __init__(self) -> None:
        console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
        self._watched = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, auto_refresh=False)
        self._what, self._total_bytes = "", 1

    def __enter__(self) -> "_Bar":
        if self._watched:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def begins(self, what: str, total_bytes: int) -> None:
        self._what, self._total_bytes = one_line(what), total_bytes
        if self._watched:
            self.done(0)
        else:
            say(what)

    def done(self, so_far_bytes: int) -> None:
        if not self._watched:
            return
        row = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._total_bytes, completed=so_far_bytes, width=BAR_WIDTH)
        share = f"{_size(so_far_bytes)} of {_size(self._total_bytes)}"
        row.add_row(Text(self._what), bar, Text(share))
        self._live.update(row, refresh=True)
