"""Controls over drafts: more of the same, all merged (fusion), each corrected by its author (SETS)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._parallel_refine import ParallelRefine
from groundwire.agents.width._sampling import (
    CONTROL,
    Asking,
    Draft,
    Question,
    Sampler,
    extra,
    in_order,
    named,
    ranked,
)
from groundwire.agents.width._voting import majority
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import labelled

# Blind resampling: more answers to the same question, told of nothing. What every loop has to beat at equal tokens.


class BlindResampling:
    """As many samples as the graph asks for, in the order they came; none is told how an earlier one was judged.

    The control of the other width methods, which ask in the same way (`Asking`). What makes the first tries of an actor
    of yours over and over is `groundwire.agents.patching._variants.BlindActor`.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        temperature: of each.
        max_tokens: of each.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = CONTROL

    def __init__(
        self, model: str | Backend, asking: Asking, *, temperature: float = 0.8, max_tokens: int = 2048
    ) -> None:
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._asking = asking

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        question = self._asking.question(context, told=False)
        drafts = await self._sampler.drafts(context, self._asking, question, n, phase=0)
        candidates = [named(d.answer, "write.sampled") for d in drafts if d.answer]
        return ranked(candidates, context, n, self._asking, drafts)


# Fusion: all candidates in one prompt, merged, by a model that was never trained to do so.


class Fusion(ParallelRefine):
    """`ParallelRefine` with one synthesis, its drafts as they came, and no word of doubt about them: GSR's baseline.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        drafts: how many are merged, 2 to 10.
        workspace_tokens: what they may take in the prompt together, at 3.5 characters a token.
        temperature: of each.
        max_tokens: of each.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = CONTROL

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        drafts: int = 5,
        workspace_tokens: int = 5000,
        temperature: float = 1.0,
        max_tokens: int = 2048,
    ) -> None:
        super().__init__(
            model,
            asking,
            rounds=(drafts, 1),
            workspace="candidates",
            workspace_tokens=workspace_tokens,
            pass_at_1=0.0,  # always merged, also where they agree
            prompt="fuse_v1",
            temperature=temperature,
            max_tokens=max_tokens,
        )


# SETS (arXiv 2501.19306): several samples, each checked and corrected by the model that wrote it, then a vote.

SHOWN_TOKENS = 1200
MOST_ROUNDS = 7
_VERDICT = re.compile(r"\bverdict\s{0,5}:[^\n]{0,100}", re.IGNORECASE)
_RULED = re.compile(
    r"\b(?:(?P<wrong>incorrect|wrong|not[ ](?:correct|right))|not[ ]wrong|correct|right)\b", re.IGNORECASE
)


class Sets:
    """`samples` answers; each is checked by its own model up to `rounds` times and corrected where found wrong.

    At most samples · (1 + 2 · rounds) calls. One that its model calls correct is left alone.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        samples: answers.
        rounds: checks of each.
        temperature: of answers; checks are at 0.
        max_tokens: of each text.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = CONTROL

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        samples: int = 4,
        rounds: int = 2,
        temperature: float = 0.8,
        max_tokens: int = 2048,
    ) -> None:
        if samples < 1 or not 1 <= rounds <= MOST_ROUNDS:
            raise ConfigError(
                "Sets got an argument out of range.", do=f"Use at least one sample and 1 to {MOST_ROUNDS} rounds."
            )
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._asking = asking
        self._samples = samples
        self._rounds = rounds

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: what most of the corrected answers say, then the others.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        asking, sampler = self._asking, self._sampler
        drafts = await sampler.drafts(context, asking, asking.question(context, told=False), self._samples, phase=0)
        unsettled = list(range(len(drafts)))
        for number in range(1, self._rounds + 1):
            complaints = await self._checked(context, [drafts[i] for i in unsettled], phase=2 * number - 1)
            unsettled = [i for i, complaint in zip(unsettled, complaints, strict=True) if complaint]
            if not unsettled:
                break
            questions = [
                self._correction(context, drafts[i], said)
                for i, said in zip(unsettled, filter(None, complaints), strict=True)
            ]
            corrected = await sampler.drafts(context, asking, questions, phase=2 * number)
            for i, draft in zip(unsettled, corrected, strict=True):
                drafts[i] = draft if draft.answer else drafts[i]
        vote = majority([d.key for d in drafts])
        candidates = [named(a, "write.sets", f"vote: {vote}") for a in in_order(drafts, vote.ranking)]
        return ranked(candidates, context, n, asking, drafts)

    async def _checked(self, context: ActorContext, drafts: Sequence[Draft], *, phase: int) -> list[str]:
        """What the model complains of, one text a draft; empty where it calls it correct."""
        prompt = load_prompt("verify_own_v1")
        task = self._asking.statement(context)
        asked = [prompt.messages(task=task, candidate=self._shown("candidate", draft.text)) for draft in drafts]
        said = await self._sampler.texts(context, asked, prompt.name, "verify", phase=phase)
        return [without_reasoning(text) if _is_wrong(text) else "" for text in said]

    def _correction(self, context: ActorContext, draft: Draft, complaint: str) -> Question:
        shown = {"candidate": self._shown("candidate", draft.text), "complaint": self._shown("complaint", complaint)}
        return self._asking.question(context, extra("correct_own_v1", **shown), told=False)

    def _shown(self, tag: str, text: str) -> str:
        return bounded(tag, self._asking.shown(text), SHOWN_TOKENS)


def _is_wrong(text: str) -> bool:
    said = without_reasoning(text)
    verdicts = labelled(said, "verdict") or _VERDICT.findall(said)  # at the end of a sentence
    ruled = _RULED.search(verdicts[-1]) if verdicts else None
    return ruled is not None and ruled["wrong"] is not None
