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


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, _too_long)
    verdicts = (Path(os.environ["GROUNDWIRE_OUT"]) / "verdicts").open("w", encoding="utf-8")
    sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")
    for line in Path("programs.jsonl").read_text(encoding="utf-8").splitlines():
        program, test = json.loads(line)
        passed = _passes(f"{program}\n{test}\n")
        verdicts.write(f"{int(passed)}\n")
        verdicts.flush()
