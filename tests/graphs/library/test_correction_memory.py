"""correction_memory: tell it once (methods row 90)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from guessing import Check, Guesser
from pages import check_page

from groundwire import EpisodeResult, NoVerdict, Origin, StopReason, Task, Tree, Verdict
from groundwire.agents import LLMActor
from groundwire.agents.patching._llm_critic import Distiller
from groundwire.core._candidates import Candidate
from groundwire.core._models import Request
from groundwire.core._records import Admission, ReflectionRecord, Store
from groundwire.core._signals import Signal
from groundwire.graphs.library._correction_memory import correction_memory
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import ScriptedBackend

WORDS = "No! Put tests in /tests, not <here>. \u2014 A."
FACT = "Tests belong in the folder tests."


def task(name: str, family: str = "python") -> Task:
    return Task(id=name, family=family, prompt=f"Write a test of {name}.", tree=Tree({f"{name}.py": b"x = 1\n"}),
                test_files=(), editable=("**",))  # fmt: skip


def writes(request: Request) -> str:
    """Puts tests at the root unless a lesson, or the thought about this very failure, says better."""
    path = "tests/test_it.py" if FACT in request.messages[-1].content else "test_it.py"
    return f"A test.\n\nFILE: {path}\n```\ndef test_it():\n    assert True\n```\n"


class Reviewer:
    """A person who wants tests in a folder of their own, and says so."""

    def __init__(self) -> None:
        self.corrections = 0

    def __call__(self, candidate: Candidate, task: Task) -> str:
        if all(path.startswith("tests/") for path in candidate.changes):
            return ""
        self.corrections += 1
        return WORDS


async def work(
    store: Store, name: str, family: str = "python"
) -> tuple[EpisodeResult, Reviewer, list[Any], ScriptedBackend]:
    reviewer, actor = Reviewer(), ScriptedBackend(writes)
    distil = Distiller(ScriptedBackend([FACT] * 3))
    app = correction_memory(LLMActor(actor, answer="whole"), reviewer, distil=distil).compile(store=store)
    result = await app.arun(task(name, family))
    return result, reviewer, list(await store.records(result.episode_id)), actor


async def test_it_is_told_once_and_by_no_unrelated_work(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lessons.db'}"
    corrections: list[int] = []
    for name in ("first", "second", "third"):
        async with aclosing(SqlStore(url)) as store:
            result, reviewer, records, actor = await work(store, name)
        corrections.append(reviewer.corrections)
        assert (result.stop_reason, result.account.opinions) == (StopReason.VERIFIED, ("human",)), (
            "marked as an opinion"
        )
        if name == "first":
            (kept,) = (r for r in records if isinstance(r, ReflectionRecord))
            assert (kept.text, kept.raw) == (FACT, WORDS), "the words stand beside what was made of them"
            assert [a.edge for a in records if isinstance(a, Admission)] == ["refine"]
            assert {s.origin for s in records if isinstance(s, Signal)} == {Origin.HUMAN}
        else:
            assert FACT in actor.requests[0].messages[-1].content
    assert corrections == [1, 0, 0]
    async with aclosing(SqlStore(url)) as store:
        _, reviewer, _, actor = await work(store, "letter", family="prose")
    assert reviewer.corrections == 1
    assert FACT not in actor.requests[0].messages[-1].content


async def test_the_model_that_distils_is_shown_the_words_as_data() -> None:
    backend = ScriptedBackend([FACT])
    app = correction_memory(
        LLMActor(ScriptedBackend(writes), answer="whole"), Reviewer(), distil=Distiller(backend)
    ).compile()
    result = await app.arun(task("one"))
    assert result.verdict is Verdict.PASS
    replayed = await app.areplay(task("one"), run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None, "nobody is asked again, neither person nor model"
    asked = backend.requests[0].messages[-1].content
    assert "<correction>\nNo! Put tests in /tests, not &lt;here&gt;. \u2014 A.\n</correction>" in asked
    assert "+def test_it():" in asked


async def test_a_test_is_asked_before_a_person_is_and_words_alone_will_do(task: Task) -> None:
    shown: list[str] = []

    async def ask(candidate: Candidate, _task: Task) -> str:
        shown.append((candidate.changes["answer.txt"] or b"").decode())
        return "" if shown[-1] == "right!" else "more joy"

    store = InMemoryStore()
    actor = Guesser([["wrong"], ["right"], ["right!"]])
    result = await correction_memory(actor, ask, judge=Check()).compile(store=store).arun(task)
    assert (result.stop_reason, shown) == (StopReason.VERIFIED, ["right", "right!"])
    reflection = actor.seen[2].reflection
    assert reflection is not None
    assert (reflection.text, reflection.raw, reflection.by) == ("more joy", "more joy", "person")


async def test_nobody_there_is_no_verdict(task: Task) -> None:
    def gone(candidate: Candidate, _task: Task) -> str:
        raise EOFError

    app = correction_memory(Guesser([["right"]]), gone).compile()
    result = await app.arun(task)
    signals: Sequence[Any] = [r for r in await app.store.records(result.episode_id) if isinstance(r, Signal)]
    assert (result.stop_reason, {s.reason for s in signals}) == (StopReason.NO_VERDICT, {NoVerdict.RUNNER_MISSING})
    assert result.patch == ""


def test_its_page_shows_this_graph() -> None:
    check_page("correction_memory", correction_memory(Guesser([]), Reviewer()))
