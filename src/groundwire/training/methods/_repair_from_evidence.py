"""A wrong attempt, what failed when it ran, and a right attempt: plain rows for fine-tuning a model to use feedback.

Small models are given the failing evidence and seldom do anything with it; CoCoS (arXiv 2505.23060) shows at a billion
parameters that this can be learned. There it is learned by reinforcement over two turns; here the turns are out of
ledgers, so that any trainer of chats takes them: the question as it was sent, the wrong answer, what the checks said of
it, and a right answer to learn. The evidence is an executed check's, and hidden tests never give any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from groundwire.core._signals import Verdict
from groundwire.training._answers import ModelAnswer, judged_in
from groundwire.training._grouping import by_group, says_the_same
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Seen, Trajectory
from groundwire.training.methods._error_recovery import error_type

BEFORE = "That was run, and it fails:\n\n"
BEHIND = "\n\nWrite it again so that it passes."
CASES, CASE_CHARS, OUTPUT_CHARS = 4, 1200, 800
"""Failing cases that are shown, characters of each, and of what the program printed."""
LIKENESS_CHARS = 4000


class RepairFromEvidenceRow(Row):
    """One wrong attempt with its evidence, and a right one."""

    prompt: tuple[ChatMessage, ...]
    """What was asked, the wrong answer, and what the checks said of it."""
    completion: tuple[ChatMessage, ...]
    """The right answer, which is learned."""
    error_type: str
    """A built-in exception of Python, where a check named one; else what kind of check failed it."""
    same_episode: bool
    """True where the right answer came later in the same episode; else it was given to the same question elsewhere."""
    likeness: float
    """How much of the wrong answer the right one keeps: difflib's ratio of the two, 0 to 1."""


def evidence_shown(attempt: Attempt) -> str:
    """What failed, as text: cases with their messages, then what was printed; empty where nothing may be shown."""
    failing = [s for s in attempt.signals if s.executed and s.verdict is Verdict.FAIL and not s.hidden and not s.oracle]
    return "\n".join(filter(None, (_said(signal) for signal in failing)))


def _said(signal: Seen) -> str:
    cases = [f"{name}: {_short(message, CASE_CHARS)}".strip() for name, message in signal.failed[:CASES]]
    left = len(signal.failed) - CASES
    more = [f"({left} more failed.)"] if left > 0 else []
    printed = [_short(text, OUTPUT_CHARS) for text in (signal.stdout, signal.stderr) if text.strip() and not cases]
    return "\n".join([*(cases or filter(None, [signal.detail])), *more, *printed])


def _short(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[: most // 3]}\n…\n{text[-(most - most // 3) :]}"


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each wrong attempt whose failure can be shown, and for which there is a right one."""
    for episodes in by_group(trajectories):
        judged, rejected = judged_in(episodes)
        yield from rejected
        answers = [answer for answer in judged if not answer.is_twin and not answer.is_step]
        right = [answer for answer in answers if answer.reward == 1.0]
        for wrong in answers:
            if wrong.reward == 1.0:
                continue
            shown, found = evidence_shown(wrong.attempt), _right_for(wrong, right)
            if not shown:
                yield Rejected("no_evidence_to_show", wrong.trajectory.episode)
            elif found is None:
                yield Rejected("no_right_answer", wrong.trajectory.episode)
            else:
                yield _row_of(wrong, *found, shown, options)


def _right_for(wrong: ModelAnswer, right: Sequence[ModelAnswer]) -> tuple[ModelAnswer, float] | None:
    """The next right answer of the same episode, else the one of all that is most like the wrong one."""
    others = [answer for answer in right if not says_the_same(answer, wrong)]
    own = [a for a in others if a.trajectory is wrong.trajectory and a.attempt.trial > wrong.attempt.trial]
    alike = SequenceMatcher(None, b=wrong.turn.answer[:LIKENESS_CHARS], autojunk=False)

    def likeness(answer: ModelAnswer) -> float:
        alike.set_seq1(answer.turn.answer[:LIKENESS_CHARS])
        return alike.ratio()

    best = own[0] if own else max(others, key=likeness, default=None)
    return None if best is None else (best, round(likeness(best), 4))


def asked_again(wrong: ModelAnswer, shown: str) -> tuple[ChatMessage, ...]:
    """What was asked, the wrong answer, and what failed: what is asked of a model that is to mend it."""
    said = f"{BEFORE}{shown}{BEHIND}"
    return (*wrong.prompt, wrong.completion, ChatMessage(role="user", content=said))


def _row_of(wrong: ModelAnswer, right: ModelAnswer, likeness: float, shown: str, options: Options) -> Row:
    prompt = asked_again(wrong, shown)
    attempt, told, said = len(prompt) - 2, len(prompt) - 1, prompt[-1].content
    middle = len(BEFORE) + len(shown)
    parts = [
        *wrong.prompt_parts,
        Part(
            part=f"prompt[{attempt}]",
            start=0,
            end=len(wrong.completion.content),
            origin=Author.MODEL,
            what="attempt",
        ),
        Part(part=f"prompt[{told}]", start=0, end=len(BEFORE), origin=Author.HUMAN),
        Part(part=f"prompt[{told}]", start=len(BEFORE), end=middle, origin=Author.ENV, what="evidence"),
        Part(part=f"prompt[{told}]", start=middle, end=len(said), origin=Author.HUMAN),
        *right.completion_parts("completion[0]"),
    ]
    return RepairFromEvidenceRow(
        provenance=provenance_of([wrong.source, right.source], parts, options, turns=[right.turn]),
        prompt=prompt,
        completion=(right.completion,),
        error_type=error_type(wrong.attempt),
        same_episode=wrong.trajectory is right.trajectory,
        likeness=likeness,
    )


FORM = Form(
    name="repair_from_evidence",
    row=RepairFromEvidenceRow,
    make=rows,
    about="A wrong attempt, what failed when it ran, and a right attempt to learn (after CoCoS, arXiv 2505.23060).",
)
