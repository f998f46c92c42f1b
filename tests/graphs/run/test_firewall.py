"""The hidden-test firewall: what is hidden is known again wherever it turns up; what is not hidden is left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from guessing import Check, Guesser, Noter, answer
from looking import looked

from groundwire import EpisodeResult, FeedbackGraph, Observation, StopReason, Task, Tree, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Lesson, Reflection, ToolContext
from groundwire.core._errors import HiddenLeak
from groundwire.core._models import Completion, Message, Request
from groundwire.core._programs import ProgramRequest
from groundwire.core._records import Artifact, EpisodeEnd, Intent, ModelCall, ReflectionRecord
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Origin, Signal
from groundwire.core._tasks import Hidden
from groundwire.core._traits import ToolTraits
from groundwire.graphs.run._firewall import Firewall, withheld
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

LINE = 'assert total([3, 4]) == 7, "the hidden sum"'
SHARED = 'assert total([1, 2]) == 3, "the visible sum"'
HIDDEN_FILE = f"""
from shop.price import total

def test_hidden_total():
    {LINE}
    {SHARED}
    # CANARY-9f8e7d6c
    if total([]) < 1:
        assert total([1, 1, 1]) < 4
"""
TASK = Task(
    id="shop",
    prompt="Add up prices.",
    tree=Tree({"shop/price.py": b"def total(x):\n    return 0\n", "tests/test_a.py": f"    {SHARED}\n".encode()}),
    command=("pytest", "tests"),
    hidden=Hidden(("pytest", "secret"), Tree({"secret/test_h.py": HIDDEN_FILE.encode(), "secret/data.py": b"X = 1\n"})),
)


def ask(text: str) -> Request:
    return Request(messages=(Message(role="system", content="be good"), Message(role="user", content=text)))


def wall(task: Task = TASK) -> Firewall:
    return Firewall(task)


def reflection(text: str) -> ReflectionRecord:
    return ReflectionRecord(episode_id="e", trial=1, signal_id="s", candidate_digest="c", task_id="shop", text=text)


# --- what is known again


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        f"E       {LINE}\nE       AssertionError",
        "see CANARY-9f8e7d6c there",
        "assert total([1, 1, 1]) &lt; 4",
    ],
)
def test_hidden_text_does_not_leave_in_a_prompt(text: str) -> None:
    with pytest.raises(HiddenLeak, match="about to leave in a prompt") as caught:
        wall().check_prompt(ask(f"please\n{text}\nthanks"))
    assert text not in str(caught.value), "the error must not say it either"
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        SHARED,
        "from shop.price import total",
        "def test_hidden_total():",
        "assert total([3, 4]) == 8",
        "if total([]) < 1:",
        "pytest secret",
    ],
)
def test_what_is_visible_too_or_says_nothing_is_no_leak(text: str) -> None:
    wall().check_prompt(ask(text))
    wall().check_record(reflection(text))


def test_without_hidden_tests_nothing_is_looked_for() -> None:
    wall = Firewall(TASK.public())
    assert not wall.active
    wall.check_prompt(ask(LINE))
    wall.check_record(reflection(f"{LINE} CANARY-9f8e7d6c"))
    assert wall.planted() == TASK.public()


def test_each_sink_is_watched() -> None:
    guard = wall()
    intent: dict[str, Any] = {"episode_id": "e", "trial": 1, "digest": "d"}
    bodies: list[Any] = [
        reflection(f"the tests say {LINE}"),
        Intent(kind="program", body=ProgramRequest(command=("x",), prompt=f'"{LINE}"').canonical(), **intent),
        Intent(kind="model_call", body=f"… {guard.token} …", **intent),
        ModelCall(intent_id="i", episode_id="e", trial=1, model="m", request_digest="d", completion=guard.token),
        EpisodeEnd(episode_id="e", verdict=Verdict.FAIL, stop_reason=StopReason.STUCK, detail=guard.token),
        Artifact(
            digest="a",
            kind="candidate",
            body=Candidate(TASK.tree.digest, {"shop/price.py": f"x = 1\n{LINE}\n".encode()}).to_bytes(),
        ),
    ]
    for record in bodies:
        with pytest.raises(HiddenLeak):
            guard.check_record(record)
    with pytest.raises(HiddenLeak, match="a candidate"):
        guard.check_candidate(Candidate(TASK.tree.digest, {"CANARY-9f8e7d6c.py": b""}))
    with pytest.raises(HiddenLeak, match="a model's answer"):
        guard.take_answer(Completion(texts=("fine", f"# {guard.token}")))


def test_a_signal_that_quotes_a_canary_is_not_written() -> None:
    from groundwire.core._seal import Mint

    guard = wall()
    for evidence in (
        Evidence(stdout=f"dump: {guard.token}"),
        Evidence(cases=(CaseOutcome(id="t", result=CaseResult.FAILED, message=guard.token),)),
    ):
        seen = looked({"a": False}).model_copy(update={"evidence": evidence})
        with pytest.raises(HiddenLeak, match="Signal"):
            guard.check_record(
                Mint("r", b"k" * 32).signal(seen, episode_id="e", trial=1, issuer="t", candidate_digest="c")
            )


def test_only_the_new_lines_of_a_candidate_are_its_own() -> None:
    tree = Tree({**TASK.tree.files, "notes.txt": LINE.encode()})
    guard = wall(replace(TASK, tree=tree))
    guard.check_candidate(Candidate(tree.digest, {"notes.txt": f"{LINE}\nmore\n".encode()}))


def test_a_line_that_a_model_wrote_by_itself_is_its_own_and_is_counted() -> None:
    guard = wall()
    guard.take_answer(Completion(texts=(f"I know this one:\n{LINE}",)))
    guard.check_prompt(ask(f"your last answer was {LINE}"))
    guard.check_record(reflection(LINE))
    assert guard.own_lines == {LINE}
    with pytest.raises(HiddenLeak):
        guard.check_prompt(ask("assert total([1, 1, 1]) < 4"))


def test_a_visible_line_in_an_answer_is_nothing_to_count() -> None:
    guard = wall()
    guard.take_answer(Completion(texts=(f"as in the visible tests: {SHARED}",)))
    assert guard.own_lines == set()


def test_a_word_that_the_task_uses_too_is_no_canary() -> None:
    hidden = Hidden(("pytest", "secret"), Tree({"secret/test_h.py": b"canary_rollout(5)\ncanary_secret_7\n"}))
    guard = wall(replace(TASK, prompt="Write canary_rollout.", hidden=hidden))
    guard.check_prompt(ask("def canary_rollout(percent): ..."))
    with pytest.raises(HiddenLeak):
        guard.check_prompt(ask("canary_secret_7"))


def test_lessons_that_hold_what_is_hidden_are_left_out() -> None:
    lessons = [Lesson(str(i), text, "shop") for i, text in enumerate(["add, don't subtract", f"they want {LINE}"])]
    assert [x.id for x in wall().let_through(lessons)] == ["0"]


# --- what is planted


def test_memory_is_not_asked_about_what_is_hidden() -> None:
    """An embedding model may read the question."""
    assert wall().question(f"it said {LINE}") == wall().question("CANARY-9f8e7d6c") == ""
    assert wall().question(SHARED) == SHARED


def test_the_token_stands_at_the_end_of_test_files_and_nowhere_else() -> None:
    guard, other = wall(), wall()
    planted = guard.planted()
    assert planted.hidden is not None
    files = planted.hidden.tree.files
    assert files["secret/test_h.py"] == HIDDEN_FILE.encode() + f"\n# {guard.token}\n".encode()
    assert files["secret/data.py"] == b"X = 1\n"
    assert planted.tree is TASK.tree
    assert guard.token != other.token
    assert len(guard.token) > 32


def test_a_script_that_the_hidden_command_names_is_planted_too() -> None:
    hidden = Hidden(("python", "check.py"), Tree({"check.py": b"assert 1", "data.json": b"{}"}))
    guard = wall(replace(TASK, hidden=hidden))
    planted = guard.planted().hidden
    assert planted is not None
    assert guard.token.encode() in planted.tree.files["check.py"]
    assert planted.tree.files["data.json"] == b"{}"


# --- what is kept of what hidden tests say


def test_of_hidden_evidence_only_numbers_are_kept() -> None:
    cases = (
        CaseOutcome(id="secret/test_h.py::test_x[CANARY]", result=CaseResult.PASSED, duration_s=0.5),
        CaseOutcome(id="secret/test_h.py::test_y", result=CaseResult.FAILED, message=LINE),
    )
    full = Evidence(cases=cases, collected=2, stdout=LINE, stderr="CANARY", detail=LINE)
    seen = withheld(looked({"a": False}).model_copy(update={"evidence": full}))
    kept = seen.evidence
    assert (seen.verdict, kept.collected, [c.id for c in kept.cases]) == (Verdict.FAIL, 2, ["hidden::1", "hidden::2"])
    assert [c.result for c in kept.cases] == [CaseResult.PASSED, CaseResult.FAILED]
    assert (kept.stdout, kept.stderr, kept.stdout_cut, kept.stderr_cut) == ("", "", len(LINE), 6)
    assert kept.detail.startswith("1 of 2 hidden cases hold; evidence withheld, sha256 ")
    assert not {"CANARY", LINE, "test_y"} & set(kept.model_dump_json().split('"'))
    other = withheld(looked({"a": False}))
    assert other.evidence.detail != kept.detail


def test_hidden_evidence_that_is_no_utf_8_is_withheld_too() -> None:
    full = Evidence(cases=(CaseOutcome(id="t", result=CaseResult.FAILED, message="\ud83d"),), stdout="\udfff")
    kept = withheld(looked({"a": False}).model_copy(update={"evidence": full})).evidence
    assert kept.detail.startswith("0 of 1 hidden cases hold; evidence withheld, sha256 ") and not kept.stdout


# --- in the loop


class HiddenCheck(Check):
    """Judges the hidden tests, and says more about them than it should."""

    traits = ToolTraits(judges_hidden=True)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        assert task.hidden is not None
        seen = await super().judge(candidate, task, context)
        told = seen.evidence.model_copy(update={"stdout": repr(task.hidden.tree.files), "detail": LINE})
        return seen.model_copy(update={"evidence": told})


SECRET = Hidden(("pytest", "secret"), Tree({"secret/test_h.py": HIDDEN_FILE.encode()}))


def graph(actor: Any, *, hidden: tuple[str, ...] = ("deep",), critic: Any = None) -> FeedbackGraph:
    made = FeedbackGraph().add_actor("write", actor).add_tool("test", Check()).add_tool("hidden", HiddenCheck(hidden))
    if critic is not None:
        made.add_critic("reflect", critic)
    made.add_edge("write", "test").refine("test", via="reflect" if critic else None, to="write")
    return made.confirm("test", by="hidden")


async def arun(task: Task, made: FeedbackGraph) -> tuple[EpisodeResult, list[Any]]:
    store = InMemoryStore()
    result = await made.compile(store=store).arun(replace(task, hidden=SECRET))
    return result, list(await store.records(result.episode_id))


async def test_each_access_is_on_record_before_it_happens_with_its_reason(task: Task) -> None:
    result, records = await arun(task, graph(Guesser([["wrong"], ["right"]])))
    assert result.stop_reason is StopReason.HIDDEN_FAILED
    names = [r.kind if isinstance(r, Intent) else type(r).__name__ for r in records]
    at = names.index("hidden_access")
    assert (names[at - 1 : at + 2], names.count("hidden_access")) == (["Signal", "hidden_access", "Signal"], 1)
    passed, access, judged = records[at - 1 : at + 2]
    told = json.loads(access.body)
    assert told == {"issuer": "hidden", "reason": f"final judging: test gave pass, signal {passed.id}"}
    assert access.digest == judged.candidate_digest
    assert (result.account.hidden_accesses, result.account.steering) == (1, 0)


async def test_what_hidden_tests_showed_is_for_people_and_for_nobody_else(task: Task) -> None:
    result, records = await arun(task, graph(Guesser([["right"]])))
    assert result.hidden_evidence is not None
    assert "CANARY-9f8e7d6c" in result.hidden_evidence.stdout
    written = repr(records)
    for secret in ("CANARY", LINE, "gwcanary", "test_hidden_total"):
        assert secret not in written
    assert result.hidden is not None
    assert "1 hidden cases hold" in result.hidden.evidence.detail
    assert result.detail == result.hidden.evidence.detail


class BothChecks(HiddenCheck):
    """Judges by all tests, says that the visible ones failed, and may quote the hidden ones beside it."""

    def __init__(self, quoted: str, *, declared: bool) -> None:
        super().__init__(("right",))
        self.quoted = quoted
        self.traits = ToolTraits(judges_hidden=True, judges_visible=declared)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        seen = await Check.judge(self, candidate, task, context)
        told = seen.evidence.model_copy(update={"stdout": f"expected 3 {self.quoted}"})
        return seen.model_copy(update={"evidence": told, "origin": Origin.TESTS})


@pytest.mark.parametrize(
    ("quoted", "declared", "origin"),
    [
        ("", True, Origin.TESTS),
        (SHARED, True, Origin.TESTS),
        (LINE, True, Origin.HIDDEN_TESTS),
        ("CANARY-9f8e7d6c", True, Origin.HIDDEN_TESTS),
        ("", False, Origin.HIDDEN_TESTS),
    ],
)
async def test_a_tool_given_hidden_tests_is_believed_that_visible_ones_spoke_as_far_as_it_quotes_no_hidden_ones(
    task: Task, quoted: str, declared: bool, origin: Origin
) -> None:
    made = (
        FeedbackGraph().add_actor("write", Guesser([["wrong"]])).add_tool("all", BothChecks(quoted, declared=declared))
    )
    visible = Tree({**task.tree.files, "tests/test_shared.py": f"def test():\n    {SHARED}\n".encode()})
    result, records = await arun(replace(task, tree=visible), made.add_edge("write", "all"))
    judged = [r for r in records if isinstance(r, Signal) and r.trial == 1]
    assert {s.origin for s in judged} == {origin}
    assert {"expected 3" in s.evidence.stdout for s in judged} == {origin is Origin.TESTS}
    assert LINE not in repr(records) and "CANARY" not in repr(records)
    failed = StopReason.EXHAUSTED if origin is Origin.TESTS else StopReason.HIDDEN_FAILED
    assert result.stop_reason is failed


class Asker:
    """An actor that asks a model with a prompt of its own."""

    def __init__(self, prompt: str, answers: list[str] | None = None) -> None:
        self.backend = ScriptedBackend(answers or ["right"])
        self.prompt = prompt

    async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
        completion = await context.call(self.backend, ask(self.prompt))
        return [answer(context.task, completion.texts[0])]


async def test_a_prompt_that_would_leak_is_not_sent_and_ends_the_episode(task: Task) -> None:
    actor = Asker(f"the hidden tests want {LINE}")
    result, records = await arun(task, graph(actor))
    assert (result.stop_reason, result.verdict, result.exit_code) == (StopReason.HIDDEN_LEAK, Verdict.NONE, 1)
    assert isinstance(result.error, HiddenLeak)
    assert actor.backend.requests == []  # pyright: ignore[reportUnknownMemberType]
    assert LINE not in repr(records)
    assert isinstance(records[-1], EpisodeEnd)


async def test_a_model_that_was_shown_a_canary_ends_the_episode_and_its_answer_is_not_kept(task: Task) -> None:
    result, records = await arun(task, graph(Asker("guess", ["CANARY-9f8e7d6c"])))
    assert result.stop_reason is StopReason.HIDDEN_LEAK
    (call,) = [r for r in records if isinstance(r, ModelCall)]
    assert (call.completion, call.error.split(":")[0]) == ("", "HiddenLeak")
    assert call.completion_tokens > 0, "it was paid for"
    assert "CANARY" not in repr(records)


async def test_a_model_that_knows_a_benchmark_by_heart_is_counted_not_stopped(task: Task) -> None:
    result, _ = await arun(task, graph(Asker("guess", [f"right {LINE}"]), hidden=("right",)))
    assert (result.stop_reason, result.lines_known_by_heart) == (StopReason.VERIFIED, 1)


async def test_a_reflection_that_would_leak_is_not_kept(task: Task) -> None:
    class Tells(Noter):
        async def reflect(self, context: CriticContext) -> Reflection:
            return Reflection(f"they check {LINE}")

    result, records = await arun(task, graph(Guesser([["wrong"], ["right"]]), critic=Tells()))
    assert result.stop_reason is StopReason.HIDDEN_LEAK
    assert not [r for r in records if isinstance(r, ReflectionRecord)]
    assert LINE not in repr(records)


async def test_a_candidate_that_holds_hidden_text_is_not_judged(task: Task) -> None:
    result, records = await arun(task, graph(Guesser([[f"right {LINE}"]])))
    assert (result.stop_reason, result.signals) == (StopReason.HIDDEN_LEAK, 0)
    assert LINE not in repr(records)


async def test_actors_are_never_shown_what_hidden_tests_said(task: Task) -> None:
    actor = Guesser([["right"]])
    await arun(task, graph(actor))
    assert all(context.task.hidden is None for context in actor.seen)
    assert "hidden" not in {j.signal.issuer for context in actor.seen for j in context.judged}
