"""Runs inside the sandbox: exec()s each program with its tests in this module's own globals, one after the other.

What the executor of Reflexion's published code did: a name that one program leaves behind is there for the next one.
"""

import json
import os
import signal
import sys
from pathlib import Path

SECONDS = 5.0


def _too_long(_signal: int, _frame: object) -> None:
    raise TimeoutError


def _passes(code: str) -> bool:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        exec(code, globals())
    except BaseException:
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return True


def main() -> None:
    """One digit a line for each program, as soon as it is known."""
    signal.signal(signal.SIGPROF, _too_long)
    programs = Path("programs.jsonl").read_text(encoding="utf-8").splitlines()
    out = Path(os.environ["GROUNDWIRE_OUT"]) / "verdicts"
    with out.open("w", encoding="utf-8") as verdicts, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        for line in programs:
            program, test = json.loads(line)
            passed = _passes(f"{program}\n{test}\n")
            verdicts.write(f"{int(passed)}\n")
            verdicts.flush()
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


if __name__ == "__main__":
    main()
