"""Worlds behind an address: the same as at hand, through a real server on loopback; a hostile server gets nowhere."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from threading import Event, Thread
from typing import Any, ClassVar

import pytest
from worlds import Porch, Quiz, Trouble

from groundwire.core._errors import ConfigError
from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments._world import World
from groundwire.tools.environments.http import HttpEnvironment, WorldServer
from groundwire.tools.environments.http._client import TOKEN

Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def running(server: BaseServer) -> Generator[None]:
    """Serves in the background until the block ends."""
    thread = Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_world_behind_an_address_is_the_same_as_at_hand() -> None:
    with WorldServer(World("porch", Porch, prompt="Open the door.", actions=7)) as server, running(server):
        far = world(server.address)
        assert (far.name, far.prompt, far.actions) == (server.address, "Open the door.", 7)
        here, there, other = Porch(), far.make(), far.make()
        assert there.reset(4) == here.reset(4)
        other.reset(5)
        for action in ("look", "unlock door", "lift mat", "unlock door"):
            assert there.act(action) == here.act(action)
        assert other.act("unlock door").text == "You have no key.", "each session has a world of its own"
        assert there.reset(4).status is Status.RUNNING
        assert far.task(4).tree == World("porch", Porch).task(4).tree
        there.close()
        other.close()


def test_a_world_that_breaks_says_why_and_an_answer_key_is_told() -> None:
    with WorldServer(World("trouble", Trouble)) as server, running(server):
        made = world(server.address).make()
        made.reset(0)
        with pytest.raises(RuntimeError, match=r"500: OSError: the game has ended: .\[31m/dev/null"):
            made.act("crash")
        with pytest.raises(RuntimeError, match="500: TypeError: a scene is made of texts"):
            made.act("nonsense")
        assert len(made.act("flood").text) < 7000
        made.close()
    with WorldServer(World("quiz", Quiz)) as server, running(server):
        made = world(server.address).make()
        assert getattr(made, "oracle", False) is True
        made.close()


class _Hostile(BaseHTTPRequestHandler):
    """Answers each request with what the test has laid down."""

    answer: ClassVar[Answer] = (200, {}, b"")
    drip_s = 0.0
    asked: ClassVar[list[str]]

    def do_POST(self) -> None:
        type(self).asked.append(self.path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = type(self).answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for n in range(len(body)) if self.drip_s else ():
                self.wfile.write(body[n : n + 1])
                time.sleep(self.drip_s)
            if not self.drip_s:
                self.wfile.write(body)
        except OSError:
            pass  # the client has hung up, which is what is tested

    def log_message(self, format: str, *args: Any) -> None: ...


def begun(**scene: Any) -> bytes:
    return json.dumps({"session": "s", "scene": {"text": "a room", **scene}}).encode()


HOSTILE: list[tuple[Answer, str]] = [
    ((302, {"Location": "http://169.254.169.254/latest"}, b""), "the server answered 302"),
    ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"), "packed"),
    ((200, {}, begun(text="x" * (1 << 20))), "larger than 1048576 bytes"),
    ((200, {}, b"<html>"), "not in the contract's form: the answer"),
    ((200, {}, b"[" * 100_000), "not in the contract's form"),
    ((200, {}, b'{"session": "s"}'), "scene: Field required"),
    ((200, {}, begun(status="done")), "scene.status"),
    ((200, {}, begun(text=None)), "scene.text"),
    ((200, {}, begun(actions=["a"] * 201)), "scene.actions"),
    ((200, {}, begun(event="x" * 501)), "scene.event"),
    ((200, {}, b'{"session": "../../x", "scene": {"text": ""}}'), "session"),
    ((503, {}, b'{"error": "full\\u001b[2J\\nnow"}'), "503: full.\\[2J now"),
    ((503, {}, b"oops"), "no reason given"),
]


@pytest.mark.parametrize(("answer", "said"), HOSTILE)
def test_a_hostile_answer_breaks_the_trial_and_nothing_else(answer: Answer, said: str) -> None:
    class Handler(_Hostile):
        asked: ClassVar[list[str]] = []

    Handler.answer = answer
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, running(server):
        made = HttpEnvironment(f"http://127.0.0.1:{server.server_port}")
        with pytest.raises((ValueError, RuntimeError), match=said):
            made.reset(0)
        made.close()
    assert Handler.asked == ["/reset"], "it is asked once, and sends nobody elsewhere"


def test_what_a_server_says_of_itself_is_data() -> None:
    class Handler(_Hostile):
        asked: ClassVar[list[str]] = []

        def do_GET(self) -> None:
            self.do_POST()

    Handler.answer = (200, {}, json.dumps({"prompt": "Buy a lamp.\x1b[2J"}).encode())
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, running(server):
        assert world(f"http://127.0.0.1:{server.server_port}").prompt == "Buy a lamp.\ufffd[2J"


def test_a_world_that_can_not_begin_is_closed() -> None:
    closed = Event()

    class Shut(Porch):
        def reset(self, seed: int) -> Scene:
            self.has_begun = True
            raise OSError("shut")

        def close(self) -> None:
            if getattr(self, "has_begun", False):
                closed.set()

    with WorldServer(World("shut", Shut)) as server, running(server):
        environment = HttpEnvironment(server.address)
        with pytest.raises(RuntimeError, match="500: OSError: shut"):
            environment.reset(0)
        environment.close()
    assert closed.wait(20)


def test_an_answer_drop_by_drop_is_not_waited_for() -> None:
    class Handler(_Hostile):
        asked: ClassVar[list[str]] = []

    Handler.answer, Handler.drip_s = (200, {}, begun()), 0.05
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, running(server):
        made = HttpEnvironment(f"http://127.0.0.1:{server.server_port}", timeout_s=0.3)
        with pytest.raises(TimeoutError, match=r"longer than 0\.3 s"):
            made.reset(0)
        made.close()


def test_a_token_goes_where_it_belongs_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "s3cret-token"
    with WorldServer(World("porch", Porch), token=secret) as server, running(server):
        with pytest.raises(ConfigError, match="401: a token is needed"):
            world(server.address)
        monkeypatch.setenv(TOKEN, secret)
        far = world(server.address)
        made = far.make()
        assert isinstance(made.reset(0), Scene) and secret not in repr(far)
        made.close()
    with pytest.raises(ConfigError, match="over http, where anyone can read it"):
        world("http://shop.example.org")
    for address in (f"https://me:{secret}@shop.example.org", f"https://shop.example.org/?key={secret}"):
        with pytest.raises(ConfigError, match="kept in the ledger") as caught:
            world(address)
        assert secret not in str(caught.value)
    monkeypatch.delenv(TOKEN)
    with pytest.raises(ConfigError, match=r"No world answers at .*: ConnectError"):
        world("http://127.0.0.1:1")


def test_the_server_refuses_what_is_not_meant_for_it() -> None:
    with WorldServer(World("porch", Porch)) as server, running(server):

        def ask(path: str, body: bytes, **headers: str) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            sent = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
            connection.request("POST", path, body, sent)
            answer = connection.getresponse()
            found = answer.status, answer.read().decode()
            connection.close()
            return found

        assert ask("/reset", b'{"seed": 1}', Host="evil.example.org")[0] == 403, "a rebound name"
        assert ask("/reset", b'{"seed": 1}', Content_Type="text/plain")[0] == 415, "a form in a browser"
        assert ask("/reset", b'{"seed": "1"}') == (422, '{"error":"Input should be a valid integer"}')
        assert ask("/reset", b"", Content_Length=str(1 << 30))[0] == 422
        assert ask("/act", b'{"session": "x", "action": "look"}') == (404, '{"error":"no such session"}')
        assert ask("/etc/passwd", b"{}")[0] == 404
        status, first = ask("/reset", b'{"seed": 1}')
        assert status == 200
        for seed in range(64):
            ask("/reset", b'{"seed": %d}' % seed)
        act = json.dumps({"session": json.loads(first)["session"], "action": "look"}).encode()
        assert ask("/act", act)[0] == 404, "the one that was idle longest made room"
