"""The reward behind an address of this machine, for trainers in other processes and of other languages.

    GET  /v1/about     → {"api": 1, "tasks": 3, "case_s": 2.0, "hidden": true, "partial": false}
    POST /v1/rewards   {"items": [{"task_id": "…", "completion": "…"}, …]}
                       → {"api": 1, "rewards": [{"reward": 1.0, "verdict": "pass", …}, …]}

Each request carries `Authorization: Bearer TOKEN`. A completion is a text or chat messages, as for `reward`; an item
may also hold its `prompt`. `reward` is null where there is no verdict: leave it out of the loss, it is not 0. Answers
other than 200 hold `{"error": {"what", "do"}}`. A client that goes away ends the judging that it had asked for.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from groundwire.core._errors import GroundwireError, UserError
from groundwire.training.rewards._completions import begun_by, text_of
from groundwire.training.rewards._judging import PolicySample, RewardJudge, ScoredCompletion

API = 1
"""Version of what is said: it rises when a field changes its meaning or goes."""
MOST_BYTES = 64 << 20
"""Of one request."""
MOST_ITEMS = 4096
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


class RewardItem(BaseModel):
    """One completion to be judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    completion: Any
    prompt: Any = None


class RewardBatch(BaseModel):
    """What is asked for at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: list[RewardItem] = Field(max_length=MOST_ITEMS)


class _Refused(Exception):
    """A request is not answered.

    Args:
        status: of the answer.
        what: what is wrong.
        do: what to do.
    """

    def __init__(self, status: int, what: str, do: str = "") -> None:
        super().__init__(what)
        self.status, self.what, self.do = status, what, do


def reward_app(judge: RewardJudge, *, token: str, about: Mapping[str, Any]) -> Starlette:
    """The application. It closes the judge when it ends.

    Args:
        judge: judges.
        token: what each request has to carry.
        about: what is said of it.
    """

    async def tell(request: Request) -> Response:
        return await _answered(request, token, _about)

    async def rewards(request: Request) -> Response:
        return await _answered(request, token, _rewards)

    async def _about(_: Request) -> dict[str, Any]:
        return dict(about)

    async def _rewards(request: Request) -> dict[str, Any]:
        batch = _read(await _body(request))
        samples = [
            PolicySample(item.task_id, text_of(item.completion), text_of(item.prompt) or "", begun_by(item.prompt))
            for item in batch.items
        ]
        for sample in samples:
            judge.task(sample.task_id)
        scored = await _unless_gone(request, judge, samples)
        return {"rewards": [_data(one) for one in scored]}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        await judge.aclose()

    routes = [Route("/v1/about", tell, methods=["GET"]), Route("/v1/rewards", rewards, methods=["POST"])]
    return Starlette(routes=routes, lifespan=lifespan)


async def _answered(request: Request, token: str, work: Any) -> Response:
    try:
        _check(request, token)
        return JSONResponse({"api": API, **await work(request)})
    except _Refused as refused:
        return _failed(refused.status, refused.what, refused.do)
    except UserError as error:
        return _failed(400, error.what, error.do)
    except GroundwireError as error:
        return _failed(503, error.what, error.do)
    except ClientDisconnect:
        return Response(status_code=499)


def _check(request: Request, token: str) -> None:
    host = request.headers.get("host", "")
    if host.rpartition(":")[0] not in LOOPBACK and host not in LOOPBACK:  # a page that had its name point here
        raise _Refused(421, "This server does not answer to that name.")
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(given.encode(), token.encode()):
        raise _Refused(401, "The token is missing or wrong.", "Send  Authorization: Bearer TOKEN  as it was printed.")


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise _Refused(413, f"The request has more than {MOST_BYTES >> 20} MiB.", "Send fewer items at once.")
        parts.append(part)
    return b"".join(parts)


def _read(body: bytes) -> RewardBatch:
    try:
        return RewardBatch.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the request"
        do = 'Send  {"items": [{"task_id": "…", "completion": "…"}]}'
        raise _Refused(400, f"The request is not what is read here; at {place}: {first['msg']}.", do) from None


async def _unless_gone(request: Request, judge: RewardJudge, samples: Sequence[PolicySample]) -> list[ScoredCompletion]:
    """What the samples earn; ended as soon as nobody waits for it any more.

    Raises:
        ClientDisconnect: whoever asked has gone.
    """

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    judging, leaving = asyncio.ensure_future(judge.score(samples)), asyncio.ensure_future(gone())
    try:
        await asyncio.wait({judging, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if judging.done():
            return judging.result()
        raise ClientDisconnect
    finally:
        for work in (judging, leaving):
            work.cancel()
        await asyncio.gather(judging, leaving, return_exceptions=True)


def _data(scored: ScoredCompletion) -> dict[str, Any]:
    return {
        "reward": scored.reward,
        "verdict": scored.verdict.value,
        "reason": scored.reason.value if scored.reason else None,
        "detail": scored.detail,
        "problem": scored.problem,
        "candidate": scored.candidate,
        "isolation": scored.isolation.value,
        "signals": list(scored.signals),
    }


def _failed(status: int, what: str, do: str) -> Response:
    return JSONResponse({"api": API, "error": {"what": what, "do": do}}, status_code=status)
