"""However a command ends, nothing of it is left: no process, no file, no descriptor, no container."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from processes import marked, open_files

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxError
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox
from groundwire.sandbox import open_sandbox

Run = Callable[..., Awaitable[ExecResult]]
pytestmark = pytest.mark.asyncio(loop_scope="module")

# a child in a session of its own, twice removed from its parent, deaf to requests, with closed streams
SURVIVOR = """
import os, signal, sys, time
def leave():
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    for s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)
    for fd in range(3): os.close(fd)
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", MARK])
"""
# the same without an environment that could tell whose it is, and one after the other for as long as it may
UNKNOWN = SURVIVOR.replace("os.execv(", "os.execve(").replace("MARK])", "MARK], {})")
CANCELS = int(os.environ.get("GROUNDWIRE_TEST_CANCELS", "9"))
"""Of each kind of sandbox; 200 in the soak."""


def children() -> set[str]:
    """Children of this process, zombies too."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        found.update((task / "children").read_text().split())
    return found


def descriptors() -> int:
    """Open descriptors of this process, without connections to Docker, which are kept to be used again."""
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            name = str(entry.readlink())
            if name.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(entry.name))) as opened:
                    count += "docker" not in str(opened.getpeername())
            else:
                count += 1
        except OSError:
            continue
    return count


def boxes() -> set[str]:
    """Temporary folders of this process, and what lies in them; others work on this machine too."""
    homes = {file.parent for file in open_files() if file.parent.name.startswith("groundwire-boxes-")}
    return {str(path) for home in homes for path in (home, *home.iterdir())}


async def is_as(before: tuple[set[str], int, set[str]]) -> bool:
    """Whether there is no more of ours than before, after a moment in which our own threads may finish."""
    for _ in range(600):
        now = (children(), descriptors(), boxes())
        if now[0] <= before[0] and now[1] <= before[1] and now[2] <= before[2]:
            return True
        await asyncio.sleep(0.05)
    return False


async def settled(mark: str) -> list[int]:
    """Who is alive after a moment in which the kernel may finish."""
    for _ in range(600):
        if not marked(mark):
            return []
        await asyncio.sleep(0.05)
    return marked(mark)


async def test_survivors_die_with_a_command_that_ends(run: Run):
    mark = uuid.uuid4().hex
    result = await run(f"MARK = {mark!r}\n{SURVIVOR}\nleave(); leave(); time.sleep(0.5); print('done')")
    assert result.stdout == b"done\n", result.stderr
    assert await settled(mark) == []


async def test_survivors_die_at_the_deadline(run: Run):
    mark = uuid.uuid4().hex
    result = await run(f"MARK = {mark!r}\n{SURVIVOR}\nleave(); leave()\ntime.sleep(60)", wall_s=1.5)
    assert result.limit_hit == "wall_s"
    assert await settled(mark) == []


async def test_a_survivor_that_holds_the_output_does_not_hold_us(run: Run):
    code = "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(300)\nprint('parent')"
    result = await run(code, wall_s=30)
    assert (result.stdout, result.limit_hit) == (b"parent\n", None)


async def test_a_fork_bomb_ends(run: Run):
    code = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    result = await run(code, wall_s=1, processes=32)
    assert result.limit_hit in ("wall_s", "processes")


async def test_cancelling_leaves_nothing(sandbox: Sandbox):
    mark = uuid.uuid4().hex
    code = f"MARK = {mark!r}\n{SURVIVOR}\nleave(); time.sleep(300)"
    await sandbox.run(["python", "-c", ""], Tree(), Limits())
    before = (children(), descriptors(), boxes())
    for delay in (0.0, 0.01, 0.05, 0.3, 1.5):
        task = asyncio.create_task(sandbox.run(["python", "-c", code], Tree(), Limits()))
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await settled(mark) == []
    assert await is_as(before)


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "subprocess"])
async def test_cancelling_at_any_moment_leaves_nothing(kind: str):
    """While it starts, between two forks, in the middle of an exec; three at once, on whatever is used again."""
    box = await open_sandbox(kind)
    moment = random.Random(f"7:{kind}")
    marks = [f"mark-{os.getpid()}-{kind}-{turn}-{moment.getrandbits(32):x}" for turn in range(CANCELS)]
    at_once = asyncio.Semaphore(3)

    async def cancelled(mark: str, delay: float) -> None:
        code = f"MARK = {mark!r}\n{UNKNOWN}\nfor _ in range(20): leave()\ntime.sleep(300)"
        async with at_once:
            task = asyncio.create_task(box.run(["python", "-c", code], Tree(), Limits()))
            await asyncio.sleep(delay)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await settled(mark) == []

    delays = [moment.uniform(0, moment.choice((0.02, 0.2, 0.6))) for _ in marks]
    await asyncio.gather(*map(cancelled, marks, delays))
    assert (await box.run(["python", "-c", "print(1)"], Tree(), Limits(processes=1))).stdout == b"1\n"
    home = boxes()
    await box.aclose()
    assert [mark for mark in marks if marked(mark)] == []
    assert waiting_launchers(home - boxes()) == []


def waiting_launchers(homes: set[str]) -> list[int]:
    """Launchers of these homes that nobody is left to end."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_bytes() == b"bwrap\n":
                held = {str(fd.readlink()) for fd in (entry / "fd").iterdir()}
                if any(path.startswith(f"{home}/") for home in homes for path in held):
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


async def test_many_runs_leave_nothing(sandbox: Sandbox):
    count = 10 if sandbox.info.kind == "docker" else 60
    await asyncio.gather(*(sandbox.run(["python", "-c", ""], Tree(), Limits()) for _ in range(4)))
    before = (children(), descriptors(), boxes())
    await asyncio.gather(*(sandbox.run(["python", "-c", "1/0"], Tree({"a": b"x"}), Limits()) for _ in range(count)))
    assert await is_as(before)


async def test_a_folder_that_was_locked_is_removed(run: Run):
    before = boxes()
    await run("import os; os.makedirs('a/b'); open('a/b/c', 'w'); os.chmod('a/b', 0); os.chmod('a', 0)")
    assert boxes() == before


async def test_a_killed_keeper_of_a_plain_subprocess_leaves_nothing():
    mark = uuid.uuid4().hex
    box = await open_sandbox("subprocess")
    code = f"MARK = {mark!r}\n{SURVIVOR}\nleave(); time.sleep(0.5); os.kill(os.getppid(), 9); time.sleep(300)"
    with pytest.raises(SandboxError):
        await box.run(["python", "-c", code], Tree(), Limits())
    assert await settled(mark) == []
    assert (await box.run(["python", "-c", "print(2)"], Tree(), Limits())).stdout == b"2\n"
    await box.aclose()


async def test_killing_groundwire_ends_what_runs_in_it(tmp_path: Path):
    for kind in ("bubblewrap", "subprocess"):
        mark = uuid.uuid4().hex
        code = f"{SURVIVOR}\nleave(); time.sleep(300)"
        script = f"""
import asyncio, os
from groundwire.core._sandboxes import Limits
from groundwire.sandbox import open_sandbox
from groundwire.core._candidates import Tree
async def main():
    box = await open_sandbox({kind!r})
    print("open", flush=True)
    code = f"MARK = {{os.environ['MARK']!r}}\\n" + {code!r}
    await box.run(["python", "-c", code], Tree(), Limits())
asyncio.run(main())
"""
        told = {**os.environ, "MARK": mark}  # on nobody's command line but the command's
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=told) as host:  # noqa: ASYNC220
            assert host.stdout is not None
            assert host.stdout.readline() == b"open\n"
            for _ in range(2400):
                if marked(mark):
                    break
                await asyncio.sleep(0.05)
            assert marked(mark)
            host.send_signal(signal.SIGKILL)
        assert await settled(mark) == []
