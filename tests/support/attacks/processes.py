"""Reaching other processes, and outliving the command."""

from __future__ import annotations

from pathlib import Path

from attacks.model import NO_FILTER, Attack, Prey
from groundwire.core._sandboxes import ExecResult

__all__ = ["ATTACKS"]


def _harmed(_result: ExecResult, prey: Prey) -> bool:
    return not prey.alive()


def survives(_result: ExecResult, prey: Prey) -> bool:
    """Something with the mark in its command line is still there."""
    return any(_is_marked(int(entry.name), prey) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def survives_on_the_run(_result: ExecResult, prey: Prey) -> bool:
    """The same for one whose number changes all the time, so that a look at all processes misses it."""
    for _ in range(300):
        newest = int(Path("/proc/loadavg").read_text().split()[-1])
        if any(_is_marked(pid, prey) for pid in range(newest - 20, newest + 3)):
            return True
    return False


def _is_marked(pid: int, prey: Prey) -> bool:
    try:
        return prey.mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


_STAYS = (
    "import sys, os, time; os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', '<MARK>'])"
)

ATTACKS = (
    Attack(
        "kills a process of the host",
        "its number means nothing in here, or the signal is refused",
        "import os\nos.kill(<VICTIM>, 9)",
        succeeded=_harmed,
    ),
    Attack(
        "kills it by descriptor",
        "the process can't be opened",
        "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(<VICTIM>), 9)",
        succeeded=_harmed,
    ),
    Attack(
        "stops a process of the host",
        "it goes on",
        "import os\nos.kill(<VICTIM>, 19)",
        succeeded=_harmed,
    ),
    Attack(
        "traces it",
        "tracing is refused",
        "import ctypes\nif ctypes.CDLL(None).ptrace(16, <VICTIM>, 0, 0) == 0: print('BREACH')",
        root=True,
    ),
    Attack(
        "traces its own child",
        "the call itself is refused",
        "import ctypes, os\npid = os.fork()\n"
        "if pid == 0:\n os._exit(7 if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0 else 0)\n"
        "if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7: print('BREACH')",
        undefended=NO_FILTER,
    ),
    Attack(
        "lowers the limits of a process of the host",
        "other processes' limits can't be set",
        "import resource\nresource.prlimit(<VICTIM>, resource.RLIMIT_CORE, (0, 0)); print('BREACH')",
        root=True,
    ),
    Attack(
        "slows a process of the host down",
        "other processes' priorities can't be set",
        "import os\nos.setpriority(os.PRIO_PROCESS, <VICTIM>, 5); print('BREACH')",
        root=True,
    ),
    Attack(
        "a daemon: forks twice and leaves the session",
        "it ends with its command",
        "import os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
        f"  os.close(1); os.close(2); {_STAYS}\n os._exit(0)\nos.wait()",
        succeeded=survives,
    ),
    Attack(
        "a daemon that clears its environment",
        "it ends all the same",
        "import os, sys\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  os.close(1); os.close(2)\n"
        "  os.execve(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', '<MARK>'], {})\n"
        " os._exit(0)\nos.wait()",
        succeeded=survives,
    ),
    Attack(
        "a process that ignores being asked to end",
        "it is killed",
        "import os, signal, subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.pthread_sigmask(0, range(1, 65));"
        " time.sleep(60)', '<MARK>'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)",
        succeeded=survives,
    ),
    Attack(
        "forks faster than it can be killed",
        "the last one ends too",
        "import os, sys, time\n"
        "if os.fork() == 0:\n os.close(1); os.close(2)\n end = time.time() + 1.2\n while time.time() < end:\n"
        "  try:\n   if os.fork(): os._exit(0)\n  except OSError: pass\n  time.sleep(0.001)\n"
        f" {_STAYS}\ntime.sleep(0.2)",
        succeeded=survives,
        limits={"processes": 8},
    ),
    Attack(
        "never stops forking and ending, each in a session of its own",
        "one signal to all of them ends it",
        "import os, sys, time\n"
        "if os.fork() == 0:\n os.close(1); os.close(2)\n end = time.time() + 3\n while time.time() < end:\n"
        "  try:\n   if os.fork(): os._exit(0)\n   os.setsid()\n  except OSError: pass\n"
        " os._exit(0)\ntime.sleep(0.2)  # <MARK>",
        succeeded=survives_on_the_run,
    ),
)
