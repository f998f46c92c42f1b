"""Row 65 (GUI-Critic-R1): what can't be undone is looked at by another before it is done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Interrupt
from pages import check_page
from trails import trail, turns

from groundwire import FeedbackApp, Origin, StopReason, Task
from groundwire.agents import ModelReviewer, ToolActor
from groundwire.core._errors import ConfigError
from groundwire.core._records import Record
from groundwire.core._signals import NoVerdict, Signal
from groundwire.core._toolcalls import Call, Reviewer, Ruling
from groundwire.graphs.library._preflight import preflight
from groundwire.graphs.library._tool_steps import tool_account
from groundwire.models import ScriptedBackend
from groundwire.tools import AnswerCheck, FunctionTool, RuleReviewer, Toolbox

TASK = Task(id="clean", prompt="Delete the draft.")
LOOK = json.dumps({"tool": "look", "arguments": {}})
DONE = json.dumps({"answer": "done"})


def delete(name: str) -> str:
    return json.dumps({"tool": "delete", "arguments": {"name": name}})


class Died(BaseException):
    """The process is gone."""


class Desk:
    """Papers, and what was done to them."""

    def __init__(self, *, dies: bool = False) -> None:
        self.deleted: list[str] = []
        self.dies = dies

    def box(self) -> Toolbox:
        def look() -> list[str]:
            """Names of the papers."""
            return ["draft", "contract"]

        async def delete(name: str) -> str:
            """Deletes a paper for good."""
            self.deleted.append(name)
            if self.dies:
                raise Died
            return f"{name} is gone"

        return Toolbox(look, FunctionTool(delete, irreversible=True))

    def app(self, replies: Sequence[str], reviewer: Reviewer, *, saver: Any = None, **options: Any) -> FeedbackApp:
        self.backend = ScriptedBackend(replies, model="actor")
        box = self.box()
        actor = ToolActor(self.backend, box.specs)
        graph = preflight(actor, box, AnswerCheck(lambda a: a == "done"), reviewer, **options)
        return graph.compile(checkpointer=saver)


def policy(call: Call) -> Ruling:
    if call.arguments["name"] == "contract":
        return Ruling(False, "contracts are kept", "delete the draft")
    return Ruling(True if call.arguments["name"] == "draft" else None, "who knows what this is")


async def test_a_veto_keeps_the_call_from_being_made_and_its_suggestion_reaches_the_actor() -> None:
    desk = Desk()
    app = desk.app([LOOK, delete("contract"), delete("draft"), DONE], RuleReviewer(policy))
    records: list[Record] = []
    result = await app.arun(TASK, observers=[records.append])
    assert trail(records) == [
        *("act", "call go_on", "advance"),  # what can be undone is not reviewed
        *("act", "review fail", "refine"),
        *("act", "review go_on", "call go_on", "advance"),
        *("act", "check pass"),
    ]
    assert desk.deleted == ["draft"] and result.stop_reason is StopReason.VERIFIED
    before, again = turns(desk.backend.requests[1]), turns(desk.backend.requests[2])
    assert again[: len(before)] == before
    assert again[len(before) :] == [
        delete("contract"),
        '<tool_error origin="verifier">\ncontracts are kept; instead: delete the draft\n</tool_error>',
    ]
    account = await tool_account(app.store, result.episode_id)
    assert (account.made, account.vetoed, account.failed) == (2, 1, 0)
    replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None and desk.deleted == ["draft"]


async def test_the_same_model_may_not_review_itself() -> None:
    with pytest.raises(ConfigError, match="the actor's own model, actor"):
        Desk().app([], ModelReviewer(ScriptedBackend([], model="actor")))


async def test_another_models_word_is_marked_so_and_what_it_allowed_is_not() -> None:
    desk = Desk()
    reviewer = ScriptedBackend(
        [
            'Thinking… {"ruling": "veto", "why": "not <asked> for", "instead": "delete the draft"}',
            '{"ruling": "allow", "why": "asked for"}',
        ],
        model="reviewer",
    )
    app = desk.app([LOOK, delete("contract"), delete("draft"), DONE], ModelReviewer(reviewer, "Keep contracts."))
    records: list[Record] = []
    result = await app.arun(TASK, observers=[records.append])
    assert result.stop_reason is StopReason.VERIFIED and desk.deleted == ["draft"]
    origins = [(r.issuer, r.origin) for r in records if isinstance(r, Signal)]
    assert origins[1] == ("review", Origin.OTHER_MODEL)
    assert origins[2:4] == [("review", Origin.OTHER_MODEL), ("call", Origin.EXECUTION)]
    (asked,) = turns(reviewer.requests[0])
    assert "<policy>\nKeep contracts.\n</policy>" in asked
    assert '<call>\n{"arguments":{"name":"contract"},"tool":"delete"}\n</call>' in asked
    assert '{"arguments":{},"tool":"look"}\n["draft","contract"]' in asked
    assert "not &lt;asked&gt; for; instead: delete the draft" in turns(desk.backend.requests[2])[-1]


@pytest.mark.parametrize("said", ["I approve.", '{"ruling": "doubt", "why": "unclear"}', '{"ruling": "yes"}', ""])
async def test_doubt_and_what_can_not_be_read_are_no_consent(said: str) -> None:
    desk = Desk()
    reviewer = ModelReviewer(ScriptedBackend([said], model="reviewer"))
    result = await desk.app([delete("draft")], reviewer).arun(TASK)
    assert result.stop_reason is StopReason.NO_VERDICT and desk.deleted == []
    assert result.detail.startswith("undecided: ")


async def test_a_person_settles_a_doubt() -> None:
    desk = Desk()
    replies = [delete("letter"), delete("note"), DONE]
    app = desk.app(replies, RuleReviewer(policy), saver=InMemorySaver(), person=True)
    paused = await app.arun(TASK)
    assert paused.stop_reason is StopReason.INTERRUPTED and desk.deleted == []
    (question,) = paused.interrupts
    assert isinstance(question, Interrupt)
    assert question.value == {
        "tool": "delete",
        "arguments": {"name": "letter"},
        "doubt": "who knows what this is",
    }

    async def answered(said: Any) -> Any:
        return await app.arun(TASK, run_id=paused.run_id, episode_id=paused.episode_id, resume=said)

    paused_again = await answered("the note is enough; keep the letter")
    assert paused_again.stop_reason is StopReason.INTERRUPTED and desk.deleted == []
    assert "a person refused it; instead: the note is enough; keep the letter" in turns(desk.backend.requests[1])[-1]
    result = await answered(True)
    assert result.stop_reason is StopReason.VERIFIED and desk.deleted == ["note"]
    records = await app.store.records(paused.episode_id)
    assert trail(records) == [
        *("act", "review undecided", "person fail", "refine"),
        *("act", "review undecided", "person go_on", "call go_on", "advance", "act", "check pass"),
    ]
    assert [r.origin for r in records if isinstance(r, Signal) and r.issuer == "person"] == [Origin.HUMAN] * 2


async def test_with_nobody_to_ask_nothing_is_done() -> None:
    desk = Desk()
    result = await desk.app([delete("letter")], RuleReviewer(policy), person=True).arun(TASK)
    assert result.stop_reason is StopReason.NO_VERDICT and "checkpointer" in result.detail and desk.deleted == []


async def test_three_vetoes_in_a_row_end_the_episode() -> None:
    desk = Desk()
    names = ["contract", "contract ", "contract  "]
    reviewer = RuleReviewer(lambda call: Ruling(False, f"no, not {len(call.arguments['name'])}"))
    result = await desk.app([delete(name) for name in names], reviewer).arun(TASK)
    assert result.stop_reason is StopReason.REJECTED and desk.deleted == []


async def test_what_can_not_be_undone_is_never_begun_twice() -> None:
    desk = Desk(dies=True)
    app = desk.app([delete("draft"), DONE], RuleReviewer(policy))
    run_id = await app.start_run()
    with pytest.raises(Died):
        await app.arun(TASK, run_id=run_id)
    assert desk.deleted == ["draft"]
    (known,) = await app.store.episodes(run_id)
    result = await app.arun(TASK, run_id=run_id, episode_id=known.id)
    assert result.stop_reason is StopReason.NO_VERDICT and result.detail.startswith(NoVerdict.CUT_OFF)
    assert desk.deleted == ["draft"]
    replayed = await app.areplay(TASK, run_id=run_id, episode_id=known.id)
    assert replayed.difference is None


def test_its_page_shows_this_graph() -> None:
    box = Desk().box()
    actor = ToolActor(ScriptedBackend([]), box.specs)
    check_page("preflight", preflight(actor, box, AnswerCheck(bool), RuleReviewer(policy), person=True))
