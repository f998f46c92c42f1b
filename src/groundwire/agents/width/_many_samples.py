"""Many samples of one question in one call, each of which is judged: what a model can do, and what it may learn from.

Nothing is told of what was judged, and nothing is chosen: the share of right samples is a figure of the model alone.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._sampling import NOTHING, Asking, Extra, Question, SampledAnswer
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import CandidateError, ConfigError, ModelReplyInvalid, TaskError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Completion, Message, Request, made_of_samples
from groundwire.core._prompt_text import data, inert, printable
from groundwire.core._reply_parts import fenced_blocks
from groundwire.core._tasks import Task
from groundwire.core._traits import ActorTraits
from groundwire.models._choice import backend_for

OPINION = "judge_own"
"""The purpose of a call in which the model says whether a sample of its own is right."""
OPINION_TOKENS = 4
SHOWN_TOKENS = 600
"""Of a sample, where the model is asked about it."""


_NAMED = re.compile(r"Write the function (\w+) in (\S+?\.py)[,.]")


class NamedFunction:
    """Asks for a whole function whose name the task says, in a module that holds no more than what it is to do.

    The answer is begun up to the opening bracket: which parameters it has is the model's to tell from the examples.
    """

    @staticmethod
    def asked_by(task: Task) -> tuple[str, str] | None:
        """Name and module, where a task is one of this kind."""
        match = _NAMED.search(task.prompt)
        return (match[1], match[2]) if match and task.may_edit(match[2]) and match[2] in task.tree.files else None

    def question(self, context: ActorContext, added: Extra = NOTHING, *, told: bool = True) -> Question:
        """See `Asking`. `told` changes nothing."""
        name, path = self._asked(context)
        prompt = load_prompt("write_function_v1")
        head = inert(context.task.tree.files[path].decode("utf-8", "replace").strip().strip('"').strip())
        messages = prompt.messages(signature=name, description=head, examples=added.text)
        begun = Message(role="assistant", content=f"```python\ndef {name}(")
        return Question((*messages, begun), added.digest or prompt.digest, ("```",))

    def statement(self, context: ActorContext) -> str:
        """See `Asking`."""
        return data("task", context.task.prompt, id=context.task.id)

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        """See `Asking`: the function, and what stands below it as far as it is Python."""
        name, path = self._asked(context)
        said = printable(text)
        begun = re.compile(rf"^def {name}\(", re.MULTILINE)
        whole = (begun.search(block.text) and block.text for block in fenced_blocks(said))
        written = next(filter(None, whole), None) or f"def {name}({said.partition('```')[0]}"
        lines = written.splitlines()
        before = context.task.tree.files[path].decode("utf-8", "replace")
        while lines:
            whole = "\n".join((before, *lines, ""))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an invalid escape in what a model wrote is its own affair
                    ast.parse(whole)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                lines.pop()
                continue
            candidate = Candidate(context.task.tree.digest, {path: whole.encode()})
            return SampledAnswer(text, self.key_of(candidate, context), candidate)
        return None

    def key_of(self, candidate: Candidate, context: ActorContext) -> str:
        """See `Asking`: the program without comments and layout."""
        try:
            return ast.unparse(ast.parse(candidate.changes.get(self._asked(context)[1]) or b""))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return candidate.digest

    def shown(self, text: str) -> str:
        """See `Asking`."""
        return inert(text)

    def _asked(self, context: ActorContext) -> tuple[str, str]:
        asked = self.asked_by(context.task)
        if asked is None:
            raise TaskError(f"Task {context.task.id} names no function to write.")
        return asked


class ManySamples:
    """As many samples as the graph asks for, by one call; those that say the same are one candidate.

    Each candidate's note says which samples it was made of, so that none is lost count of.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        temperature: of the samples.
        max_tokens: of each.
        opinions: the model is asked about each candidate too, whether it is right; its word is in the ledger (purpose
            `judge_own`) and moves nothing here. For controls that train on a model's word.

    Raises:
        ConfigError: an argument is out of range, or the model can't be had.
    """

    traits = ActorTraits(revision=2)

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        temperature: float = 0.8,
        max_tokens: int = 512,
        opinions: bool = False,
    ) -> None:
        if max_tokens < 1 or temperature < 0:
            raise ConfigError(
                "ManySamples got an argument out of range.",
                do="max_tokens is at least 1, the temperature at least 0.",
            )
        self._backend = backend_for(model)
        self._asking = asking
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._opinions = opinions

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`.

        Raises:
            CandidateError: no sample holds an answer.
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        question = self._asking.question(context, told=False).asked_of(self._backend)
        request = Request(
            messages=question.messages,
            n=n,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            stop=question.stop,
            # the task too: else a draw that favours one word would do so in all of them
            seed=seed_in(context, f"samples of {context.task.id}"),
            purpose="propose",
            prompt_digest=question.prompt_digest,
        )
        try:
            completion = await context.call(self._backend, request)
        except ModelReplyInvalid:
            completion = Completion(texts=())  # nothing but empty answers, which is no trouble of the model's server
        answers = [self._asking.read(text, context) for text in completion.texts]
        made: dict[str, tuple[SampledAnswer, list[int]]] = {}
        for sample, answer in enumerate(answers):
            if answer is not None:
                made.setdefault(answer.key, (answer, []))[1].append(sample)
        if not made:
            raise CandidateError(
                f"None of {len(completion.texts)} samples holds an answer.", do="Allow more tokens, or a larger model."
            )
        if self._opinions:
            for answer, _ in made.values():
                await self._ask_about(answer, context)
        return [
            replace(answer.candidate, edits=("write.sampled",), note=made_of_samples(samples))
            for answer, samples in made.values()
        ]

    async def _ask_about(self, answer: SampledAnswer, context: ActorContext) -> None:
        prompt = load_prompt("judge_own_v1")
        (content, *_) = answer.candidate.changes.values()
        shown = bounded("candidate", (content or b"").decode("utf-8", "replace"), SHOWN_TOKENS)
        request = Request(
            messages=prompt.messages(task=self._asking.statement(context), candidate=shown),
            max_tokens=OPINION_TOKENS,
            purpose=f"{OPINION}.{answer.candidate.digest}",
            prompt_digest=prompt.digest,
        )
        try:
            await context.call(self._backend, request)
        except ModelReplyInvalid:
            return  # it says nothing, which is no yes
