"""Whole episodes against servers that reply oddly: one odd reply ends none, and what is booked is what is known."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence

import pytest
from guessing import ANSWER, Check, Noter
from odd_replies import KNOWN, ODD_REPLIES, THOUGHT, ByteServer, Odd, Wire, good

from groundwire import Budget, EpisodeResult, FeedbackGraph, StopReason, Task
from groundwire.agents import LLMActor, LLMCritic
from groundwire.agents.patching._edit_blocks import WholeFile, render_answer
from groundwire.core._candidates import Tree
from groundwire.core._errors import ModelReplyInvalid
from groundwire.core._models import Backend, Completion
from groundwire.core._records import Intent, ModelCall, Record
from groundwire.graphs.run._budget import spent_on
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.models._guard import allow_model_calls
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._openai_compatible import OpenAICompatibleBackend

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]

TASK = Task(id="guess", family="words", prompt="Write the word.", tree=Tree({ANSWER: b"nothing\n"}), editable=(ANSWER,))
RIGHT = render_answer([WholeFile(ANSWER, "right\n")])
WRONG = render_answer([WholeFile(ANSWER, "wrong\n")])
BY_NAME = {odd.name: odd for odd in ODD_REPLIES}


@pytest.fixture
def server() -> Generator[ByteServer]:
    opened = ByteServer()
    yield opened
    opened.close()


Connect = Callable[[str], Backend]


@pytest.fixture
async def connect(server: ByteServer) -> AsyncGenerator[Connect]:
    made: list[LiteLLMBackend | OpenAICompatibleBackend] = []

    def make(path: str) -> Backend:
        given = {"api_key": "sk-test-1", "timeout_s": 20.0, "backoff_s": 0.001}
        if path == "litellm":
            made.append(LiteLLMBackend("openai/m", api_base=server.url, **given))  # pyright: ignore[reportArgumentType]
        else:
            made.append(OpenAICompatibleBackend(server.url, "m", **given))  # pyright: ignore[reportArgumentType]
        return made[-1]

    with allow_model_calls():
        yield make
    for backend in made:
        await backend.aclose()


async def ran(
    backend: Backend, *, streams: bool = False, critic: bool = False
) -> tuple[EpisodeResult, Sequence[Record]]:
    """One episode, which is then played from its ledger alone."""
    store = InMemoryStore()
    graph = FeedbackGraph().add_actor("write", LLMActor(backend, answer="edits")).add_tool("test", Check())
    graph.add_critic("reflect", LLMCritic(backend) if critic else Noter())
    graph.add_edge("write", "test").refine("test", via="reflect", to="write")
    app = graph.compile(store=store, budget=Budget(trials=3))
    result = await app.arun(TASK, on_text=(lambda _index, _text: None) if streams else None)
    records = await store.records(result.episode_id)
    assert spent_on(records).tokens == result.tokens, "a process that goes on counts the same"
    replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None
    return result, records


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_no_odd_reply_ends_an_episode(server: ByteServer, connect: Connect, streams: bool) -> None:
    backend = connect("native")
    wrong: list[str] = []
    for odd in ODD_REPLIES:
        wire = odd.events if streams else odd.whole
        if wire is None or odd.kind in ("silent", "rejected"):
            continue
        try:
            await _survives(server, backend, odd, wire, streams)
        except AssertionError as error:
            wrong.append(f"{odd.name}: {error}")
    assert not wrong, "\n".join(wrong)


async def _survives(server: ByteServer, backend: Backend, odd: Odd, wire: Callable[[str], Wire], streams: bool) -> None:
    server.play(wire(RIGHT), good(RIGHT, streams=streams))
    result, records = await ran(backend, streams=streams)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 1), result.detail
    assert "right" in result.patch and "wrong" not in result.patch
    assert server.asked == (1 if odd.kind == "text" else 2), "and none for the replay"
    intents = [r for r in records if isinstance(r, Intent) and r.kind == "model_call"]
    calls = [r for r in records if isinstance(r, ModelCall)]
    assert len(intents) == len(calls) == (2 if odd.kind == "repair" else 1), "each call is reserved and written down"
    used = sum(odd.used) if odd.used else None
    if odd.kind == "text":
        assert result.tokens == used if used else 0 < result.tokens < intents[0].tokens
    elif odd.kind == "retry":
        assert result.tokens == sum(KNOWN) + (used or 0)
    else:
        assert [call.purpose for call in calls] == ["propose", "correct"]
        assert result.tokens == sum(KNOWN) + (used or intents[0].tokens), "the most only where nobody said"


@pytest.mark.parametrize("path", ["litellm", "native"])
@pytest.mark.parametrize(
    "name", ["content is a list of parts", "thinking in the text", "choices is empty", "a refusal", "content is null"]
)
async def test_both_paths_do_the_same(server: ByteServer, connect: Connect, path: str, name: str) -> None:
    odd = BY_NAME[name]
    assert odd.whole is not None
    await _survives(server, connect(path), odd, odd.whole, False)


async def test_a_refusal_for_ever_is_quoted_and_bounded(server: ByteServer, connect: Connect) -> None:
    odd = BY_NAME["a refusal"]
    assert odd.whole is not None
    server.play(odd.whole(RIGHT))
    result, records = await ran(connect("native"))
    assert (result.stop_reason, result.exit_code) == (StopReason.MODEL_ERROR, 5)
    assert "I'm sorry, but I can't help with that" in result.detail and "\x1b" not in result.detail
    assert result.error is not None and "task's text" in result.error.do
    calls = [r for r in records if isinstance(r, ModelCall)]
    assert server.asked == len(calls) == 5
    assert result.tokens == 5 * sum(KNOWN)


async def test_a_rejected_draft_is_no_answer_and_is_kept(server: ByteServer, connect: Connect) -> None:
    """Case 44: the thinking goes to the ledger, not into the tree."""
    odd = BY_NAME["thinking in the text"]
    assert odd.whole is not None
    server.play(odd.whole(RIGHT))
    result, records = await ran(connect("native"))
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 1), result.detail
    (call,) = (r for r in records if isinstance(r, ModelCall))
    completion = Completion.model_validate_json(call.completion)
    assert (completion.texts, completion.thinking) == ((RIGHT,), (THOUGHT,))


async def test_a_critic_that_gives_nothing_is_asked_again() -> None:
    backend = ScriptedBackend(
        [
            WRONG,
            ModelReplyInvalid("scripted gave an empty reply."),
            "<think>Hm.</think>The word is wrong.",
            f"<think>{WRONG}</think>{RIGHT}",
        ]
    )
    result, records = await ran(backend, critic=True)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 2)
    reflected = [r for r in records if isinstance(r, ModelCall) and r.purpose == "reflect"]
    assert len(reflected) == 2
    assert result.reflections == 1
