"""Which earlier version a correction is about (methods row 90)."""

from __future__ import annotations

import pytest
from guessing import ANSWER, Check, Guesser
from trails import trail

from groundwire import Budget, StopReason, Task, Tree
from groundwire.agents.patching._llm_critic import Distiller
from groundwire.agents.patching._variants import ChosenPast
from groundwire.core._candidates import Candidate
from groundwire.graphs.library._correction_memory import correction_memory
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

TASK = Task(id="letter", prompt="Write a letter.", tree=Tree({ANSWER: b"?\n"}), editable=(ANSWER,))
BACK = "Go back to the first one, but <shorter>."
SAYS = {"first": "too dry", "second": BACK, "third": ""}


def ask(candidate: Candidate, task: Task) -> str:
    return SAYS[(candidate.changes[ANSWER] or b"").decode()]


def content(candidate: Candidate, task: Task) -> str:
    return ""


@pytest.mark.parametrize(
    ("answer", "tree", "failing"),
    [("1", b"first", b"first"), ("It is 2.", b"second", b"second"), ("0", b"?\n", None),
     ("the first?", b"second", b"second"), ("7", b"second", b"second"), (" ", b"second", b"second")],
)  # fmt: skip
async def test_the_revision_starts_from_what_the_correction_is_about(
    answer: str, tree: bytes, failing: bytes | None
) -> None:
    actor, model, store = Guesser([["first"], ["second"], ["third"]]), ScriptedBackend([answer] * 3), InMemoryStore()
    app = correction_memory(ChosenPast(actor, model), ask, distil=Distiller()).compile(
        store=store, budget=Budget(trials=4)
    )
    result = await app.arun(TASK)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 3)
    once = ["write", "person fail", "refine"]
    assert trail(await store.records(result.episode_id)) == [*once, *once, "write", "person pass"]
    (request,) = model.requests
    assert request.purpose == "choose_past", "asked once: of one version there is nothing to choose"
    told = request.messages[-1].content
    assert '<version number="1">' in told and "+first" in told and "too dry" in told and "+second" in told
    assert "<correction>\nGo back to the first one, but &lt;shorter&gt;.\n</correction>" in told
    seen = actor.seen[2]
    assert seen.tree.files[ANSWER] == tree
    assert (seen.failing.candidate.changes[ANSWER] if seen.failing else None) == failing
    assert seen.reflection is not None and seen.reflection.text == BACK, "the newest correction is told in any case"


async def test_what_no_person_said_is_left_to_the_actor() -> None:
    actor, model = Guesser([["wrong"], ["also wrong"], ["right"]]), ScriptedBackend([])
    app = correction_memory(ChosenPast(actor, model), content, judge=Check()).compile()
    assert (await app.arun(TASK)).stop_reason is StopReason.VERIFIED
    assert model.requests == []
