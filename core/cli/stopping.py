"""Stopping: what Ctrl-C and SIGTERM do to a crew at work."""

import signal
from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

from core.orchestrator import GRACE_SECONDS, Orchestrator

AT_ONCE_SECONDS = 0.8
"""After a second signal: enough to let claims go, and over within a second."""


class Stopping:
    """Once: running calls may end, for ten seconds. Twice: everything is let go at once."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self.signals = 0
        self._say = say
        self._crew: Orchestrator | None = None

    def over(self, crew: Orchestrator) -> None:
        """Signals stop this crew from now on."""
        self._crew = crew

    async def obey(
        self,
        everything: anyio.CancelScope,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for _ in signals:
                self.signals += 1
                self._stop(everything)

    def _stop(self, everything: anyio.CancelScope) -> None:
        if self._crew is None:
            everything.cancel()
        elif self.signals == 1:
            self._say(
                f"stopping: running calls may take {GRACE_SECONDS:.0f} s to end; "
                "Ctrl-C again stops at once"
            )
            self._crew.stop(GRACE_SECONDS)
        else:
            self._crew.stop(0)
            everything.deadline = anyio.current_time() + AT_ONCE_SECONDS

    def enough(self) -> None:
        """All that was wanted is there; nobody interrupted anything."""
        if self._crew is not None and not self._crew.stopping:
            self._crew.stop(GRACE_SECONDS)
