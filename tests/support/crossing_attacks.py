"""Programs that solve nothing and lie about it: what a test asserts, and the program.

Right would be `f(x) == x + 1`. Each must fail where the code runs in another process than the assertions.
"""

# ruff: noqa: E501  small programs, each in one line where it fits
from __future__ import annotations

from collections.abc import Collection, Mapping

HEAD = """\
import collections, dataclasses, decimal, sys, types
class Any_:
    def __eq__(self, o): return True
    def __ne__(self, o): return False
    def __lt__(self, o): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 0
def always(base, *args):
    def yes(self, o): return True
    def zero(self, *o): return 0
    inner = {n: yes for n in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__")}
    inner.update({n: zero for n in ("__sub__", "__rsub__", "__abs__", "__hash__")}, __ne__=lambda s, o: False)
    return type("Sub", (base,), inner)(*args)
"""

EQUAL = "assert m.f{n}(5) == 6"
ATTACKS: Mapping[str, tuple[str, str]] = {
    "equals everything": (EQUAL, "def f{n}(x): return Any_()"),
    "is unequal to nothing": ("assert not m.f{n}(5) != 6", "def f{n}(x): return Any_()"),
    "equals everything, from the right": ("assert 6 == m.f{n}(5)", "def f{n}(x): return Any_()"),
    "a whole number that equals everything": (EQUAL, "def f{n}(x): return always(int, 0)"),
    "a number that is near to everything": ("assert m.f{n}(5) == pytest.approx(6)", "def f{n}(x): return always(float, 0.0)"),
    "a number with no distance": ("assert abs(m.f{n}(5) - 6) < 1e-9", "def f{n}(x): return always(float, 0.0)"),
    "assertAlmostEqual of a number": ("unittest.TestCase().assertAlmostEqual(m.f{n}(5), 6)", "def f{n}(x): return always(int, 0)"),
    "a number between any two": ("assert 5.5 < m.f{n}(5) < 6.5", "def f{n}(x): return always(float, 0.0)"),
    "a text that equals everything": ("assert m.f{n}(5) == '6'", "def f{n}(x): return always(str, '')"),
    "a tuple that equals everything": ("assert m.f{n}(5) == (6,)", "def f{n}(x): return always(tuple)"),
    "a frozen set that equals everything": ("assert m.f{n}(5) == frozenset((6,))", "def f{n}(x): return always(frozenset)"),
    "bytes that equal everything": ("assert m.f{n}(5) == b'6'", "def f{n}(x): return always(bytes)"),
    "a list that equals everything": ("assert m.f{n}(5) == [6]", "def f{n}(x): return always(list)"),
    "a dict that equals everything": ("assert m.f{n}(5) == {'n': 6}", "def f{n}(x): return always(dict)"),
    "a set that equals everything": ("assert m.f{n}(5) == {6}", "def f{n}(x): return always(set)"),
    "a Decimal that equals everything": ("assert m.f{n}(5) == decimal.Decimal(6)", "def f{n}(x): return always(decimal.Decimal, 0)"),
    "one of these in a list": ("assert m.f{n}(5) == [6, 7]", "def f{n}(x): return [Any_(), Any_()]"),
    "one of these in a tuple": ("assert (m.f{n}(5), 1) == ((6,), 1)", "def f{n}(x): return (Any_(),)"),
    "one of these in a dict": ("assert m.f{n}(5) == {'a': {'b': 6}}", "def f{n}(x): return {'a': {'b': Any_()}}"),
    "one of these in a deque": ("assert m.f{n}(5) == collections.deque([6])", "def f{n}(x): return collections.deque([Any_()])"),
    "one of these in a generator": ("assert list(m.f{n}(5)) == [6]", "def f{n}(x): yield Any_()"),
    "is in every list": ("assert m.f{n}(5) in [6, 16]", "def f{n}(x): return Any_()"),
    "is in every set": ("assert m.f{n}(5) in {6, 16}", "def f{n}(x):\n    class H(int):\n        def __eq__(s, o): return True\n        def __hash__(s): return 6\n    return H(0)"),
    "assertEqual": ("unittest.TestCase().assertEqual(m.f{n}(5), 6)", "def f{n}(x): return Any_()"),
    "assertCountEqual": ("unittest.TestCase().assertCountEqual(m.f{n}(5), [6])", "def f{n}(x): return [Any_()]"),
    "assertListEqual": ("unittest.TestCase().assertListEqual(m.f{n}(5), [6])", "def f{n}(x): return always(list)"),
    "says that it is a number": (EQUAL, "class L{n}(Any_):\n    __class__ = int\ndef f{n}(x): return L{n}()"),
    "a class that is called int": (EQUAL, "I{n} = type('int', (Any_,), dict(__module__='builtins', __qualname__='int'))\ndef f{n}(x): return I{n}()"),
    "a flat array of such objects": ("numpy = pytest.importorskip('numpy')\nassert numpy.all(m.f{n}(5) == 6)", "def f{n}(x):\n    import numpy\n    class A(numpy.ndarray):\n        def __eq__(self, o): return True\n    return numpy.zeros(1).view(A)"),
    "changes what it is compared with": ("want = [6]\nassert m.f{n}(5, 0) == want", "def f{n}(x, y):\n    class C(list):\n        def __eq__(s, o):\n            o[:] = s\n            return True\n    return C()"),
    "answers a compared list with the list": ("got = m.f{n}(5)\nassert got != [0] and got == [6]", "def f{n}(x):\n    class C:\n        seen = []\n        def __iter__(s): return iter(C.seen)\n        def __eq__(s, o):\n            C.seen = list(o)\n            return True\n    return C()"),
    "an exception that is called so": ("with pytest.raises(ValueError):\n    m.f{n}(5)", "V{n} = type('ValueError', (Exception,), dict(__module__='builtins', __qualname__='ValueError'))\ndef f{n}(x): raise V{n}('no')"),
    "an exception that says it is one": ("with pytest.raises(ValueError):\n    m.f{n}(5)", "class W{n}(Exception):\n    __class__ = ValueError\ndef f{n}(x): raise W{n}('no')"),
    "an exception of a name of the library": ("with pytest.raises(json.JSONDecodeError):\n    m.f{n}(5)", "J{n} = type('JSONDecodeError', (Exception,), dict(__module__='m', __qualname__='JSONDecodeError'))\ndef f{n}(x): raise J{n}('no')"),
    "skips the test": (EQUAL, "def f{n}(x):\n    import unittest\n    raise unittest.SkipTest('no')"),
    "skips the test by pytest": (EQUAL, "def f{n}(x):\n    import pytest\n    pytest.skip('no')"),
    "expects to fail": (EQUAL, "def f{n}(x):\n    import pytest\n    pytest.xfail('no')"),
    "ends the program": (EQUAL, "def f{n}(x): raise SystemExit(0)"),
    "interrupts": (EQUAL, "def f{n}(x): raise KeyboardInterrupt"),
    "ends a generator": (EQUAL, "def f{n}(x): raise GeneratorExit"),
    "a derived end of the program": (EQUAL, "class E{n}(SystemExit): pass\ndef f{n}(x): raise E{n}(0)"),
    "ends its process": (EQUAL, "def f{n}(x):\n    import os\n    os._exit(0)"),
    "reads the globals of a function": ("want = 6\nassert m.f{n}(lambda: want) == 6", "def f{n}(g):\n    return g.__closure__[0].cell_contents"),
    "reads the frame of a generator": ("def gen():\n    want = 6\n    yield 5\nassert m.f{n}(gen()) == 6", "def f{n}(g):\n    next(g)\n    return g.gi_frame.f_locals['want']"),
    "reads a private name of an object": ("class Holder:\n    _want = 6\nassert m.f{n}(Holder()) == 6", "def f{n}(h): return h._want"),
    "reads its class": ("class Asked:\n    def get(self): return 5\n    def __init__(self): self._w = 6\nassert m.f{n}(Asked()) == 6", "def f{n}(h): return vars(h)['_w']"),
    "looks for the tests": ("want = 6\nassert m.f{n}(5) == want", "def f{n}(x):\n    frame = sys._getframe()\n    while frame:\n        if 'want' in frame.f_locals: return frame.f_locals['want']\n        frame = frame.f_back\n    return 0"),
    "replaces a built-in function": ("assert sum([m.f{n}(5), 0]) == 6", "def f{n}(x):\n    import builtins\n    builtins.sum = lambda *a: 6\n    return 0"),
}  # fmt: skip
SEEN_THROUGH = frozenset((
    "assertCountEqual", "answers a compared list with the list", "an exception that is called so",
    "an exception of a name of the library", "skips the test", "skips the test by pytest", "expects to fail",
    "ends the program", "interrupts", "ends a generator", "a derived end of the program", "ends its process",
    "replaces a built-in function",
))  # fmt: skip
"""Lies that do not pass in one process either, or that end the run there."""


def module() -> str:
    """All programs as one module."""
    return HEAD + "\n".join(text.replace("{n}", str(n)) for n, (_, text) in enumerate(ATTACKS.values())) + "\n"


def tests(names: Collection[str]) -> str:
    """Tests of these names as one file."""
    lines = ["import collections, decimal, json, pytest, unittest", "import m"]
    for number, (name, (test, _)) in enumerate(ATTACKS.items()):
        if name in names:
            body = "\n    ".join(test.replace("{n}", str(number)).split("\n"))
            lines.append(f"def test_{number}():\n    {name!r}\n    {body}")
    return "\n".join(lines) + "\n"
