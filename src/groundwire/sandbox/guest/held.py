"""Serves one job after the other in a container that is kept, each from the same clean state.

The guest is the first process there: what a job leaves running is ended with it, what it leaves lying is removed. Where
that can't be done for certain, the guest ends, and with it the container.
"""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH101, PTH106, PTH108
from __future__ import annotations

import os
import stat

from groundwire.sandbox.guest import child, keeper, relay, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import cast

    from groundwire.sandbox.guest.wire import Job
else:

    def cast(_: object, value: object) -> object:
        """Stands in for typing's, whose import is slow."""
        return value


WRITABLE = ("/tmp", "/dev/shm")


def serve(requests: int, reports: int, start: Callable[[Job, int, int], None]) -> None:
    """Takes jobs until nobody sends any more.

    Args:
        requests: where jobs come from.
        reports: where frames go.
        start: becomes the command, in the fork; never returns.

    Raises:
        OSError: something that a job left can't be removed.
    """
    while True:
        try:
            job = cast("wire.Job", wire.read_value(requests))
        except EOFError:
            return
        passed_on = relay.Relay(reports, job["output_bytes"])
        stdout, stderr = passed_on.writers
        keeper.keep(job, reports, stdout, stderr, start, passed_on)
        _clean(job)


def _clean(job: Job) -> None:
    # what the command made, only its user may remove
    child.act_as(job["uid"])
    try:
        for folder in (job["box"], *WRITABLE):
            empty(folder)
    finally:
        child.act_as(0)


def empty(folder: str) -> None:
    """Removes all that lies in `folder`, whatever modes it was given.

    Raises:
        OSError: something can't be removed.
    """
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, stat.S_IRWXU)
            empty(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)
