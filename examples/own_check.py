"""A check of your own in a grounded loop: an actor proposes, your function decides, a fail leads to another try.

python examples/own_check.py
"""

from collections.abc import Sequence

from groundwire import Candidate, EpisodeResult, FeedbackGraph, Observation, Origin, Signal, Task, Tree, Verdict
from groundwire.core import ActorContext, CaseOutcome, CaseResult, Evidence, ToolContext

TARGET = 24


class Expressions:
    """Proposes one arithmetic expression of the task's numbers after the other."""

    numbers = (4, 7, 8, 8)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        a, b, c, d = self.numbers
        ideas = [f"{a} + {b} + {c} + {d}", f"({a} * {b}) - {c} + {d}", f"({b} - {c} / {d}) * {a}"]
        made = [Candidate(context.task.tree.digest, {"answer.txt": text.encode()}, note=text) for text in ideas]
        return [c for c in made if c.digest not in context.tried][:n]


class EqualsTarget:
    """Looks at an answer from outside: plain arithmetic, no opinion."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        text = task.tree.with_changes(candidate.changes).files["answer.txt"].decode()
        value = eval(text, {"__builtins__": {}})  # safe here: the expressions above are ours, not a model's
        right = value == TARGET
        case = CaseOutcome(
            id="equals", result=CaseResult.PASSED if right else CaseResult.FAILED, message=f"{text} = {value:g}"
        )
        return Observation(
            verdict=Verdict.PASS if right else Verdict.FAIL, origin=Origin.VERIFIER, evidence=Evidence(cases=(case,))
        )


def main() -> None:
    """Builds the loop and runs it."""
    graph = FeedbackGraph()
    graph.add_actor("write", Expressions())
    graph.add_tool("check", EqualsTarget())
    graph.add_edge("write", "check")
    graph.refine("check", to="write")
    for item in graph.compile().stream(Task(id="make-24", tree=Tree({"answer.txt": b"0"}))):
        if isinstance(item, Signal):
            print(item.verdict, item.evidence.cases[0].message)
        elif isinstance(item, EpisodeResult):
            print(item.stop_reason)


if __name__ == "__main__":
    main()
