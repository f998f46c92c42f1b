"""The graph of one task, wired by its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from groundwire import agents
from groundwire.benchmarks.answers._key import is_question
from groundwire.benchmarks.answers._questions import PASSAGES
from groundwire.cli._world_parts import WorldParts
from groundwire.cli.graph_options._answering import ANSWERING
from groundwire.cli.graph_options._making import Making, named
from groundwire.cli.graph_options._person import RecordedCorrections, ask_here
from groundwire.core._contexts import Actor, Tool
from groundwire.core._errors import ConfigError
from groundwire.core._paths import expand_user
from groundwire.core._steps import StepRules
from groundwire.core._tasks import DEFAULT_COMMAND
from groundwire.graphs import FeedbackGraph
from groundwire.graphs.library._catalogue import builder, card
from groundwire.tools import AnswerCheck, Corpus, RuleReviewer, Supported, Toolbox
from groundwire.tools._functions import CallableTool
from groundwire.tools.environments import EnvironmentTool

FICTION = "fiction"


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
    ask = ask_here if o.corrections_from is None else RecordedCorrections.of(o.corrections_from)
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
    tools: list[Any] = list(cast("Sequence[Any]", found)) if isinstance(found, list | tuple) else [found]
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
    rule: Any = named(name) if ".py:" in name else None
    reviewer: Any = RuleReviewer(rule) if ".py:" in name else agents.ModelReviewer(m.other_model(name))
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


def graph_of(m: Making) -> FeedbackGraph:
    """The graph, not yet compiled.

    Raises:
        ConfigError: an option is missing or can't be had.
        TaskError: the task does not ask for what the graph makes.
    """
    if m.graph not in ANSWERING:
        return MAKERS[m.graph](m)
    hidden = None if m.task.hidden is None else m.parts.hidden(m.task)
    is_control = not card(m.graph).grounded or getattr(m.options, "same_model", False)
    control = {"allow_ungrounded": True} if is_control else {}
    return builder(m.graph)(ANSWERING[m.graph](m), m.judge(), hidden=hidden, width=m.parts.width, **control)
