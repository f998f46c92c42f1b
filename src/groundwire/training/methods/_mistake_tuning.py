"""Right and wrong answers, each under a tag of its own: learning from mistakes (CoTErrorSet, arXiv 2403.20046).

Mistake tuning: an answer begins with `[CORRECT]` or `[INCORRECT]`, so that a model learns what each looks like and is
later begun with the first. Both domains have as many rows, question by question.

Self-rethinking: a model is shown mistakes that were made at the same question before, asked whether it made one of
them, and answers again. The paper asks that of every answer; here the prompt is there only where an executed check
refused the answer, and it quotes what such checks said. Nobody is asked to doubt what nothing has refuted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Literal

from groundwire.core._signals import Verdict
from groundwire.training._answers import Answer, judged_in
from groundwire.training._grouping import by_task
from groundwire.training._leaks import normal_form
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Trajectory

Domain = Literal["[CORRECT]", "[INCORRECT]"]
CORRECT: Domain = "[CORRECT]"
INCORRECT: Domain = "[INCORRECT]"
MISTAKES = 5
"""Known mistakes that a prompt names at most."""
ASKED = "A check refused this answer. What checks have said of answers to this question so far:"
TO_DO = "Did you make one of these mistakes? Say which, and why; then answer the question again."


class MistakeRow(Row):
    """One answer in its domain."""

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    completion: tuple[ChatMessage, ...]
    """The tag, and below it the answer."""
    domain: Domain
    """The tag: what executed checks said of the answer."""
    mistakes: tuple[str, ...]
    """What executed checks have said of wrong answers to this question up to here, the latest first."""
    rethinking: tuple[ChatMessage, ...] | None
    """What would be asked next: the question, the answer, the known mistakes. Null where no executed check refused the
    answer, or only hidden tests did, whose words nobody may be shown."""


def mistakes_in(trajectories: Iterable[Trajectory]) -> list[tuple[Attempt, tuple[str, ...]]]:
    """The attempts that executed checks refused, in order, each with what they said; hidden tests are not quoted."""
    return [(a, said) for trajectory in trajectories for a in trajectory.attempts if (said := _said_of(a))]


def _said_of(attempt: Attempt) -> tuple[str, ...]:
    said: dict[str, None] = {}
    for signal in attempt.signals:
        if signal.executed and not signal.hidden and signal.verdict is Verdict.FAIL:
            cases = [f"{case}: {message}" if message else case for case, message in signal.failed]
            said |= dict.fromkeys(cases or [signal.detail])
    return tuple(text for text in said if text.strip())


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """As many right as wrong answers of each question, one row each."""
    for episodes in by_task(trajectories):
        answers, rejected = judged_in(episodes)
        yield from rejected
        found: dict[Domain, dict[str, Answer]] = {CORRECT: {}, INCORRECT: {}}
        for answer in answers:
            domain = CORRECT if answer.reward == 1.0 else INCORRECT
            found[domain].setdefault(normal_form(answer.completion.content), answer)
        pairs = min(map(len, found.values()))
        known = mistakes_in(episodes)
        for domain, different in found.items():
            for place, answer in enumerate(different.values()):
                if place < pairs:
                    yield _row_of(answer, domain, known, options)
                else:
                    where = f"{answer.trajectory.episode} trial {answer.attempt.trial}"
                    yield Rejected("nothing_to_balance_it", where)


def _row_of(answer: Answer, domain: Domain, known: Sequence[tuple[Attempt, tuple[str, ...]]], options: Options) -> Row:
    until = next((n for n, (attempt, _) in enumerate(known, 1) if attempt is answer.attempt), 0)
    mistakes = tuple(dict.fromkeys(text for _, said in reversed(known[:until]) for text in said))[:MISTAKES]
    begun = f"{domain}\n"
    completion = answer.completion.model_copy(update={"content": begun + answer.completion.content})
    parts: list[Part] = [*answer.prompt_parts, written_by(Author.HUMAN, "completion[0]", begun, "tag")]
    for part in answer.completion_parts("completion[0]"):
        moved = {"start": part.start + len(begun), "end": part.end + len(begun)}
        parts.append(part.model_copy(update=moved))
    rethinking, told = _rethinking(answer, mistakes) if mistakes else (None, ())
    return MistakeRow(
        provenance=provenance_of([answer.source], (*parts, *told), options, turns=[answer.turn]),
        prompt=answer.prompt,
        completion=(completion,),
        domain=domain,
        mistakes=mistakes,
        rethinking=rethinking,
    )


def _rethinking(answer: Answer, mistakes: Sequence[str]) -> tuple[tuple[ChatMessage, ...], tuple[Part, ...]]:
    """The prompt that asks for mistakes, and who wrote which part of it."""
    quoted = "\n".join(f"- {escape(text, quote=False)}" for text in mistakes)
    asked = f"{ASKED}\n<evidence>\n{quoted}\n</evidence>\n{TO_DO}"
    said, count = answer.completion, len(answer.prompt)
    shown = (
        part.model_copy(update={"part": f"rethinking{part.part.removeprefix('prompt')}"})
        for part in answer.prompt_parts
    )
    own = written_by(Author.MODEL, f"rethinking[{count}]", said.content, "attempt")
    evidence = written_by(Author.ENV, f"rethinking[{count + 1}]", asked, "evidence")
    return (*answer.prompt, said, ChatMessage(role="user", content=asked)), (*shown, own, evidence)


FORM = Form(
    name="mistake_tuning",
    row=MistakeRow,
    make=rows,
    about="Right and wrong answers 1:1 under tags, and the prompt that asks for mistakes anew (arXiv 2403.20046).",
)
