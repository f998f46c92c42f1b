"""Real runs for reports: words guessed in process, with a task's name and a test's message that attack the reader."""

from __future__ import annotations

from collections.abc import Sequence

from guessing import ANSWER, Check, Guesser, Noter

from groundwire import Task
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._records import Store
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.core._tasks import Hidden
from groundwire.graphs.library._code_repair import code_repair
from groundwire.tools import HiddenTests

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
"""Would change the page's title, if it were let."""
TURNED = "evil\u202egnp.exe"
"""Would be read backwards."""


class Attacking(Check):
    """A test whose message is an attack on whoever shows it."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        observed = await super().judge(candidate, task, context)
        if observed.verdict is not Verdict.FAIL:
            return observed
        case = CaseOutcome(id="test_it", result=CaseResult.FAILED, message=f"AssertionError: {HOSTILE} {TURNED}")
        return observed.model_copy(update={"evidence": Evidence(cases=(case,))})


async def guessed(
    store: Store, tasks: Sequence[tuple[str, Sequence[str]]], *, hidden: bool = True, seed: int = 0, **config: object
) -> str:
    """A run in which each task's answers are given beforehand; its id.

    Args:
        store: where it is kept.
        tasks: (id, answers in order); `right` passes both kinds of tests, `almost right` fails the hidden ones.
        hidden: False: there are no hidden tests.
        seed: of every episode.
        config: of the run.
    """
    run_id = ""
    for name, answers in tasks:
        check = Attacking(("right",), Origin.TESTS)
        secret = Check(("right",), Origin.HIDDEN_TESTS, override=_too_clever) if hidden else HiddenTests()
        graph = code_repair(Guesser([[word] for word in answers]), Noter(), check, secret, baseline=False)
        app = graph.compile(store=store)
        run_id = run_id or await app.start_run(config)
        secrets = Hidden(("pytest",), Tree({"secret/test_all.py": b"assert answer() == 'it is a secret'\n"}))
        task = Task(id=name, family="words", tree=Tree({ANSWER: b"nothing"}), hidden=secrets if hidden else None)
        await app.arun(task, run_id=run_id, seed=seed)
    return run_id


def _too_clever(text: str) -> Observation | None:
    if "almost" not in text:
        return None
    case = CaseOutcome(id="secret", result=CaseResult.FAILED, message="secret")
    return Observation(verdict=Verdict.FAIL, origin=Origin.HIDDEN_TESTS, evidence=Evidence(cases=(case,)))
