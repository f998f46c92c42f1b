"""Taking more than was given: memory, processors, processes, disk, output, time."""

from __future__ import annotations

from attacks.model import Attack, Prey, without
from groundwire.core._sandboxes import ExecResult

__all__ = ["ATTACKS"]

MIB = 1 << 20
PATIENCE = {"wall_s": 30, "cpu_s": 30}


def _took_too_long(result: ExecResult, _prey: Prey) -> bool:
    return result.duration_s > 3 or b"BREACH" in result.stdout


def _flooded(result: ExecResult, _prey: Prey) -> bool:
    return len(result.stdout) > MIB or len(result.stderr) > MIB


def _hit(*names: str):
    def hit(result: ExecResult) -> bool:
        return result.limit_hit in names or any(
            word in result.stderr for word in (b"MemoryError", b"No space left", b"File too large", b"unavailable")
        )

    return hit


ATTACKS = (
    Attack(
        "memory of one process",
        "it ends there, or is refused more",
        "b = bytearray(300 << 20); print('BREACH')",
        undefended=without("memory_bytes", 2048 * MIB),
        limits={"memory_bytes": 96 * MIB, **PATIENCE},
        holds=_hit("memory_bytes"),
    ),
    Attack(
        "memory of many small processes",
        "they are counted together",
        "import os, time\nfor _ in range(6):\n if os.fork() == 0: b = bytearray(40 << 20); time.sleep(1.5); os._exit(0)\n"
        "print('BREACH' if all(os.wait()[1] == 0 for _ in range(6)) else '')",
        undefended=without("memory_bytes", 2048 * MIB),
        limits={"memory_bytes": 96 * MIB, **PATIENCE},
        holds=_hit("memory_bytes"),
    ),
    Attack(
        "memory as a file without a name",
        "it counts as memory",
        "import os\nfd = os.memfd_create('m')\nfor _ in range(40): os.write(fd, bytes(8 << 20))\nprint('BREACH')",
        undefended=without("memory_bytes", 2048 * MIB),
        limits={"memory_bytes": 96 * MIB, "file_bytes": 2048 * MIB, **PATIENCE},
        holds=_hit("memory_bytes", "file_bytes"),
    ),
    Attack(
        "memory mapped and shared",
        "it counts as memory",
        "import mmap\nm = mmap.mmap(-1, 300 << 20)\nfor i in range(0, 300 << 20, 4096): m[i] = 1\nprint('BREACH')",
        undefended=without("memory_bytes", 2048 * MIB),
        limits={"memory_bytes": 96 * MIB, **PATIENCE},
        holds=_hit("memory_bytes"),
    ),
    Attack(
        "processes without end",
        "no more than were given",
        "import os, time\nn = 0\nfor _ in range(60):\n try:\n  if os.fork() == 0: time.sleep(2); os._exit(0)\n"
        "  n += 1\n except OSError: break\nprint('BREACH' if n > 50 else n)",
        undefended=without("processes", 200),
        limits={"processes": 20, **PATIENCE},
    ),
    Attack(
        "threads without end",
        "threads count as processes",
        "import threading, time\nn = 0\nfor _ in range(60):\n"
        " try: threading.Thread(target=time.sleep, args=(1,)).start(); n += 1\n"
        " except RuntimeError: break\nprint('BREACH' if n > 50 else n)",
        undefended=without("processes", 200),
        limits={"processes": 20, **PATIENCE},
    ),
    Attack(
        "descriptors without end",
        "no more than were given",
        "import os\nkept = []\ntry:\n while len(kept) < 400: kept.append(os.dup(0))\nexcept OSError: pass\n"
        "print('BREACH' if len(kept) >= 400 else len(kept))",
        undefended=without("open_files", 1000),
        limits={"open_files": 64, **PATIENCE},
    ),
    Attack(
        "raises its own limits again",
        "what was lowered stays low",
        "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (1, 1)); print('BREACH')",
        root=True,
    ),
    Attack(
        "one file that grows",
        "no file grows beyond its limit",
        "f = open('big', 'wb')\nfor _ in range(30): f.write(bytes(1 << 20))\nf.flush(); print('BREACH')",
        undefended=without("file_bytes", 256 * MIB),
        limits={"file_bytes": 4 * MIB, **PATIENCE},
        holds=_hit("file_bytes"),
    ),
    Attack(
        "many files",
        "all together stay within the disk",
        "import time\nfor n in range(60): open(f'f{n}', 'wb').write(bytes(1 << 20))\ntime.sleep(0.3); print('BREACH')",
        undefended=without("disk_bytes", 512 * MIB),
        limits={"disk_bytes": 16 * MIB, **PATIENCE},
        holds=_hit("disk_bytes"),
    ),
    Attack(
        "a bomb in an archive",
        "unpacked it does not fit either",
        "import io, time, zipfile\nb = io.BytesIO()\nwith zipfile.ZipFile(b, 'w', zipfile.ZIP_DEFLATED) as z:\n"
        " for n in range(60): z.writestr(f'{n}', bytes(1 << 20))\n"
        "zipfile.ZipFile(b).extractall('out'); time.sleep(0.3); print('BREACH')",
        undefended=without("disk_bytes", 512 * MIB),
        limits={"disk_bytes": 16 * MIB, **PATIENCE},
        holds=_hit("disk_bytes"),
    ),
    Attack(
        "files of shared memory",
        "they are bounded too",
        "n = 0\nwith open('/dev/shm/<MARK>', 'wb') as f:\n for _ in range(100): n += f.write(bytes(1 << 20))\n"
        "f.close()\nprint('BREACH')",
        undefended="bare",
        limits={"memory_bytes": 512 * MIB, **PATIENCE},
    ),
    Attack(
        "a flood of output",
        "head and tail are kept, the rest is counted",
        "import sys\nfor _ in range(40): sys.stdout.write('x' * (1 << 20))",
        undefended=without("output_bytes", 64 * MIB),
        succeeded=_flooded,
        limits={"output_bytes": 64 * 1024, **PATIENCE},
        holds=lambda result: result.stdout_cut > 30 * MIB and result.limit_hit == "output_bytes",
    ),
    Attack(
        "a flood of errors",
        "the same for the other stream",
        "import sys\nfor _ in range(40): sys.stderr.write('x' * (1 << 20))",
        undefended=without("output_bytes", 64 * MIB),
        succeeded=_flooded,
        limits={"output_bytes": 64 * 1024, **PATIENCE},
        holds=lambda result: result.stderr_cut > 30 * MIB,
    ),
    Attack(
        "computes for ever",
        "its CPU seconds end it",
        "import time\nend = time.process_time() + 3.5\nwhile time.process_time() < end: pass\nprint('BREACH')",
        undefended=without("cpu_s", 30),
        limits={"cpu_s": 1, "wall_s": 30},
        holds=lambda result: result.limit_hit == "cpu_s",
    ),
    Attack(
        "sleeps for ever, deaf to signals",
        "its wall seconds end it",
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); time.sleep(3.5); print('BREACH')",
        undefended=without("wall_s", 30),
        succeeded=_took_too_long,
        limits={"wall_s": 1},
        holds=lambda result: result.limit_hit == "wall_s",
    ),
    Attack(
        "sleeps in a process that left the session",
        "the deadline is the whole tree's",
        "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(3.5); print('BREACH', flush=True); os._exit(0)\nos.wait()",
        undefended=without("wall_s", 30),
        succeeded=_took_too_long,
        limits={"wall_s": 1},
        holds=lambda result: result.limit_hit == "wall_s",
    ),
    Attack(
        "stops itself",
        "a stopped process is ended too",
        "import os, signal, time\nif os.fork() == 0: time.sleep(3.5); os.kill(os.getppid(), signal.SIGCONT); os._exit(0)\n"
        "os.kill(os.getpid(), signal.SIGSTOP); print('BREACH')",
        undefended=without("wall_s", 30),
        succeeded=_took_too_long,
        limits={"wall_s": 1},
        holds=lambda result: result.limit_hit == "wall_s",
    ),
)  # fmt: skip
