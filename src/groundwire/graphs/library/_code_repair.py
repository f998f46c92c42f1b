"""code_repair: a failing project goes in, a verified patch comes out.

    baseline ──refine──► write ──► test ──pass──► hidden ──► end
                           ▲         │
                           └─ reflect ◄─refine

The baseline is judged first; visible tests steer; hidden tests judge once, at the end. The best verified candidate is
kept, test by test (Reflexion, arXiv 2303.11366, with the check outside the model and the memory in SQL).

With `own_tests`, tests that a model wrote stand beside the user's. They may ask for another try, and lose no PASS:

    write ──► test ──pass──► own ──pass, or the loop has ended──► hidden ──► end
      ▲         │             │
      └─ reflect ◄─refine─────┘

Step by step, and where each is done (below `groundwire`):

    a task, its files and its tests                   core._tasks, core._candidates
    an episode begins, or goes on after a crash       graphs.run._app, graphs.run._resuming
    baseline, test, own, hidden: the tool judges      tools._judging in a sandbox, tools._verdicts: pass, fail or none
      the runtime seals what it observed              graphs.run._tool_node, core._seal
      it is looked at again where that is due         graphs.run._rejudging
      the best candidate is kept, case by case        graphs.run._acceptance
      to the end, to the next tool, or to the gate    graphs.run._routing, graphs.run._stagnation
    refine: the gate opens for a sealed FAIL alone    graphs.run._gate
    lessons of earlier episodes                       graphs.run._memory, memory._recall
    write, reflect: the actor, the critic             graphs.run._nodes, agents
      a model is asked within the budget              graphs.run._calls, graphs.run._budget, models
    each of these is in the ledger first              graphs.run._episode, graphs.run._history, memory._sql_store
    end: the last record, the answer and its patch    graphs.run._driver, graphs.run._answer, graphs.run._result
"""

from __future__ import annotations

from groundwire.core._contexts import Actor, Critic, Tool
from groundwire.core._errors import ConfigError
from groundwire.core._signals import Origin
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.run._answer import Select

CARD = GraphCard(
    name="code_repair",
    does="a failing project goes in, a verified patch comes out",
    sources=("Reflexion (arXiv 2303.11366)", "Feedback Friction (arXiv 2506.11930)", "GLoRe (arXiv 2402.10963)"),
    origins=(Origin.TESTS, Origin.MODEL_TESTS, Origin.HIDDEN_TESTS),
    cost="trials × (width candidates + 1 reflection); none for a baseline that passes; 1 more for tests of its own",
    use="there are tests, and they fail",
    avoid="the only tests are a model's own: they pass wrong code, and reflection hurts (MBPP, Reflexion paper)",
)


def code_repair(
    actor: Actor,
    critic: Critic | None,
    judge: Tool,
    hidden: Tool,
    *,
    width: int = 1,
    select: Select = "best",
    baseline: bool = True,
    own_tests: Tool | None = None,
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: proposes patches. `LocalOrGlobal` answers each failure by a small change and by starting over; give it a
            width of 2.
        critic: reflects on what failed; None: the actor is told what failed, and nothing is reflected on.
        judge: runs the visible tests.
        hidden: runs the hidden tests; asked only where the task has any, once, and nothing is proposed after it.
        width: candidates judged in one trial.
        select: `best`: what has passed the visible tests goes to the hidden ones; nothing else does, so without
            visible tests there is no verdict. `last`: where the loop ends without a PASS, the actor's last candidate
            goes there, whatever came before it: how published self-repair loops choose their answer. A model's,
            sandbox's or ledger's error, and time that has run out, end an episode without an answer.
        baseline: False where there is nothing to repair yet: the first candidate is written before anything is judged.
        own_tests: `ModelTests(…)`: judges what has passed the visible tests. Its FAIL asks for another try; where the
            loop ends without anything better, what passed the visible tests is the answer, and the account says that
            the model's own tests disagree.

    Raises:
        ConfigError: `own_tests` with `select="last"`: the last candidate may be a worse one than what has passed.
    """
    if own_tests is not None and select == "last":
        raise ConfigError("own_tests keep what has passed, and select='last' gives it up.", do="Leave one of them out.")
    graph = FeedbackGraph(name="code_repair" if select == "best" else f"code_repair_{select}")
    if baseline:
        graph.add_tool("baseline", judge)
    graph.add_actor("write", actor, width=width)
    graph.add_tool("test", judge)
    if critic is not None:
        graph.add_critic("reflect", critic)
    graph.add_tool("hidden", hidden)
    if baseline:
        graph.set_entry("baseline")
        graph.refine("baseline", to="write")
    graph.add_edge("write", "test")
    via = None if critic is None else "reflect"
    graph.refine("test", via=via, to="write")
    if own_tests is not None:
        graph.add_tool("own", own_tests)
        graph.confirm("test", by="own").refine("own", via=via, to="write")
    graph.confirm("test" if own_tests is None else "own", by="hidden", select=select)
    return graph
