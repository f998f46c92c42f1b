"""Worlds behind an address: what both sides say to each other, and any world served by the standard library.

It is made for one's own machine or network: it speaks no TLS. Put a proxy that does in front of it for anything else.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundwire.core._environments import Environment, judges_by_key
from groundwire.core._scene import ACTION_CHARS, HINTS, Scene, Status, tidied
from groundwire.core._text import plain
from groundwire.tools.environments._world import World

# What is said between an actor's machine and a world behind an address. Both sides check all of it.
#
#     GET  BASE         → About
#     POST BASE/reset   Reset → Begun
#     POST BASE/act     Act   → Answered
#     POST BASE/close   Close → {}
#
# Each answer is JSON with status 200; any other status means that the world broke, with `Failed` to say why.

MOST_BYTES = 1 << 20
"""Of one request or answer."""

SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Line = Annotated[str, Field(max_length=ACTION_CHARS)]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class About(_Message):
    """What the world is.

    Args:
        prompt: what is asked for, the form of an action included.
        actions: the most actions of one trial.
        oracle: see `groundwire.core._environments.JudgesByKey`.
    """

    prompt: str = Field("Reach the goal.", max_length=4000)
    actions: int = Field(30, ge=1, le=1000)
    oracle: bool = False


class Reset(_Message):
    """Begins a trial.

    Args:
        seed: the same seed begins the same world.
    """

    seed: int


class SceneModel(_Message):
    """A scene; see `groundwire.core._environments.Scene`."""

    text: str
    status: Annotated[Status, Field(strict=False)] = Status.RUNNING
    actions: Annotated[list[Line], Field(max_length=HINTS)] = []
    event: Line = ""

    @classmethod
    def of(cls, scene: Scene) -> SceneModel:
        """The same, to be sent."""
        return cls(text=scene.text, status=scene.status, actions=list(scene.actions), event=scene.event)

    def scene(self) -> Scene:
        """The same, as it was received."""
        return Scene(self.text, self.status, tuple(self.actions), self.event)


class Begun(_Message):
    """A trial has begun.

    Args:
        session: names it from now on.
        scene: what is seen first.
    """

    session: SessionId
    scene: SceneModel


class Act(_Message):
    """Does one thing."""

    session: SessionId
    action: Line


class ActReply(_Message):
    """What it led to."""

    scene: SceneModel


class Close(_Message):
    """The trial is over, or given up; nothing more is asked of it."""

    session: SessionId


class Failed(_Message):
    """Why a request was not done."""

    error: str = ""


SESSIONS = 64
IDLE_S = 60.0
NEAR = frozenset({"localhost", "127.0.0.1", "::1"})


class _Gone(Exception):
    """There is no such session, or none any more."""


class _Session:
    """A world on the one thread that ever touches it."""

    def __init__(self, world: World) -> None:
        self._thread = ThreadPoolExecutor(1, "world")
        self._world: Environment = self._thread.submit(world.make).result()

    def reset(self, seed: int) -> Scene:
        return self._thread.submit(lambda: tidied(self._world.reset(seed))).result()

    def act(self, action: str) -> Scene:
        return self._thread.submit(lambda: tidied(self._world.act(action))).result()

    def close(self) -> None:
        self._thread.submit(self._world.close)
        self._thread.shutdown(wait=False)


class WorldServer(ThreadingHTTPServer):
    """Serves a world; `with WorldServer(world) as server: server.serve_forever()`.

    Args:
        world: which one.
        host: the address to listen at; this machine alone unless told.
        port: 0 takes a free one.
        token: where given, each request must hold it (`Authorization: Bearer …`).
    """

    daemon_threads = True

    def __init__(self, world: World, host: str = "127.0.0.1", port: int = 0, *, token: str = "") -> None:
        super().__init__((host, port), _Handler)
        self.address = f"http://{host}:{self.server_port}"
        self.token = token
        self.hosts = NEAR | {host}
        self._world = world
        probe = world.make()
        self._oracle = judges_by_key(probe)
        probe.close()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._lock = Lock()

    def about(self) -> About:
        """What the world is."""
        return About(prompt=self._world.prompt, actions=self._world.actions, oracle=self._oracle)

    def begin(self, asked: Reset) -> Begun:
        """Begins a trial; where there are too many, the one that has been idle longest is closed."""
        session, name = _Session(self._world), secrets.token_urlsafe(16)
        try:
            scene = session.reset(asked.seed)
        except BaseException:
            session.close()
            raise
        with self._lock:
            self._sessions[name] = session
            oldest = self._sessions.popitem(last=False)[1] if len(self._sessions) > SESSIONS else None
        if oldest is not None:
            oldest.close()
        return Begun(session=name, scene=SceneModel.of(scene))

    def act(self, asked: Act) -> ActReply:
        """Does one thing."""
        with self._lock:
            session = self._sessions.get(asked.session)
            if session is None:
                raise _Gone
            self._sessions.move_to_end(asked.session)
        return ActReply(scene=SceneModel.of(session.act(asked.action)))

    def end(self, asked: Close) -> Failed:
        """Ends a trial; one that is gone already is no error."""
        with self._lock:
            session = self._sessions.pop(asked.session, None)
        if session is not None:
            session.close()
        return Failed()

    def server_close(self) -> None:
        """Stops listening, and closes all worlds."""
        super().server_close()
        with self._lock:
            left, self._sessions = list(self._sessions.values()), OrderedDict()
        for session in left:
            session.close()


class _Handler(BaseHTTPRequestHandler):
    server: WorldServer  # pyright: ignore[reportIncompatibleVariableOverride]  it is made by no other
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(self._body())

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: what is asked for is the client's affair, and its headers may hold a token."""

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True  # what follows is unread
            return b""
        return self.rfile.read(int(length))

    def _answer(self, body: bytes | None) -> None:
        status, message = self._done(body)
        text = message.model_dump_json().encode()
        with suppress(OSError):  # whoever asked is gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    def _done(self, body: bytes | None) -> tuple[int, BaseModel]:
        # a page in a browser on this machine could post here: it can name neither this host nor this type unasked
        if urlsplit(f"//{self.headers.get('Host', '')}").hostname not in self.server.hosts:
            return 403, Failed(error="this host is not served here")
        given, token = self.headers.get("Authorization", ""), self.server.token
        if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return 401, Failed(error="a token is needed")
        if body is None:
            return (200, self.server.about()) if self.path in ("", "/") else (404, Failed(error="no such page"))
        if self.headers.get_content_type() != "application/json":
            return 415, Failed(error="send application/json")
        try:
            match self.path:
                case "/reset":
                    return 200, self.server.begin(Reset.model_validate_json(body))
                case "/act":
                    return 200, self.server.act(Act.model_validate_json(body))
                case "/close":
                    return 200, self.server.end(Close.model_validate_json(body))
                case _:
                    return 404, Failed(error="no such page")
        except ValidationError as error:
            return 422, Failed(error=plain(str(error.errors(include_input=False, include_url=False)[0]["msg"])))
        except _Gone:
            return 404, Failed(error="no such session")
        except Exception as error:
            return 500, Failed(error=plain(f"{type(error).__name__}: {error}"))
