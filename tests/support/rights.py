"""Root may read and write whatever the rights say; here it may not."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_PR_CAPBSET_DROP = 24
_VERSION_3 = 0x20080522
_OVERRIDES = 1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH

_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    """Of 32 capabilities; there are two of these."""

    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def give_up_overrides() -> None:
    """For a child before its exec: what it runs has to keep to the rights of files."""
    if os.geteuid() == 0:
        for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            _must(_libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0))


@contextmanager
def by_the_rights() -> Iterator[None]:
    """This thread keeps to the rights of files."""
    header, sets = _Header(_VERSION_3, 0), (_Sets * 2)()
    _must(_libc.capget(ctypes.byref(header), sets))
    before = sets[0].effective
    sets[0].effective = before & ~_OVERRIDES
    _must(_libc.capset(ctypes.byref(header), sets))
    try:
        yield
    finally:
        sets[0].effective = before
        _must(_libc.capset(ctypes.byref(header), sets))


def _must(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "the rights of root can't be given up")
