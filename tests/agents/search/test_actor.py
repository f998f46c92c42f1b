"""The actor: bounded, deterministic, resumable, and never outside of what it may edit."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.agents import SearchActor
from groundwire.agents.search import SearchActor as Same
from groundwire.agents.search import _candidates
from groundwire.agents.search._plan import FEWEST
from groundwire.agents.search._source import parse_source
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, EditStatistics
from groundwire.core._signals import Origin
from groundwire.core._traits import ActorTraits, Needs

CODE = """def clamp(x, low, high):
    if x < low:
        return high
    if x > high:
        return high
    return x


def mean(values):
    total = 0
    for value in values:
        total += value
    return total / len(values)
"""
FILES = {
    "app/math.py": CODE,
    "app/text.py": "def shout(s):\n    return s.lower() + '!'\n",
    "tests/test_app.py": "from app.math import clamp\n\ndef test_low():\n    assert clamp(0, 1, 5) == 1\n",
    "conftest.py": "import sys\n",
    "notes.txt": "x < y\n",
    "app/broken.py": "def (:\n",
}
LOW, HIGH = "tests/test_app.py::test_low", "tests/test_app.py::test_high"
COVERAGE = {LOW: {"app/math.py": (2, 3)}, HIGH: {"app/math.py": (2, 4, 5)}}


def context(maker: Any, **fields: Any) -> ActorContext:
    given: dict[str, Any] = {"coverage": COVERAGE}
    return maker.context(maker.task(FILES), [LOW], [HIGH], **given | fields)


def text(candidate: Candidate, path: str = "app/math.py") -> str:
    content = candidate.changes[path]
    assert content is not None
    return content.decode()


async def test_finds_the_repair_among_the_first(maker: Any) -> None:
    found = await SearchActor().propose(context(maker), 40)
    wanted = CODE.replace("return high", "return low", 1)
    assert wanted in [text(c) for c in found[:20]]
    best = next(c for c in found if text(c) == wanted)
    assert best.edits == ("name.swap",)
    assert best.note == "app/math.py:3 high → low"
    assert best.base_digest == context(maker).task.tree.digest


async def test_every_proposal_compiles_differs_and_is_unique(maker: Any) -> None:
    found = await SearchActor().propose(context(maker), 3000)
    assert len(found) > 500
    dumps = {(path, ast.dump(ast.parse(content or b""))) for c in found for path, content in c.changes.items()}
    assert len(dumps) > 0.8 * len(found)
    assert len({c.digest for c in found}) == len(found)
    for candidate in found:
        assert candidate.changes
        for path, content in candidate.changes.items():
            assert path in ("app/math.py", "app/text.py")
            assert content is not None
            assert content != FILES[path].encode()
            compile(content, path, "exec")


async def test_lines_that_failing_cases_ran_come_first(maker: Any) -> None:
    found = await SearchActor().propose(context(maker), 60)
    touched = [
        number
        for c in found
        for number, (old, new) in enumerate(zip(CODE.splitlines(), text(c).splitlines(), strict=False), 1)
        if old != new
    ]
    assert touched
    assert all(set(c.changes) == {"app/math.py"} for c in found)
    assert touched.count(3) > 5


async def test_the_same_context_gives_the_same_candidates(maker: Any) -> None:
    asked = context(maker)
    actor = SearchActor(seed=3)
    first = await actor.propose(asked, 50)
    assert await actor.propose(asked, 50) == first
    assert await Same(seed=3).propose(asked, 50) == first
    assert [c.digest for c in await SearchActor(seed=4).propose(asked, 50)] != [c.digest for c in first]


async def test_what_was_tried_is_not_proposed_again(maker: Any) -> None:
    asked = context(maker)
    one = await SearchActor().propose(asked, 120)
    parts: list[Candidate] = []
    tried = asked.tried
    for _ in range(3):
        # a fresh actor each time: another process goes on from the context alone
        more = await SearchActor().propose(context(maker, tried=tried), 40)
        tried = tried | {c.digest for c in more}
        parts += more
    assert [c.digest for c in parts] == [c.digest for c in one]


async def test_it_ends_when_there_is_nothing_new(maker: Any) -> None:
    task = maker.task({"m.py": "def f():\n    return True\n"})
    asked = maker.context(task)
    actor = SearchActor()
    everything = await actor.propose(asked, 10_000)
    assert 0 < len(everything) < 2_000
    left = maker.context(task, tried=frozenset(c.digest for c in everything))
    assert await actor.propose(left, 10) == []


async def test_statistics_from_memory_reorder_the_operators(maker: Any) -> None:
    plain = await SearchActor().propose(context(maker), 30)
    learned = {"compare.swap": (500, 0), "compare.boundary": (500, 0), "name.swap": (50, 9)}
    taught = await SearchActor().propose(context(maker, edit_statistics=EditStatistics(family=learned)), 30)

    def first(found: Any, name: str) -> int:
        return next((i for i, c in enumerate(found) if c.edits == (name,)), 99)

    assert first(plain, "compare.swap") < first(plain, "name.swap")
    assert first(taught, "name.swap") < first(taught, "compare.swap")


async def test_two_edits_on_top_of_partial_progress(maker: Any) -> None:
    code = "def f(a, b):\n    x = a - 1\n    y = b - 1\n    return x, y\n"
    task = maker.task({"m.py": code})
    baseline = maker.judged(Candidate(task.tree.digest, {}), ["t::a", "t::b"])
    actor, tried, judged = SearchActor(), frozenset[str](), (baseline,)
    wanted = code.replace("a - 1", "a + 1").replace("b - 1", "b + 1")
    for _ in range(40):
        asked = maker.context(task, tried=tried, judged=judged, best=baseline, failing=baseline)
        found = await actor.propose(asked, 50)
        if any(text(c, "m.py") == wanted for c in found):
            pair = next(c for c in found if text(c, "m.py") == wanted)
            assert pair.edits == ("arith.swap", "arith.swap")
            assert pair.note == "m.py:2 - → +; m.py:3 - → +"
            return
        tried |= {c.digest for c in found}
        judged = tuple(maker.judged(c, *outcome(text(c, "m.py"))) for c in found)
    pytest.fail("the pair was not proposed within 2,000 candidates")


def outcome(code: str) -> tuple[list[str], list[str]]:
    """Which of the two cases fails: each looks at one of the lines."""
    cases = {"t::a": "x = a + 1" in code, "t::b": "y = b + 1" in code}
    return [c for c, ok in cases.items() if not ok], [c for c, ok in cases.items() if ok]


async def test_hidden_signals_are_not_looked_at(maker: Any) -> None:
    task = maker.task(FILES)
    secret = maker.judged(Candidate(task.tree.digest, {}), [LOW], origin=Origin.HIDDEN_TESTS)
    asked = maker.context(task, best=None, failing=secret, judged=(secret,), coverage=COVERAGE)
    blind = maker.context(task, best=None, failing=None, judged=(), coverage=COVERAGE)
    assert await SearchActor().propose(asked, 30) == await SearchActor().propose(blind, 30)


async def test_nothing_to_edit(maker: Any) -> None:
    for files in ({}, {"notes.txt": "x"}, {"app.py": "def (:"}, {"tests/test_a.py": "x = 1 < 2"}, {"a.py": ""}):
        assert await SearchActor().propose(maker.context(maker.task(files)), 10) == []


async def test_only_editable_files(maker: Any) -> None:
    task = maker.task(FILES, editable=("app/text.py",))
    found = await SearchActor().propose(maker.context(task), 500)
    assert {path for c in found for path in c.changes} == {"app/text.py"}


def test_what_it_needs() -> None:
    assert SearchActor.traits == ActorTraits(needs=Needs(coverage=True, edit_statistics=True), patient=True, revision=6)


STATEMENTS = [
    "x = a[{n}]", "y = b - {n}", "if a < b and x:\n        y += {n}\n    else:\n        y = x", "x: int = {n}",
    "z = [i for i in a if i > {n}]", "while y > {n}:\n        y //= 2", "s = f'{{x!r:>{n}}}'", "d = {{{n}: a, **b}}",
    "try:\n        x = f(a, b)\n    except ValueError as e:\n        raise", "a.sort(key=lambda t: t[{n}])",
    "for i, v in enumerate(a):\n        if v:\n            continue\n        y = v", "del x", "assert x, 'no'",
    "with open(a) as g:\n        y = g.read()[1:]", "y = a if not b else (x, *a)",
]  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(STATEMENTS), st.integers(0, 9)), min_size=1, max_size=5), st.integers(0, 3))
async def test_any_function_gives_sound_candidates(maker: Any, parts: list[tuple[str, int]], seed: int) -> None:
    code = "def f(a, b=None):\n" + "".join(f"    {line.format(n=n)}\n" for line, n in parts) + "    return x\n"
    asked = maker.context(maker.task({"m.py": code}), seed=seed)
    found = await SearchActor().propose(asked, 150)
    assert found
    assert len({c.digest for c in found}) == len(found)
    for candidate in found:
        assert set(candidate.changes) == {"m.py"}
        assert text(candidate, "m.py") != code
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text(candidate, "m.py"), "m.py", "exec")
    assert await SearchActor().propose(asked, 150) == found


def big(maker: Any) -> ActorContext:
    """Twelve modules like each other; the failing case ran two lines of one in the middle."""
    files = {f"app/part_{n:02}.py": CODE.replace("clamp", f"clamp_{n}") for n in range(12)}
    files["tests/test_app.py"] = "from app.part_07 import clamp_7\ndef test_low():\n    assert clamp_7(0, 1, 5) == 1\n"
    covered = {LOW: {"app/part_07.py": (2, 3)}, HIGH: {"app/part_07.py": (2, 4, 5)}, "": dict.fromkeys(files, (1, 9))}
    return maker.context(maker.task(files), [LOW], [HIGH], coverage=covered)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were parsed for edits, where twelve small modules are a big project."""
    seen: list[str] = []
    real = parse_source

    def parse(path: str, data: bytes) -> Any:
        seen.append(path)
        return real(path, data)

    monkeypatch.setattr(_candidates, "parse_source", parse)
    monkeypatch.setattr(_candidates, "GROUP_BYTES", 4 * len(CODE))
    return seen


async def test_of_a_big_project_what_the_failing_case_ran_is_read_and_judged_first(maker: Any, read: list[str]) -> None:
    found = await SearchActor().propose(big(maker), 200)
    assert read == ["app/part_07.py"]
    assert FEWEST <= len(found) < 200
    wanted = CODE.replace("clamp", "clamp_7").replace("return high", "return low", 1)
    assert wanted in [text(c, "app/part_07.py") for c in found[:20] if "app/part_07.py" in c.changes]


async def test_the_rest_of_a_big_project_follows_and_nothing_twice(maker: Any, read: list[str]) -> None:
    actor, context, digests = SearchActor(), big(maker), list[str]()
    tried = set[str](context.tried)
    for _ in range(40):
        found = await actor.propose(replace(context, tried=frozenset(tried)), 100)
        digests += [c.digest for c in found]
        tried.update(digests)
    assert len(digests) == len(set(digests)) > 1000
    assert len(read) == len(set(read)) == 12
    again = await SearchActor().propose(replace(context, tried=frozenset(digests[:60])), 30)
    assert [c.digest for c in again] == digests[60:90]
