"""An actor that writes an answer in one go, interrupted where a step breaks a rule (interwhen, arXiv 2602.11202)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence

from groundwire.agents.patching._evidence import lessons_as_data, lessons_to_show
from groundwire.agents.prompting._structured import answered
from groundwire.agents.prompting._templates import check_range, instructed, load_prompt, risen
from groundwire.agents.steps._going_on import asks_to_go_on, gone_on
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Judged
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Request
from groundwire.core._prompt_text import data, head_tail, printable
from groundwire.core._steps import Broken, StepRules
from groundwire.core._traits import ActorTraits, BackendTraits, Needs
from groundwire.models._choice import backend_for
from groundwire.models._watched import WatchedBackend

STEP_CHARS = 1500


class StepWriter:
    """Writes steps until the model ends, the same answer has come often enough, or a step breaks a rule.

    The rules only say when to stop listening: what was written up to there is the candidate, and only the sealed FAIL
    of the tool that judges it lets this actor go on, from the last step that holds, byte for byte. A backend that can
    continues that text; another is asked for what follows. What a model thinks, announces, fences or repeats of what is
    kept is no part of the answer.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend. One that can't stream is read as a whole and cut afterwards.
        instructions: what the model is told first, before what it is told of its work here; empty: nothing more.
        rules: the same as the judging tool's.
        path: the file of the task that the answer is written to.
        temperature: of a call, raised by 0.15 for each escalation, up to 1.5.
        max_tokens: tokens of each answer.
        lessons: the most that memory recalls for one trial.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self,
        model: str | Backend,
        rules: StepRules,
        *,
        path: str = "answer.md",
        instructions: str = "",
        temperature: float = 0.0,
        max_tokens: int = 2048,
        lessons: int = 3,
    ) -> None:
        check_range("StepWriter", temperature=temperature, max_tokens=max_tokens)
        self.traits = ActorTraits(needs=Needs(lessons=lessons), revision=2)
        self._backend = backend_for(model)
        self._instructions = instructions.strip()
        self._rules = rules
        self._path = path
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: the steps that were kept, and what was written after them.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        kept, broken = self._kept(context.failing)
        listener = _Listener(self._rules, kept)
        try:
            watched = WatchedBackend(self._backend, listener)
            completion = await answered(context.call, watched, self._request(context, kept, broken))
            text = listener.added(completion.texts[0] if completion.texts else "", is_whole=True)
            found = await listener.end(text)
        finally:
            listener.close()
        steps = self._rules.steps("".join(kept) + text)
        end = self._stable_at(steps) if found is None else found.number
        note = f"{end} steps" if found is None else f"step {end} breaks a rule"
        body = "".join(steps[:end]).encode()
        return (Candidate(context.task.tree.digest, {self._path: body}, ("write.steps",), note),)

    def _stable_at(self, steps: Sequence[str]) -> int:
        """How many steps there are until the same answer has come often enough; all of them where it never does."""
        return next((n for n in range(1, len(steps)) if self._rules.is_stable(steps[:n])), len(steps))

    def _kept(self, failing: Judged | None) -> tuple[Sequence[str], str]:
        """The steps that hold, and the one that does not, as data; nothing where nothing has failed."""
        if failing is None or failing.candidate.is_base:
            return (), ""
        steps = self._rules.steps((failing.candidate.changes.get(self._path) or b"").decode())
        case = next(iter(failing.signal.evidence.failed()), None)
        number = case.id.removeprefix("step ") if case else ""
        first_bad = int(number) if number.isdigit() else len(steps) + 1
        step = steps[first_bad - 1] if first_bad <= len(steps) else ""
        why = f"{step.rstrip()}\n{case.message if case else ''}".strip()
        return steps[: first_bad - 1], data(
            "broken_step", head_tail(why, STEP_CHARS), number=min(first_bad, len(steps))
        )

    def _request(self, context: ActorContext, kept: Sequence[str], broken: str) -> Request:
        prompt = load_prompt("write_steps_v1")
        continues = BackendTraits.of(self._backend).continues
        messages = prompt.messages(
            task=data("task", context.task.prompt, id=context.task.id),
            lessons=lessons_as_data(lessons_to_show(context)),
            broken=broken if continues or not kept else "",
        )
        if kept:
            messages = asks_to_go_on(messages, "".join(kept), self._backend, broken=broken)
        messages, digest = instructed(messages, prompt.digest, self._instructions)
        return Request(
            messages=messages,
            temperature=risen(self._temperature, context.escalation),
            max_tokens=self._max_tokens,
            seed=seed_in(context, "propose"),
            purpose="propose",
            prompt_digest=digest,
        )


class _Listener:
    """Checks steps while they are written. A check that raises says nothing: the tool that judges will say so.

    Args:
        rules: what each step must hold to.
        kept: steps that stand before what is written; they are not checked again.
    """

    def __init__(self, rules: StepRules, kept: Sequence[str]) -> None:
        self._rules = rules
        self._before = "".join(kept)
        self._checks: dict[int, asyncio.Future[str]] = {}
        self._checked = len(kept)

    def __call__(self, text: str) -> bool:
        """True where a step breaks a rule, or the same answer has come often enough."""
        steps = self._rules.split(self._before + self.added(text, is_whole=False))
        return self._begin(steps) or self._broken() is not None or self._rules.is_stable(steps)

    def added(self, text: str, *, is_whole: bool) -> str:
        """What of a model's text follows the steps that are kept."""
        return gone_on(self._before, printable(text), is_whole=is_whole)

    async def end(self, text: str) -> Broken | None:
        """The first step that breaks a rule, when writing has ended."""
        self._begin(self._rules.steps(self._before + text))
        for number in sorted(self._checks):
            await asyncio.wait([self._checks[number]])
            if (broken := self._broken()) is not None:
                return broken
        return None

    def close(self) -> None:
        """Cancels what is still being checked."""
        for check in self._checks.values():
            check.cancel()

    def _begin(self, steps: Sequence[str]) -> bool:
        """Begins the checks of new steps; True where one is broken at once, so that no more need be begun."""
        while self._checked < len(steps):
            self._checked += 1
            self._checks[self._checked] = check = self._check(steps[: self._checked])
            if check.done() and self._why(check):
                return True
        return False

    def _check(self, steps: Sequence[str]) -> asyncio.Future[str]:
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        try:
            said = self._rules.check(steps)
        except Exception:  # no finding: the tool that judges runs the same check, and says that it failed
            done.set_result("")
            return done
        if inspect.isawaitable(said):
            return asyncio.ensure_future(said)
        done.set_result(said)
        return done

    def _broken(self) -> Broken | None:
        """The first broken step of those whose checks have ended, once all before it have."""
        for number in sorted(self._checks):
            if not self._checks[number].done():
                return None
            if why := self._why(self._checks[number]):
                return Broken(number, why)
        return None

    def _why(self, check: asyncio.Future[str]) -> str:
        return "" if check.cancelled() or check.exception() else check.result()
