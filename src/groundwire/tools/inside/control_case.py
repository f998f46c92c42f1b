"""One case under way in a run that has controls: which of its assertions is turned round, and how it fails there."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.control_sites import Site

TURNS = 1000
"""Evaluations of the turned assertion in one case; then it is itself again, so that code that waits for it may end."""


class Case:
    """One case under way."""

    def __init__(self, name: str, turning: bool) -> None:
        self.name = name
        self.turning = turning
        self.active = False
        self.fired: int | None = None
        self.kept: int | None = None
        self.reached = False
        self.caught = False
        self.turned_false = False
        self.kind = ""
        self.wanted: Any = None
        self.turns = 0
        self.probes = 0
        self.words = 0
        self.deceived: int | None = None
        self.failed_there = False
        self.failed = False
        self.changed: dict[int, tuple[Any, Any]] = {}
        self.example: Any = None
        self.want = ("", "")


class _UnderWay:
    """What the rewritten assertions of a run share.

    Args:
        case: the one that runs.
        sites: the assertions of the modules that were rewritten, by number.
        files: of the tests, those whose assertions count.
        tosses: coins, for what whoever is asked may not foresee.
    """

    def __init__(self) -> None:
        self.case: Case | None = None
        self.sites: list[Site] = []
        self.files: list[str] = []
        self.tosses: Iterator[int] = iter(())


under_way = _UnderWay()


def add_site(site: Site) -> int:
    """The number of an assertion that was rewritten."""
    under_way.sites.append(site)
    return len(under_way.sites) - 1


def turns(case: Case, site: int) -> bool:
    """True for the first assertion that can be turned, each time it is evaluated; no other of its case is."""
    if not case.turning or case.turns >= TURNS:
        return False
    if under_way.sites[site].alone:
        case.reached = True
    return case.fired == site or (case.fired is None and under_way.sites[site].alone)


def fire(case: Case, site: int, kind: str) -> None:
    """The case is turned round here."""
    case.fired, case.kind = site, kind
    case.turns += 1


def outcome(ask: Callable[[], Any]) -> Callable[[], Any]:
    """What comes of asking, for later: in which order it was asked whoever is asked can't tell."""
    try:
        answer = ask()
    except Exception as error:
        return functools.partial(_raise, error)
    return lambda: answer


def _raise(error: Exception) -> None:
    raise error


def is_true(ask: Callable[[], Any]) -> bool:
    """What an assertion would make of the answer; False where there is none."""
    try:
        answer = ask()
        return bool(answer if not hasattr(answer, "all") else answer.all())  # arrays are asked item by item
    except Exception:  # what can't be compared is not equal
        return False


def came_from(found: BaseException, trace: Any, case: Case) -> bool:
    """True if an exception came out of the turned assertion; of a group one of its parts is enough."""
    if hasattr(found, "subgroup"):
        parts: list[Any] = list(getattr(found, "exceptions", ()))
        if any(came_from(part, part.__traceback__, case) for part in parts):
            return True
    if case.example is not None:
        failures = getattr(found, "failures", None) or [found]
        return any(getattr(failure, "example", None) is case.example for failure in failures)
    # a class may say of anything that it is an instance of it
    if case.wanted is not None and not any(kind in type(found).__mro__ for kind in case.wanted):
        return False
    site = under_way.sites[case.fired or 0]
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == site.file and site.first <= trace.tb_lineno <= site.last:
            return True
        if case.turned_false and trace.tb_next is None and type(found) is AssertionError:
            return bool(trace.tb_frame.f_code.co_filename == site.file)  # it was caught, and said in other words
        trace = trace.tb_next
    return False


def coins(coin: bytes) -> Iterator[int]:
    """Tosses without end; the same of the same coin."""
    number = 0
    while True:
        number += 1
        for byte in hashlib.blake2b(coin + number.to_bytes(8, "big")).digest():
            for place in range(8):
                yield byte >> place & 1
