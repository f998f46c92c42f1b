"""`groundwire view`: the viewer's server on this machine, or one file."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import webbrowser
from collections.abc import Generator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from groundwire.cli._finding import store_without_memory
from groundwire.cli._loopback import HOST, listener_on
from groundwire.cli._repair import open_store
from groundwire.core._errors import ConfigError
from groundwire.core._settings import Settings
from groundwire.core._text import plain

if TYPE_CHECKING:
    from groundwire.viewer import Ledgers


def serve(prefix: str | None, flags: Mapping[str, Any], *, port: int, read_only: bool, opens: bool) -> int:
    """Serves the viewer until it is interrupted.

    Args:
        prefix: the run that the address leads to; None: the list of runs.
        flags: where the ledger is.
        port: on this machine; 0: any that is free.
        read_only: refuse to write anything.
        opens: open a browser too.

    Returns:
        0.

    Raises:
        ConfigError: the port is taken, or the extra `view` is not installed.
        RecordNotFound: there is no such run.
    """
    try:
        import uvicorn

        from groundwire.viewer import make_app, new_token
    except ImportError as error:
        raise _missing(error) from error
    settings = Settings.resolve(flags)
    page = asyncio.run(_page_of(settings, prefix)) if prefix else "/"
    listener = listener_on(port)
    token = new_token()
    address = f"http://{HOST}:{listener.getsockname()[1]}{page}?token={token}"
    console = Console(highlight=False)
    console.print(Text(f"view: {address}"), soft_wrap=True)
    console.print(Text("Only this machine is answered, and only who knows the address. Ctrl-C ends it.", style="dim"))
    sys.stdout.flush()
    if opens:
        webbrowser.open(address)
    ledgers = _ledgers(settings, read_only=read_only)

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            ledgers.is_leaving = True  # the event stream of an open page never ends by itself
            super().handle_exit(sig, frame)

    app = make_app(ledgers, token=token)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, ws="none")
    Server(config).run(sockets=[listener])
    return 0


@contextmanager
def shown_in_a_browser(settings: Settings, *, wanted: bool) -> Generator[None]:
    """Serves the viewer beside a run, from a process of its own, as long as the block lasts; its address is printed to
    standard error.

    Args:
        settings: of the run.
        wanted: False: nothing is done.

    Raises:
        ConfigError: it could not be started; the message says why.
    """
    if not wanted:
        yield
        return
    named = {"GROUNDWIRE_DB": settings.db, "GROUNDWIRE_NAMESPACE": settings.namespace}
    # by its environment, since an address of PostgreSQL may hold a password, and command lines are seen by all
    process = subprocess.Popen(
        [sys.executable, "-m", "groundwire", "view"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **{name: value for name, value in named.items() if value}},
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        if not said.startswith("view: "):
            rest = process.stdout.read().strip()
            raise ConfigError(plain(said.removeprefix("error: "), limit=400), do=plain(rest, limit=400))
        Console(stderr=True, highlight=False).print(Text(said), soft_wrap=True)
        yield
    finally:
        process.terminate()
        process.communicate()


def export_to(path: Path, prefix: str | None, flags: Mapping[str, Any]) -> int:
    """Writes a run to one HTML file.

    Returns:
        0.

    Raises:
        ConfigError: no run is named, the file can't be written, or the extra `view` is not installed.
        RecordNotFound: there is no such run.
    """
    if not prefix:
        raise ConfigError("No run is named.", do="List them:  groundwire show")
    text = asyncio.run(_exported(Settings.resolve(flags), prefix))
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}.", do="Name another file.") from error
    Console(highlight=False).print(Text(f"page: {path}  {len(text) / 1e6:.1f} MB"), soft_wrap=True)
    return 0


async def _exported(settings: Settings, prefix: str) -> str:
    try:
        from groundwire.viewer import export_run
    except ImportError as error:
        raise _missing(error) from error
    async with aclosing(_ledgers(settings, read_only=True)) as ledgers:
        run, _ = await ledgers.run(prefix)
        outcomes = await ledgers.outcomes(run.id)
        async with aclosing(await ledgers.episode_and_way(episode) for _, _, episode, _ in outcomes) as shown:
            return await export_run(run, shown)


async def _page_of(settings: Settings, prefix: str) -> str:
    async with aclosing(_ledgers(settings, read_only=True)) as ledgers:
        run, _ = await ledgers.run(prefix)
        return f"/run/{run.id}"


def _ledgers(settings: Settings, *, read_only: bool) -> Ledgers:
    try:
        from groundwire.viewer import Ledgers
    except ImportError as error:
        raise _missing(error) from error
    stores = [open_store(settings), store_without_memory(settings)]
    return Ledgers(stores, read_only=read_only or any(store.is_archive for store in stores))


def _missing(error: ImportError) -> ConfigError:
    return ConfigError(f"The viewer needs {error.name}.", do='pip install "groundwire[view]"')
