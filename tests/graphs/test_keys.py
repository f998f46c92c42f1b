"""A run's key is in its own file and nowhere else: everything that a run writes or says is scanned for it."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from guessing import ANSWER, Check, answer
from langchain_core.callbacks import BaseCallbackHandler
from savers import opened

from groundwire import FeedbackApp, FeedbackGraph, StopReason, Task, Tree
from groundwire.agents import LLMCritic
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._models import Message, Request
from groundwire.core._seal import FileKeys, MemoryKeys, Mint
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend


def forms(key: bytes) -> list[bytes]:
    """Ways in which a key could be written down."""
    found = [key, key.hex().encode(), key.hex().upper().encode(), repr(key)[2:-1].encode()]
    found += [json.dumps(key.decode("latin-1"))[1:-1].encode(), str(list(key))[1:-1].encode()]
    for offset in range(3):
        # inside a longer text the first and last letters depend on what is beside it
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"x" * offset + key)
            start = 0 if offset == 0 else 4
            found.append(whole[start : len(whole) // 4 * 4 - 4])
    return found


def leaks(text: bytes, key: bytes) -> bool:
    return any(form in text for form in forms(key))


WRITINGS: list[Callable[[bytes], bytes]] = [
    bytes,
    lambda key: key.hex().encode(),
    lambda key: repr(key).encode(),
    base64.b64encode,
    lambda key: base64.b64encode(b"1234" + key + b"more"),
    lambda key: base64.urlsafe_b64encode(b"12345" + key + b"more"),
    lambda key: json.dumps(list(key)).encode(),
]


@pytest.mark.parametrize("written", WRITINGS)
def test_the_scan_finds_what_it_looks_for(written: Callable[[bytes], bytes]) -> None:
    key = bytes(range(200, 232))
    assert leaks(b"before " + written(key) + b" after", key)
    assert not leaks(b"before " + written(key[::-1]) + b" after", key)


class Asks:
    """An actor that asks a model, and breaks once, with everything it was given in its hands."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend
        self.contexts: list[ActorContext] = []

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.contexts.append(context)
        completion = await context.call(self.backend, Request(messages=(Message(role="user", content="guess"),)))
        if completion.texts[0] == "break":
            raise ZeroDivisionError
        return [answer(context.task, completion.texts[0])]


class Events(BaseCallbackHandler):
    """Everything that a tracer is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def tell(self, *told: Any, **more: Any) -> None:
        self.told.append(repr((told, more)))

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            return partial(self.tell, name)
        return super().__getattribute__(name)


@pytest.fixture
def spoken(tmp_path: Path) -> Any:
    """A log of everything at every level."""
    handler = logging.FileHandler(tmp_path / "log.txt")
    root = logging.getLogger()
    names = ("sqlalchemy.engine", "aiosqlite", "asyncio", "langgraph", "groundwire")
    levels = {log: log.level for log in (root, *map(logging.getLogger, names))}
    for log in levels:
        log.setLevel(logging.DEBUG)
    root.addHandler(handler)
    yield
    for log, level in levels.items():
        log.setLevel(level)
    root.removeHandler(handler)
    handler.close()


MODES = ["values", "updates", "debug", "messages", "custom", "tasks", "checkpoints"]
TASK = Task(id="guess", family="words", tree=Tree({ANSWER: b"nothing"}))


async def everything(app: FeedbackApp, actor: Asks) -> list[str]:
    """Runs episodes every way there is and returns all that was said."""
    said: list[str] = []
    watched = Events()
    result = await app.arun(TASK, observers=[lambda record: said.append(repr(record))], config={"callbacks": [watched]})
    assert result.stop_reason is StopReason.VERIFIED
    said.append(repr(result))
    async with app.episode(TASK) as episode:
        config: Any = {"configurable": {"thread_id": "mine"}, "callbacks": [watched]}
        parts = app.langgraph.astream(app.input(episode), config, context=episode, stream_mode=MODES)
        said += [repr(part) async for part in parts]
        said += [repr(episode), repr(vars(episode)), repr(vars(episode.mint)), str(vars(episode).values())]
        said += [repr(snapshot) async for snapshot in app.langgraph.aget_state_history(config)]
    try:
        await app.arun(TASK)
    except ZeroDivisionError as error:
        said += traceback.TracebackException.from_exception(error, capture_locals=True).format()
    said += [repr(context) for context in actor.contexts]
    said += [request.canonical() for request in actor.backend.requests]
    return said + watched.told


def all_files(folder: Path) -> bytes:
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "keys"]
    assert {"ledger.db", "checkpoints.db", "log.txt"} <= {path.name for path in files}
    return b"\n".join(path.read_bytes() for path in files)


@pytest.mark.usefixtures("spoken")
async def test_a_key_never_reaches_a_prompt_a_state_a_log_or_a_trace(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    backend = ScriptedBackend(["wrong", "think harder", "right", "wrong", "think harder", "right", "break"])
    actor = Asks(backend)
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", Check())
    graph.add_critic("reflect", LLMCritic(backend))
    graph.add_edge("write", "test").refine("test", via="reflect", to="write")
    async with opened(str(tmp_path / "checkpoints.db")) as saver:
        app = graph.compile(store=store, checkpointer=saver, durability="sync")
        said = await everything(app, actor)
    runs = await store.runs()
    await store.aclose()
    await asyncio.sleep(0)
    keys = [FileKeys().load(run.id) for run in runs]
    assert len(set(keys)) == 3
    written = all_files(tmp_path)
    assert b"sqlalchemy" in written or b"INSERT" in written
    assert len(written) > 50_000
    for key in keys:
        assert not leaks(written, key)
        assert not leaks("\n".join(said).encode(), key)


def test_what_holds_a_key_does_not_show_it() -> None:
    key = b"k" * 32
    mint, keys = Mint("run", key), MemoryKeys()
    assert not leaks(repr(mint).encode() + repr(vars(mint)).encode(), key)
    assert not leaks(repr(keys).encode(), keys.create("run"))
