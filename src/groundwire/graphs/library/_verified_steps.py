"""verified_steps: a task goes in, an answer comes out whose every step a program has checked, or an honest "no answer".

    write ──► check ──pass──► end
      ▲         │
      └─ refine ┘       at most 5 corrections, then it abstains

Steps are checked while they are written; writing is cut off at a step that breaks a rule and goes on from the last one
that holds (interwhen, arXiv 2602.11202). What is cut off early is only listening: the correction itself is opened by
the sealed FAIL of the tool that judges what was written.
"""

from __future__ import annotations

from groundwire.agents.steps._step_writer import StepWriter
from groundwire.core._models import Backend
from groundwire.core._signals import Origin
from groundwire.core._steps import StepRules
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.tools._step_checker import StepChecker

CARD = GraphCard(
    name="verified_steps",
    does="a task goes in, an answer whose every step was checked comes out, or an honest refusal",
    sources=("interwhen (arXiv 2602.11202)",),
    origins=(Origin.VERIFIER,),
    cost="1 call, and 1 for each correction (at most 5); only what follows the last good step is written again",
    use="each step can be checked by code: policies, arithmetic, moves, types",
    avoid="steps can't be checked one by one; a judge of prose is no verifier",
)


def verified_steps(
    model: str | Backend, rules: StepRules, *, corrections: int = 5, path: str = "answer.md", max_tokens: int = 2048
) -> FeedbackGraph:
    """The graph.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend; one that streams is interrupted while it writes.
        rules: how an answer is split, and what each step must hold to.
        corrections: after so many the episode ends without an answer (`budget_refinements`).
        path: the file of the task that the answer is written to.
        max_tokens: tokens of each answer.
    """
    graph = FeedbackGraph(name="verified_steps", rules=Rules(refinements={Origin.VERIFIER: corrections}))
    graph.add_actor("write", StepWriter(model, rules, path=path, max_tokens=max_tokens))
    graph.add_tool("check", StepChecker(rules, path=path))
    graph.add_edge("write", "check")
    graph.refine("check", to="write")
    return graph
