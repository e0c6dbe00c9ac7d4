"""The command itself: its options for all, its errors as one sentence, its exit codes."""

import contextlib
import gc
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

import structlog
from cyclopts import App, CycloptsError, Parameter, UnknownOptionError
from rich.console import Console

from core.errors import (
    AmbiguousId,
    BadConfig,
    BadModelFile,
    BudgetSpent,
    DayBudgetSpent,
    IllegalTransition,
    MailNotFound,
    ModelError,
    ModelFolder,
    ModelNotNamed,
    NoModel,
    NotOnThisMachine,
    NotTrusted,
    PullFailed,
    ReplayDeparted,
    StoreError,
    SwarmError,
    TaskNotFound,
)
from core.version import __version__

DONE, FAILURE, USAGE, SETUP, NOT_FOUND, NEEDS_A_PERSON, BUDGET, INTERRUPTED = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    130,
)

STDIN = "\0stdin"
"""What a bare `-` is replaced with before parsing: the parser would take it for an option."""

OBJECTS_BEFORE_COLLECTING = 50_000

app = App(
    name="swarm",
    help="Hand a request to a crew of models; get one answer, and lose nothing on the way.",
    version=__version__,
    help_format="plaintext",
    default_parameter=Parameter(show_default=False),
)


def exit_code(error: SwarmError) -> int:
    match error:
        case BudgetSpent() | DayBudgetSpent():
            return BUDGET
        case IllegalTransition() | ReplayDeparted():
            return FAILURE
        case TaskNotFound() | MailNotFound() | AmbiguousId():
            return NOT_FOUND
        case StoreError() | BadConfig() | NoModel() | NotTrusted() | ModelNotNamed() | ModelError():
            return SETUP
        case NotOnThisMachine() | PullFailed() | ModelFolder() | BadModelFile():
            return SETUP
        case _:
            return USAGE


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code; what a person can mend is one sentence."""
    _prepare()
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = _run([STDIN if word == "-" else word for word in words])
    sys.exit(code)


def _prepare() -> None:
    """What belongs to a process and not to a library: its collector, its streams, its log."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BEFORE_COLLECTING)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Handled trouble is told as an event; only what nobody foresaw is logged to a person.
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        # Whatever stderr is by then: a live view puts itself before it.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def _run(words: list[str]) -> int:
    try:
        result = app(
            words,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
            error_console=Console(stderr=True),
        )
        sys.stdout.flush()
    except CycloptsError as error:
        return complain(_plainly(error), USAGE)
    except SwarmError as error:
        return complain(str(error), exit_code(error))
    except BrokenPipeError:
        _leave_closed_pipes()
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    return result if isinstance(result, int) else DONE


def _leave_closed_pipes() -> None:
    """Whoever read our output has gone; nothing is left to be said there."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())


def complain(sentence: str, code: int) -> int:
    print(f"swarm: {sentence}", file=sys.stderr)
    return code


def _plainly(error: Any) -> str:
    """The first line of what the parser says, as one sentence with a way on."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = " ".join(lines) if lines else "the command can't be understood"
    if isinstance(error, UnknownOptionError):
        said = f"{said.rstrip('.')}; words that begin with a dash go behind --"
    command = " ".join(getattr(error, "command_chain", None) or ())
    return f"{said.rstrip('.')}; see swarm {f'{command} ' if command else ''}--help"
