"""A fork server does what a fresh interpreter does, faster, and no command sees another."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from time_enough import with_time_enough

from groundwire.core._candidates import Tree
from groundwire.core._errors import CandidateError, ConfigError, SandboxCrashed
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, WarmSandbox
from groundwire.sandbox import open_sandbox
from groundwire.sandbox._bwrap_launch import find_bwrap
from groundwire.sandbox._warm import ColdForks, ForkServer
from groundwire.sandbox.guest.watch import GONE, descendants, stat

pytestmark = pytest.mark.asyncio(loop_scope="module")

TREE = Tree(
    {
        "lib.py": b"VALUE = 1\ndef double(x):\n    return 2 * x\n",
        "test_lib.py": b"import lib\ndef test_double():\n    assert lib.double(2) == 4\n",
        "pkg/__init__.py": b"",
        "pkg/__main__.py": b"import sys; print('main of', __name__, __package__, sys.argv[1:])",
        "script.py": b"import sys; print(__name__, __file__, sys.argv, sys.path[0], __spec__)",
        "tool/run.py": b"import sys, os; sys.exit(7)",
        "data.txt": b"base",
    }
)
SUPPORT = {"plugin.py": b"SEEN = []\n"}
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
PLAIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
MIB = 1024 * 1024
ADDRESS = re.compile("0x[0-9a-f]+")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def warm(bubblewrap: Sandbox) -> AsyncIterator[WarmSandbox]:
    """A fork server with pytest loaded."""
    server = await bubblewrap.warm(TREE, preload=["pytest"], support=SUPPORT)
    assert isinstance(server, ForkServer)
    yield server
    await server.aclose()


async def python(
    warm: WarmSandbox, code: str, changes: Mapping[str, bytes | None] | None = None, limits: Limits | None = None
) -> ExecResult:
    return await warm.run(["-c", code], changes or {}, limits or Limits())


# What it does is what `python` does.

SAME = {
    "print": ["-c", "print('out'); import sys; print('err', file=sys.stderr)"],
    "exit with a number": ["-c", "import sys; sys.exit(3)"],
    "exit with a large number": ["-c", "import sys; sys.exit(256 + 4)"],
    "exit with a text": ["-c", "import sys; sys.exit('why')"],
    "exit with nothing": ["-c", "raise SystemExit"],
    "exit at once": ["-c", "import os; print('lost', end=''); os._exit(9)"],
    "an exception": ["-c", "def f():\n    1 / 0\nf()"],
    "chained exceptions": ["-c", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError(1) from e"],
    "a syntax error": ["-c", "def f(:\n  pass"],
    "an interrupt": ["-c", "raise KeyboardInterrupt"],
    "an interrupt from outside": ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('no')"],
    "handlers of signals": ["-c", "import signal as s; print([s.getsignal(n) for n in (2, 13, 15, 17, 25)])"],
    "a signal": ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)"],
    "an abort": ["-c", "import os; os.abort()"],
    "exit handlers": ["-c", "import atexit; atexit.register(print, 'bye'); print('hi')"],
    "a failing exit handler": ["-c", "import atexit\n@atexit.register\ndef f(): 1 / 0"],
    "threads are waited for": ["-c", "import threading, time; threading.Timer(0.2, print, ['late']).start()"],
    "a script": ["script.py", "a", "b"],
    "a script in a folder": ["tool/run.py"],
    "a script that fails": ["fail.py"],
    "a script that is no Python": ["data.txt"],
    "a script that is missing": ["missing.py"],
    "a package": ["-m", "pkg", "x", "-y"],
    "a module that is missing": ["-m", "no_such_module"],
    "the path": ["-c", "import sys; print(sys.path, sys.argv, sys.orig_argv[1:], sys.executable, sys.prefix)"],
    "the path of a module": ["-m", "path"],
    "the flags": ["-c", "import sys; print(sys.flags, sys.warnoptions, sys.dont_write_bytecode, hash('x'))"],
    "the streams": [
        "-c",
        "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr):\n"
        " print(s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.isatty(), s.newlines)",
    ],
    "the environment": ["-c", "import os; print(sorted(os.environ.items()))"],
    "the user": ["-c", "import os; print(os.getuid(), os.getgid(), os.getcwd(), os.umask(0))"],
    "the limits": ["-c", "import resource as r; print([r.getrlimit(k) for k in (r.RLIMIT_CPU, r.RLIMIT_FSIZE, 7)])"],
    "the privileges": [
        "-c",
        "print([l for l in open('/proc/self/status') if l[:3] in ('Cap', 'NoN', 'Sec')])",
    ],
    "signals": ["-c", "print([l for l in open('/proc/self/status') if l.startswith('Sig') and l[3] in 'BI'])"],
    "options of the interpreter": ["-O", "-c", "print(__debug__)"],
    "a script from stdin": ["-"],
    "a child": ["-c", "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(5)']).returncode)"],
    "a pool": [
        "-c",
        "import multiprocessing as m\nif __name__ == '__main__':\n"
        " with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    ],
    "main is a module of its own": ["-c", "import __main__; x = 5; print(__main__.x, sorted(vars(__main__)))"],
    "a module of the tree": ["-c", "import lib; print(lib.__file__, lib.double(4))"],
    "an unwritable stdout": ["-c", "import os; os.close(1); print('x')"],
}


@pytest.mark.parametrize("what", SAME)
async def test_it_does_what_a_fresh_interpreter_does(bubblewrap: Sandbox, warm: WarmSandbox, what: str):
    changes = {"path.py": b"import sys; print(sys.path, sys.argv)", "fail.py": b"def f():\n    1 / 0\n\nf()\n"}
    arguments = SAME[what]
    fresh = await bubblewrap.run(["python", *arguments], TREE.with_changes(changes), Limits(), support=SUPPORT)
    forked = await warm.run(arguments, changes, Limits())
    assert (forked.exit_code, forked.signal, forked.limit_hit) == (fresh.exit_code, fresh.signal, fresh.limit_hit)
    assert forked.stdout.decode() == fresh.stdout.decode()
    assert ADDRESS.sub("0x", forked.stderr.decode()) == ADDRESS.sub("0x", fresh.stderr.decode())


async def test_pytest_runs(warm: WarmSandbox):
    good = await warm.run(PYTEST, {}, Limits(), env=PLAIN)
    bad = await warm.run(PYTEST, {"lib.py": b"def double(x):\n    return x\n"}, Limits(), env=PLAIN)
    assert (good.exit_code, bad.exit_code) == (0, 1), good.stderr
    assert b"1 passed" in good.stdout
    assert b"assert 2 == 4" in bad.stdout


async def test_changes_replace_add_and_delete(warm: WarmSandbox):
    code = (
        "import os; print(sorted(os.path.relpath(os.path.join(d, f), '.') for d, _, fs in os.walk('.') for f in fs));"
        "print(os.path.isdir('pkg'), open('data.txt').read())"
    )
    changes = {"pkg/__init__.py": None, "pkg/__main__.py": None, "data.txt": b"new", "a/b.py": b"", "absent.txt": None}
    result = await python(warm, code, changes)
    expected = sorted([p for p in TREE.files if not p.startswith("pkg/")] + ["a/b.py"])
    assert result.stdout.decode() == f"{expected}\nFalse new\n"


async def test_support_and_collected_files(warm: WarmSandbox):
    code = "import os; o = os.environ; open(o['GROUNDWIRE_OUT'] + '/r', 'w').write(o['GROUNDWIRE_SUPPORT'] + o['X'])"
    result = await warm.run(["-c", code], {}, Limits(), env={"X": "!"}, collect=["r", "s"])
    assert result.files == {"r": b"/support!"}


async def test_a_path_that_leads_out_is_refused(warm: WarmSandbox):
    for path in ("../x", "/x", "a/../../x"):
        with pytest.raises(CandidateError):
            await warm.run(["-c", ""], {path: b""}, Limits())
    with pytest.raises(CandidateError, match="laid out"):
        await warm.run(["-c", ""], {"data.txt/x": b""}, Limits())
    with pytest.raises(ConfigError):
        await warm.run([], {}, Limits())


# Nothing of one command is seen by another.


async def test_a_file_is_not_seen(warm: WarmSandbox):
    places = (
        "new.txt",
        "data.txt",
        "/box/tmp/new.txt",
        "/dev/shm/new.txt",
        "/box/out/new.txt",
        "/box/new.txt",
        "pkg/x.py",
    )
    await python(warm, f"for p in {places}: open(p, 'w').write('left')")
    result = await python(
        warm, f"import os; print([p for p in {places} if os.path.exists(p)], open('data.txt').read())"
    )
    assert result.stdout == b"['data.txt'] base\n"


async def test_the_base_can_not_be_changed(warm: WarmSandbox):
    result = await python(warm, "import os\ntry: open('/base/data.txt', 'w')\nexcept OSError as e: print(e.errno)")
    assert result.stdout == b"30\n"
    assert (await python(warm, "import os; print(os.listdir('/support'))")).stdout == b"['plugin.py']\n"


async def test_an_environment_variable_is_not_seen(warm: WarmSandbox):
    await warm.run(["-c", "import os; os.environ['LEFT'] = '1'; os.putenv('LEFT2', '1')"], {}, Limits(), env={"E": "1"})
    result = await python(warm, "import os; print([k for k in os.environ if 'LEFT' in k or k == 'E'])")
    assert result.stdout == b"[]\n"


async def test_a_change_of_a_module_is_not_seen(warm: WarmSandbox):
    code = (
        "import builtins, sys, json, lib, pytest, warnings; builtins.len = None; json.dumps = None; lib.VALUE = 9\n"
        "sys.path.append('/evil'); sys.modules['os'].sep = '!'; pytest.main = None; sys.setrecursionlimit(77)\n"
        "warnings.simplefilter('error'); sys.modules['injected'] = json; print('changed')"
    )
    assert (await python(warm, code)).stdout == b"changed\n"
    code = (
        "import sys, json, os, lib, pytest; print(len('x'), json.dumps(1), lib.VALUE, '/evil' in sys.path, os.sep,"
        "pytest.main is None, sys.getrecursionlimit(), 'injected' in sys.modules)"
    )
    assert (await python(warm, code)).stdout == b"1 1 1 False / False 1000 False\n"


async def test_a_module_of_the_tree_is_read_anew(warm: WarmSandbox):
    for value in (b"5", b"6", b"7"):  # same size, same second: what a stale .pyc would be trusted for
        result = await python(warm, "import lib; print(lib.VALUE)", {"lib.py": b"VALUE = " + value})
        assert result.stdout == value + b"\n"
    assert (await python(warm, "import lib; print(lib.VALUE)")).stdout == b"1\n"


async def test_written_bytecode_is_not_seen(warm: WarmSandbox):
    code = "import sys, py_compile; sys.dont_write_bytecode = False; py_compile.compile('lib.py'); import lib, pkg"
    await python(warm, code, {"lib.py": b"VALUE = 666"})
    result = await python(warm, "import os, lib; print(lib.VALUE, os.path.exists('__pycache__'))")
    assert result.stdout == b"1 False\n"


async def test_a_background_process_is_not_seen(warm: WarmSandbox):
    code = (
        "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
        "  while True:\n   time.sleep(0.01); open('/box/tmp/still-here', 'w')\n os._exit(0)\ntime.sleep(0.1)"
    )
    await python(warm, code)
    code = (
        "import os, time; time.sleep(0.2)\n"
        "print(os.path.exists('/box/tmp/still-here'), [p for p in os.listdir('/proc') if p.isdigit()])"
    )
    assert (await python(warm, code)).stdout == b"False ['1', '2']\n"


async def test_commands_at_the_same_time_can_not_meet(warm: WarmSandbox):
    listen = (
        "import os, socket, time\n"
        "s = socket.create_server(('127.0.0.1', 45454))\n"
        "u = socket.socket(socket.AF_UNIX); u.bind('\\0gw'); u.listen()\n"
        "open('/box/tmp/mark', 'w'); open('/dev/shm/mark', 'w'); m, p = os.openpty(); time.sleep(1.5)\n"
        "print(os.ttyname(p))"
    )
    look = (
        "import os, socket, time; time.sleep(0.7)\n"
        "for f, a in ((socket.AF_INET, ('127.0.0.1', 45454)), (socket.AF_UNIX, '\\0gw')):\n"
        " try: socket.socket(f).connect(a); print('met')\n"
        " except OSError: pass\n"
        "print([p for p in os.listdir('/proc') if p.isdigit()], os.path.exists('/box/tmp/mark'),"
        " os.listdir('/dev/shm'), [p for p in os.listdir('/dev/pts') if p.isdigit()])\n"
        "try: os.kill(-1, 9)\n"
        "except OSError: pass"
    )
    first, second = await asyncio.gather(python(warm, listen), python(warm, look))
    assert second.stdout == b"['1', '2'] False [] []\n", second.stderr
    assert (first.exit_code, first.stdout) == (0, b"/dev/pts/0\n"), first.stderr


async def test_a_command_can_not_reach_the_server(warm: WarmSandbox):
    code = (
        "import os\n"
        "try: os.kill(1, 9)\nexcept OSError: pass\n"
        "for f in os.listdir('/proc/self/fd'):\n"
        " if int(f) > 2:\n"
        "  try: print(os.readlink(f'/proc/self/fd/{f}'))\n"
        "  except OSError: pass\n"
        "for p in ('mem', 'environ', 'fd', 'maps', 'root', 'cwd'):\n"
        " try:\n"
        "  os.listdir(f'/proc/1/{p}') if p in ('fd', 'root', 'cwd') else open(f'/proc/1/{p}', 'rb').read(1)\n"
        "  print('read', p)\n"
        " except OSError: pass"
    )
    assert (await python(warm, code)).stdout == b""
    assert (await python(warm, "print(1)")).stdout == b"1\n"


async def test_neither_the_server_nor_a_command_holds_what_another_printed_or_was(warm: WarmSandbox):
    mark = "9d1f" + "77aa" * 6
    await python(warm, f"print({mark!r})", {"secret.py": f"S = {mark!r}".encode()})
    code = (
        "m = ('9d1f' + '77' + 'aa' + '77aa' * 5).encode(); found = 0\n"
        "maps = open('/proc/self/maps').read().splitlines(); mem = open('/proc/self/mem', 'rb', 0)\n"
        "me = id(m)\n"
        "for line in maps:\n"
        " span, perms = line.split()[:2]\n"
        " if 'r' not in perms or 'vvar' in line or 'vsyscall' in line: continue\n"
        " a, b = (int(x, 16) for x in span.split('-'))\n"
        " try: mem.seek(a); data = mem.read(b - a)\n"
        " except (OSError, ValueError, OverflowError): continue\n"
        " i = data.find(m)\n"
        " while i >= 0:\n"
        "  found += not (me <= a + i < me + 200); i = data.find(m, i + 1)\n"
        " del data\n"
        "print(found)"
    )
    # the search finds its own word, so it is run for a word nobody printed too
    control = code.replace("9d1f", "8c2e")
    printed, not_printed = await python(warm, code), await python(warm, control)
    assert printed.exit_code == 0, printed.stderr
    assert printed.stdout == not_printed.stdout


async def test_no_signal_disturbs_the_keeper(warm: WarmSandbox):
    code = "import os, sys\nfor n in range(1, 65):\n try: os.kill(1, n)\n except OSError: pass\nsys.exit(5)"
    assert (await python(warm, code)).exit_code == 5


# Limits hold in a fork too.

LIMITS = {
    "cpu_s": ("while True: pass", Limits(cpu_s=1, wall_s=120)),
    "memory_bytes": (
        "import os, time\nfor _ in range(6):\n if os.fork() == 0: b = bytearray(40 << 20); time.sleep(9); os._exit(0)\n"
        "while True: os.wait()",
        Limits(memory_bytes=128 * MIB),
    ),
    "file_bytes": ("open('f', 'wb').write(b'x' * 2_000_000)", Limits(file_bytes=1_000_000)),
    "disk_bytes": ("for n in range(99): open(f'f{n}', 'wb').write(b'x' * 1_000_000)", Limits(disk_bytes=8 * MIB)),
    "output_bytes": ("print('x' * 1_000_000)", Limits(output_bytes=1000)),
}


@pytest.mark.parametrize("limit", LIMITS)
async def test_a_limit_is_held_and_named(warm: WarmSandbox, limit: str):
    code, limits = LIMITS[limit]
    result = await python(warm, code, limits=limits)
    assert result.limit_hit == limit, result


async def test_what_was_printed_before_the_deadline_is_kept(warm: WarmSandbox):
    code = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(1)"
    result = await with_time_enough(
        1, lambda wall_s: python(warm, code, limits=Limits(wall_s=wall_s)), lambda result: bool(result.stdout)
    )
    assert (result.limit_hit, result.stdout) == ("wall_s", b"begun\n")


async def test_processes_are_counted_for_each_command_alone(warm: WarmSandbox):
    code = (
        "import os, time\nn = 0\ntry:\n"
        " for _ in range(40):\n  if os.fork() == 0: time.sleep(60); os._exit(0)\n  n += 1\n"
        "except OSError: pass\nprint(n); time.sleep(1)"
    )
    results = await asyncio.gather(*(python(warm, code, limits=Limits(processes=20)) for _ in range(2)))
    assert [r.stdout for r in results] == [b"19\n", b"19\n"]


async def test_a_fork_bomb_leaves_the_server_alive(warm: WarmSandbox):
    code = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    result = await python(warm, code, limits=Limits(wall_s=1, processes=30))
    assert result.limit_hit in ("wall_s", "processes")
    assert (await python(warm, "print(1)")).stdout == b"1\n"


async def test_a_command_with_a_network_gets_a_fresh_sandbox(warm: WarmSandbox):
    code = "import socket; print(len(socket.if_nameindex()) >= 1)"
    result = await warm.run(["-c", code], {}, Limits(network=True))
    assert (result.stdout, result.stderr) == (b"True\n", b"")


async def test_required_limits_are_there(bubblewrap: Sandbox, warm: WarmSandbox):
    result = await warm.run(["-c", ""], {}, Limits(required=frozenset(bubblewrap.info.enforcement)))
    assert result.exit_code == 0


# A fork is used only where it is as good as a fresh interpreter.


@pytest.mark.parametrize("name", ["pluggy", "json", "random", "iniconfig"])
async def test_a_tree_that_shadows_a_loaded_module_gets_a_fresh_interpreter(warm: WarmSandbox, name: str):
    changes = {f"{name}.py": b"WHO = 'the tree'\n"}
    result = await python(warm, f"import {name}; print(getattr({name}, 'WHO', 'installed'))", changes)
    assert result.stdout == b"the tree\n", result.stderr
    result = await python(warm, f"import {name}; print(getattr({name}, 'WHO', 'installed'))")
    assert result.stdout == b"installed\n"


async def test_a_variable_that_is_read_at_the_start_gets_a_fresh_interpreter(warm: WarmSandbox):
    code = "import sys; print(sys.flags.optimize, sys.flags.utf8_mode, sys.path[1])"
    result = await warm.run(["-c", code], {}, Limits(), env={"PYTHONOPTIMIZE": "2", "PYTHONPATH": "/box/work/tool"})
    assert result.stdout == b"2 0 /box/work/tool\n"
    result = await warm.run(["-c", code], {}, Limits(), env={"PYTHONPATH": "/box/work/pkg:/x"})
    assert result.stdout == b"0 0 /box/work/pkg\n"


async def test_the_projects_own_modules_are_not_preloaded(bubblewrap: Sandbox):
    server = await bubblewrap.warm(TREE, preload=["lib", "no_such_module", "json"])
    result = await python(server, "import sys; print('lib' in sys.modules, 'json' in sys.modules)")
    assert result.stdout == b"False True\n"
    await server.aclose()


# Endings.


async def test_a_killed_server_is_said_and_another_one_works(bubblewrap: Sandbox):
    server = await bubblewrap.warm(TREE)
    running = asyncio.create_task(python(server, "import time; time.sleep(60)"))
    await asyncio.sleep(0.5)
    assert isinstance(server, ForkServer)
    os.kill(server.pid, signal.SIGKILL)
    with pytest.raises(SandboxCrashed, match="died"):
        await running
    with pytest.raises(SandboxCrashed, match="died"):
        await python(server, "print(1)")
    await server.aclose()
    again = await bubblewrap.warm(TREE)
    assert (await python(again, "print(1)")).stdout == b"1\n"
    await again.aclose()


async def test_a_closed_server_is_said(bubblewrap: Sandbox):
    server = await bubblewrap.warm(TREE)
    await server.aclose()
    await server.aclose()
    with pytest.raises(SandboxCrashed):
        await python(server, "print(1)")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_cancelled_and_finished_commands_leave_nothing(bubblewrap: Sandbox, warm: WarmSandbox):
    assert isinstance(warm, ForkServer)
    await asyncio.gather(*(python(warm, "pass") for _ in range(4)))
    # some of these may not be gone yet; then there are fewer later
    opened, processes = descriptors(), set(descendants(warm.pid))
    for n in range(30):
        task = asyncio.create_task(python(warm, "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(60)"))
        await asyncio.sleep(n * 0.002)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    for _ in range(5):
        await asyncio.gather(*(python(warm, "1/0") for _ in range(20)))
    async with asyncio.timeout(120):
        while descriptors() > opened or not processes.issuperset(descendants(warm.pid)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await python(warm, "print(1)")).stdout == b"1\n"


async def test_no_more_run_at_once_than_there_are_places(warm: WarmSandbox):
    """Thirty-two are asked for; the others wait, and each gets its turn."""
    assert isinstance(warm, ForkServer)
    idle = len(descendants(warm.pid))
    places = max(2, os.cpu_count() or 1)
    seen: list[int] = []

    async def look() -> None:
        while True:
            living = [pid for pid in descendants(warm.pid) if (state := stat(pid)) and state[0] not in GONE]
            seen.append(len(living) - idle)
            await asyncio.sleep(0.005)

    looking = asyncio.create_task(look())
    results = await asyncio.gather(*(python(warm, f"import time; time.sleep(0.05); print({n})") for n in range(32)))
    looking.cancel()
    assert [r.stdout for r in results] == [b"%d\n" % n for n in range(32)]
    # each is a keeper and its command
    assert 0 < max(seen) <= 2 * places


async def test_where_namespaces_can_not_nest_each_command_gets_a_fresh_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = find_bwrap()
    wrapper = tmp_path / "bin" / "bwrap"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase "$1" in --version) exec {real} --version;; esac\nexec {real} --disable-userns "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=":")
    box = await open_sandbox()
    server = await box.warm(TREE, preload=["pytest"], support=SUPPORT)
    assert isinstance(server, ColdForks)
    result = await server.run(PYTEST, {"test_more.py": b"def test(): pass"}, Limits(), env=PLAIN)
    assert b"2 passed" in result.stdout
    await server.aclose()
    await box.aclose()
