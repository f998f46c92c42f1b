"""The penalty on thought switching: when it is due, what it costs, and who can be asked for it (methods row 6)."""

from __future__ import annotations

import json

import pytest
from guessing import Check
from wide import QUESTION

from groundwire.agents import LLMActor
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._confident_vote import ConfidentVote
from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.core._models import Message, Request, SwitchPenalty
from groundwire.core._records import Intent
from groundwire.graphs.library._confident_vote import confident_vote
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend, allow_model_calls
from groundwire.models._chat import chat_body
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._switches import EXTRA, Thought, extra_of, logit_bias, penalise, switch_tokens
from groundwire.models.vllm_engine._options import EngineOptions, parse_spec
from groundwire.models.vllm_engine._talk import sampling_arguments

SWITCH, OTHER = 7, 3
VOCABULARY = 10


class Row:
    """Logits that are indexed by a list, as arrays and tensors are."""

    def __init__(self) -> None:
        self.logits = [0.0] * VOCABULARY

    def __getitem__(self, at: list[int]) -> Row:
        self.at = at
        return self

    def __isub__(self, amount: float) -> Row:
        for index in self.at:
            self.logits[index] -= amount
        return self

    def __setitem__(self, at: list[int], value: Row) -> None:
        assert value is self


def penalties(written: list[int], asked: SwitchPenalty) -> list[float]:
    """What was taken from the switch, and from nothing else, before each token of an answer."""
    thought, taken = Thought([SWITCH]), list[float]()
    for length in range(len(written) + 1):
        row = penalise(Row(), thought, written[:length], [SWITCH], asked).logits
        assert all(value == 0 for token, value in enumerate(row) if token != SWITCH)
        taken.append(-row[SWITCH])
    return taken


def test_it_is_there_for_the_first_tokens_after_a_switch_and_gone_after_them() -> None:
    asked = SwitchPenalty(window=3)
    assert (asked.penalty, SwitchPenalty().window, SwitchPenalty().words) == (3.0, 600, ("alternatively",))
    written = [OTHER] * 4 + [SWITCH] + [OTHER] * 5
    # before token 0, 1, 2 of the first thought; not from there to the switch; then for three again, and not after
    assert penalties(written, asked) == [3, 3, 3, 0, 0, 3, 3, 3, 0, 0, 0]
    assert penalties([SWITCH, SWITCH, OTHER, OTHER], SwitchPenalty(window=1, penalty=0.5)) == [0.5, 0.5, 0.5, 0, 0]


def test_a_window_of_nothing_is_no_penalty_and_none_is_one_for_all_of_it() -> None:
    written = [OTHER, SWITCH, OTHER, OTHER]
    assert penalties(written, SwitchPenalty(window=0)) == [0] * 5
    assert penalties(written, SwitchPenalty(window=None)) == [3] * 5
    nothing = ask(SwitchPenalty(window=0))
    plain = ask(None)
    assert chat_body(nothing) == chat_body(plain)
    arguments = [sampling_arguments(request, room=9, fixed={}) for request in (nothing, plain)]
    assert arguments[0] == arguments[1], "the engine is told of nothing"


def test_a_token_that_is_not_known_yet_is_looked_at_again() -> None:
    thought, written = Thought([SWITCH]), [OTHER, OTHER, -1]
    assert thought.length(written) == 3
    written[-1] = SWITCH
    assert thought.length(written) == 0 and thought.length([*written, OTHER]) == 1


PIECES = ["alter", "natively", " Altern", "atively", "wait", " wait", " Wait", "Wait", "so", "some", " alternatively"]


def encode(text: str) -> list[int]:
    """The longest pieces first."""
    ids: list[int] = []
    while text:
        piece = max((p for p in PIECES if text.startswith(p)), key=len, default="")
        if not piece:
            return [*ids, len(PIECES)]
        ids.append(PIECES.index(piece))
        text = text[len(piece) :]
    return ids


def piece(token: int) -> str:
    return PIECES[token] if token < len(PIECES) else "a"


def test_words_become_the_tokens_that_begin_them_and_no_others() -> None:
    found = {PIECES[token] for token in switch_tokens(["Alternatively", "wait"], encode, piece)}
    assert found == {"alter", " Altern", " alternatively", "wait", " wait", " Wait", "Wait"}
    with pytest.raises(ConfigError, match="'another' has no token of its own"):
        switch_tokens(["another"], encode, piece)
    with pytest.raises(ConfigError):
        switch_tokens(["soon"], lambda _: [PIECES.index("so")], piece)


def ask(asked: SwitchPenalty | None) -> Request:
    return Request(messages=(Message(role="user", content="Think."),), switch_penalty=asked)


def test_an_engine_is_told_of_it_and_made_for_it() -> None:
    asked = SwitchPenalty(words=("wait",), window=5)
    told = sampling_arguments(ask(asked), room=9, fixed={})["extra_args"]
    assert SwitchPenalty.model_validate_json(told[EXTRA]) == asked
    assert extra_of(ask(None)) == {}
    spec = parse_spec("some/model?switch_penalty=true")
    (processor,) = spec.options.engine_arguments()["logits_processors"]
    assert processor.endswith("vllm_engine._switching:SwitchProcessor")
    assert "switch_penalty" not in spec.options.engine_arguments()
    spec.options.check(ask(asked))
    bare = EngineOptions.of("some/model", {})
    assert "logits_processors" not in bare.engine_arguments()
    with pytest.raises(ConfigError, match="was not made to penalise"):
        bare.check(ask(asked))
    bare.check(ask(None))


async def test_an_api_without_a_window_gets_a_bias_and_only_if_that_is_what_was_meant() -> None:
    meant = SwitchPenalty(window=None, tokens=(SWITCH, 9), penalty=2.0)
    assert chat_body(ask(meant))["logit_bias"] == {"7": -2.0, "9": -2.0} == logit_bias(ask(meant))
    assert "logit_bias" not in chat_body(ask(meant), has_windows=True)
    for other in (SwitchPenalty(), SwitchPenalty(window=None), SwitchPenalty(tokens=(SWITCH,))):
        with pytest.raises(ConfigError, match="has a window only on vllm:"):
            chat_body(ask(other))
    claude = LiteLLMBackend("anthropic/claude-sonnet-4-5", api_key="none")
    with allow_model_calls(), pytest.raises(ModelRejected, match="takes no logit_bias"):
        await claude.complete(ask(meant))
    with allow_model_calls(), pytest.raises(ConfigError, match="has a window only on vllm:"):
        await LiteLLMBackend("openai/gpt-5-mini", api_key="none").complete(ask(SwitchPenalty()))


async def test_an_actor_asks_for_it_and_the_ledger_has_it() -> None:
    meant, backend, store = SwitchPenalty(window=4), ScriptedBackend(["ANSWER: 42"] * 4), InMemoryStore()
    actor = ConfidentVote(backend, TextAnswer(), samples=2, switch_penalty=meant)
    result = await confident_vote(actor, Check(["42"])).compile(store=store).arun(QUESTION)
    assert [request.switch_penalty for request in backend.requests] == [meant, meant]
    calls = [r for r in await store.records(result.episode_id) if isinstance(r, Intent) and r.kind == "model_call"]
    assert calls and all(json.loads(call.body)["switch_penalty"]["window"] == 4 for call in calls)
    assert "switch_penalty" not in Request(messages=()).canonical(), "requests from before it stay as they are"
    backend = ScriptedBackend(["FILE: answer.txt\n```\n42\n```\n"])
    actor = LLMActor(backend, answer="whole", switch_penalty=meant)
    await confident_vote(actor, Check(["42"])).compile().arun(QUESTION)  # pyright: ignore[reportArgumentType]  any actor
    assert backend.requests[0].switch_penalty == meant
