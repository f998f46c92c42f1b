"""Containers that are kept: faster than fresh ones, and as clean."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import docker
import pytest
import pytest_asyncio
from sandboxes_here import opened, own_containers

from groundwire.core._candidates import Tree
from groundwire.core._errors import CandidateError, SandboxCrashed
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, WarmSandbox

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]
MIB = 1 << 20
BASE = Tree({"m.py": b"def f(): return 1\n", "run.sh": b"#!/bin/sh\necho ran\n"}, frozenset({"run.sh"}))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box() -> AsyncIterator[Sandbox]:
    sandbox = await opened("docker")
    yield sandbox
    await sandbox.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def warm(box: Sandbox) -> AsyncIterator[WarmSandbox]:
    held = await box.warm(BASE, support={"plugin.py": b"WORD = 'ours'\n"})
    yield held
    await held.aclose()


async def said(
    warm: WarmSandbox, code: str, changes: dict[str, bytes | None] | None = None, **limits: Any
) -> ExecResult:
    return await warm.run(["-c", code], changes or {}, Limits(**limits))


async def test_a_candidate_is_the_base_with_its_changes(warm: WarmSandbox):
    code = "import m, os, subprocess; print(m.f(), sorted(os.listdir('.')), subprocess.getoutput('./run.sh'))"
    assert (await said(warm, code)).stdout == b"1 ['m.py', 'run.sh'] ran\n"
    changed = await said(warm, code, {"m.py": b"def f(): return 2\n", "n.py": b""})
    assert changed.stdout == b"2 ['m.py', 'n.py', 'run.sh'] ran\n"
    gone = await said(warm, "import os; print(os.listdir('.'))", {"m.py": None})
    assert gone.stdout == b"['run.sh']\n"
    assert (await said(warm, code)).stdout == b"1 ['m.py', 'run.sh'] ran\n"


LEAVINGS = {
    "a file in the work folder": "open('left', 'w').close()",
    "a file in a folder that it locked": "os.makedirs('d/e'); open('d/e/left', 'w').close()\n"
    "os.chmod('d/e', 0); os.chmod('d', 0)",
    "a file in /tmp": "open('/tmp/left', 'w').close()",
    "a file of shared memory": "open('/dev/shm/left', 'w').close()",
    "a background process": "import sys\nif os.fork() == 0:\n os.setsid()\n"
    " if os.fork() == 0: os.execv(sys.executable, ['python3', '-c', 'import time; time.sleep(60) # left'])",
    "an environment variable": "os.environ['left'] = '1'; os.putenv('left', '1')",
    "a changed module": "import m; m.f = lambda: 'left'; open('m.py', 'w').write('def f(): return \"left\"')",
    "System V memory": "import ctypes; ctypes.CDLL(None).shmget(4711, 64, 0o1666)",
}  # fmt: skip
LOOK = """\
import ctypes, glob, os, m
found = [p for place in ('.', '/tmp', '/dev/shm', '/box', os.environ['GROUNDWIRE_OUT'])
         for p, dirs, files in os.walk(place) if 'left' in files]
others = (p for p in glob.glob('/proc/[0-9]*/cmdline') if p.split('/')[2] != str(os.getpid()))
found += [p for p in others if 'left' in open(p).read()]
found += ['variable'] * ('left' in os.environ) + ['module'] * (m.f() != 1)
found += ['memory'] * (ctypes.CDLL(None).shmget(4711, 64, 0) >= 0)
print(found)
"""


@pytest.mark.parametrize("name", LEAVINGS)
async def test_nothing_of_one_candidate_is_seen_by_the_next(warm: WarmSandbox, name: str):
    await said(warm, f"import os\n{LEAVINGS[name]}")
    assert (await said(warm, LOOK)).stdout == b"[]\n"


async def test_one_container_serves_one_candidate_after_the_other(box: Sandbox):
    client: Any = docker.from_env()
    held = await box.warm(Tree())
    try:
        before = {c.id for c in own_containers(client)}
        for _ in range(5):
            assert (await said(held, "print(1)")).stdout == b"1\n"
        assert len({c.id for c in own_containers(client)} - before) == 1
        await asyncio.gather(*(said(held, "import time; time.sleep(0.3)") for _ in range(6)))
        assert len({c.id for c in own_containers(client)} - before) <= 4
        await held.aclose()
        assert {c.id for c in own_containers(client)} <= before
    finally:
        client.close()


async def test_limits_are_each_candidates_own(warm: WarmSandbox):
    hog = await said(warm, "b = bytearray(300 << 20)\nprint('BREACH')", memory_bytes=96 * MIB)
    assert b"BREACH" not in hog.stdout
    late = await said(warm, "import time; time.sleep(60)", wall_s=1)
    assert (late.limit_hit, late.duration_s < 30) == ("wall_s", True)
    flood = await said(warm, "print('x' * 10_000_000)", output_bytes=1000)
    assert (flood.limit_hit, len(flood.stdout)) == ("output_bytes", 1000)
    busy = await said(warm, "n = 0\nfor i in range(3_000_000): n += i")
    idle = await said(warm, "pass")
    assert busy.cpu_s > idle.cpu_s, "CPU seconds are not added up over candidates"
    assert (await said(warm, "import sys; sys.exit(3)")).exit_code == 3


async def test_files_come_back_and_support_is_there_read_only(warm: WarmSandbox):
    code = (
        "import os, sys; sys.path.insert(0, os.environ['GROUNDWIRE_SUPPORT']); import plugin\n"
        "open(os.environ['GROUNDWIRE_OUT'] + '/r', 'w').write(plugin.WORD)\n"
        "try: open(plugin.__file__, 'w'); print('BREACH')\nexcept OSError: pass"
    )
    result = await warm.run(["-c", code], {}, Limits(), collect=["r"])
    assert (result.files, result.stdout) == ({"r": b"ours"}, b"")


async def test_a_tree_that_can_not_be_laid_out_is_the_candidates_fault_alone(warm: WarmSandbox):
    with pytest.raises(CandidateError):
        await said(warm, "pass", {"m.py/x": b""})
    assert (await said(warm, "print(1)")).stdout == b"1\n"


async def test_a_container_that_is_killed_is_replaced(box: Sandbox):
    client: Any = docker.from_env()
    held = await box.warm(Tree())
    try:
        before = {c.id for c in own_containers(client)}
        await said(held, "pass")
        (victim,) = [c for c in own_containers(client) if c.id not in before]
        victim.kill()
        with pytest.raises(SandboxCrashed):
            await said(held, "print(1)")
        assert (await said(held, "print(2)")).stdout == b"2\n"
        await held.aclose()
        assert {c.id for c in own_containers(client)} <= before
    finally:
        client.close()


async def test_a_cancelled_candidate_takes_its_container_with_it(box: Sandbox):
    client: Any = docker.from_env()
    held = await box.warm(Tree())
    try:
        before = {c.id for c in own_containers(client)}
        task = asyncio.create_task(said(held, "import time; time.sleep(60)"))
        for _ in range(200):
            if {c.id for c in own_containers(client)} - before:
                break
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert {c.id for c in own_containers(client)} <= before
    finally:
        await held.aclose()
        client.close()
