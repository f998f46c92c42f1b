"""Every limit that a sandbox says it holds is held, and the result names it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import get_args

import pytest
from time_enough import with_time_enough

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import Enforcement, ExecResult, LimitName, Limits, Sandbox

Run = Callable[..., Awaitable[ExecResult]]
pytestmark = pytest.mark.asyncio(loop_scope="module")
MIB = 1024 * 1024


async def test_wall_time(run: Run):
    asked: list[float] = []

    async def within(wall_s: float) -> ExecResult:
        asked.append(wall_s)
        return await run("print('partial', flush=True); import time; time.sleep(300)", wall_s=wall_s)

    result = await with_time_enough(1.5, within, lambda result: bool(result.stdout))
    assert result.limit_hit == "wall_s"
    assert result.exit_code is None
    assert result.stdout == b"partial\n"
    assert asked[-1] - 0.1 < result.duration_s < asked[-1] + 30


async def test_wall_time_of_a_command_that_ignores_being_asked(run: Run):
    code = "import signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    result = await run(code, wall_s=1)
    assert result.limit_hit == "wall_s"


async def test_cpu_time(run: Run):
    result = await run("while True: pass", cpu_s=1, wall_s=120)
    assert result.limit_hit == "cpu_s"
    assert result.exit_code is None
    assert 0.5 < result.cpu_s < 10


async def test_cpu_time_of_a_command_that_catches_the_warning(run: Run):
    result = await run(
        "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", cpu_s=1, wall_s=120
    )
    assert result.limit_hit == "cpu_s"


async def test_memory_of_one_process(run: Run):
    result = await run("b = [bytearray(1024 * 1024) for _ in range(2000)]; print('got it')", memory_bytes=128 * MIB)
    assert b"got it" not in result.stdout
    assert result.exit_code != 0
    # a process that is refused the memory ends by itself, and the kernel does not count that
    assert result.limit_hit == "memory_bytes" or b"MemoryError" in result.stderr


async def test_memory_of_all_processes_together(run: Run):
    code = (
        "import os, time\n"
        "for _ in range(8):\n"
        " if os.fork() == 0:\n"
        "  b = bytearray(40 * 1024 * 1024); time.sleep(4); os._exit(0)\n"
        "pids = [os.wait()[1] for _ in range(8)]\n"
        "print('all lived' if not any(pids) else 'some died')"
    )
    result = await run(code, memory_bytes=128 * MIB, wall_s=60)
    assert b"all lived" not in result.stdout
    assert result.limit_hit == "memory_bytes"


async def test_processes(run: Run):
    code = (
        "import os, time\nmade = 0\n"
        "try:\n"
        " for _ in range(200):\n"
        "  if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "  made += 1\n"
        "except OSError: print('refused after', made); os._exit(9)\n"
        "time.sleep(5); print('made', made)"
    )
    result = await run(code, processes=20, wall_s=60)
    assert b"made 200" not in result.stdout
    assert result.exit_code == 9 or result.limit_hit == "processes"


async def test_threads_count_as_processes(run: Run):
    code = (
        "import threading, time\n"
        "ts = [threading.Thread(target=time.sleep, args=(5,), daemon=True) for _ in range(200)]\n"
        "[t.start() for t in ts]; time.sleep(3); print('all started')"
    )
    result = await run(code, processes=20, wall_s=60)
    assert b"all started" not in result.stdout


async def test_as_many_processes_as_the_limit_allows_can_live(run: Run):
    code = (
        "import os, time\n"
        "for _ in range(9):\n"
        " if os.fork() == 0: time.sleep(1); os._exit(0)\n"
        "[os.wait() for _ in range(9)]; print('fine')"
    )
    result = await run(code, processes=10, wall_s=60)
    assert (result.stdout, result.limit_hit) == (b"fine\n", None), result.stderr


async def test_open_files(run: Run):
    code = "fs = []\ntry:\n while True: fs.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(fs) < 50)"
    result = await run(code, open_files=50)
    assert result.stdout == b"24 True\n"


async def test_the_size_of_one_file(run: Run):
    result = await run("open('big', 'wb').write(b'x' * 3_000_000)", file_bytes=1_000_000)
    assert result.exit_code == 1
    assert b"File too large" in result.stderr
    assert result.limit_hit == "file_bytes"


async def test_the_size_of_one_file_of_a_program_that_does_not_look(run: Run):
    code = (
        "import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "os.ftruncate(os.open('big', os.O_RDWR | os.O_CREAT), 2_000_000)"
    )
    result = await run(code, file_bytes=1_000_000)
    assert result.exit_code is None
    assert result.limit_hit == "file_bytes"


async def test_the_whole_disk(run_isolated: Run, isolating: Sandbox):
    # where it is watched, all may be written before the next look, but not much may be done with it
    code = (
        "import os, time\nfor n in range(100): open(f'f{n}', 'wb').write(b'x' * 1_000_000)\n"
        "time.sleep(10); print('all written')"
    )
    result = await run_isolated(code, disk_bytes=8 * MIB)
    assert b"all written" not in result.stdout
    watched = isolating.info.enforcement["disk_bytes"] is Enforcement.WATCHED
    assert watched or b"No space left" in result.stderr
    assert result.limit_hit == "disk_bytes"


async def test_work_folder_and_tmp_share_the_disk(run_isolated: Run, isolating: Sandbox):
    code = (
        "import os\nwritten = 0\n"
        "for folder in ('.', '/tmp', os.environ['TMPDIR'], os.environ['GROUNDWIRE_OUT'], '/var/tmp'):\n"
        " for n in range(100):\n"
        "  try: written += open(f'{folder}/f{n}', 'wb').write(b'x' * 100_000)\n"
        "  except OSError: break\n"
        "print(written)"
    )
    result = await run_isolated(code, disk_bytes=8 * MIB)
    if isolating.info.enforcement["disk_bytes"] is Enforcement.WATCHED:
        assert result.limit_hit == "disk_bytes"
    else:
        assert int(result.stdout) < 10 * MIB


async def test_shared_memory_is_bounded_too(run_isolated: Run):
    code = (
        "n = 0\ntry:\n while True: n += open('/dev/shm/x', 'ab').write(b'x' * 1_000_000)\n"
        "except OSError: print(n < 40_000_000)"
    )
    result = await run_isolated(code, wall_s=30)
    assert result.stdout == b"True\n"


async def test_no_core_is_dumped(run: Run):
    result = await run("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))")
    assert result.stdout == b"(0, 0)\n"


async def test_limits_can_not_be_raised_from_inside(run_isolated: Run):
    code = (
        "import resource as r\n"
        "for k in (r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CORE):\n"
        " try: r.setrlimit(k, (r.RLIM_INFINITY, r.RLIM_INFINITY)); print('raised', k)\n"
        " except (ValueError, OSError): pass"
    )
    result = await run_isolated(code)
    assert (result.exit_code, result.stdout) == (0, b"")


async def test_every_limit_is_declared(sandbox: Sandbox):
    assert set(sandbox.info.enforcement) == set(get_args(LimitName))


async def test_what_isolates_holds_every_limit_but_an_allow_list(isolating: Sandbox):
    assert isolating.info.isolated
    held: set[LimitName] = {
        name for name, how in isolating.info.enforcement.items() if how is not Enforcement.UNAVAILABLE
    }
    assert held | {"allow_list"} == set(get_args(LimitName))
    assert ("allow_list" in held) == (isolating.info.kind == "bubblewrap")
    limits = Limits(required=frozenset(held))
    assert (await isolating.run(["python", "-c", ""], Tree(), limits)).exit_code == 0


async def test_a_required_limit_that_is_not_held_is_an_error(sandbox: Sandbox):
    missing: list[LimitName] = [
        name for name, held in sandbox.info.enforcement.items() if held is Enforcement.UNAVAILABLE
    ]
    if sandbox.info.kind == "subprocess":
        assert set(missing) == {"network", "allow_list"}
    for name in missing:
        with pytest.raises(SandboxUnavailable, match=name):
            await sandbox.run(["python", "-c", ""], Tree(), Limits(required=frozenset({name})))
