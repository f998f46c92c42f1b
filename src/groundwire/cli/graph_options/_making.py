"""What a graph is made of: its options, the parts that settings name, and what judges the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from groundwire import agents
from groundwire.agents.patching._stubs import find_stub
from groundwire.cli._parts import GraphParts, backend_of
from groundwire.core._contexts import Tool
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._models import Backend
from groundwire.core._steps import StepRules
from groundwire.core._tasks import Task
from groundwire.core._user_code import user_module
from groundwire.graphs import FeedbackGraph
from groundwire.tools import StepChecker, step_rules
from groundwire.tools.environments._world import World

ANSWER_SUFFIX = "-answer"
FORM = "FILE.py:NAME or MODULE:NAME"


@dataclass(frozen=True)
class Making:
    """What a graph is made of.

    Args:
        graph: its name in the library.
        options: its own, see `OPTIONS`.
        parts: actor, critic, model and judges by the settings.
        task: what it works on.
        world: where the answer of this task is played, if it is one of a world's that is written in one go.
        select: how an answer is chosen, where the graph can be told.
        baseline: what stands there is judged first, where the graph can be told.
    """

    graph: str
    options: Any
    parts: GraphParts
    task: Task
    world: World | None = None
    select: str = "best"
    baseline: bool = True

    # What graphs ask for.

    @property
    def model(self) -> Backend:
        """The model that writes."""
        if self.parts.backend is None:
            raise ConfigError(f"{self.graph} asks a model, and none is named.", do="Name one with --model.")
        return self.parts.backend

    def other_model(self, name: str) -> Backend:
        """A further model, at the same price and patience."""
        return backend_of(self.parts.settings.model_copy(update={"model": name}))

    @property
    def path(self) -> str:
        """The file of the task that the answer goes into; empty where a function is to be written."""
        if self.options.answer is not None:
            return self.options.answer
        globs = self.task.editable
        if len(globs) == 1 and not set("*?[") & set(globs[0]) and not globs[0].endswith(".py"):
            return globs[0]
        return ""

    def path_or_fail(self) -> str:
        """The same, where nothing else will do."""
        if path := self.path:
            return path
        programs = [glob for glob in self.task.editable if glob.endswith(".py") and not set("*?[") & set(glob)]
        cure = 'Name it with --answer FILE, or allow one file alone in task.toml:  editable = ["answer.txt"]'
        if len(programs) == len(self.task.editable) == 1:
            cure = f"A program is no answer unless you say so:  --answer {programs[0]}"
        raise ConfigError(f"Nothing says into which file of {self.task.id} the answer goes.", do=cure)

    @property
    def asking(self) -> agents.Asking:
        """How an answer is asked for and read."""
        if path := self.path:
            shows = tuple(self.options.show or ())
            return agents.TextAnswer(path, shows=shows) if self.world is None else _Moves(path, shows=shows)
        try:
            find_stub(self.task)
        except TaskError:
            self.path_or_fail()
        return agents.FunctionBody()

    def judge(self) -> Tool:
        """What steers."""
        return StepChecker(self.rules, path=self.path) if self.world is not None else self.parts.judge(self.task)

    @property
    def rules(self) -> StepRules:
        """What the steps of an answer in a world must hold to."""
        assert self.world is not None
        seed = int(self.task.id.removesuffix(ANSWER_SUFFIX).rpartition("-")[2])
        return step_rules(self.world, seed)

    def confirmed(self, graph: FeedbackGraph, judge: str) -> FeedbackGraph:
        """The graph; where the task has hidden tests or a key, these have the last word on what passed."""
        if self.task.hidden is not None:
            graph.add_tool("hidden", self.parts.hidden(self.task))
            graph.confirm(judge, by="hidden")
        return graph

    def needed(self, option: str, what: str) -> str:
        """The value of an option without which there is no such graph."""
        found = getattr(self.options, option)
        if not found:
            raise ConfigError(
                f"{self.graph} needs {what}.",
                do=f"Name it with --{option.replace('_', '-')}; see groundwire graphs {self.graph}.",
            )
        return found


class _Moves(agents.TextAnswer):
    """Actions of a world, a line each: two answers are the same where their words are."""

    def __init__(self, path: str, *, shows: tuple[str, ...]) -> None:
        super().__init__(path, normalise=lambda text: " ".join(text.split()), shows=shows)


def named(place: str) -> object:
    """What `FILE.py:NAME` or `MODULE:NAME` names; its code is run.

    Raises:
        ConfigError: there is none.
    """
    module, colon, name = place.rpartition(":")
    if not colon:
        raise ConfigError(f"{place!r:.80} names nothing.", do=f"Write {FORM}.")
    found = getattr(user_module(module, form=FORM), name, None)
    if found is None:
        raise ConfigError(f"{module} has no {name!r:.60}.", do=f"Write {FORM}.")
    return found
