"""Graphs that write one answer: what proposes in each, by its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundwire import agents
from groundwire.cli.graph_options._declared import OPTIONS
from groundwire.cli.graph_options._making import Making
from groundwire.core._contexts import Actor
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise ConfigError(f"--drafts {text!s:.40} is no list of whole numbers.", do="Write --drafts 8,4,1.")
    return found


def _parallel(m: Making) -> Actor:
    o = m.options
    return agents.ParallelRefine(
        m.model,
        m.asking,
        rounds=_numbers(o.drafts),
        workspace=o.workspace,
        workspace_tokens=o.workspace_tokens,
        max_tokens=o.answer_tokens,
    )


def _vote(m: Making) -> Actor:
    o = m.options
    return agents.ConfidentVote(
        m.model,
        m.asking,
        samples=o.samples,
        mode=o.mode,
        keep=o.keep,
        window=o.window,
        warm_up=o.warm_up,
        consensus=o.consensus,
        max_tokens=o.answer_tokens,
    )


def _round_table(m: Making) -> Actor:
    o = m.options
    seats = [m.model, *map(m.other_model, o.seat or ())]
    if len(seats) < 2:  # a table
        m.needed("seat", "a second model at the table")
    return agents.RoundTable(
        seats, m.asking, rounds=o.rounds, allow_homogeneous=o.same_model, max_tokens=o.answer_tokens
    )


def _perturbed(m: Making) -> Actor:
    o = m.options
    symmetry = agents.shuffled_options if o.symmetry == "options" else agents.relabelled_digits
    return agents.PerturbVote(m.model, m.asking, symmetry, versions=o.versions, max_tokens=o.answer_tokens)


def _router(m: Making) -> Actor:
    listed: str = m.options.strategies
    names = tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))
    able = [name for name in ANSWERING if name != m.graph]
    if wrong := [name for name in names if name not in able]:
        raise ConfigError(f"{wrong[0]!r:.60} is no strategy.", do=f"Use two or more of {', '.join(able)}.")
    shared = {key: getattr(m.options, key) for key in ("answer", "show", "answer_tokens")}
    made = {name: ANSWERING[name](Making(name, OPTIONS[name](**shared), m.parts, m.task, m.world)) for name in names}
    return agents.StrategyRouter(made)


def _judge_of(m: Making) -> Backend:
    judge = m.other_model(m.needed("judge", "a model that judges, another one than the author"))
    if judge.model == m.model.model:
        raise ConfigError(
            f"{judge.model} would judge its own answers, and models agree with themselves.",
            do="Name another model with --judge.",
        )
    return judge


def _best_of_n(m: Making) -> Actor:
    o = m.options
    judge = agents.ModelStepJudge(_judge_of(m))
    return agents.RefinedBestOfN(m.model, m.asking, judge, samples=o.samples, max_tokens=o.answer_tokens)


def _side_by_side(m: Making) -> Actor:
    o = m.options
    return agents.SideBySide(m.model, m.asking, judge=_judge_of(m), samples=o.samples, max_tokens=o.answer_tokens)


def _self_refine(m: Making) -> Actor:
    return agents.SelfRefine(m.model, m.asking, rounds=m.options.rounds, max_tokens=m.options.answer_tokens)


def _blind(m: Making) -> Actor:
    return agents.BlindResampling(m.model, m.asking, max_tokens=m.options.answer_tokens)


def _fusion(m: Making) -> Actor:
    o = m.options
    (drafts, *more) = _numbers(o.drafts)
    if more:
        raise ConfigError("fusion has one round of drafts.", do=f"Write --drafts {drafts}.")
    return agents.Fusion(
        m.model, m.asking, drafts=drafts, workspace_tokens=o.workspace_tokens, max_tokens=o.answer_tokens
    )


def _debate(m: Making) -> Actor:
    return agents.MadDebate(m.model, m.asking, rounds=m.options.rounds, max_tokens=m.options.answer_tokens)


def _sets(m: Making) -> Actor:
    o = m.options
    return agents.Sets(m.model, m.asking, samples=o.samples, rounds=o.rounds, max_tokens=o.answer_tokens)


def _ssr(m: Making) -> Actor:
    o = m.options
    return agents.SocraticRefine(m.model, m.asking, rounds=o.rounds, solves=o.solves, max_tokens=o.answer_tokens)


ANSWERING: Mapping[str, Callable[[Making], Actor]] = {
    "parallel_refine": _parallel,
    "confident_vote": _vote,
    "round_table": _round_table,
    "perturb_vote": _perturbed,
    "strategy_router": _router,
    "refined_best_of_n": _best_of_n,
    "side_by_side_judge": _side_by_side,
    "self_refine": _self_refine,
    "blind_resampling": _blind,
    "fusion": _fusion,
    "mad_debate": _debate,
    "sets": _sets,
    "ssr": _ssr,
}
