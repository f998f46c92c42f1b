"""The host is out of reach: its files, network, processes and privileges. And one thing only is writable."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox

Run = Callable[..., Awaitable[ExecResult]]
pytestmark = pytest.mark.asyncio(loop_scope="module")
SECRET = "groundwire-test-secret-7f3a"


@pytest.fixture
def secrets(tmp_path: Path) -> Iterator[list[Path]]:
    """The same secret in places where an attacker would look."""
    name = f".groundwire-test-{uuid.uuid4().hex}"  # other workers of the suite lay theirs beside it
    places = [folder / name for folder in (tmp_path, Path.home(), Path(__file__).parent)]
    for place in places:
        place.write_text(SECRET)
        place.chmod(0o644)
    yield places
    for place in places:
        place.unlink()


async def test_files_of_the_host_can_not_be_read(run_isolated: Run, secrets: list[Path]):
    others = [
        "/etc/shadow",
        "/etc/hostname",
        "/root/.bashrc",
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/sys/fs/cgroup",
    ]
    code = f"for p in {[*map(str, secrets)]}:\n try: print(open(p).read())\n except OSError: print('closed')\n"
    result = await run_isolated(code)
    assert result.stdout == b"closed\n" * len(secrets)
    code = (
        f"import os\nfor p in {others}:\n"
        " try: s = open(p).read() if os.path.isfile(p) else os.listdir(p)\n"
        " except OSError: continue\n"
        " print(p, str(s)[:80])"
    )
    text = (await run_isolated(code)).stdout.decode()
    assert "shadow" not in text
    assert "docker.sock" not in text
    assert ".bashrc" not in text
    assert socket.gethostname() not in text


async def test_no_file_of_the_host_holds_the_secret(run_isolated: Run, secrets: list[Path]):
    code = (
        "import os\nfound = []\n"
        "for top in ('/', '/proc/1/root', '/proc/1/cwd', '/proc/self/root'):\n"
        " for d, dirs, fs in os.walk(top):\n"
        "  dirs[:] = [x for x in dirs if os.path.join(d, x) not in ('/proc', '/sys', '/usr')]\n"
        "  dirs[:] = [x for x in dirs if x not in ('lib', 'include', 'share')]\n"
        "  for f in fs:\n"
        "   try:\n"
        "    if not os.path.isfile(os.path.join(d, f)): continue\n"
        "    text = open(os.path.join(d, f), errors='replace').read(200)\n"
        f"    if {SECRET[:-4]!r} + '7f3a' in text: found.append((d, f))\n"
        "   except OSError: pass\n"
        "print(found)"
    )
    result = await run_isolated(code, wall_s=120, cpu_s=120)
    assert result.stdout == b"[]\n", result.stderr


async def test_nothing_but_the_box_can_be_written(run_isolated: Run, isolating: Sandbox):
    places = [
        "/",
        "/etc",
        "/usr",
        "/usr/bin",
        "/dev",
        "/proc",
        "/sys",
        "/bin",
        "/lib",
        "/var",
        str(isolating.python.parent),
    ]
    code = (
        "import os\n"
        f"for p in {places}:\n"
        " try: open(p + '/groundwire-x', 'w'); print('wrote', p)\n"
        " except OSError: pass\n"
        "for f in ('/etc/passwd', '/etc/hosts', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger'):\n"
        " try: open(f, 'r+').write('x'); print('changed', f)\n"
        " except OSError: pass"
    )
    result = await run_isolated(code)
    assert (result.exit_code, result.stdout) == (0, b""), result.stderr


async def test_support_files_can_not_be_changed(run_isolated: Run):
    # under a caller who is not root their modes may be: the command is of the same user there
    code = (
        "import os; s = os.environ['GROUNDWIRE_SUPPORT']; p = s + '/plugin.py'\n"
        "for path in (p, s):\n"
        " try: os.chmod(path, 0o777)\n"
        " except OSError: pass\n"
        "for attempt in (lambda: open(p, 'w').write('mine'), lambda: os.unlink(p), lambda: os.rename(p, s + '/y'),\n"
        " lambda: open(s + '/new.py', 'w'), lambda: os.rename(s, '/box/moved'),\n"
        " lambda: os.symlink('/box', s + '/l')):\n"
        " try: attempt(); print('done')\n"
        " except OSError: pass\n"
        "print(open(p).read())"
    )
    result = await run_isolated(code, support={"plugin.py": b"ours"})
    assert result.stdout == b"ours\n", result.stderr


async def test_the_user_has_no_privileges(run_isolated: Run):
    code = (
        "import os; print(os.getuid() != 0 and os.geteuid() != 0, os.getgroups())\n"
        "import ctypes, struct; libc = ctypes.CDLL(None); held = ctypes.create_string_buffer(24)\n"
        "libc.capget(struct.pack('II', 0x20080522, 0), held); print(held.raw == bytes(24))\n"
        "print(libc.prctl(47, 1, 0, 0, 0), libc.prctl(39, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0))\n"
        "for attempt in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.chroot('/box')):\n"
        " try: attempt(); print('done')\n"
        " except OSError: pass"
    )
    result = await run_isolated(code)
    # no capability, ambient or other; no new privileges; a filter
    assert result.stdout in (b"True []\nTrue\n0 1 2\n", b"True [65534]\nTrue\n0 1 2\n"), result.stdout


async def test_processes_of_the_host_can_not_be_seen(run_isolated: Run):
    code = (
        "import os\ntry: ps = [int(p) for p in os.listdir('/proc') if p.isdigit()]\n"
        "except PermissionError: ps = []\n"
        "print(len(ps))\n"
        "print(any(b'py' + b'test' in open(f'/proc/{p}/cmdline', 'rb').read() for p in ps))\n"
        "try: os.kill(1, 9); print('sent')\n"
        "except OSError: print('refused')"
    )
    count, seen, _ = (await run_isolated(code)).stdout.decode().split()
    assert (int(count) <= 3, seen) == (True, "False")


async def test_the_keeper_can_not_be_killed(run_isolated: Run):
    result = await run_isolated("import os\ntry: os.kill(1, 9)\nexcept OSError: pass\nprint('still here')")
    assert (result.exit_code, result.stdout) == (0, b"still here\n")


async def test_no_environment_of_the_host_in_sight(run_isolated: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GROUNDWIRE_TEST_SECRET", SECRET)
    code = (
        "import os\ntry: ps = os.listdir('/proc')\n"
        "except PermissionError: ps = map(str, range(1, 100_000))\n"
        "for p in ps:\n"
        " if p.isdigit():\n"
        "  try: print(open(f'/proc/{p}/environ').read())\n"
        "  except OSError: pass"
    )
    result = await run_isolated(code)
    assert SECRET.encode() not in result.stdout
    for name in ("VIRTUAL_ENV", "SSH_", "USER=", "PYTEST_CURRENT_TEST", "GROUNDWIRE_MODEL_CALLS", "XDG_"):
        assert name.encode() not in result.stdout


async def test_no_signal_disturbs_the_keeper(run_isolated: Run):
    code = (
        "import os, sys\nfor n in range(1, 65):\n try: os.kill(1, n)\n except OSError: pass\n"
        "sys.stdout.write('out'); sys.exit(5)"
    )
    result = await run_isolated(code)
    assert (result.exit_code, result.stdout, result.limit_hit) == (5, b"out", None)


@pytest.fixture
def listener() -> Iterator[int]:
    """A server on the host's loopback; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    continue
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        stop.set()
        thread.join()


async def test_the_network_can_not_be_reached(run_isolated: Run, listener: int):
    socket.create_connection(("127.0.0.1", listener), 2).close()
    code = (
        "import socket\n"
        f"for a in (('127.0.0.1', {listener}), ('::1', {listener}), ('1.1.1.1', 53), ('8.8.8.8', 443)):\n"
        " try: socket.create_connection(a, 2); print('reached', a)\n"
        " except OSError: pass\n"
        "try: socket.getaddrinfo('example.com', 80); print('resolved')\n"
        "except OSError: pass"
    )
    result = await run_isolated(code, wall_s=40)
    assert (result.exit_code, result.stdout) == (0, b""), result.stderr


async def test_an_abstract_socket_of_the_host_can_not_be_reached(run_isolated: Run):
    name = f"groundwire-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        code = (
            f"import socket\ntry: socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('reached')\n"
            "except OSError: pass"
        )
        assert (await run_isolated(code)).stdout == b""


async def test_a_server_and_a_client_inside_can_talk(run_isolated: Run, isolating: Sandbox):
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())\n"
        "a, _ = s.accept(); c.send(b'hi'); print(a.recv(2))"
    )
    result = await run_isolated(code)
    if isolating.info.kind == "landlock":
        assert b"Address family not supported" in result.stderr, "there is no loopback of its own"
    else:
        assert result.stdout == b"b'hi'\n"


async def test_the_network_is_there_when_it_is_asked_for(bubblewrap: Sandbox, listener: int):
    code = f"import socket; socket.create_connection(('127.0.0.1', {listener}), 5); print('reached')"
    result = await bubblewrap.run(["python", "-c", code], Tree(), Limits(network=True))
    assert result.stdout == b"reached\n", result.stderr


REFUSED_CALLS = {
    "ptrace": "libc.ptrace(16, 1, 0, 0)",
    "a new user namespace": "libc.unshare(0x10000000)",
    "a mount": "libc.mount(b'none', b'/box', b'tmpfs', 0, None)",
    "an unmount": "libc.umount2(b'/proc', 2)",
    "reading another's memory": "libc.process_vm_readv(1, 0, 0, 0, 0, 0)",
    "bpf": "libc.syscall({'x86_64': 321, 'aarch64': 280}[machine], 0, 0, 0)",
    "perf events": "libc.syscall({'x86_64': 298, 'aarch64': 241}[machine], 0, 0, 0, 0, 0)",
    "io_uring": "libc.syscall(425, 1, 0)",
    "keys": "libc.syscall({'x86_64': 250, 'aarch64': 219}[machine], 0, 0, 0, 0, 0)",
}


@pytest.mark.parametrize("what", REFUSED_CALLS)
async def test_a_dangerous_system_call_is_refused(run_isolated: Run, what: str):
    code = (
        "import ctypes, errno, platform; libc = ctypes.CDLL(None, use_errno=True); machine = platform.machine()\n"
        f"r = {REFUSED_CALLS[what]}; print(r, errno.errorcode.get(ctypes.get_errno()))"
    )
    result = await run_isolated(code)
    assert result.stdout.split()[0] == b"-1", result.stdout
    assert result.stdout.split()[1] in (b"EPERM", b"ENOSYS", b"EACCES"), result.stdout


async def test_a_socket_beside_the_network_namespace_is_refused(bubblewrap: Sandbox):
    code = (
        "import socket\n"
        "for f in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG, socket.AF_CAN):\n"
        " try: socket.socket(f, socket.SOCK_RAW if f != socket.AF_VSOCK else socket.SOCK_STREAM); print('made', f)\n"
        " except OSError as e: print(e.errno)"
    )
    result = await bubblewrap.run(["python", "-c", code], Tree(), Limits())
    assert result.stdout == b"97\n" * 4


async def test_no_descriptor_is_inherited(run: Run):
    code = (
        "import os\nfor f in os.listdir('/proc/self/fd'):\n"
        " if int(f) > 2:\n"
        "  try: print(f, os.readlink(f'/proc/self/fd/{f}'))\n"
        "  except OSError: pass"
    )
    assert (await run(code)).stdout == b""


async def test_a_setuid_program_gains_nothing(run_isolated: Run):
    code = (
        "import os, subprocess\n"
        "for p in ('/usr/bin/su', '/usr/bin/passwd', '/bin/mount', '/usr/bin/sudo'):\n"
        " if os.path.exists(p): print(subprocess.run([p, '--version'], capture_output=True).returncode is not None)\n"
        "print(os.getuid() == os.geteuid() != 0)"
    )
    assert (await run_isolated(code)).stdout.endswith(b"True\n")
