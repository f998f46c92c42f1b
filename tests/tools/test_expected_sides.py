"""Which side of a comparison is turned: never what the project computed; and what another value is."""

# small programs, each in one line where it fits
# ruff: noqa: E501
from __future__ import annotations

import ast
import dataclasses
import datetime
import enum
import math
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.tools.inside import control_questions, expected_sides
from groundwire.tools.inside.expected_sides import Modules
from groundwire.tools.inside.other_values import NOTHING, UNLIKE, another

# their names in the sandbox
sys.modules.update({"_gw_expected_sides": expected_sides, "_gw_control_questions": control_questions})

from groundwire.tools.inside.control_sites import Site, instrument  # noqa: E402


class Computed(int):
    """A number that the project computed."""


class Box(list[Any]):
    """A list that the project filled."""


PROJECT = ModuleType("mod")
vars(PROJECT).update(
    f=lambda x: Computed(x + 1),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    fill=lambda box: box.append(Computed(2)),  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType, reportUnknownArgumentType]
    call=lambda back: back(Computed(2)),  # pyright: ignore[reportUnknownLambdaType]
    K=type("K", (), {"x": Computed(2), "get": lambda self, n=1: Computed(n + 1)}),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    LIMIT=Computed(2),
)


def asked(body: str, path: str = "tests/test_mod.py") -> list[Any]:
    """Runs `test` of a module that was rewritten; what it takes for the expected values, in order."""
    found: list[Any] = []

    class Hooks(ModuleType):
        """Stands for `control_answers`."""

        def equal(self, _site: int, side: int, again: Any, left: Any, right: Any) -> bool:
            found.append(right if side else left)
            assert again is None or again() == found[-1]
            return left == right

        def same(self, _site: int, side: int, left: Any, right: Any) -> bool:
            return self.equal(_site, side, None, left, right)

        def other(self, _site: int, value: Any) -> Any:
            found.append(value)
            return value

        def truth(self, _site: int, value: Any) -> Any:
            return value

        def yes(self, _site: int, _name: str, function: Any, *args: Any, **named: Any) -> Any:
            return function(*args, **named)

        def call(self, _site: int, place: int, _again: Any, function: Any, *args: Any, **named: Any) -> Any:
            if place >= 0:
                found.append(args[place])
            return function(*args, **named)

    tree = ast.parse(body)
    sites: list[Site] = []

    def add(site: Site) -> int:
        sites.append(site)
        return len(sites) - 1

    instrument(tree, path, path, Modules(".", [path], ["mod.py", "pkg/__init__.py", "pkg/inner.py"]), add)
    before = {name: sys.modules.get(name) for name in ("mod", "_gw_control_answers")}
    sys.modules.update({"mod": PROJECT, "_gw_control_answers": Hooks("_gw_control_answers")})
    try:
        names: dict[str, Any] = {"__name__": "test_mod"}
        exec(compile(tree, path, "exec"), names)
        names["test"]()
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return found


def holds_computed(value: Any) -> bool:
    if isinstance(value, (list, tuple, set, dict)):
        return any(holds_computed(v) for v in (value.values() if isinstance(value, dict) else value))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
    return isinstance(value, Computed)


HEAD = "from mod import *\nfrom mod import f, fill, call, K, LIMIT\nimport mod\n"
TURNED = {
    "a literal": ("def test():\n    assert f(1) == 2\n", [2]),
    "the left one": ("def test():\n    assert 2 == f(1)\n", [2]),
    "filled in place": ("def test():\n    box = []\n    fill(box)\n    assert box == [2]\n", [[2]]),
    "filled by a call back": ("def test():\n    box = []\n    call(box.append)\n    assert box == [2]\n", [[2]]),
    "an attribute": ("def test():\n    assert K().x == 2\n    assert K.x == 2\n", [2, 2]),
    "a method": ("def test():\n    k = K()\n    assert k.get() == 2\n", [2]),
    "a name that was bound twice": ("def test():\n    got = 2\n    assert got == 2\n    got = f(1)\n    assert got == 2\n", [2, 2]),
    "unpacked": ("def test():\n    got, want = f(1), 2\n    assert got == want\n", [2]),
    "from a loop": ("def test():\n    for x, want in [(1, 2)]:\n        got = f(x)\n        assert got == want\n", [2]),
    "a helper": ("def same(a, b):\n    assert a == b\ndef test():\n    same(f(1), 2)\n", [2]),
    "a helper, the other way round": ("def same(a, b):\n    assert a == b\ndef test():\n    same(2, f(1))\n", [2]),
    "a helper's value": ("def run(x):\n    return f(x)\ndef test():\n    assert run(1) == 2\n", [2]),
    "what was handed in": ("def test():\n    x = 1\n    assert f(x) - 1 == x\n", [1]),
    "a closure": ("def test():\n    seen = []\n    def back(x):\n        seen.append(x)\n    call(back)\n    assert seen == [2]\n", [[2]]),
    "a class of the tests": ("class T:\n    want = 2\n    def check(self):\n        assert f(1) == self.want\ndef test():\n    T().check()\n", [2]),
    "three sides": ("def test():\n    assert 2 == f(1) == f(1)\n", [2]),
    "a walrus": ("def test():\n    assert (got := f(1)) == 2 and got\n", [2]),
}  # fmt: skip
NOT_TURNED = {
    "both computed": "def test():\n    assert f(1) == f(1)\n",
    "a name of a star import": "from mod import *\ndef test():\n    assert f(1) == LIMIT\n",
    "a helper that gets both ways": "def same(a, b):\n    assert a == b\ndef test():\n    same(f(1), 2)\n    same(2, f(1))\n",
    "a helper that is handed on": "def same(b):\n    assert f(1) == b\ndef test():\n    [*map(same, [f(1)])]\n",
    "a constant of the project": "def test():\n    assert f(1) == mod.LIMIT\n",
    "computed while the module is imported": "WANT = f(1)\ndef test():\n    assert f(1) == WANT\n",
    "stored in a dict": "D = {}\ndef test():\n    D['a'] = f(1)\n    assert f(1) == D['a']\n",
    "stored on an object": "class O:\n    pass\ndef test():\n    o = O()\n    o.x = f(1)\n    assert f(1) == o.x\n",
    "put into a list": "def test():\n    box = []\n    box.append(f(1))\n    assert [f(1)] == box\n",
    "filled by the project": "def test():\n    box = []\n    fill(box)\n    assert [f(1)] == box\n",
    "caught": "def test():\n    try:\n        raise ValueError(f(1))\n    except ValueError as error:\n        assert f(1) == error.args[0]\n",
    "a helper that computes": "def want():\n    return f(1)\ndef test():\n    assert f(1) == want()\n",
    "an attribute of a test class": "class T:\n    def setup(self):\n        self.want = f(1)\n    def check(self):\n        assert f(1) == self.want\ndef test():\n    t = T()\n    t.setup()\n    t.check()\n",
    "a default": "def same(want=f(1)):\n    assert f(1) == want\ndef test():\n    same()\n",
    "imported inside": "def test():\n    from mod import LIMIT as want\n    assert f(1) == want\n",
    "added to": "def test():\n    want = 0\n    want += f(1)\n    assert f(1) == want\n",
    "global": "WANT = 0\ndef learn():\n    global WANT\n    WANT = f(1)\ndef test():\n    learn()\n    assert f(1) == WANT\n",
    "a list of the module": "SEEN = []\ndef learn():\n    SEEN.append(f(1))\ndef test():\n    learn()\n    assert [f(1)] == SEEN\n",
    "nonlocal": "def test():\n    want = 0\n    def learn():\n        nonlocal want\n        want = f(1)\n    learn()\n    assert f(1) == want\n",
    "a keyword's default": "def same(*, want=f(1)):\n    assert f(1) == want\ndef test():\n    same()\n",
    "a lambda": "want = lambda: f(1)\ndef test():\n    assert f(1) == want()\n",
    "not equal": "def test():\n    assert f(1) != 1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_the_expected_side_is_found(name: str) -> None:
    body, wanted = TURNED[name]
    assert asked(HEAD.replace("from mod import *\n", "") + body) == wanted


@pytest.mark.parametrize("name", [*TURNED, *NOT_TURNED])
def test_what_the_project_computed_is_never_changed(name: str) -> None:
    body = TURNED[name][0] if name in TURNED else NOT_TURNED[name]
    assert not any(holds_computed(value) for value in asked(HEAD.replace("from mod import *\n", "") + body))


def test_what_a_module_of_the_tests_imports_of_the_project_is_the_project_s(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "data.py").write_text("WANT = 2\n")
    (tmp_path / "tests" / "more.py").write_text("from pkg.inner import g\nWANT = g()\n")
    (tmp_path / "tests" / "again.py").write_text("from . import more\n")
    fixed = ["tests/data.py", "tests/more.py", "tests/again.py", "tests/test_a.py"]
    modules = Modules(str(tmp_path), fixed, ["src/pkg/__init__.py", "src/pkg/inner.py", "src/pkg/sub/deep.py"])
    ranks = [modules.rank(name, 0, "tests/test_a.py") for name in ("tests.data", "tests.more", "tests.again", "json")]
    assert ranks == [1, 3, 3, 1]
    assert [modules.rank(n, 0, "t.py") for n in ("pkg", "pkg.inner", "pkg.inner.x", "src.pkg", "pkgs")] == [
        3,
        3,
        3,
        3,
        1,
    ]
    assert modules.rank("inner", 1, "src/pkg/test_x.py") == 3


class Point(NamedTuple):
    """Two numbers."""

    x: int
    y: int


class Colour(enum.Enum):
    """Two of them."""

    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Dated:
    """The first field says nothing."""

    note: str = dataclasses.field(compare=False)
    at: int


VALUES: tuple[Any, ...] = (
    0, 1, -1, 10**40, 0.0, -1.0, 1e308, math.inf, -math.inf, True, False, "", "x", "xx", "A b!", "…", b"", b"\xff", bytearray(b"a"),
    1j, range(0), range(3), range(9, 0, -2), [], [1], [None], [[]], (), (1,), set[int](), {1}, {None}, {True, False}, frozenset({"a"}),
    dict[str, int](), {"a": 1}, {"a": None}, {"a": [1, {"b": 2}]}, OrderedDict([("a", 1)]), defaultdict(int, a=1), Counter("aab"), Counter[str](), deque([1]), deque[int](),
    Point(1, 2), Colour.RED, Decimal("1.5"), Decimal(0), Decimal("Infinity"), Fraction(1, 3), datetime.date(2020, 2, 29),
    datetime.datetime(9999, 12, 31), datetime.time(23), datetime.timedelta(0), PurePosixPath("a/b"), PurePosixPath("/"), uuid.UUID(int=0), Dated("n", 1),
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_another_value_is_of_the_same_type_and_not_equal(value: Any) -> None:
    before = repr(value)
    other = another(value)
    assert type(other) is type(value)
    assert other != value
    assert repr(value) == before
    if isinstance(value, (str, bytes, list, tuple, set, dict)) and value:
        assert len(other) == len(value)  # pyright: ignore[reportUnknownArgumentType]


def test_what_has_no_second_value_gives_something_unlike_it() -> None:
    assert another(None) is UNLIKE
    assert another(...) is UNLIKE
    assert another(math.nan) == 1.0
    assert another(object()) is NOTHING
    assert another(len) is NOTHING
    endless: list[Any] = []
    endless.append(endless)
    assert another(endless) != endless or another(endless) is NOTHING


def test_numbers_of_numpy_and_approximations() -> None:
    numpy = pytest.importorskip("numpy")
    for array in (
        numpy.array([1.0, numpy.nan]),
        numpy.array([1, 2]),
        numpy.array([True]),
        numpy.array(["a"]),
        numpy.zeros((2, 0)),
        numpy.array([1], "u1"),
    ):
        other = another(array)
        assert other.dtype == array.dtype
        assert not numpy.array_equal(other, array, equal_nan=array.dtype.kind == "f")
    assert another(numpy.float64(1.0)) != 1.0
    for near, got in (
        (pytest.approx(2.0), 2.0),
        (pytest.approx(2.0, rel=5), 2.0),
        (pytest.approx([1.0, 2.0]), [1.0, 2.0]),
        (pytest.approx({"a": 1.0}), {"a": 1.0}),
    ):
        assert got == near
        assert got != another(near)


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(anything)
def test_of_any_plain_value_there_is_another(value: Any) -> None:
    other = another(value)
    assert other is not NOTHING
    assert other != value


def test_a_tolerance_that_nothing_is_beyond_is_no_reason_not_to_ask() -> None:
    """It has to be seen: what is asked for then is another value that is equal as well."""
    everything = another(pytest.approx(6, abs=1e9))
    assert everything.expected != 6 and everything == 6
