"""search_judge: a question goes in, an answer that stands in evidence comes out, which another than the actor accepted.

    act ──► sort ──search──► call ──found──► judge ──go on, with its label (advance)──► act
                                └──error (refine)──► act
                 ──answer──► check ──pass──► end
                                └──fail (refine)──► act, cut back to before the first bad search

Each search is judged by a component of its own. What it rejects stays, labelled, and no answer is taken until a search
was accepted or `turns` were made (ReSeek, arXiv 2510.00568). An answer that the evidence does not bear out cuts the
sequence at the first bad search; what came before is kept (Search-R2, arXiv 2602.03647).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.agents.steps._tool_actor import StepForm, ToolActor
from groundwire.core._contexts import Tool
from groundwire.core._models import Backend, Embedder, Reranker
from groundwire.core._signals import Origin
from groundwire.core._toolcalls import RELEVANT, Offer, SeenCall
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._tool_steps import FAILURES, ToolState, add_steps
from groundwire.graphs.run._gate import NAMED_ONLY
from groundwire.tools._functions import CallableTool, Toolbox
from groundwire.tools._search import Relevance, Scorer, Supported, scorer_of
from groundwire.tools._tool_calls import ToolCalls

TURNS = 4
CUTS = 2
PASSAGE_CHARS = 2000

CARD = GraphCard(
    name="search_judge",
    does="a question and a search tool go in, an answer that stands in accepted evidence comes out",
    sources=("ReSeek (arXiv 2510.00568)", "Search-R2 (arXiv 2602.03647)"),
    origins=(Origin.EXECUTION, Origin.VERIFIER, Origin.OTHER_MODEL, Origin.TOOL_ERROR),
    cost="(cuts + 1) × (at most 4 searches + 1 answer) model calls; the judge by words costs none",
    use="the answer stands in a collection, and the model does not know it by heart",
    avoid="the model knows the answer, or it has to be reasoned out: what stands in no passage is rejected. The"
    " published judge alone brought 1.2 points, its prompt 0.7; the rest was training (ReSeek)",
)


@dataclass(frozen=True)
class SearchFirst:
    """No answer before a search was accepted; none but an answer once `turns` searches were made.

    Args:
        turns: the most searches.
    """

    turns: int = TURNS

    def __call__(self, seen: Sequence[SeenCall]) -> Offer:
        """See `groundwire.core._toolcalls.Offers`."""
        if len(seen) >= self.turns:
            return Offer(calls=False, why=f"all {self.turns} searches were made")
        if any(call.labels.get(RELEVANT) for call in seen):
            return Offer()
        return Offer(answer=False, why="no search has found anything relevant so far; ask for something else")


def search_judge(
    model: str | Backend,
    search: CallableTool,
    *,
    scorer: Scorer | Reranker | Embedder | None = None,
    check: Tool | None = None,
    turns: int = TURNS,
    cuts: int = CUTS,
    form: StepForm = "auto",
    failures: int = FAILURES,
) -> FeedbackGraph:
    """The graph; `compile` it with a store and a budget. The question is the task's prompt.

    Args:
        model: a LiteLLM id, or a backend.
        search: a tool that takes a query and gives passages, an empty line between them; `Corpus(…).tool()`.
        scorer: says how relevant they are: a reranker, as published, an embedder, or a `Scorer` with a threshold of its
            own. A model's word is marked so. Default: the share of the query's words, which is what is left where there
            is no model to ask.
        check: judges the answer; default: it must stand in an accepted passage.
        turns: the most searches of one sequence.
        cuts: times that a sequence may be cut back; then the episode ends `rejected`.
        form: how the model names its steps (`ToolActor`).
        failures: searches that may fail in a row.
    """
    offers = SearchFirst(turns)
    judge = Relevance(scorer_of(scorer))
    toolbox = Toolbox(search)
    actor = ToolActor(model, toolbox.specs, form=form, offers=offers)
    calls = ToolCalls(toolbox, chars=PASSAGE_CHARS, offers=offers)
    graph = FeedbackGraph(ToolState, name="search_judge", trust={judge.origin} & NAMED_ONLY)
    add_steps(graph, actor, calls, check or Supported(), offers=offers, failures=failures, rejections=cuts + 1)
    graph.add_tool("judge", judge)
    graph.confirm("call", by="judge")
    return graph.advance("judge", to="act")
