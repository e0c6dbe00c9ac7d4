"""Where a PostgreSQL store is, and what it means when it can't be opened; no password is shown."""

import re

import psycopg
from psycopg import conninfo

from core.errors import StoreUnreachable
from core.store.postgres_words import one_line

OLDEST, OLDEST_SHOWN = 160000, 16
CONNECT_SECONDS = 10
APPLICATION = "swarm"
OWN_WORDS = ("notify", "connections")
"""Words in the address that are ours and not libpq's."""

_WHY = (
    # What libpq or the server says, and what a person can do about it.
    ("password authentication failed", "the password is wrong; set PGPASSWORD, or use a passfile"),
    ("no password supplied", "it wants a password; set PGPASSWORD, or use a passfile"),
    ('role "', "there is no such user; name another one in the address"),
    ("permission denied", "this user has no right to connect; grant it CONNECT"),
    ("no pg_hba.conf entry", "the server lets nobody in from here as this user; see pg_hba.conf"),
    ("too many clients", "it has no connection left; end some, or raise max_connections"),
    ("remaining connection slots", "it has no connection left; end some, or raise max_connections"),
    ("starting up", "it is starting; try again in a moment"),
    ("shutting down", "it is shutting down; try again when it is back"),
)
_NO_DATABASE = re.compile(r'database "(?P<name>.*)" does not exist')


class PostgresAddress:
    """A URL, or key=value words, as libpq reads them."""

    def __init__(self, url: str) -> None:
        own, rest = _own_words(url)
        try:
            words = conninfo.conninfo_to_dict(rest)
        except psycopg.ProgrammingError as error:
            # The text of this error quotes the address, and with it the password.
            raise StoreUnreachable(
                "postgresql:…", "the address can't be read; like postgresql://user@host/database"
            ) from error.with_traceback(None)
        self.notify = own.get("notify", "on") not in ("off", "false", "0")
        """Off behind a pooler that gives each transaction another session."""
        self.connections = max(2, int(own.get("connections", "8")))
        self._words = {name: str(value) for name, value in words.items() if value is not None}
        self.shown = _shown(self._words)

    def conninfo(self, settings: dict[str, str]) -> str:
        """For a session with these settings; behind a pooler they are set in each transaction."""
        words: dict[str, str] = {
            "application_name": APPLICATION,
            "connect_timeout": str(CONNECT_SECONDS),
            "keepalives_idle": "10",
            "keepalives_interval": "5",
            "keepalives_count": "3",
            "tcp_user_timeout": "30000",
            "client_encoding": "utf8",
            **self._words,
        }
        if self.notify:
            own = " ".join(f"-c {name}={value}" for name, value in settings.items())
            words["options"] = f"{words.get('options', '')} {own}".strip()
        return conninfo.make_conninfo("", **words)

    def refused(self, error: psycopg.Error) -> StoreUnreachable:
        """Why no connection was made, without the words of an address."""
        said = str(error)
        if found := _NO_DATABASE.search(said):
            name = found["name"]
            return StoreUnreachable(
                self.shown, f"there is no database {name!r}; make it, like: createdb {name}"
            )
        for words, why in _WHY:
            if words in said:
                return StoreUnreachable(self.shown, why)
        if error.sqlstate is None and no_server(said):
            return StoreUnreachable(
                self.shown, "no server answers there; is it running, and is the address right?"
            )
        return StoreUnreachable(self.shown, one_line(error).rpartition("failed: ")[2])


def no_server(said: str) -> bool:
    signs = ("refused", "No such file", "timeout", "timed out", "resolve", "unreachable", "closed")
    return any(sign in said for sign in signs)


def _own_words(url: str) -> tuple[dict[str, str], str]:
    """Our words out of an address, and the address without them."""
    place, mark, asked = url.partition("?")
    if not mark or "://" not in place:
        return {}, url
    pairs = [pair.partition("=") for pair in asked.split("&")]
    own = {name: value for name, _, value in pairs if name in OWN_WORDS}
    rest = "&".join("".join(pair) for pair in pairs if pair[0] not in OWN_WORDS)
    return own, f"{place}?{rest}" if rest else place


def _shown(words: dict[str, str]) -> str:
    """The address without what is nobody's business."""
    user = f"{words['user']}@" if "user" in words else ""
    port = f":{words['port']}" if "port" in words else ""
    host = words.get("host", words.get("hostaddr", ""))
    return f"postgresql://{user}{host}{port}/{words.get('dbname', '')}"
