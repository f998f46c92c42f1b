"""Who is let in to the viewer, and what a page of it may do in a browser."""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Of each page: no script and no style but ours, and nothing from elsewhere."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


def new_token() -> str:
    """One that nobody guesses."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets in whoever knows the token, by a name of this machine, from a page of ours.

    Args:
        app: what is guarded.
        token: the token.
        hosts: names that may be asked for.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: set[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._refusal(scope, headers)
        if answer is not None:
            await answer(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                given.setdefault("content-security-policy", POLICY)
                given["x-content-type-options"] = "nosniff"
                given["referrer-policy"] = "no-referrer"
                given["cross-origin-opener-policy"] = "same-origin"
                given["cross-origin-resource-policy"] = "same-origin"
                given.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name not in self._hosts:  # a page elsewhere that had its name point here (DNS rebinding)
            return Response("This viewer does not answer to that name.", status_code=421)
        port = host[len(name) + 1 :]
        cookie = f"groundwire-{port}"
        asked = QueryParams(scope["query_string"].decode("latin-1"))
        if (given := asked.get("token")) is not None and scope["method"] == "GET":
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return Response("The token in the address is not this viewer's.", status_code=403)
            rest = urlencode([(key, value) for key, value in asked.multi_items() if key != "token"])
            clean = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), status_code=303)
            clean.set_cookie(cookie, self._token, httponly=True, samesite="strict")
            return clean
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        known = [bearer, Request(scope).cookies.get(cookie, "")]
        if not any(hmac.compare_digest(one.encode(), self._token.encode()) for one in known):
            return Response("Open the address that `groundwire view` printed: it holds a token.", status_code=403)
        origin = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD") and (origin is None or urlsplit(origin).netloc != host):
            return Response("That was asked from another site.", status_code=403)
        return None
