"""The verdict of one way round, from what opens its edges and what is asked on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundwire_audit._report import Grounding, Level
from groundwire_audit.judging._openings import FORM_ONLY, ORDER, SAID_BY_MODEL, Basis, Opening
from groundwire_audit.reading._conditions import TaintKind
from groundwire_audit.reading._frames import Effect

DOES_NOT_DECIDE = frozenset({Basis.FREE, Basis.COUNTER, Basis.ASIDE, Basis.ASK})


@dataclass
class RoundFacts:
    """What was found on one way round.

    Args:
        openings: what opens each edge.
        effects: all that may be asked, with the node that asks.
        person_always: a person is asked on every round.
        person_maybe: conditions under which a person is asked.
        runs_tools: nodes that run tools a model asked for.
        react: the only model chooses an action, the next node carries it out, and the model sees the result.
        no_tools: why its tools bring nothing.
    """

    openings: Sequence[Opening]
    effects: Sequence[tuple[str, Effect]]
    person_always: bool = False
    person_maybe: Sequence[str] = ()
    runs_tools: Sequence[str] = ()
    react: bool = False
    no_tools: Sequence[str] = ()
    same_input: bool = False
    endless: bool = False
    leaves: Sequence[bool] = ()
    """For each edge: its source can also lead out of all loops around it."""

    def of(self, kind: TaintKind) -> list[tuple[str, Effect]]:
        """Effects of one kind."""
        return [(n, e) for n, e in self.effects if e.kind is kind]


@dataclass
class Judgement:
    """A verdict with its reasons."""

    verdict: Grounding
    kind: str
    why: str
    level: Level = Level.NONE
    notes: list[str] = field(default_factory=list[str])
    unseen: str = ""
    """Of UNKNOWN: the node that asks what is not in sight, where it is one."""


def judge(seen: RoundFacts) -> Judgement:
    """The verdict; the order of the questions is that of docs/audit.md."""
    outside = [
        o
        for o in seen.openings
        if o.basis is Basis.OUTSIDE and not (o.rests_on_person and seen.person_maybe and not seen.person_always)
    ]
    if outside and not _only_lets_pass(seen, outside) and not _only_form(seen, outside):
        return _grounded(seen, outside)
    if seen.person_always:
        return Judgement(Grounding.GROUNDED, "human", "each round waits for a person")
    models, unseen = seen.of(TaintKind.MODEL), seen.of(TaintKind.UNKNOWN)
    doubtful = [o for o in seen.openings if o.basis is Basis.UNKNOWN]
    if (
        not models
        and not unseen
        and not doubtful
        and not any(o.basis in {Basis.MODEL, Basis.ASIDE} for o in seen.openings)
    ):
        return Judgement(Grounding.WORKLIST, "no model", "no model is in this loop; plain code repeats it")
    tool_loop = _tool_loop(seen)
    if tool_loop is not None:
        return tool_loop
    if any(o.basis is Basis.WORKLIST for o in seen.openings):
        return Judgement(Grounding.WORKLIST, "items", "works through items that are left; nothing is corrected")
    worlds = seen.of(TaintKind.WORLD)
    # where a model's word decides too, and something outside is asked on the way, what is out of sight changes nothing
    doubtful = [o for o in doubtful if not (o.said and worlds)]
    if doubtful or (unseen and not worlds and not any(o.basis is Basis.MIXED for o in seen.openings)):
        return _unknown(doubtful, unseen)
    return _partly(seen, worlds) or _ungrounded(seen)


def _only_lets_pass(seen: RoundFacts, outside: Sequence[Opening]) -> bool:
    """Something outside lets a version pass on to a model, and only the model can end or repeat the loop."""
    if not seen.leaves:
        return False
    ends = {id(o) for o, leaves in zip(seen.openings, seen.leaves, strict=True) if leaves}
    models = [o for o in seen.openings if o.basis in {Basis.MODEL, Basis.ASIDE} and id(o) in ends]
    return bool(models) and not any(id(o) in ends for o in outside)


def _only_form(seen: RoundFacts, outside: Sequence[Opening]) -> bool:
    """The form of a reply lets it pass, and what it says decides elsewhere on the way."""
    return all(o.kind == FORM_ONLY for o in outside) and any(o.basis in SAID_BY_MODEL for o in seen.openings)


def _grounded(seen: RoundFacts, outside: Sequence[Opening]) -> Judgement:
    best = min(outside, key=lambda o: ORDER.index(o.kind) if o.kind in ORDER else len(ORDER))
    judged = Judgement(Grounding.GROUNDED, best.kind, f"goes round only when {_clause(best)}")
    if best.kind == "form only" and not any(o.counted for o in seen.openings):
        judged.level = Level.NOTE
        judged.notes.append("a reply that never gets its form right is asked for again and again: cap it")
    return judged


def _clause(opening: Opening) -> str:
    return f"{opening.text} says so ({opening.source or opening.kind})" if opening.text else f"{opening.kind} says so"


def _tool_loop(seen: RoundFacts) -> Judgement | None:
    decides = [o for o in seen.openings if o.basis not in DOES_NOT_DECIDE]
    asked = any(o.basis is Basis.ASK for o in seen.openings)
    worlds = [(n, e) for n, e in (*seen.of(TaintKind.WORLD), *seen.of(TaintKind.HUMAN)) if n in seen.runs_tools]
    if worlds and asked and not decides:
        names = ", ".join(dict.fromkeys(n for n, _ in worlds))
        judged = Judgement(Grounding.TOOL_LOOP, "tools", f"advances on {names}'s results only; nothing rewrites")
        judged.notes += [f"{said}: brings nothing from outside" for said in seen.no_tools]
        return judged
    if seen.react and seen.of(TaintKind.WORLD):
        name = seen.of(TaintKind.WORLD)[0][0]
        return Judgement(
            Grounding.TOOL_LOOP, "actions", f"advances on {name}'s results only; the model chooses the next action"
        )
    return None


def _unknown(doubtful: Sequence[Opening], unseen: Sequence[tuple[str, Effect]]) -> Judgement:
    why = next((o.why for o in doubtful if o.why), "") or next((e.detail for _, e in unseen if e.detail), "")
    judged = Judgement(Grounding.UNKNOWN, "not in sight", why or "what decides it is not in sight", Level.WARNING)
    judged.unseen = next((n for n, e in unseen if e.detail == why), "")
    return judged


def _partly(seen: RoundFacts, worlds: Sequence[tuple[str, Effect]]) -> Judgement | None:
    refilled = next((o for o in seen.openings if o.refilled), None)
    decider = _decider(seen)
    if seen.person_maybe:
        flag = seen.person_maybe[0]
        return Judgement(Grounding.PARTLY, "human, optional", f"a person is asked only when {flag}", Level.WARNING)
    mixed = next((o for o in seen.openings if o.basis is Basis.MIXED and not o.refilled), None)
    if mixed is not None:
        said = f"{mixed.text or 'one value'} mixes what came from outside with a model's word ({mixed.source})"
        return Judgement(Grounding.PARTLY, "mixed", said, Level.WARNING)
    if worlds:
        name, effect = worlds[0]
        said = f"{name} asks outside ({effect.what or effect.detail}), but {decider} decides"
        return Judgement(Grounding.PARTLY, "outside, not deciding", said, Level.WARNING)
    if refilled is not None:
        return Judgement(
            Grounding.PARTLY,
            "refilled list",
            f"works through a list that a model fills again ({refilled.text})",
            Level.WARNING,
        )
    return None


def _decider(seen: RoundFacts) -> str:
    if any(o.basis is Basis.UNKNOWN and o.said for o in seen.openings):
        return "a model"
    best = max((o for o in seen.openings if o.basis < Basis.UNKNOWN), key=lambda o: o.basis, default=None)
    match best.basis if best is not None else Basis.FREE:
        case Basis.MODEL | Basis.ASK | Basis.ASIDE:
            return "a model"
        case Basis.COUNTER:
            return "a counter"
        case _:
            return "nothing of it"


def _ungrounded(seen: RoundFacts) -> Judgement:
    best = max(
        (o for o in seen.openings if o.basis < Basis.UNKNOWN), key=lambda o: o.basis, default=Opening(Basis.FREE)
    )
    if best.basis is Basis.COUNTER:
        judged = Judgement(
            Grounding.UNGROUNDED, "fixed rounds", "a fixed number of rounds; no signal decides", Level.NOTE
        )
    elif best.basis is Basis.ASK:
        what = f" ({'; '.join(seen.no_tools)})" if seen.no_tools else ""
        judged = Judgement(
            Grounding.UNGROUNDED,
            "no outside tool",
            f"its tools bring nothing from outside the model{what}",
            Level.ERROR,
        )
    elif best.basis in {Basis.MODEL, Basis.ASIDE}:
        said = f"nothing outside the model can stop or start this loop: {best.words or 'a model decides'}"
        judged = Judgement(Grounding.UNGROUNDED, "model's judgement", said, Level.ERROR)
    else:
        end = "nothing ends it" if seen.endless else "nothing outside the model can stop or start this loop"
        judged = Judgement(Grounding.UNGROUNDED, "no signal", end, Level.ERROR)
    if seen.same_input:
        judged.notes.append("repeats with the same input: resampling, not correction")
    return judged
