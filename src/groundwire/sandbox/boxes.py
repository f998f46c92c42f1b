"""Temporary folders for commands on the host's own file system; all of one process lie in its home."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from groundwire.sandbox.homes import Home, end_survivors, remove_folder
from groundwire.trees import check_path

__all__ = ["Boxes"]


class Boxes:
    """Makes boxes; closes with all that is left of them.

    Args:
        uid: the user that boxes belong to; None: ours.
        folder: where the home is made; None: the folder for temporary files.
    """

    def __init__(self, uid: int | None = None, folder: Path | None = None) -> None:
        self._uid = uid
        self._home = Home(folder)

    @property
    def home(self) -> Path:
        """The folder they lie in."""
        return self._home.path

    @contextmanager
    def box(self, support: Mapping[str, bytes]) -> Generator[str]:
        """A folder with the support files in it, removed afterwards.

        Whoever may still work in it is ended where the command did not come to its proper end.
        """
        box = tempfile.mkdtemp(dir=self.home)
        try:
            if self._uid is not None:
                os.chown(box, self._uid, self._uid)
            for path, content in support.items():
                target = Path(box, "support", check_path(path))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                target.chmod(0o444)
            yield box
        except BaseException:
            end_survivors(box)
            raise
        finally:
            remove_folder(box)

    def close(self) -> None:
        """Removes the home; a second time nothing happens."""
        self._home.close()
