"""What `settings` stand for: the actor, critic, judge, budget and sandbox that a command gives to a graph."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from groundwire import agents
from groundwire.core._contexts import Actor, Critic, Tool, TwoBoxTool
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend, Message, Readiness, Request
from groundwire.core._settings import Settings
from groundwire.core._tasks import ANSWER_KEY, Task, split_command
from groundwire.graphs import Budget, Rules, RunBudget, SandboxOptions
from groundwire.integrations.harbor._task import HarborTask, is_harbor_task
from groundwire.sandbox._choosing import DEFAULT_IMAGE
from groundwire.sandbox._environment import SYSTEM_PATH
from groundwire.sandbox._interpreter import is_shown
from groundwire.tools import HiddenTests, Separation, tool_for

if TYPE_CHECKING:
    from groundwire.integrations.harbor._verifier import HarborVerifier

SEARCH_WIDTH = 200
SEARCH_TRIALS = 20
MODEL_TRIALS = 5


Checked = TypeVar("Checked", bound=Tool)


class TokenLimits(TypedDict, total=False):
    """Tokens that a prompt may show of a project, and those of an answer; what is missing is the agent's own."""

    context_tokens: int
    max_tokens: int


LOCAL_TOKEN_LIMITS = TokenLimits(context_tokens=900, max_tokens=512)
"""Where 2,048 tokens hold both, as with the model that is installed."""


@dataclass(frozen=True)
class GraphParts:
    """The parts of a graph that settings name; the same serve any number of tasks.

    Args:
        settings: what was asked for.
        actor: proposes.
        critic: reflects.
        width: candidates of one trial.
        budget: of each episode.
        backend: the model, where there is one.
        oracle: the key of a question steers, in the place of visible tests.
    """

    settings: Settings
    actor: Actor
    critic: Critic
    width: int
    budget: Budget
    backend: Backend | None
    oracle: bool = field(default=False, kw_only=True)

    @classmethod
    def of(cls, settings: Settings) -> GraphParts:
        """The parts that `settings` name.

        Raises:
            ConfigError, ModelError: the model or the program can't be had.
        """
        backend = backend_of(settings) if settings.model else None
        room = _token_limits(settings)
        critic: Critic = agents.LLMCritic(backend, **room) if backend else agents.RuleCritic()
        actor: Actor
        width, trials = settings.width or 1, MODEL_TRIALS
        if settings.actor_command is not None:
            actor = _program(settings, width)
        elif backend:
            actor = agents.LLMActor(backend, samples=width, may_contradict=settings.may_contradict, **room)
        else:
            actor = agents.SearchActor(seed=settings.seed)
            width, trials = settings.width or SEARCH_WIDTH, SEARCH_TRIALS
        return cls(settings, actor, critic, width, budget_of(settings, trials), backend)

    @property
    def sandbox(self) -> SandboxOptions:
        """Where tools run code."""
        return self.sandbox_of(self.settings)

    @staticmethod
    def sandbox_of(settings: Settings) -> SandboxOptions:
        """The same, of settings alone."""
        return SandboxOptions(kind=settings.sandbox, image=settings.image, python=settings.python)

    @staticmethod
    def totals(settings: Settings) -> RunBudget | None:
        """The budget of all episodes of a run together; None where nothing limits them."""
        names = ("usd", "tokens", "calls", "seconds")
        totals = {name: total for name in names if (total := getattr(settings, f"total_{name}")) is not None}
        return RunBudget(**totals) if totals else None

    @property
    def rules(self) -> Rules:
        """What is judged again."""
        times = self.settings.rejudge
        return Rules() if times is None else Rules(rejudge_fails=times, rejudge_passes=times)

    def judge(self, task: Task) -> Tool:
        """The tool that steers: the task's visible tests, or a model's; of a question whether there is an answer."""
        if task.command == ANSWER_KEY:
            from groundwire.benchmarks.answers._key import AnswerGiven, AnswerKey

            return AnswerKey(oracle=True, task=task) if self.oracle else AnswerGiven()
        if is_harbor_task(task):
            from groundwire.integrations.harbor._verifier import HarborChange

            verifier = self._harbor_verifier(task, steers=self.oracle)
            return verifier if self.oracle else HarborChange(verifier, task)
        if not self.settings.model_tests:
            return self._checked(tool_for(task.command, report=self.settings.report, separation=self._separation), task)
        return self._written_tests()

    def hidden(self, task: Task) -> Tool:
        """The tool that judges the task's hidden tests, or its answer key.

        Raises:
            ConfigError: two boxes are required, and these tests can't be judged so.
        """
        if task.hidden is not None and task.hidden.command == ANSWER_KEY:
            from groundwire.benchmarks.answers._key import AnswerKey

            return AnswerKey()
        if is_harbor_task(task):
            return self._harbor_verifier(task)
        tests = HiddenTests(require_two_boxes=self.settings.require_two_boxes)
        return self._checked(tests, task) if task.hidden is not None else tests

    def _harbor_verifier(self, task: Task, *, steers: bool = False) -> HarborVerifier:
        """Raises ConfigError where the task's own files tell that its verifier can't be run here."""
        from groundwire.integrations.harbor._verifier import HarborVerifier

        harbor = HarborTask.of(task)
        if harbor.steps and not harbor.step:
            raise ConfigError(
                f"{task.id} has {len(harbor.steps)} steps, each an episode on what the one before left, and episodes of"
                " `groundwire run` know nothing of one another.",
                do="Run it in Python:  groundwire.integrations.harbor.run_steps  (docs/integrations/harbor.md)",
            )
        if why := harbor.why_not():
            raise ConfigError(f"{task.id} can't be judged here: {why}.", do="Leave the task out.")
        if self.settings.require_two_boxes:
            raise ConfigError(
                f"Two boxes are required, and the verifier of {task.id} runs beside the candidate, as in Harbor.",
                do="Leave --require-two-boxes out: the outcome says its worth.",
            )
        settings = self.settings
        return HarborVerifier(
            oracle=steers,
            task=task if steers else None,
            sandbox=settings.sandbox,
            image="" if settings.image in (None, DEFAULT_IMAGE) else settings.image,
            python=settings.python,
        )

    def budget_for(self, task: Task) -> Budget:
        """Of one episode: a task of Harbor's names the seconds that an agent has."""
        allowed = HarborTask.of(task).config.agent.timeout_sec if is_harbor_task(task) else None
        if allowed is None:
            return self.budget
        own = self.budget.seconds
        return replace(self.budget, seconds=allowed if own is None else min(own, allowed))

    @property
    def _separation(self) -> Separation:
        return Separation(required=self.settings.require_two_boxes)

    def _checked(self, tool: Checked, task: Task) -> Checked:
        """The tool, where what is required of it can be had at all."""
        if not self.settings.require_two_boxes:
            return tool
        why = tool.why_not_two_boxes(task) if isinstance(tool, TwoBoxTool) else "its tool judges in one process only"
        if self.settings.sandbox == "subprocess":
            why = "a plain subprocess has no box at all"
        if why:
            raise ConfigError(
                f"Two boxes are required, and {task.id} can't be judged in two: {why}.",
                do="Change the tests or the sandbox, or leave --require-two-boxes out: the outcome says its worth.",
            )
        return tool

    @property
    def own_tests(self) -> Tool | None:
        """The tests that the model writes beside the task's own; None where nobody asked for any."""
        if not self.settings.own_tests:
            return None
        if self.settings.model_tests:
            raise ConfigError(
                "--own-tests adds to your tests, and --model-tests replaces them.", do="Use one of the two."
            )
        return self._written_tests()

    def _written_tests(self) -> Tool:
        if self.backend is None:
            raise ConfigError("Tests can't be written without a model.", do="Name one with --model.")
        from groundwire.tools import ModelTests

        return ModelTests(agents.LLMCaseWriter(self.backend, **_token_limits(self.settings)))

    def builder_arguments(self, task: Task) -> Mapping[str, Any]:
        """What a graph's builder may ask for, by the names of its parameters."""
        return {
            "actor": self.actor,
            "critic": self.critic,
            "judge": self.judge(task),
            "hidden": self.hidden(task),
            "own_tests": self.own_tests,
            "width": self.width,
            "model": self.backend or self.settings.model,
            "seed": self.settings.seed,
        }


def backend_of(settings: Settings) -> Backend:
    """The model that settings name.

    Raises:
        ConfigError, ModelError: it can't be had.
    """
    from groundwire.models import backend_for

    price = settings.usd_per_token
    per_token = None if price is None else (price, price)
    return backend_for(settings.model or "", usd_per_token=per_token, timeout_s=settings.model_seconds)


def check_ready(settings: Settings, backend: Backend | None) -> None:
    """Refuses a model that can't answer, before a run is made: no such provider, no key, no price under a money limit.

    Args:
        settings: what is asked for.
        backend: the model; None: there is none.

    Raises:
        ConfigError: why, and what to do.
    """
    if isinstance(backend, Readiness):
        backend.check_ready()
    if backend is None or (settings.max_usd is None and settings.total_usd is None):
        return
    if backend.price(Request(messages=(Message(role="user", content="?"),), max_tokens=1)) is None:
        flag = "--max-usd" if settings.max_usd is not None else "--total-usd"
        raise ConfigError(
            f"The price of {backend.model} is unknown, so {flag} can't be kept.",
            do="Give it in US dollars a token:  --usd-per-token 0.000002  (0 if it is free).",
        )


def budget_of(settings: Settings, trials: int) -> Budget:
    """Of each episode; `trials` where none are asked for."""
    return Budget(
        trials=settings.max_trials or trials,
        usd=settings.max_usd,
        tokens=settings.max_tokens,
        calls=settings.max_calls,
        seconds=settings.max_seconds,
    )


def _token_limits(settings: Settings) -> TokenLimits:
    return LOCAL_TOKEN_LIMITS if (settings.model or "").partition(":")[0] == "local" else TokenLimits()


def outside_the_sandbox(settings: Settings) -> str:
    """The first part of the actor's command that no sandbox shows; empty if there is none, or no such command.

    The system's folders, the project's own files and its Python are there. Whoever names another file means it to be
    read, so that such a program runs as the user, unless told otherwise.
    """
    program, *rest = split_command(settings.actor_command or "") or ("",)
    words = [_found(program), *(part for word in rest for part in (word, word.partition("=")[2]))]
    own = (Path(sys.prefix), *([settings.python.parent] if settings.python else []))
    for word in words:
        # words of any length and kind: neither of the two refuses one
        path = Path(os.path.expanduser(word))  # noqa: PTH111
        leads_out = path.is_absolute() or ".." in path.parts
        if leads_out and os.path.exists(path) and not is_shown(path, own):  # noqa: PTH110
            return word
    return ""


def _found(program: str) -> str:
    """Where a program lies that the user's PATH finds and the sandbox's does not; else its name."""
    if "/" in program or re.fullmatch(r"python[0-9.]*", program) or shutil.which(program, path=":".join(SYSTEM_PATH)):
        return program
    return shutil.which(program) or program


def why_as_you(settings: Settings) -> str:
    """What makes the actor's program run as the user though nobody asked for that; empty where it does not."""
    if settings.actor_sandbox is not None or settings.sandbox == "subprocess":
        return ""
    return "" if settings.actor_network or settings.actor_host else outside_the_sandbox(settings)


def _in_the_sandbox(settings: Settings) -> bool:
    if settings.actor_sandbox is not None:
        return settings.actor_sandbox
    return settings.sandbox != "subprocess" and not why_as_you(settings)


def _program(settings: Settings, runs: int) -> Actor:
    return agents.CommandActor(
        settings.actor_command or "",
        samples=runs,
        timeout_s=settings.actor_seconds,
        env=settings.actor_env,
        isolated=_in_the_sandbox(settings),
        network=settings.actor_host or settings.actor_network,
        git=settings.actor_git,
        may_contradict=settings.may_contradict,
    )
