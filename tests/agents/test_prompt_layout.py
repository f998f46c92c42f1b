"""Prompts begin with what stays and end with what changes, so that the prefix cache of a model's server hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groundwire import Budget, Observation, Origin, Task, Verdict
from groundwire.agents import LLMActor, RuleCritic
from groundwire.agents.patching._edit_blocks import SearchReplace, render_answer
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._models import Request
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

FIRST, LAST = "app/alpha.py", "app/omega.py"
TREE = Tree(
    {
        FIRST: b"def total(xs):\n    return sum(xs)  # 0\n" + b"# the middle of alpha\n" * 80,
        LAST: b"def best(xs):\n    return min(xs)\n" + b"# the middle of omega\n" * 80,
        "tests/test_app.py": b"def test_total(): assert True  # what the tests want\n",
    }
)


class Harsh:
    """Fails every trial, each with another number of cases, so that none is like the one before."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        done = len((candidate.changes.get(FIRST) or b"# 0").partition(b"# ")[2].splitlines()[0])
        cases = tuple(
            CaseOutcome(id=f"tests/test_app.py::test_{i}", result=result, message=f"got {i} after {done}")
            for i, result in enumerate([CaseResult.PASSED] * min(done, 6) + [CaseResult.FAILED] * max(1, 8 - done))
        )
        return Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=Evidence(cases=cases))


def trial(number: int) -> str:
    """An edit of the first file's second line."""
    line = "    return sum(xs)  # 0"
    return render_answer([SearchReplace(FIRST, f"{line}\n", f"{line}{'0' * number}\n")])


def shared_by(texts: Sequence[str]) -> str:
    """Their common beginning."""
    least, most = min(texts), max(texts)
    same = next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
    return least[:same]


def asked(replies: Callable[[Request], str], trials: int) -> Sequence[str]:
    """The prompts of the trials of one episode of `code_repair`, each as one text."""
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return replies(request)

    actor = LLMActor(ScriptedBackend(reply), answer="edits")
    app = code_repair(actor, RuleCritic(), Harsh(), Harsh()).compile(
        store=InMemoryStore(), budget=Budget(trials=trials)
    )
    app.run(Task(id="layout", prompt="Make the totals right.", tree=TREE))
    return ["\n".join(message.content for message in request.messages) for request in seen]


def test_trials_of_an_episode_share_system_task_tests_and_the_files_that_stay() -> None:
    count = iter(range(1, 9))
    prompts = asked(lambda _request: trial(next(count)), trials=3)
    assert len(prompts) == 3 and len(set(prompts)) == 3
    always = shared_by(prompts)
    assert always.startswith("You repair programs.")
    assert "Make the totals right." in always and "what the tests want" in always
    # from the first change on, the file that is being changed comes after those that stay
    later = shared_by(prompts[1:])
    assert (later.count("the middle of omega"), later.count("the middle of alpha")) == (80, 80)
    assert later.index("def best") < later.index("def total")
    assert len(later) > 0.8 * len(prompts[1])


def test_two_episodes_share_what_the_prompt_file_says() -> None:
    prompts = [asked(lambda _request: trial(1), trials=1)[0] for _ in range(2)]
    assert prompts[0] == prompts[1], "nothing in it is of the moment: no id, no time"
