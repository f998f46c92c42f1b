"""A world behind an address: a shop, a simulator, or what `WorldServer` serves.

The server is a stranger: what it sends is checked, bounded and shown as data, and it can send nobody elsewhere.
"""

from __future__ import annotations

import ipaddress
import os
import time
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from groundwire.core._errors import ConfigError
from groundwire.core._scenes import Scene, cleaned
from groundwire.core._text import plain
from groundwire.tools.environments._world import World
from groundwire.tools.environments.http._serving import (
    MOST_BYTES,
    About,
    Act,
    Answered,
    Begun,
    Close,
    Failed,
    Reset,
)

TOKEN = "GROUNDWIRE_WORLD_TOKEN"
"""The variable that holds the token, which is sent as `Authorization: Bearer …` and never shown or kept."""
EXTRA = 'pip install "groundwire[environments]"'
TIMEOUT_S = 30.0
ABOUT_S = 10.0
M = TypeVar("M", bound=BaseModel)


class _Nothing(BaseModel):
    """An answer of which nothing is read."""


def http_world(address: str) -> World:
    """The world behind an address, which is asked once what it is.

    Args:
        address: `http(s)://HOST[:PORT][/PATH]`, without user, query or fragment: it is kept in the ledger.

    Raises:
        ConfigError: httpx is not installed, this is no such address, a token would be sent unprotected, or nothing that
            speaks the contract answers there.
    """
    base = _checked(address)
    probe = HttpEnvironment(base, timeout_s=ABOUT_S)
    try:
        about = probe.about()
    except Exception as error:
        raise ConfigError(
            f"No world answers at {base}: {plain(f'{type(error).__name__}: {error}', limit=300)}",
            do="Start it, or check the address; docs/environments.md says what it must answer.",
        ) from error
    finally:
        probe.close()
    return World(
        name=base,
        make=lambda: HttpEnvironment(base, oracle=about.oracle),
        prompt=cleaned(about.prompt),
        actions=about.actions,
        about="a world behind an address",
    )


def _checked(address: str) -> str:
    if find_spec("httpx") is None:
        raise ConfigError("httpx is not installed.", do=EXTRA)
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError("The address of the world can't be read.", do="Write https://HOST:PORT/PATH.") from error
    # the address itself is not repeated here: what is wrong with it may be that it holds a password
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("The address of the world is none of http or https.", do="Write https://HOST:PORT/PATH.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ConfigError(
            "The address of a world holds more than a host and a path, and it would be kept in the ledger.",
            do=f"Leave out user, password, query and fragment; a token goes into {TOKEN}.",
        )
    if os.environ.get(TOKEN) and parts.scheme == "http" and not _is_this_machine(host):
        raise ConfigError(
            f"{TOKEN} would be sent to {host} over http, where anyone can read it.", do="Use https, or unset it."
        )
    return address.rstrip("/")


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class HttpEnvironment:
    """Plays trials of a world behind an address. See `groundwire.core._environments.Environment`.

    Args:
        base: the address, as `http_world` checks it.
        timeout_s: wall seconds for one answer.
        oracle: what the world says of itself.
    """

    def __init__(self, base: str, *, timeout_s: float = TIMEOUT_S, oracle: bool = False) -> None:
        import httpx

        self.oracle = oracle
        self._base = base
        self._timeout_s = timeout_s
        self._session = ""
        # asked for as it is, so that the bound on its size is one on what is unpacked as well
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if token := os.environ.get(TOKEN):
            headers["Authorization"] = f"Bearer {token}"
        parts = urlsplit(base)
        self._client = httpx.Client(
            headers=headers,
            timeout=timeout_s,
            follow_redirects=False,
            verify=parts.scheme == "https",  # reading the certificates takes longer than a trial without them
            trust_env=not _is_this_machine(parts.hostname or ""),
        )

    def about(self) -> About:
        """What the world says of itself."""
        return self._ask("GET", "", None, About)

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        self._leave()
        begun = self._ask("POST", "/reset", Reset(seed=seed), Begun)
        self._session = begun.session
        return begun.scene.scene()

    def act(self, action: str) -> Scene:
        """See `Environment`."""
        return self._ask("POST", "/act", Act(session=self._session, action=action), Answered).scene.scene()

    def close(self) -> None:
        """See `Environment`."""
        try:
            self._leave()
        finally:
            self._client.close()

    def _leave(self) -> None:
        session, self._session = self._session, ""
        if session:
            self._ask("POST", "/close", Close(session=session), _Nothing)

    def _ask(self, method: str, path: str, message: BaseModel | None, form: type[M]) -> M:
        """One request.

        Raises:
            ValueError: the answer is too large, or not in the form of the contract.
            RuntimeError: the server did not do it, or sends one elsewhere.
            TimeoutError: it took too long, drop by drop as well.
            httpx.HTTPError: it can't be reached.
        """
        deadline = time.monotonic() + self._timeout_s
        sent: dict[str, Any] = {} if message is None else {"json": message.model_dump(mode="json")}
        with self._client.stream(method, f"{self._base}{path}", **sent) as response:
            if "content-encoding" in response.headers:
                raise ValueError("the answer is packed, which was not asked for")
            body = b""
            for part in response.iter_raw():
                body += part
                if len(body) > MOST_BYTES:
                    raise ValueError(f"the answer is larger than {MOST_BYTES} bytes")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the answer took longer than {self._timeout_s:g} s")
        if response.status_code != 200:
            raise RuntimeError(f"the server answered {response.status_code}: {_why(body)}")
        try:
            return form.model_validate_json(body)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, problem["loc"])) or "the answer"
            raise ValueError(f"the answer is not in the contract's form: {where}: {problem['msg']}") from None


def _why(body: bytes) -> str:
    try:
        return plain(Failed.model_validate_json(body).error)
    except ValidationError:
        return "no reason given"
