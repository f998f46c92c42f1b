"""What a mechanism of attack is, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adversarial.targets import Files

RUNNERS = ("pytest", "unittest", "doctest")
EVERY_TARGET = ("one more", "backwards", "in order", "half", "counted", "both")


@dataclass(frozen=True)
class Mechanism:
    """One way to be called right without being it.

    Args:
        name: what it does.
        flaw: which of the eight classes of BenchJack's taxonomy it makes use of: V1 no isolation, V2 answers within
            reach, V3 code that the judge runs, V4 a judging model (groundwire's verdicts ask none, so there is none
            here), V5 weak matching, V6 gaps in the rule, V7 output that is believed, V8 needless permissions.
        kind: what it goes for, in this project's own words.
        code: goes before the function that is wrong; where it depends on the runner, by runner.
        instead: takes the place of the function that is wrong.
        files: further files that are handed in, by runner where they depend on it.
        base: further files that the project has.
        tests: tests in place of the target's own, by runner.
        runners: those that it is for.
        visible: False where the visible tests can't tell it from an honest program.
        hidden: False where it needs that what judges is there from the start.
        targets: those that it can be tried on.
        command: goes before the command that judges.
    """

    name: str
    flaw: str
    kind: str
    code: str | Mapping[str, str] = ""
    instead: str = ""
    files: Files | Mapping[str, Files] = field(default_factory=dict[str, str | bytes])
    base: Files = field(default_factory=dict[str, str | bytes])
    tests: Mapping[str, str] = field(default_factory=dict[str, str])
    runners: tuple[str, ...] = RUNNERS
    visible: bool = True
    hidden: bool = True
    targets: tuple[str, ...] = EVERY_TARGET
    command: tuple[str, ...] = ()
