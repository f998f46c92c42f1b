"""What happened, in a browser: runs, episodes, signals, gates and lessons of a ledger (`groundwire view`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.viewer._export import export_episode, export_run
    from groundwire.viewer._guard import new_token
    from groundwire.viewer._ledgers import Ledgers
    from groundwire.viewer._server import make_app

__all__ = ["Ledgers", "export_episode", "export_run", "make_app", "new_token"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Ledgers": "_ledgers",
        "export_episode": "_export",
        "export_run": "_export",
        "make_app": "_server",
        "new_token": "_guard",
    },
)
