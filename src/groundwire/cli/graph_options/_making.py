"""The graph of one task, from its options, the parts that settings name, and what judges the task."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from groundwire import agents
from groundwire.agents.patching._function_writer import find_stub
from groundwire.benchmarks.answers._key import is_question
from groundwire.benchmarks.answers._questions import PASSAGES
from groundwire.cli._parts import GraphParts, backend_of
from groundwire.cli._world_parts import WorldParts
from groundwire.cli.graph_options._declared import OPTIONS
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, Tool
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._models import Backend
from groundwire.core._paths import expand_user
from groundwire.core._steps import StepRules
from groundwire.core._tasks import DEFAULT_COMMAND, Task
from groundwire.core._text import json_value, plain
from groundwire.core._user_code import user_module
from groundwire.graphs import FeedbackGraph
from groundwire.graphs.library._catalogue import builder, card
from groundwire.tools import AnswerCheck, Corpus, RuleReviewer, StepChecker, Supported, Toolbox, step_rules
from groundwire.tools._functions import CallableTool
from groundwire.tools.environments import EnvironmentTool
from groundwire.tools.environments._world import World

FICTION = "fiction"
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

    def made(self) -> FeedbackGraph:
        """The graph, not yet compiled.

        Raises:
            ConfigError: an option is missing or can't be had.
            TaskError: the task does not ask for what the graph makes.
        """
        if self.graph in ANSWERING:
            return self._wide()
        return MAKERS[self.graph](self)

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
        raise ConfigError(
            f"Nothing says into which file of {self.task.id} the answer goes.",
            do='Name it with --answer FILE, or allow one file alone in task.toml:  editable = ["answer.txt"]',
        )

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

    def _wide(self) -> FeedbackGraph:
        actor = ANSWERING[self.graph](self)
        hidden = None if self.task.hidden is None else self.parts.hidden(self.task)
        control = {} if card(self.graph).grounded else {"allow_ungrounded": True}
        return builder(self.graph)(actor, self.judge(), hidden=hidden, width=self.parts.width, **control)


class _Moves(agents.TextAnswer):
    """Actions of a world, a line each: two answers are the same where their words are."""

    def __init__(self, path: str, *, shows: tuple[str, ...]) -> None:
        super().__init__(path, normalise=lambda text: " ".join(text.split()), shows=shows)


# Graphs that write one answer: what proposes in each.


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise ConfigError(f"--drafts {text!s:.40} is no list of whole numbers.", do="Write --drafts 8,4,1.")
    return found


def _parallel(m: Making) -> Actor:
    o = m.options
    return agents.ParallelRefine(
        m.model,
        m.asking,
        rounds=_numbers(o.drafts),
        workspace=o.workspace,
        workspace_tokens=o.workspace_tokens,
        max_tokens=o.answer_tokens,
    )


def _vote(m: Making) -> Actor:
    o = m.options
    return agents.ConfidentVote(
        m.model,
        m.asking,
        samples=o.samples,
        mode=o.mode,
        keep=o.keep,
        window=o.window,
        warm_up=o.warm_up,
        consensus=o.consensus,
        max_tokens=o.answer_tokens,
    )


def _round_table(m: Making) -> Actor:
    o = m.options
    seats = [m.model, *map(m.other_model, o.seat or ())]
    if len(seats) < 2:  # a table
        m.needed("seat", "a second model at the table")
    return agents.RoundTable(
        seats, m.asking, rounds=o.rounds, allow_homogeneous=o.same_model, max_tokens=o.answer_tokens
    )


def _perturbed(m: Making) -> Actor:
    o = m.options
    symmetry = agents.shuffled_options if o.symmetry == "options" else agents.relabelled_digits
    return agents.PerturbVote(m.model, m.asking, symmetry, versions=o.versions, max_tokens=o.answer_tokens)


def _router(m: Making) -> Actor:
    names = tuple(dict.fromkeys(filter(None, (name.strip() for name in m.options.strategies.split(",")))))
    able = [name for name in ANSWERING if name != m.graph]
    if wrong := [name for name in names if name not in able]:
        raise ConfigError(f"{wrong[0]!r:.60} is no strategy.", do=f"Use two or more of {', '.join(able)}.")
    shared = {key: getattr(m.options, key) for key in ("answer", "show", "answer_tokens")}
    made = {name: ANSWERING[name](Making(name, OPTIONS[name](**shared), m.parts, m.task, m.world)) for name in names}
    return agents.StrategyRouter(made)


def _judge_of(m: Making) -> Backend:
    return m.other_model(m.needed("judge", "a model that judges, another one than the author"))


def _best_of_n(m: Making) -> Actor:
    o = m.options
    judge = agents.ModelStepJudge(_judge_of(m))
    return agents.RefinedBestOfN(m.model, m.asking, judge, samples=o.samples, max_tokens=o.answer_tokens)


def _side_by_side(m: Making) -> Actor:
    o = m.options
    return agents.SideBySide(m.model, m.asking, judge=_judge_of(m), samples=o.samples, max_tokens=o.answer_tokens)


def _self_refine(m: Making) -> Actor:
    return agents.SelfRefine(m.model, m.asking, rounds=m.options.rounds, max_tokens=m.options.answer_tokens)


def _blind(m: Making) -> Actor:
    return agents.BlindResampling(m.model, m.asking, max_tokens=m.options.answer_tokens)


def _fusion(m: Making) -> Actor:
    o = m.options
    (drafts, *more) = _numbers(o.drafts)
    if more:
        raise ConfigError("fusion has one round of drafts.", do=f"Write --drafts {drafts}.")
    return agents.Fusion(
        m.model, m.asking, drafts=drafts, workspace_tokens=o.workspace_tokens, max_tokens=o.answer_tokens
    )


def _debate(m: Making) -> Actor:
    return agents.MadDebate(m.model, m.asking, rounds=m.options.rounds, max_tokens=m.options.answer_tokens)


def _sets(m: Making) -> Actor:
    o = m.options
    return agents.Sets(m.model, m.asking, samples=o.samples, rounds=o.rounds, max_tokens=o.answer_tokens)


def _ssr(m: Making) -> Actor:
    o = m.options
    return agents.SocraticRefine(m.model, m.asking, rounds=o.rounds, solves=o.solves, max_tokens=o.answer_tokens)


ANSWERING: Mapping[str, Callable[[Making], Actor]] = {
    "parallel_refine": _parallel,
    "confident_vote": _vote,
    "round_table": _round_table,
    "perturb_vote": _perturbed,
    "strategy_router": _router,
    "refined_best_of_n": _best_of_n,
    "side_by_side_judge": _side_by_side,
    "self_refine": _self_refine,
    "blind_resampling": _blind,
    "fusion": _fusion,
    "mad_debate": _debate,
    "sets": _sets,
    "ssr": _ssr,
}


# Graphs of other shapes.


def _code_repair(m: Making) -> FeedbackGraph:
    p = m.parts
    return builder("code_repair")(
        p.actor,
        p.critic,
        p.judge(m.task),
        p.hidden(m.task),
        width=p.width,
        select=m.select,
        baseline=m.baseline,
        own_tests=p.own_tests,
    )


def _verified_steps(m: Making) -> FeedbackGraph:
    o = m.options
    if o.rules is not None:
        found: Any = named(o.rules)
        rules = found if isinstance(found, StepRules) else found(m.task) if callable(found) else None
        if not isinstance(rules, StepRules):
            raise ConfigError(f"{o.rules} is no StepRules.", do="Name one, or a function of the task that makes one.")
    elif m.world is not None:
        rules = m.rules
    else:
        m.needed("rules", "rules that each step is checked by")
        raise AssertionError
    graph = builder("verified_steps")(
        m.model, rules, corrections=o.corrections, path=m.path_or_fail(), max_tokens=o.answer_tokens
    )
    return m.confirmed(graph, "check")


def _step_beam(m: Making) -> FeedbackGraph:
    o = m.options
    if is_question(m.task):
        raise ConfigError(
            "step_beam needs a judge of half-finished answers, and an answer key judges whole ones.",
            do="Give a task with tests, or --world NAME.",
        )
    stop = ("\n" if m.world else "\n\n") if o.stop is None else o.stop.replace("\\n", "\n")
    write = agents.NextStep(m.model, m.path_or_fail(), stop=stop)
    graph = builder("step_beam")(
        agents.StepBeamActor(write, beams=o.beams, samples=o.samples), m.judge(), depth=o.depth
    )
    return m.confirmed(graph, "test")


def _correction_memory(m: Making) -> FeedbackGraph:
    o = m.options
    distil = agents.Distiller(m.model if o.distil else None)
    ask = _ask_here if o.corrections_from is None else _Recorded.of(o.corrections_from)
    own = not is_question(m.task) and m.task.command not in ((), DEFAULT_COMMAND)
    judge = m.parts.judge(m.task) if own else None
    return builder("correction_memory")(m.parts.actor, ask, distil=distil, judge=judge)


def _acting(m: Making) -> WorldParts:
    if not isinstance(m.parts, WorldParts):
        raise ConfigError(
            f"{m.graph} acts in a world, and none is named.", do="Name one with --world; see docs/environments.md."
        )
    return m.parts


def _episodic(m: Making) -> FeedbackGraph:
    p = _acting(m)
    return builder("episodic")(p.actor, p.critic, p.world.make, actions=p.world.actions, repeats=p.repeats)


def _plan_ahead(m: Making) -> FeedbackGraph:
    p, o = _acting(m), m.options
    foresees = agents.LLMForesight(m.model) if o.foresight == "model" else agents.Simulator(p.world.make)
    actor = agents.LookaheadActor(foresees, width=o.proposals, depth=o.depth, simulations=o.simulations)
    critic = p.critic if p.backend is not None else None
    return builder("plan_ahead")(actor, p.world.make, critic, actions=p.world.actions, repeats=p.repeats)


def _factory(m: Making) -> FeedbackGraph:
    p = m.parts
    if not isinstance(p, WorldParts):
        return m.confirmed(builder("trajectory_factory")(p.actor, p.judge(m.task), ways=m.options.ways), "judge")
    policy = p.actor if p.backend is None else agents.ReActActor(p.backend, remembers="nothing")
    judge = EnvironmentTool(p.world.make, repeats=p.repeats, actions=p.world.actions)
    return builder("trajectory_factory")(policy, judge, ways=m.options.ways)


def _check_of(m: Making) -> Tool:
    if m.options.check is not None:
        check: Any = named(m.options.check)
        if not callable(check):
            raise ConfigError(f"{m.options.check} is no function.", do="Name one that gets the answer.")
        return AnswerCheck(cast("Callable[[str], bool | str]", check))
    if is_question(m.task):
        return m.parts.judge(m.task)
    m.needed("check", "a judge of the answer")
    raise AssertionError


def _toolbox(m: Making) -> Toolbox:
    found: Any = named(m.needed("tools", "tools"))
    if isinstance(found, Toolbox):
        return found
    tools = list(found) if isinstance(found, list | tuple) else [found]
    if not tools or not all(callable(one) or isinstance(one, CallableTool) for one in tools):
        raise ConfigError(f"{m.options.tools} is no tool.", do="Name a Toolbox, a function, or a list of functions.")
    return Toolbox(*tools)


def _tool_user(m: Making, toolbox: Toolbox) -> Actor:
    return agents.ToolActor(m.model, toolbox.specs, form=m.options.form)


def _tool_recovery(m: Making) -> FeedbackGraph:
    box = _toolbox(m)
    graph = builder("tool_recovery")(_tool_user(m, box), box, _check_of(m), failures=m.options.failures)
    return m.confirmed(graph, "check")


def _preflight(m: Making) -> FeedbackGraph:
    box, name = _toolbox(m), m.needed("reviewer", "a reviewer of what can't be undone")
    reviewer: Any = RuleReviewer(named(name)) if ".py:" in name else agents.ModelReviewer(m.other_model(name))
    graph = builder("preflight")(_tool_user(m, box), box, _check_of(m), reviewer, failures=m.options.failures)
    return m.confirmed(graph, "check")


def _search_judge(m: Making) -> FeedbackGraph:
    o = m.options
    scorer: Any = None
    if o.relevance == "meaning":
        from groundwire.cli._repair import installed_embedder
        from groundwire.tools import ByMeaning

        scorer = ByMeaning(installed_embedder())
    search = Corpus(_passages(m)).tool()
    graph = builder("search_judge")(
        m.model, search, scorer=scorer, check=Supported(), turns=o.turns, cuts=o.cuts, form=o.form
    )
    return m.confirmed(graph, "check")


def _passages(m: Making) -> tuple[str, ...]:
    if m.options.corpus == FICTION:
        from groundwire.tools.environments.worlds._fiction_search import PASSAGES as OURS

        return OURS
    if m.options.corpus is not None:
        file = expand_user(m.options.corpus)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"The corpus {file} can't be read: {error}.", do="Give a text file.") from error
    else:
        text = m.task.tree.files.get(PASSAGES, b"").decode("utf-8", "replace")
    found = tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())
    if not found:
        m.needed("corpus", "passages to search in")
        raise ConfigError(f"The corpus {m.options.corpus} is empty.", do="Give passages, an empty line between two.")
    return found


MAKERS: Mapping[str, Callable[[Making], FeedbackGraph]] = {
    "code_repair": _code_repair,
    "verified_steps": _verified_steps,
    "step_beam": _step_beam,
    "correction_memory": _correction_memory,
    "episodic": _episodic,
    "plan_ahead": _plan_ahead,
    "trajectory_factory": _factory,
    "tool_recovery": _tool_recovery,
    "preflight": _preflight,
    "search_judge": _search_judge,
}


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


# A person, at this terminal or in a file.


@dataclass
class _Recorded:
    """Corrections that were written down, each given once, to whoever asks next."""

    texts: list[str]
    lock: threading.Lock

    @classmethod
    def of(cls, path: Path) -> Callable[[Candidate, Task], str]:
        file = expand_user(path)
        if file not in _RECORDED:
            try:
                lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"{file} can't be read: {error}.", do="Give JSON lines, a text each.") from error
            texts = [json_value(line, f"{file}:{number}") for number, line in enumerate(lines, 1)]
            if not all(isinstance(text, str) for text in texts):
                raise ConfigError(f"{file} holds something else than texts.", do='Write a JSON text a line, like "".')
            _RECORDED[file] = cls(cast("list[str]", texts), threading.Lock())
        return _RECORDED[file]

    def __call__(self, candidate: Candidate, task: Task) -> str:
        with self.lock:
            if not self.texts:
                raise EOFError  # nobody is there
            return self.texts.pop(0)


_RECORDED: dict[Path, _Recorded] = {}
_AT_THE_TERMINAL = threading.Lock()


def _ask_here(candidate: Candidate, task: Task) -> str:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    with _AT_THE_TERMINAL:
        console.print(Text(f"{plain(task.id, limit=60)}: {plain(task.prompt, limit=400)}", style="bold"))
        for path, content in sorted(candidate.changes.items()):
            text = "(deleted)" if content is None else content.decode("utf-8", "replace")
            console.print(Text(f"--- {plain(path, limit=200)}", style="dim"))
            for line in text.splitlines()[:200]:
                console.print(Text(plain(line, limit=400)), soft_wrap=True)
        return console.input("correction (empty: it is right): ")
