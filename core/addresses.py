"""What a file may say of a model server: its address, and the variable its key is in."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

KEY_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*_API_KEY")


def checked_address(address: str) -> str:
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        secret = bool(parts.username or parts.password or parts.query)
    except ValueError:
        usable = secret = False
    if secret:
        raise ValueError("a server's address in a file may hold no password; use key_variable")
    if not usable:
        raise ValueError("'base_url' should look like http://host:port/v1")
    return address.strip()


def checked_variable(name: str) -> str:
    if not KEY_VARIABLE.fullmatch(name):
        raise ValueError(
            "'key_variable' should be the name of a variable that ends in _API_KEY, never a key"
        )
    return name


Address = Annotated[str, AfterValidator(checked_address)]
KeyVariable = Annotated[str, AfterValidator(checked_variable)]
