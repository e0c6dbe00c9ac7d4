"""Who this process is, and whether another one on this host still lives."""

import hashlib
import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

UNKNOWN = "-"
ENDED = "ended"


@dataclass(frozen=True)
class ProcessId:
    """Unique per start of a process: a number that comes again after a reboot is not the same."""

    machine: str
    boot: str
    namespace: str
    pid: int
    started: str

    def __str__(self) -> str:
        return "/".join((self.machine, self.boot, self.namespace, str(self.pid), self.started))

    @classmethod
    def parse(cls, text: str) -> "ProcessId | None":
        parts = text.split("/")
        if len(parts) != 5 or not parts[3].isdigit():
            return None
        machine, boot, namespace, pid, started = parts
        return cls(machine, boot, namespace, int(pid), started)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip().replace("/", "_") or UNKNOWN
    except OSError:
        return UNKNOWN


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]") or UNKNOWN
    except OSError:
        return UNKNOWN


def _started(pid: int) -> str:
    """When a process began, in clock ticks since the boot; UNKNOWN where that can't be seen."""
    stat = _read(f"/proc/{pid}/stat")
    if stat == UNKNOWN:
        return UNKNOWN
    # The name in brackets may hold blanks and brackets: fields count from the last one.
    fields = stat.rpartition(")")[2].split()
    return ENDED if fields[0] in ("Z", "X") else fields[19]


def _is_there(pid: int) -> bool:
    """Also for processes that /proc hides from other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


@cache
def _this_host() -> tuple[str, str, str]:
    # Images of containers share a machine id, so the host's name belongs to it.
    machine = _short(f"{_read('/etc/machine-id')} {platform.node()}")
    boot = _read("/proc/sys/kernel/random/boot_id")
    return machine, boot if boot == UNKNOWN else _short(boot), _namespace()


def _short(name: str) -> str:
    """Every claim carries these names, so they are kept short."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def this_process() -> ProcessId:
    machine, boot, namespace = _this_host()
    pid = os.getpid()
    return ProcessId(machine, boot, namespace, pid, _started(pid))


def surely_dead(holder: str) -> bool:
    """True only when it can't be running any more; where that can't be known, its lease decides."""
    other = ProcessId.parse(holder)
    if other is None:
        return False
    machine, boot, namespace = _this_host()
    if UNKNOWN in (other.boot, other.namespace, other.started, boot):
        return False
    if other.machine != machine:
        return False
    if other.boot != boot:
        return True
    if other.namespace != namespace:
        return False
    started = _started(other.pid)
    return started != other.started if started != UNKNOWN else not _is_there(other.pid)
