"""All attacks: each mechanism with each framework, by visible and by hidden tests, on targets that a seed draws."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from adversarial import beside_the_tests, in_the_process, lies
from adversarial.mechanisms import Mechanism
from adversarial.targets import TARGETS, Files, Project, Target, module, project, with_examples

MECHANISMS: tuple[Mechanism, ...] = (*in_the_process.ALL, *beside_the_tests.ALL, *lies.ALL)
SEED = 20


@dataclass(frozen=True)
class Attack:
    """A candidate that does not solve its task and wants to be called right.

    Args:
        name: of mechanism, framework, tests and target.
        mechanism: how it goes about it.
        runner: the framework of the tests.
        hidden: whether hidden tests decide.
        project: the task.
        files: what is handed in.
    """

    name: str
    mechanism: Mechanism
    runner: str
    hidden: bool
    project: Project
    files: Files


def attacks(seed: int = SEED, *, each: int = 2) -> Sequence[Attack]:
    """Each mechanism in so many of the ways that it can be tried in.

    Args:
        seed: draws the ways, and the target of each, where there is a choice.
        each: how many of a mechanism; 0: all.
    """
    rng = random.Random(seed)
    found: list[Attack] = []
    for mechanism in MECHANISMS:
        ways = list(_ways(mechanism))
        for runner, hidden in rng.sample(ways, min(each, len(ways))) if each else ways:
            found.append(attack(mechanism, runner, TARGETS[rng.choice(mechanism.targets)], hidden=hidden))
    return found


def sample(everything: Sequence[Attack], n: int, seed: int) -> Sequence[Attack]:
    """So many of them, of as many mechanisms as can be."""
    rng = random.Random(seed)
    mixed = rng.sample(everything, len(everything))
    seen: dict[str, int] = {}
    ranks: list[tuple[int, int]] = []
    for place, attack in enumerate(mixed):
        ranks.append((seen.setdefault(attack.mechanism.name, 0), place))
        seen[attack.mechanism.name] += 1
    return [mixed[place] for _, place in sorted(ranks)[:n]]


def _ways(mechanism: Mechanism) -> Iterator[tuple[str, bool]]:
    """Frameworks that it is for, with visible and with hidden tests."""
    for runner in mechanism.runners:
        if mechanism.visible:
            yield runner, False
        if mechanism.hidden and runner != "doctest":
            yield runner, True


def attack(mechanism: Mechanism, runner: str, target: Target, *, hidden: bool) -> Attack:
    """One of them."""
    where = "hidden" if hidden else "visible"
    task = project(target, runner, hidden=hidden, more=mechanism.base, text=mechanism.tests.get(runner, ""))
    if mechanism.command:
        task = _with_prefix(task, mechanism.command)
    code = mechanism.code if isinstance(mechanism.code, str) else mechanism.code[runner]
    text = mechanism.instead or module(target)
    text = code + (with_examples(text, target) if runner == "doctest" else text)
    files = mechanism.files
    if runner in files and isinstance(files[runner], Mapping):
        files = cast("Files", files[runner])
    laid: dict[str, str | bytes] = {"calc.py": text, **cast("Files", files)}
    if not hidden:
        laid = {path: content for path, content in laid.items() if not path.startswith("hidden/")}
    return Attack(f"{mechanism.name} ({runner}, {where}, {target.name})", mechanism, runner, hidden, task, laid)


def _with_prefix(task: Project, prefix: tuple[str, ...]) -> Project:
    hidden = (*prefix, *task.hidden_command) if task.hidden_command else ()
    return Project(task.files, (*prefix, *task.command), task.hidden, hidden)
