"""A command with an allow list reaches what is on it, and nothing else, however it tries; and nothing is left of it."""

from __future__ import annotations

import asyncio
import http.server
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sandboxes_here import KINDS, opened
from time_enough import with_time_enough

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox
from groundwire.sandbox import _proxy as proxy

pytestmark = pytest.mark.asyncio(loop_scope="module")
BIG = 3_000_000


@dataclass
class Host:
    """A web server on the host's loopback, and what it was asked."""

    port: int = 0
    asked: list[str] = field(default_factory=list[str])

    @property
    def listed(self) -> tuple[str, ...]:
        return (f"127.0.0.1:{self.port}",)


def serve() -> tuple[Host, http.server.ThreadingHTTPServer]:
    host = Host()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host.asked.append(self.path)
            body = b"x" * BIG if self.path == "/big" else f"page {self.path} at {self.headers['Host']}".encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(str(len(sent)).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # some callers are cut off, which is the point

    server = Server(("127.0.0.1", 0), Pages)
    host.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    return host, server


def served() -> Iterator[Host]:
    host, server = serve()
    yield host
    server.shutdown()
    server.server_close()


host = pytest.fixture(served)
other = pytest.fixture(served)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box() -> AsyncIterator[Sandbox]:
    sandbox = await opened("bubblewrap")
    yield sandbox
    await sandbox.aclose()


TOOLS = """
import os, socket, sys, urllib.request
def page(url, data=None):
    try: return urllib.request.urlopen(url, data, timeout=20).read()
    except OSError as error: return f"{error} {getattr(error, 'read', bytes)()}".encode()
def proxy():
    return socket.create_connection(("127.0.0.1", int(os.environ["HTTP_PROXY"].rpartition(":")[2])), 20)
def ask(data):
    with proxy() as s:
        s.sendall(data); got = b""
        while part := s.recv(65536): got += part
        return got
"""


async def run(box: Sandbox, code: str, network: bool | tuple[str, ...], **limits: Any) -> ExecResult:
    given = Limits.model_validate({"wall_s": 60, "network": network, **limits})
    return await box.run(["python", "-c", TOOLS + code], Tree(), given)


async def test_what_is_listed_is_reached(box: Sandbox, host: Host):
    url = f"http://127.0.0.1:{host.port}"
    code = f"print(page('{url}/a?b')); print(len(page('{url}/big'))); print(page('{url}/', b'y' * {BIG}))"
    result = await run(box, code, host.listed)
    said = f"b'page /a?b at 127.0.0.1:{host.port}'\n{BIG}\nb'{BIG}'\n"
    assert (result.stdout.decode(), result.refused_count) == (said, 0), result
    assert host.asked == ["/a?b", "/big"]


async def test_a_tunnel_carries_whatever_is_said(box: Sandbox, host: Host):
    code = (
        f"s = proxy(); s.sendall(b'CONNECT 127.0.0.1:{host.port} HTTP/1.1\\r\\n\\r\\n'); print(s.recv(39))\n"
        "s.sendall(b'GET /in HTTP/1.0\\r\\nHost: any\\r\\n\\r\\n'); s.shutdown(socket.SHUT_WR)\n"
        "f = s.makefile('rb').read(); print(f.endswith(b'page /in at any'))"
    )
    result = await run(box, code, host.listed)
    assert result.stdout.splitlines() == [b"b'HTTP/1.1 200 Connection established\\r\\n\\r\\n'", b"True"], result


async def test_what_is_not_listed_is_refused_and_named(box: Sandbox, host: Host, other: Host):
    code = (
        f"print(page('http://127.0.0.1:{other.port}/no'))\n"
        f"print(page('http://127.0.0.2:{host.port}/no'))\n"
        "print(page('https://example.org/'))\n"
        "print(ask(b'CONNECT \\x1b[31m.example:1 HTTP/1.1\\r\\n\\r\\n')[:20])\n"
        "print(ask(b'CONNECT 0177.0.0.1:1 HTTP/1.1\\r\\n\\r\\n')[:20])"
    )
    result = await run(box, code, host.listed)
    lines = result.stdout.decode().splitlines()
    assert all("403" in line for line in (lines[0], lines[1], lines[2], lines[4])), result
    assert "not on the list of hosts of this command" in lines[0] and "not on the list" in lines[2]
    assert "400" in lines[3]
    named = (f"127.0.0.1:{other.port}", f"127.0.0.2:{host.port}", "example.org:443", "0177.0.0.1:1")
    assert (result.refused, result.refused_count) == (named, 4)
    assert host.asked == other.asked == []


async def test_nothing_is_reached_beside_the_proxy(box: Sandbox, host: Host, other: Host):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.socket(socket.AF_UNIX) as abstract:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        name = f"groundwire-test-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        code = (
            f"for a in (('127.0.0.1', {host.port}), ('127.0.0.1', {other.port})):\n"
            " try: socket.create_connection(a, 2); print('reached', a)\n"
            " except OSError: pass\n"
            "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"try: u.sendto(b'x', ('127.0.0.1', {datagrams.getsockname()[1]}))\n"
            "except OSError: pass\n"
            f"try: socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('reached a socket')\n"
            "except OSError: pass\n"
            "print([n for _, n in socket.if_nameindex()], os.path.exists('/etc/resolv.conf'))"
        )
        beyond = (
            "\nfor a in (('1.1.1.1', 53), ('8.8.8.8', 443)):\n"
            " try: socket.create_connection(a, 2); print('reached', a)\n"
            " except OSError: pass\n"
            "try: print('resolved', socket.getaddrinfo('example.com', 80))\n"
            "except OSError: pass\n"
        )
        result = await run(box, code + beyond, host.listed)
        assert (result.stdout, result.stderr) == (b"['lo'] False\n", b""), result
        with pytest.raises(BlockingIOError):
            datagrams.recv(10)
        undefended = await run(box, code, True)
        assert undefended.stdout.count(b"reached") == 3, "else it would prove nothing"
        assert datagrams.recv(10) == b"x"
    assert host.asked == other.asked == []


async def test_a_name_that_leads_to_loopback_is_refused(box: Sandbox, host: Host):
    code = f"print(page('http://localhost:{host.port}/by-name'))"
    refused = await run(box, code, (f"localhost:{host.port}",))
    assert b"the name leads to a private address" in refused.stdout, refused
    assert refused.refused == (f"localhost:{host.port}",)
    assert host.asked == []
    reached = await run(box, code, (f"localhost:{host.port}", *host.listed))
    assert b"page /by-name" in reached.stdout, "the address itself is listed, too"


async def test_a_name_is_looked_up_once(box: Sandbox, host: Host, monkeypatch: pytest.MonkeyPatch):
    """Who answers for a name can't first lead to what is allowed and then elsewhere."""
    looked_up: list[str] = []
    real = socket.getaddrinfo

    def rebinding(name: str, *args: Any, **more: Any) -> Any:
        if name != "rebinding.example":
            return real(name, *args, **more)
        looked_up.append(name)
        return real("127.0.0.1" if len(looked_up) == 1 else "127.0.0.2", *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    code = f"for _ in range(3): print(page('http://rebinding.example:{host.port}/'))"
    result = await run(box, code, (f"rebinding.example:{host.port}", *host.listed))
    assert result.stdout.count(b"page / at rebinding.example") == 3, result
    assert len(looked_up) == 1


async def test_a_name_that_nobody_knows_and_a_port_that_nobody_answers(box: Sandbox):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        listed = ("nobody.invalid:80", f"127.0.0.1:{port}")
        result = await run(
            box, f"print(page('http://nobody.invalid/')); print(page('http://127.0.0.1:{port}/'))", listed
        )
    assert b"the name of the host is not known" in result.stdout, result
    assert b"the host does not answer" in result.stdout
    assert result.refused_count == 0


async def test_the_loopback_inside_stays_the_commands_own(box: Sandbox, host: Host):
    code = (
        "import http.server, threading\n"
        "class Own(http.server.BaseHTTPRequestHandler):\n"
        " def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b'own')\n"
        "s = http.server.HTTPServer(('127.0.0.1', 0), Own); threading.Thread(target=s.serve_forever).start()\n"
        "print(page(f'http://localhost:{s.server_port}/')); s.shutdown()\n"
        "t = socket.socket(); t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
        "t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "try: t.bind(('127.0.0.1', proxy().getpeername()[1])); print('took it')\n"
        "except OSError as e: print(e.strerror)"
    )
    result = await run(box, code, host.listed)
    assert result.stdout == b"b'own'\nAddress already in use\n", result


async def test_no_variable_leads_elsewhere(box: Sandbox, host: Host):
    limits = Limits(network=host.listed)
    code = TOOLS + f"print(page('http://127.0.0.1:{host.port}/'), os.environ['no_proxy'])"
    env = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "no_proxy": "*"}
    result = await box.run(["python", "-c", code], Tree(), limits, env=env)
    assert b"page / at" in result.stdout and result.stdout.endswith(b" localhost,::1\n"), result


async def test_a_flood_of_connections_waits_for_its_turn(box: Sandbox, host: Host):
    code = (
        "held = []\n"
        "for _ in range(150):\n"
        " s = socket.socket(); s.setblocking(False); held.append(s)\n"
        " try: s.connect(('127.0.0.1', int(os.environ['HTTP_PROXY'].rpartition(':')[2])))\n"
        " except BlockingIOError: pass\n"
        "import time; time.sleep(0.3)\n"
        "for s in held: s.close()\n"
        f"print(page('http://127.0.0.1:{host.port}/after'))"
    )
    before = descriptors()
    watching = asyncio.create_task(most_descriptors())
    result = await run(box, code, host.listed, open_files=256)
    watching.cancel()
    most = await watching
    assert b"page /after" in result.stdout, result
    assert most <= before + proxy.CONNECTIONS + 40, "each waits in the kernel's queue, not with us"
    assert await settled(before)


async def most_descriptors() -> int:
    most = 0
    try:
        while True:
            most = max(most, descriptors())
            await asyncio.sleep(0.005)
    except asyncio.CancelledError:
        return most


async def test_a_head_without_end_is_cut_off(box: Sandbox, host: Host):
    code = (
        "s = proxy(); sent = 0\n"
        "try:\n"
        " s.sendall(b'GET http://127.0.0.1/ HTTP/1.1\\r\\n')\n"
        " while sent < 50_000_000: s.sendall(b'X: ' + b'y' * 65533); sent += 65536\n"
        "except OSError: pass\n"
        "print(sent < 50_000_000)\n"
        "print(ask(b'GET http://127.0.0.1/ HTTP/1.1\\r\\nX: ' + b'y' * 20000 + b'\\r\\n\\r\\n')[:12])\n"
        f"print(page('http://127.0.0.1:{host.port}/after'))"
    )
    result = await run(box, code, host.listed)
    assert result.stdout.splitlines()[:2] == [b"True", b"b'HTTP/1.1 431'"], result
    assert b"page /after" in result.stdout


async def test_bytes_in_all_are_bounded(box: Sandbox, host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(proxy, "TOTAL_BYTES", 1 << 20)
    url = f"http://127.0.0.1:{host.port}"
    result = await run(box, f"print(len(page('{url}/big')) < {BIG}); print(page('{url}/again'))", host.listed)
    assert result.stdout.startswith(b"True\n") and b"all the bytes it may" in result.stdout, result
    assert "/again" not in host.asked


async def test_a_silent_connection_is_ended(box: Sandbox, host: Host, monkeypatch: pytest.MonkeyPatch):
    tunnel = f"CONNECT 127.0.0.1:{host.port} HTTP/1.1\\r\\n\\r\\n"
    established = b"b'HTTP/1.1 200 Connection established\\r\\n\\r\\n'\n"
    for limit, asked, said in (("IDLE_S", tunnel, established), ("HEAD_S", "GET ", b"b''\n")):
        with monkeypatch.context() as patch:  # one at a time: a head that was sent is never late
            patch.setattr(proxy, limit, 0.05)
            result = await run(box, f"print(ask(b'{asked}'))", host.listed)
        assert result.stdout == said, result


async def test_two_at_once_have_lists_of_their_own(box: Sandbox, host: Host, other: Host):
    code = f"for p in ({host.port}, {other.port}): print(b'page' in page(f'http://127.0.0.1:{{p}}/'))"
    results = await asyncio.gather(*(run(box, code, who.listed) for who in (host, other, host, other)))
    assert [r.stdout for r in results] == [b"True\nFalse\n", b"False\nTrue\n"] * 2
    assert [r.refused for r in results] == [other.listed, host.listed] * 2


HOLD = "held = [proxy() for _ in range(5)]\nfor s in held: s.sendall(b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n')\n"


async def test_however_it_ends_nothing_is_left(box: Sandbox, host: Host):
    hold = HOLD % host.port
    await run(box, "", host.listed)
    before, tasks = descriptors(), len(asyncio.all_tasks())
    for end, first_s in (("", 30), ("os.abort()", 30), ("import time; time.sleep(300)", 2)):
        code = f"{hold}print(held[-1].recv(12), flush=True)\n{end}"
        result = await with_time_enough(
            first_s,
            lambda wall_s, code=code: run(box, code, host.listed, wall_s=wall_s),
            lambda result: bool(result.stdout),
        )
        assert result.stdout == b"b'HTTP/1.1 200'\n", result
    for moment in (0, 0.02, 0.1, 0.5):
        task = asyncio.create_task(run(box, f"{hold}import time; time.sleep(300)", host.listed))
        await asyncio.sleep(moment)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await settled(before)
    while len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110  those of the host's server tell nobody
        await asyncio.sleep(0.02)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def settled(before: int) -> bool:
    """True once no more descriptors are open than before; the server's threads are a moment late."""
    for _ in range(1500):
        if descriptors() <= before:
            return True
        await asyncio.sleep(0.02)
    return False


async def test_a_fork_server_leaves_it_to_a_fresh_sandbox(box: Sandbox, host: Host):
    warm = await box.warm(Tree({"here.py": b"word = 'here'"}))
    code = TOOLS + f"import here; print(here.word, page('http://127.0.0.1:{host.port}/'))"
    try:
        result = await warm.run(["-c", code], {}, Limits(network=host.listed))
        assert result.stdout.startswith(b"here b'page / at"), result
        assert b"Connection refused" in (await warm.run(["-c", code], {}, Limits())).stdout
    finally:
        await warm.aclose()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "bubblewrap"])
async def test_elsewhere_a_list_is_an_error_and_neither_on_nor_off(kind: str, host: Host):
    sandbox = await opened(kind)
    code = f"import socket; socket.create_connection(('127.0.0.1', {host.port}), 3)"
    limits = Limits(network=host.listed)
    try:
        with pytest.raises(SandboxUnavailable, match="list of hosts"):
            await sandbox.run(["python", "-c", code], Tree(), limits)
        if kind != "subprocess":
            warm = await sandbox.warm(Tree())
            with pytest.raises(SandboxUnavailable, match="list of hosts"):
                await warm.run(["-c", code], {}, limits)
            await warm.aclose()
    finally:
        await sandbox.aclose()
