"""A program that begins once for many commands: each goes on as if it had begun by itself, and as shut in as ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import ExecResult, HeadStart, Limits, Sandbox, WarmSandbox
from groundwire.sandbox._warm import ForkServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

TREE = Tree(
    {
        "mod.py": b"VALUE = 1\n",
        "fixed.py": b"def f(x):\n    raise ValueError(x)\n",
        "data.txt": b"base",
    }
)
MAY_CHANGE = HeadStart(withheld=("mod.py", "data.txt"))
READY = """
import os
try:
    from groundwire_ready import ready
except ImportError:
    ready = lambda: dict(os.environ)
"""
BEGUN = f"{READY}began = os.getpid()\nenv = ready()\nprint(began != os.getpid())\n"
"""Says whether it has begun in another process."""
PROBE = """
import resource, socket, sys
wanted = ("Cap", "NoN", "Sec", "Uid", "Gid", "SigBlk", "SigIgn")
status = [line for line in open("/proc/self/status") if line.startswith(wanted)]
limits = [resource.getrlimit(k) for k in (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)]
print(status, limits, os.getcwd(), os.umask(0), sorted(os.listdir("/proc/self/fd")), os.listdir("/box"))
print([n for n in os.listdir("/proc") if n.isdigit()], socket.gethostname(), sys.argv, sys.path, sys.flags)
print(sorted(n for n in os.environ if "GROUNDWIRE" not in n), "groundwire_ready" in sys.modules)
try:
    socket.create_connection(("127.0.0.1", 9))
except OSError as error:
    print(error)
"""


@pytest_asyncio.fixture(loop_scope="module")
async def server(bubblewrap: Sandbox) -> AsyncIterator[WarmSandbox]:
    server = await bubblewrap.warm(TREE)
    assert isinstance(server, ForkServer)
    yield server
    await server.aclose()


async def begin(
    server: WarmSandbox,
    code: str,
    changes: Mapping[str, bytes | None] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    limits: Limits | None = None,
) -> ExecResult:
    return await server.run(
        ["-c", code], changes or {}, limits or Limits(), env=env, stdin=stdin, head_start=MAY_CHANGE
    )


async def test_it_begins_once_and_goes_on_in_each_command(server: WarmSandbox) -> None:
    code = f"print('said before', flush=True)\nkept = []\n{BEGUN}kept.append(1)\nimport mod, sys\n"
    code += (
        "print(kept, env['GROUNDWIRE_N'], mod.VALUE, sys.stdin.read(), open('data.txt').read())\nopen('left', 'w')\n"
    )
    code += "print('trouble', file=sys.stderr)\nsys.exit(mod.VALUE)\n"

    async def one(n: int) -> ExecResult:
        changes = {"mod.py": b"VALUE = %d\n" % n, "data.txt": b"data %d" % n}
        return await begin(server, code, changes, env={"GROUNDWIRE_N": str(n)}, stdin=b"in %d" % n)

    for n, found in enumerate(await asyncio.gather(*(one(n) for n in range(6)))):
        assert found.stdout == b"said before\nTrue\n[1] %d %d in %d data %d\n" % (n, n, n, n), found
        assert (found.exit_code, found.stderr) == (n, b"trouble\n")


@pytest.mark.parametrize(
    "does",
    [
        "import mod",
        "import fixed",
        "import importlib\nimportlib.import_module('mod')",
        "try:\n    import mod\nexcept BaseException:\n    pass",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "import subprocess\nsubprocess.Popen(['sleep', '60'])",
        "open('left', 'w').close()",
        "import os\nopen(os.environ['TMPDIR'] + '/left', 'w').close()",
        "1 / 0",
        "raise SystemExit(3)",
        "import os\nos._exit(0)",
    ],
)
async def test_what_is_not_the_same_for_all_has_no_head_start(server: WarmSandbox, does: str) -> None:
    found = await begin(server, f"{does}\n{BEGUN}", {"mod.py": b"print('mine')\n"})
    alone = await server.run(["-c", f"{does}\n{BEGUN}"], {"mod.py": b"print('mine')\n"}, Limits())
    assert b"True" not in found.stdout
    assert (found.exit_code, found.stdout, found.stderr) == (alone.exit_code, alone.stdout, alone.stderr)


async def test_it_is_as_shut_in_as_a_command_that_begins_by_itself(server: WarmSandbox) -> None:
    limits = Limits(cpu_s=7, file_bytes=1 << 20)
    ahead = await begin(server, BEGUN + PROBE, limits=limits)
    alone = await server.run(["-c", BEGUN + PROBE], {}, limits)
    assert ahead.stdout.startswith(b"True\n"), ahead
    assert alone.stdout.startswith(b"False\n")
    assert ahead.stdout.split(b"\n")[1:] == alone.stdout.split(b"\n")[1:]


@pytest.mark.parametrize(
    ("code", "limits", "hit"),
    [
        ("while True: pass", Limits(cpu_s=1), "cpu_s"),
        ("import time; time.sleep(60)", Limits(wall_s=0.5), "wall_s"),
        ("open('big', 'wb').write(b'x' * (8 << 20))", Limits(file_bytes=1 << 20), "file_bytes"),
    ],
)
async def test_limits_hold(server: WarmSandbox, code: str, limits: Limits, hit: str) -> None:
    found = await begin(server, BEGUN + code, limits=limits)
    assert found.limit_hit == hit, found


async def test_other_variables_are_another_beginning(server: WarmSandbox) -> None:
    code = f"{READY}word = os.environ['WORD']\nenv = ready()\nprint(word, env['WORD'], os.environ['WORD'])\n"
    for word in ("one", "two"):
        assert (await begin(server, code, env={"WORD": word})).stdout == f"{word} {word} {word}\n".encode()
    found = await begin(server, BEGUN, env={"PYTHONOPTIMIZE": "2"})
    assert found.stdout == b"False\n"


async def test_a_change_that_stands_in_for_a_module_that_is_loaded_begins_by_itself(server: WarmSandbox) -> None:
    code = f"import quopri\n{BEGUN}print(quopri.__file__)\n"
    assert (await begin(server, code)).stdout.startswith(b"True\n")
    found = await begin(server, code, {"quopri.py": b"print('mine')\n"})
    assert found.stdout == b"mine\nFalse\n/box/work/quopri.py\n"


async def test_code_that_was_compiled_before_is_that_of_the_source(server: WarmSandbox) -> None:
    code = f"{BEGUN}import traceback, mod, fixed\nprint(mod.VALUE, fixed.__file__)\ntry:\n    fixed.f(3)\n"
    code += "except ValueError:\n    traceback.print_exc()\n"
    for changes in ({}, {"mod.py": b"VALUE = 2\n"}, {"mod.py": b"VALUE =\n"}, {"mod.py": b"VALUE = '\\d'\n"}):
        ahead, alone = await begin(server, code, changes), await server.run(["-c", code], changes, Limits())
        assert ahead.stdout.replace(b"True", b"False") == alone.stdout
        assert (ahead.exit_code, ahead.stderr) == (alone.exit_code, alone.stderr)


async def test_no_more_begin_than_there_is_room_for(server: WarmSandbox) -> None:
    for n in range(12):
        found = await begin(server, f"{BEGUN}print({n})\n")
        assert found.stdout.split()[1:] == [b"%d" % n]


async def test_flags_are_those_of_the_server(bubblewrap: Sandbox) -> None:
    server = await bubblewrap.warm(TREE, flags=["-S"])
    code = "import sys; print(sys.flags.no_site, [p for p in sys.path if 'site-packages' in p], 'site' in sys.modules)"
    for changes in ({}, {"os.py": b""}):  # the second gets an interpreter of its own
        assert (await server.run(["-c", code], changes, Limits())).stdout == b"1 [] False\n"
    assert (await begin(server, BEGUN)).stdout == b"True\n"
    await server.aclose()
