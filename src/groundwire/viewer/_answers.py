"""Answers of the viewer's server: pages, data for programs, files, and what is wrong with a request."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from groundwire.core._errors import GroundwireError, RecordNotFound
from groundwire.core._text import plain
from groundwire.memory._browsing import Page
from groundwire.viewer._ledgers import as_data
from groundwire.viewer._pages import render

API = 1
"""Version of the interface for programs: it rises when a field changes its meaning or goes."""

_NOT_AS_WRITTEN = (
    json.JSONDecodeError, ValidationError, UnicodeError, RecursionError, AttributeError, TypeError, LookupError,
)  # fmt: skip
"""What comes of rows that hold JSON of another shape, too deep, or none."""
_LOG = logging.getLogger(__name__)

Asked = Callable[[Request], Awaitable[Response]]


def answered(page: Asked) -> Asked:
    """The same, with errors of ours told as such."""

    async def told(request: Request) -> Response:
        try:
            return await page(request)
        except RecordNotFound as error:
            return failure(request, 404, error.what, error.do)
        except GroundwireError as error:
            return failure(request, 400, error.what, error.do)
        except _NOT_AS_WRITTEN as error:
            _LOG.error("%s", plain(f"{request.url.path}: {error!r}", limit=600))
            what = "What the ledger holds there is not as groundwire writes it: it was changed since, or damaged."
            return failure(request, 422, what, "Look at the run's check, and restore the database from a copy.")
        except ValueError as error:
            return failure(request, 400, str(error), "")

    return told


def failure(request: Request, status: int, what: str, do: str) -> Response:
    """An error as a page, or as data where a program asked."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"api": API, "error": {"what": what, "do": do}}, status_code=status)
    return HTMLResponse(render("error.html", status=status, what=what, do=do), status_code=status)


def html(name: str, **values: Any) -> Response:
    """A page of ours."""
    return HTMLResponse(render(name, **values))


async def html_apart(name: str, **values: Any) -> Response:
    """The same, made in a thread: it may be a large one."""
    return HTMLResponse(await run_in_threadpool(render, name, **values))


def data(value: Mapping[str, Any]) -> Response:
    """Data for a program."""
    # escaped to ASCII: what models and programs print holds halves of surrogate pairs, which UTF-8 has not
    text = json.dumps({"api": API, **value}, separators=(",", ":"), allow_nan=False)
    return Response(text, media_type="application/json")


def rows_of(page: Page[Any]) -> Mapping[str, Any]:
    """A page of a list, for a program."""
    return {"rows": as_data(page.rows), "total": page.total, "page": page.number, "pages": page.pages}


def download(value: Mapping[str, Any], name: str) -> Response:
    """Data as a file."""
    text = json.dumps(value, indent=1, ensure_ascii=False).encode(errors="backslashreplace")
    return Response(text, media_type="application/json", headers=attached(name))


def attached(name: str) -> dict[str, str]:
    """Headers that make a file of an answer: nothing of it is shown by the browser."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return {"content-disposition": f'attachment; filename="{safe}"'}


def record_data(record: object) -> Mapping[str, Any]:
    """A record of the ledger, for a program."""
    body = as_data(record)
    return {"kind": type(record).__name__, **(body if isinstance(body, dict) else {"body": body})}
