"""What `settings` stand for: the actor, critic, judge, budget and sandbox that a command gives to a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from groundwire import agents
from groundwire.core._contexts import Actor, Critic, Tool
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.graphs import Budget, Rules, RunBudget, SandboxOptions
from groundwire.tools import HiddenTests, tool_for

SEARCH_WIDTH = 200
SEARCH_TRIALS = 20
MODEL_TRIALS = 5


class Room(TypedDict, total=False):
    """Tokens that a prompt may show of a project, and those of an answer; what is missing is the agent's own."""

    context_tokens: int
    max_tokens: int


LOCAL_ROOM = Room(context_tokens=900, max_tokens=512)
"""Where 2,048 tokens hold both, as with the model that is installed."""


@dataclass(frozen=True)
class Kit:
    """The parts of a graph that settings name; one kit serves any number of tasks.

    Args:
        settings: what was asked for.
        actor: proposes.
        critic: reflects.
        width: candidates of one trial.
        budget: of each episode.
        backend: the model, where there is one.
    """

    settings: Settings
    actor: Actor
    critic: Critic
    width: int
    budget: Budget
    backend: Backend | None

    @classmethod
    def of(cls, settings: Settings) -> Kit:
        """The parts that `settings` name.

        Raises:
            ConfigError, ModelError: the model or the program can't be had.
        """
        backend = backend_of(settings) if settings.model else None
        room = _room(settings)
        critic: Critic = agents.LLMCritic(backend, **room) if backend else agents.RuleCritic()
        actor: Actor
        width, trials = settings.width or 1, MODEL_TRIALS
        if settings.actor_command is not None:
            actor = _program(settings, width)
        elif backend:
            actor = agents.LLMActor(backend, samples=width, **room)
        else:
            actor = agents.SearchActor(seed=settings.seed)
            width, trials = settings.width or SEARCH_WIDTH, SEARCH_TRIALS
        return cls(settings, actor, critic, width, budget_of(settings, trials), backend)

    @property
    def sandbox(self) -> SandboxOptions:
        """Where tools run code."""
        settings = self.settings
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
        """The tool that steers: the task's visible tests, or a model's."""
        if not self.settings.model_tests:
            return tool_for(task.command, report=self.settings.report)
        return self._written_tests()

    @property
    def own_tests(self) -> Tool | None:
        """The tests that the model writes beside the task's own; None where nobody asked for any."""
        if not self.settings.own_tests:
            return None
        if self.settings.model_tests:
            raise ConfigError("--own-tests stand beside yours, and --model-tests in their place.", do="Choose one.")
        return self._written_tests()

    def _written_tests(self) -> Tool:
        if self.backend is None:
            raise ConfigError("Tests can't be written without a model.", do="Name one with --model.")
        from groundwire.tools import ModelTests

        return ModelTests(agents.LLMCaseWriter(self.backend, **_room(self.settings)))

    def parts(self, task: Task) -> Mapping[str, Any]:
        """What a graph's builder may ask for, by the names of its parameters."""
        return {
            "actor": self.actor,
            "critic": self.critic,
            "judge": self.judge(task),
            "hidden": HiddenTests(),
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


def budget_of(settings: Settings, trials: int) -> Budget:
    """Of each episode; `trials` where none are asked for."""
    return Budget(
        trials=settings.max_trials or trials,
        usd=settings.max_usd,
        tokens=settings.max_tokens,
        calls=settings.max_calls,
        seconds=settings.max_seconds,
    )


def _room(settings: Settings) -> Room:
    return LOCAL_ROOM if (settings.model or "").partition(":")[0] == "local" else Room()


def _program(settings: Settings, runs: int) -> Actor:
    return agents.CommandActor(
        settings.actor_command or "",
        samples=runs,
        timeout_s=settings.actor_seconds,
        env=settings.actor_env,
        isolated=settings.actor_sandbox,
        network=settings.actor_host or settings.actor_network,
        git=settings.actor_git,
    )
