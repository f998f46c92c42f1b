"""Runs `groundwire ARGUMENTS` in this process and writes what it cost and loaded.

That is when it ends, or at its first line that begins with "baseline", which comes right after the baseline was judged.
Nothing in the product knows of it: it watches standard output.

    python bench/startup_probe.py OUT ARGUMENTS...

OUT gets JSON: `cpu_s`, user and system seconds of this process alone (not of what runs in the sandbox), `modules`, and
`code`, the exit code, or null where it was stopped at the baseline.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
from pathlib import Path


def tell(out: Path, code: int | None) -> None:
    """Writes what there is to say."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = {"cpu_s": used.ru_utime + used.ru_stime, "modules": sorted(sys.modules), "code": code}
    out.write_text(json.dumps(found), encoding="utf-8")


class Watched(io.TextIOWrapper):
    """Standard output, up to the first line that says baseline."""

    out: Path

    def write(self, text: str, /) -> int:
        """As a stream does; here the process may end."""
        if "\nbaseline " in f"\n{text}":
            self.flush()
            tell(self.out, None)
            os._exit(0)
        return super().write(text)


def main() -> None:
    """Runs the program."""
    out = Path(sys.argv[1])
    sys.stdout = watched = Watched(sys.stdout.buffer, encoding="utf-8", line_buffering=True)
    watched.out = out
    sys.argv = ["groundwire", *sys.argv[2:]]
    from groundwire.cli import main as program

    try:
        program()
    except SystemExit as end:
        tell(out, end.code if isinstance(end.code, int) else int(bool(end.code)))
        raise


if __name__ == "__main__":
    main()
