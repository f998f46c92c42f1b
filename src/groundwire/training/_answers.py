"""Answers: what a model wrote, what it was asked, and what executed checks said of it. Most rows are made of these."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.core._environments import ACTIONS
from groundwire.core._signals import NoVerdict, Origin, canonical
from groundwire.training._provenance import Source, chat, chat_calls, parts_of_prompt
from groundwire.training._schema import ChatMessage, Part, Rejected
from groundwire.training._trajectories import Attempt, Author, Span, Trajectory, Turn


@dataclass(frozen=True)
class ModelAnswer:
    """One answer of a model that made a candidate.

    Args:
        trajectory: the episode.
        attempt: the candidate.
        turn: the answer.
        judged: the attempt whose verdict is its reward: the candidate's own; of a step in a world, the trial's last.
    """

    trajectory: Trajectory
    attempt: Attempt
    turn: Turn
    judged: Attempt

    @property
    def is_twin(self) -> bool:
        """True where another answer that says the same comes before it."""
        return self.turn.id != self.attempt.turn

    @property
    def reward(self) -> float:
        """1.0 or 0.0, by executed checks alone."""
        return self.judged.reward or 0.0

    @property
    def is_step(self) -> bool:
        """True where it is a step in a world or with tools: what is right at another place says nothing of this one."""
        stepwise = (NoVerdict.GO_ON, Origin.ENVIRONMENT)
        return any(signal.reason in stepwise or signal.origin in stepwise for signal in self.trajectory.signals)

    @property
    def does(self) -> str:
        """What it comes to: of a step, what was done, whatever the words around it; else what it says."""
        content = next((change.content for change in self.attempt.changes if change.content), None)
        if content is None or not self.is_step:
            return self.said
        # a walk's first line says which trial it is
        return content.partition("\n")[2] if self.attempt.changes[0].path == ACTIONS else content

    @property
    def source(self) -> Source:
        """For the provenance of a row."""
        return self.trajectory, (self.attempt, self.judged) if self.judged is not self.attempt else (self.attempt,)

    @property
    def group(self) -> str:
        """Of the task, what was asked, and who was asked: answers of one group can be compared."""
        asked = [self.trajectory.task, self.turn.prompt_digest, self.turn.model.name, self.turn.model.revision]
        return hashlib.sha256(canonical(asked).encode()).hexdigest()[:32]

    @property
    def begun(self) -> str:
        """How the answer was begun for the model; empty where it was not."""
        last = self.turn.prompt[-1] if self.turn.prompt else None
        if last is None or last.role != "assistant":
            return ""
        # what a model has said before stands by itself
        return last.content if any(span.author is not Author.MODEL for span in last.spans) else ""

    @property
    def prompt(self) -> tuple[ChatMessage, ...]:
        """What was asked, without a beginning of the answer."""
        return chat(self.turn.prompt[:-1] if self.begun else self.turn.prompt)

    @property
    def prompt_parts(self) -> tuple[Part, ...]:
        """Who wrote which part of `prompt`."""
        return tuple(parts_of_prompt(self.turn.prompt[:-1] if self.begun else self.turn.prompt))

    @property
    def completion(self) -> ChatMessage:
        """The whole answer, with its beginning and its reasoning, letter for letter."""
        content = self.begun + self.turn.text
        return ChatMessage(role="assistant", content=content, tool_calls=chat_calls(self.turn.tool_calls))

    @property
    def said(self) -> str:
        """What makes two answers the same one: the text without what stands around it, and the calls."""
        calls = [(call.function.name, call.function.arguments) for call in self.completion.tool_calls or ()]
        return canonical([self.completion.content.strip(), calls])

    def completion_parts(self, column: str) -> tuple[Part, ...]:
        """Who wrote which part of `completion`."""
        spans: Sequence[Span] = self.turn.prompt[-1].spans if self.begun else ()
        parts = [Part(part=column, start=s.start, end=s.end, origin=s.author, what=s.what) for s in spans]
        start = len(self.begun)
        for what, text in (("reasoning", self.turn.reasoning), ("answer", self.turn.answer)):
            if text:
                parts.append(Part(part=column, start=start, end=start + len(text), origin=Author.MODEL, what=what))
                start += len(text)
        return tuple(parts)


def answers_of(trajectory: Trajectory) -> Iterator[ModelAnswer | Rejected]:
    """All answers of an episode that executed checks judged, in order; what was not judged, or by nobody, is rejected.

    A step in a world, which went on, is judged by what became of its trial. Answers that say the same are answers each.
    """
    for trial in trajectory.trials:
        last = next((a for a in reversed(trial.attempts) if a.reward is not None), None)
        where = f"{trajectory.episode} trial {trial.number}"
        used: set[str] = set()
        for attempt in trial.attempts:
            if attempt.base:
                continue
            went_on = any(signal.reason is NoVerdict.GO_ON for signal in attempt.signals)
            judged = attempt if attempt.reward is not None else last if went_on else None
            turns = [turn for turn in trial.turns if turn.id in (attempt.turn, *attempt.twins)]
            used.update(turn.id for turn in turns)
            if not turns:
                yield Rejected("no_model_text", where)
            for turn in turns:
                if judged is None:
                    yield Rejected("no_executed_verdict", where)
                elif _lacks_observations(turn):
                    yield Rejected("observation_not_in_prompt", where)
                else:
                    yield ModelAnswer(trajectory, attempt, turn, judged)
        for turn in trial.turns:
            if turn.loss and turn.id not in used:
                yield Rejected("answer_without_candidate", where)


def _lacks_observations(turn: Turn) -> bool:
    """True where the prompt shows two steps in a row and nothing of what came back between them, as ledgers of logs do
    that were imported by earlier versions: whoever learns from it learns to act without looking."""
    said = [message.role == "assistant" for message in turn.prompt]
    return any(one and other for one, other in pairwise(said))


def judged_in(trajectories: Iterable[Trajectory]) -> tuple[list[ModelAnswer], list[Rejected]]:
    """The answers of several episodes, and what is rejected instead of one, each in order; see `answers_of`."""
    told = [each for trajectory in trajectories for each in answers_of(trajectory)]
    return [each for each in told if isinstance(each, ModelAnswer)], [
        each for each in told if isinstance(each, Rejected)
    ]


def as_text(messages: Iterable[ChatMessage]) -> str:
    """A conversation as plain text, for trainers that take no messages."""
    return "\n\n".join(message.content for message in messages)
