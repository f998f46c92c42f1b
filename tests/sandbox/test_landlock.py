"""What Landlock and its second filter hold that namespaces hold elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.sandbox import open_sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def landlock() -> AsyncIterator[Sandbox]:
    box = await open_sandbox("landlock")
    yield box
    await box.aclose()


async def said(box: Sandbox, code: str, **limits: object) -> str:
    result = await box.run(["python", "-c", code], Tree(), Limits.model_validate(limits))
    return result.stdout.decode() + result.stderr.decode()


ATTEMPTS = {
    "a socket of a path": "import socket; socket.socket(socket.AF_UNIX)",
    "an internet socket": "import socket; socket.socket(socket.AF_INET)",
    "datagrams between a pair": "import socket; socket.socketpair(type=socket.SOCK_DGRAM)",
    "shared memory of System V": "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
    "if libc.shmget(1234, 4096, 0o1666) < 0: raise OSError(ctypes.get_errno(), 'refused')",
    "another process's limits": "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "a user's priority": "import os; os.setpriority(os.PRIO_USER, 0, 19)",
    "another process's processors": "import os; os.sched_setaffinity(os.getppid(), {0})",
    "a signal to the keeper": "import os; os.kill(os.getppid(), 9)",
    "the list of processes": "import os; os.listdir('/proc')",
    "its own memory as a file": "open('/proc/self/mem', 'rb')",
    "a file in /tmp": "open('/tmp/groundwire-planted', 'w')",
    "a file in /dev/shm": "open('/dev/shm/groundwire-planted', 'w')",
    "a name for a file outside": "import os; os.link('/etc/passwd', 'mine')",
    "a file moved out of its box": "import os; open('x', 'w').close(); os.rename('x', '/tmp/groundwire-planted')",
    "a link followed out of its box": "import os; os.symlink('/etc/shadow', 'l'); open('l')",
    "a parent folder": "import os; os.chdir('..'); print(os.listdir('.'))",
    "a device": "import os, stat; os.mknod('sda', 0o600 | stat.S_IFBLK, os.makedev(8, 0))",
    "the support folder": "import os; open(os.environ['GROUNDWIRE_OUT'] + '/../support/x', 'w')",
}


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_is_refused(landlock: Sandbox, name: str):
    text = await said(landlock, f"{ATTEMPTS[name]}\nprint('DONE')")
    assert "DONE" not in text
    assert any(word in text for word in ("PermissionError", "OSError", "FileNotFoundError", "ProcessLookupError")), text


async def test_a_signal_to_everybody_reaches_nobody_else(landlock: Sandbox):
    assert await said(landlock, "import os; os.kill(-1, 9)\nprint('here')") == "here\n"


async def test_two_commands_at_once_can_not_reach_each_other(landlock: Sandbox):
    """They run as the same user, side by side."""
    waits = "import os, time; open('mine', 'w').write('x'); print(os.getpid(), os.getcwd(), flush=True); time.sleep(3)"
    strikes = (
        "import os, time; time.sleep(0.5)\n"
        "for pid in range(2, 2**16):\n"
        " if pid != os.getpid():\n"
        "  try: os.kill(pid, 9); print('KILLED', pid)\n"
        "  except OSError: pass\n"
        "parent = os.path.dirname(os.path.dirname(os.getcwd()))\n"
        "try: print('SAW', os.listdir(parent))\n"
        "except PermissionError: print('blind')"
    )
    victim, attacker = await asyncio.gather(said(landlock, waits), said(landlock, strikes))
    assert len(victim.split()) == 2
    assert attacker == "blind\n"


async def test_what_suites_need_most_works(landlock: Sandbox):
    code = (
        "import asyncio, tempfile, subprocess, sys, threading, sqlite3, shutil, os\n"
        "async def main(): await asyncio.sleep(0); return 1\n"
        "print(asyncio.run(main()))\n"
        "with tempfile.TemporaryDirectory() as d: open(d + '/x', 'w').write('y'); shutil.copy(d + '/x', 'x')\n"
        "print(subprocess.run([sys.executable, '-c', 'print(2)'], capture_output=True, text=True).stdout.strip())\n"
        "t = threading.Thread(target=lambda: print(3)); t.start(); t.join()\n"
        "c = sqlite3.connect('d.db'); c.execute('create table t(x)'); c.commit(); print(4)\n"
        "os.chmod('x', 0o700); os.rename('x', os.environ['TMPDIR'] + '/x'); print(5)"
    )
    assert (await said(landlock, code)).split() == ["1", "2", "3", "4", "5"]


async def test_the_network_is_there_when_it_is_asked_for(landlock: Sandbox):
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print('bound')\nsocket.socket(socket.AF_UNIX)"
    text = await said(landlock, code, network=True)
    assert text.startswith("bound\n")
    assert "Address family not supported" in text, "a daemon's socket is no part of the network"


async def test_a_box_is_gone_with_its_command(landlock: Sandbox):
    folder = (await said(landlock, "import os; os.mkdir('d'); os.chmod('d', 0); print(os.getcwd())")).strip()
    assert folder.endswith("/work")
    assert not await asyncio.to_thread(os.path.exists, folder)
