"""Reasons to doubt a patch that passes: it does on calls like those of the tests what no right patch would do.

A few tests are often passed by a patch that is wrong (Smith et al., "Is the cure worse than the disease?", ESEC/FSE
2015). What tells such a patch from a right one without an oracle is how its calls end: it raises or hangs where the
code before the patch did neither, or returns another kind of value than the tests ask for. (That most plausible patches
agree with each other does not: see bench/RESULTS.md.) This orders patches, and never gives a verdict.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from pathlib import PurePosixPath

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import GroundwireError
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import Task
from groundwire.tools._commands import Invocation
from groundwire.tools._python_runner import ENVIRONMENT, arguments_of, support_files
from groundwire.tools._visible_calls import Probe, probes_of

NOTES = "behaviour.txt"
TOLERATED = 0.01
"""The part of all probes that may end worse."""
WALL_S = 10.0
KNOWN_BASES = 16
MAX_LINE = 100
# a test that asks for 8 is content with 8.0
FAMILIES = {"int": "number", "float": "number"}


class Behaviour:
    """Compares how a patch and the tree it changes behave on probes. Remembers how the last few trees behaved."""

    def __init__(self) -> None:
        self._bases: OrderedDict[str, tuple[tuple[Probe, ...], list[str]]] = OrderedDict()

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """Why a candidate that passes its tests may be wrong all the same, in one line.

        The candidate runs in a sandbox run of its own and could deceive this, as it could its tests.

        Returns:
            Empty where there is no reason, or where nothing can be found out: the tests make no calls that can be
            varied, or the sandbox is not available.
        """
        probes = self._probes(task)
        patched = candidate.applied_to(task.tree)
        try:
            before, after = await asyncio.gather(
                self._base(probes, task, context), self._endings(probes, patched, task, context)
            )
        except (GroundwireError, OSError):
            return ""
        ends = zip(probes, before, after, strict=True)
        worse = [now for probe, then, now in ends if _severity(probe, now) > _severity(probe, then)]
        if len(worse) <= TOLERATED * len(probes):
            return ""
        commonest, _ = Counter(worse).most_common(1)[0]
        return f"{len(worse)} of {len(probes)} calls like those of the tests end worse than before: {commonest}"

    def _probes(self, task: Task) -> tuple[Probe, ...]:
        known = self._bases.get(task.tree.digest)
        return known[0] if known is not None else probes_of(task)

    async def _base(self, probes: tuple[Probe, ...], task: Task, context: ToolContext) -> list[str]:
        known = self._bases.get(task.tree.digest)
        if known is None:
            known = self._bases[task.tree.digest] = probes, await self._endings(probes, task.tree, task, context)
            while len(self._bases) > KNOWN_BASES:
                self._bases.popitem(last=False)
        return known[1]

    async def _endings(self, probes: Sequence[Probe], tree: Tree, task: Task, context: ToolContext) -> list[str]:
        if not probes:
            return []
        sandbox = await context.sandbox()
        imports = list(dict.fromkeys(probe.imports for probe in probes))
        settings = {
            "roots": _roots(probes, tree),
            "imports": imports,
            "calls": [(imports.index(probe.imports), probe.call) for probe in probes],
        }
        result = await sandbox.run(
            ("python", *arguments_of("behaviour_main", Invocation("command", (), here=True), tree)),
            tree,
            _limits(task.limits),
            env=ENVIRONMENT,
            support=support_files(settings),
            collect=(NOTES,),
        )
        lines = result.files.get(NOTES, b"").decode("utf-8", "replace").splitlines()
        said = [line[:MAX_LINE] for line in lines[: len(probes)]]
        return said + ["ends the process"] * (len(probes) - len(said))


def _limits(limits: Limits) -> Limits:
    return limits.model_copy(update={"wall_s": min(WALL_S, limits.wall_s)})


def _roots(probes: Sequence[Probe], tree: Tree) -> list[str]:
    """Folders from which a test file may import: its own, and those of the conftests."""
    files = [*(probe.path for probe in probes), *(p for p in tree.files if PurePosixPath(p).name == "conftest.py")]
    return list(dict.fromkeys(PurePosixPath(path).parent.as_posix() for path in files))


def _severity(probe: Probe, ending: str) -> int:
    """0: a value as the tests ask for; 1: another kind of value, or an exception; 2: no end at all."""
    how, _, name = ending.partition(" ")
    if how in ("hangs", "ends"):
        return 2
    wanted = {FAMILIES.get(kind, kind) for kind in probe.wanted}
    return int(how != "returns" or (bool(wanted) and FAMILIES.get(name, name) not in wanted))
