"""The arms of the comparison: ready-made graphs of the library, each sized to about as many calls as width has samples.

A visible check judges in all of them. In the arms that are not `checked` it changes nothing: one answer is judged, in
one trial, so that what comes out is what the method alone came to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from groundwire.agents import (
    Asking,
    BlindResampling,
    ConfidentVote,
    FunctionBody,
    Fusion,
    MadDebate,
    ParallelRefine,
    SelfRefine,
    Sets,
    SocraticRefine,
)
from groundwire.core import Backend, Tool
from groundwire.graphs import (
    FeedbackGraph,
    blind_resampling,
    confident_vote,
    fusion,
    mad_debate,
    parallel_refine,
    self_refine,
    sets,
    ssr,
)

__all__ = ["ARMS", "CHECKED", "FIRST", "Arm", "Sizes", "arms_named"]

FIRST, CHECKED = "first", "width_checked"
TEMPERATURE = 0.8
"""Of all samples, so that arms which ask the same question share its answers."""
SYNTHESIS_TOKENS = 1200
"""What drafts may take of a prompt that shows them."""


@dataclass(frozen=True)
class Sizes:
    """What all arms are sized by.

    Args:
        samples: N of the arms that go wide; the others make about as many calls.
        max_tokens: of each text.
        asking: how one answer is asked for and read.
    """

    samples: int = 9
    max_tokens: int = 128
    asking: Asking = field(default_factory=FunctionBody)

    def vote(self, model: Backend, samples: int, *, offline: bool = False) -> ConfidentVote:
        """Samples and a vote; two programs are one answer if they parse to the same tree (`FunctionBody`)."""
        mode = "offline" if offline else "majority"
        temperature, tokens = TEMPERATURE, self.max_tokens
        return ConfidentVote(model, self.asking, samples=samples, mode=mode, temperature=temperature, max_tokens=tokens)

    def synthesis(self, model: Backend) -> ParallelRefine:
        """GSR's form: one draft fewer than samples, then one answer written from all of them."""
        return ParallelRefine(
            model,
            self.asking,
            rounds=(min(10, self.samples - 1), 1),
            workspace="candidates",
            workspace_tokens=SYNTHESIS_TOKENS,
            temperature=TEMPERATURE,
            max_tokens=self.max_tokens,
        )


Build = Callable[[Backend, Tool, Sizes], FeedbackGraph]


@dataclass(frozen=True)
class Arm:
    """One arm.

    Args:
        name: for tables.
        says: what it is, in a few words.
        build: its graph.
        checked: True where the visible check chooses the answer; False: the method alone does.
        grounded: False for the library's controls.
        needs_probabilities: True where the model has to return those of its tokens.
    """

    name: str
    says: str
    build: Build
    checked: bool = False
    grounded: bool = True
    needs_probabilities: bool = False


def _first(m: Backend, judge: Tool, s: Sizes) -> FeedbackGraph:
    actor = BlindResampling(m, s.asking, temperature=0.0, max_tokens=s.max_tokens)
    return blind_resampling(actor, judge, allow_ungrounded=True)


def _blind(m: Backend, judge: Tool, s: Sizes) -> FeedbackGraph:
    actor = BlindResampling(m, s.asking, temperature=TEMPERATURE, max_tokens=s.max_tokens)
    return blind_resampling(actor, judge, width=s.samples, allow_ungrounded=True)


def _fusion(m: Backend, judge: Tool, s: Sizes) -> FeedbackGraph:
    drafts, tokens = min(10, s.samples - 1), SYNTHESIS_TOKENS
    actor = Fusion(
        m, s.asking, drafts=drafts, workspace_tokens=tokens, temperature=TEMPERATURE, max_tokens=s.max_tokens
    )
    return fusion(actor, judge, allow_ungrounded=True)


def _self_refine(m: Backend, judge: Tool, s: Sizes) -> FeedbackGraph:
    rounds = max(1, min(7, (s.samples - 1) // 2))
    actor = SelfRefine(m, s.asking, rounds=rounds, temperature=TEMPERATURE, max_tokens=s.max_tokens)
    return self_refine(actor, judge, allow_ungrounded=True)


def _debate(m: Backend, judge: Tool, s: Sizes) -> FeedbackGraph:
    rounds = max(1, min(4, s.samples // 3))
    return mad_debate(MadDebate(m, s.asking, rounds=rounds, max_tokens=s.max_tokens), judge, allow_ungrounded=True)


def _sets(m: Backend, judge: Tool, s: Sizes) -> FeedbackGraph:
    samples = max(1, s.samples // 3)
    actor = Sets(m, s.asking, samples=samples, rounds=1, temperature=TEMPERATURE, max_tokens=s.max_tokens)
    return sets(actor, judge, allow_ungrounded=True)


def _ssr(m: Backend, judge: Tool, s: Sizes) -> FeedbackGraph:
    actor = SocraticRefine(m, s.asking, rounds=1, solves=2, temperature=TEMPERATURE, max_tokens=s.max_tokens)
    return ssr(actor, judge, allow_ungrounded=True)


ARMS: tuple[Arm, ...] = (
    Arm(FIRST, "the likeliest answer, one call", _first, grounded=False),
    Arm("confident", "vote weighed by the confidence of tokens (DeepConf, offline)",
        lambda m, judge, s: confident_vote(s.vote(m, s.samples, offline=True), judge), needs_probabilities=True),
    Arm("majority", "what most samples say", lambda m, judge, s: confident_vote(s.vote(m, s.samples), judge)),
    Arm(CHECKED, "samples by their votes; the first that passes the visible tests",
        lambda m, judge, s: confident_vote(s.vote(m, s.samples), judge, width=s.samples), checked=True),
    Arm("synthesis", "parallel_refine: written from all drafts; no check",
        lambda m, judge, s: parallel_refine(s.synthesis(m), judge)),
    Arm("synthesis_checked", "the same; of synthesis and drafts, the first that passes the visible tests",
        lambda m, judge, s: parallel_refine(s.synthesis(m), judge, width=s.samples), checked=True),
    Arm("blind_resampling", "control: as many samples, the first is taken", _blind, grounded=False),
    Arm("fusion", "control: all drafts merged", _fusion, grounded=False),
    Arm("self_refine", "control: criticises and rewrites itself", _self_refine, grounded=False),
    Arm("mad_debate", "control: debates with itself", _debate, grounded=False),
    Arm("sets", "control: checks and corrects itself, then votes", _sets, grounded=False),
    Arm("ssr", "control: redoes the step it agrees with least", _ssr, grounded=False),
)  # fmt: skip
"""`confident` before `majority`: an answer with probabilities serves both."""


def arms_named(names: str) -> list[Arm]:
    """Those of a list with commas; empty: all.

    Raises:
        SystemExit: there is none of a name.
    """
    known = {arm.name: arm for arm in ARMS}
    wanted = [name for name in names.split(",") if name] or list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"There is no arm {unknown[0]!r}: choose of {', '.join(known)}.")
    return [known[name] for name in wanted]
