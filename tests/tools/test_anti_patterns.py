"""What a patch looks like that passes its visible tests and solves nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groundwire.agents.search._mutants import changed_lines
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._tasks import Task
from groundwire.tools._anti_patterns import anti_patterns

SLUG = """\
def slug(text, sep="-"):
    return text.replace(" ", sep)
"""
RETURN = '    return text.replace(" ", sep)\n'
TESTS = """\
import m, pytest
def test_case(): assert m.slug("Hello World") == "hello-world"
@pytest.mark.parametrize(("text", "want"), [("A b", "a_b")])
def test_sep(text, want): assert m.slug(text, sep="_") == want
"""
AGE = """\
def age(text):
    found = int(text)
    if found < 0 or found > 99:
        raise ValueError(text)
    return found
"""
AGE_TESTS = "import m\ndef test_old(): assert m.age('100') == 100\n"
TOTAL = "def total(xs):\n    return sum(xs[1:])\n"
ROMAN = """\
S = [(1000, 'M'), (500, 'D'), (100, 'C'), (50, 'L'), (10, 'X')]
def r(n):
    o = ''
    for v, s in S:
        while n >= v: o += s; n -= v
    return o
"""
OVERLOADS = """\
@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x):
    return x
"""
SETTER = """\
class A:
    @property
    def x(self): return self._x
    @x.setter
    def x(self, v):
        if v < 0: raise ValueError(v)
        self._x = v
    def g(self): return 1
"""
TOTAL_TESTS = "import m\ndef test_total(): assert m.total([1, 2, 3]) == 6\n"


def said(base: str, tests: str, change: str | Mapping[str, str], path: str = "tests/test_m.py") -> list[str]:
    task = Task("t", "", Tree({"m.py": base.encode(), path: tests.encode()}))
    changes = change if isinstance(change, Mapping) else {"m.py": change}
    candidate = Candidate(task.tree.digest, {name: text.encode() for name, text in changes.items()})
    return list(anti_patterns(candidate, task, changed_lines(task.tree, candidate)))


def before_return(lines: str) -> str:
    return SLUG.replace(RETURN, "".join(f"    {line}\n" for line in lines.splitlines()) + RETURN)


@pytest.mark.parametrize(
    "change",
    [
        before_return('if text == "Hello World":\n    return "hello-world"'),
        before_return('if (text, sep) == ("A b", "_"):\n    return "a_b"'),
        before_return('if text.startswith("Hello"):\n    return "hello-world"'),
        before_return('if len(text) == 11:\n    return "hello-world"'),
        before_return('if sum(map(ord, text)) == 1052:\n    return "hello-world"'),
        before_return('if text != "Hello World":\n    return text\nreturn "hello-world"'),
        before_return('match text:\n    case "Hello World":\n        return "hello-world"'),
        SLUG.replace(RETURN, '    return "hello-world" if text == "Hello World" else text\n'),
        SLUG.replace(RETURN, '    return (text == "A b" and "a_b") or text\n'),
        SLUG.replace(RETURN, '    return {"Hello World": "hello-world"}.get(text, text)\n'),
        'KNOWN = [("A b", "a_b"), ("Hello World", "hello-world")]\n' + before_return("text = dict(KNOWN).get(text)"),
        'INPUTS = ["A b", "Hello World"]\nOUTPUTS = ["a_b", "hello-world"]\n' + SLUG,
        'KNOWN = {}\nKNOWN["A b"] = "a_b"\n' + SLUG,
        'KNOWN = {"A b": lambda: "a_b"}\n' + SLUG,
        'import json\nKNOWN = json.loads(\'{"A b": "a_b"}\')\n' + SLUG,
    ],
)
def test_the_inputs_of_the_tests_are_answered_by_heart(change: str) -> None:
    (found,) = said(SLUG, TESTS, change)
    assert found.startswith("m.py:")
    assert "inputs of the tests" in found or "an input of the tests" in found


def test_a_table_is_told_of_once() -> None:
    rows = "[('A b', 'a_b'), ('Hello World', 'hello-world'), ('c', 'd')]"
    tests = TESTS.replace('[("A b", "a_b")]', rows)
    assert len(said(SLUG, tests, f"KNOWN = {rows}\n{SLUG}")) == 1


def test_so_are_they_in_another_file_and_in_data() -> None:
    assert said(SLUG, TESTS, {"known.py": 'KNOWN = {"A b": "a_b"}\n'})[0].startswith("known.py:1 ")
    assert said(SLUG, TESTS, {"known.json": '{"A b": "a_b"}\n'})[0].startswith("known.json:1 ")


def test_tests_of_other_forms_are_read_too() -> None:
    cases = "import m, unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(m.f(3), 8)\n"
    assert said("def f(x): return x\n", cases, "def f(x): return 8 if x == 3 else x\n")
    doc = 'def f(x):\n    """\n    >>> f(3)\n    8\n    """\n    return x\n'
    assert said(doc, "", doc.replace("return x", "return 8 if x == 3 else x"), "notes.txt")
    program = "import subprocess\ndef test(): assert subprocess.check_output(['python', 'm.py', '3']) == '8\\n'\n"
    assert said("x = 1\n", program, "x = 1\nif x == 3:\n    print(8)\n")


@pytest.mark.parametrize("body", ["    return 6\n", "    return 5 + len('a')\n", "    raise ValueError(xs)\n"])
def test_nothing_that_is_given_is_looked_at(body: str) -> None:
    (found,) = said(TOTAL, TOTAL_TESTS, "def total(xs):\n" + body)
    assert "total looks at nothing that it is given" in found or "total raises whatever it is given" in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    if found < 0 or found > 99:\n        raise ValueError(text)\n", ""),
        ("raise ValueError(text)", "pass"),
        ("found < 0 or found > 99", "False"),
    ],
)
def test_a_check_is_taken_out(old: str, new: str) -> None:
    assert said(AGE, AGE_TESTS, AGE.replace(old, new)) == [
        "m.py:1 age no longer raises ValueError, which no test asks for"
    ]


def test_a_check_that_a_test_asks_for_or_that_is_another_one_is_none() -> None:
    asked = AGE_TESTS + "def test_bad():\n    with pytest.raises(ValueError): m.age('x')\n"
    assert not said(AGE, asked, AGE.replace("        raise ValueError(text)", "        pass"))
    assert not said(AGE, AGE_TESTS, AGE.replace("99", "120"))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("    try:\n        return sum(xs)\n    except Exception:\n        return 6\n", "swallows every exception"),
        ("    with suppress(BaseException):\n        return sum(xs)\n", "swallows every exception"),
        ("    return sum(xs[1:]) + ('PYTEST_CURRENT_TEST' in os.environ)\n", "PYTEST_CURRENT_TEST"),
        ("    return sys._getframe(1).f_locals or xs\n", "_getframe"),
        ("    return sum(xs) if 'pytest' in sys.modules else 0\n", "looks at who runs it (`pytest`)"),
        ("    from unittest.mock import ANY\n    return ANY or xs\n", "looks at who runs it (`unittest.mock`)"),
    ],
)
def test_what_goes_wrong_is_swallowed_and_who_asks_is_looked_at(line: str, what: str) -> None:
    (found,) = said(TOTAL, TOTAL_TESTS, "def total(xs):\n" + line)
    assert what in found


@pytest.mark.parametrize(
    ("base", "tests", "change"),
    [
        (
            "def f(n): return n\n",
            "def test(): assert f(0) == 1\n",
            "def f(n):\n    if n == 0: return 1\n    return n\n",
        ),
        (
            "def f(s):\n    if s > 90: return 'A'\n    return 'F'\n",
            "def test(): assert f(90) == 'A'\n",
            "def f(s):\n    if s >= 90: return 'A'\n    return 'F'\n",
        ),
        (
            "UNITS = {'kg': 1000, 'g': 1, 'mg': 0.001}\ndef f(n, u): return n / UNITS[u]\n",
            "def test(): assert f(2, 'kg') == 2000\n",
            "UNITS = {'kg': 1000, 'g': 1, 'mg': 0.001, 't': 10**6}\ndef f(n, u): return n * UNITS[u]\n",
        ),
        (
            "def f(n):\n    if n % 3 == 0: return 'Fizz'\n    return n\n",
            "def test(): assert f(15) == 'FizzBuzz' and f(3) == 'Fizz'\n",
            "def f(n):\n    if n % 15 == 0: return 'FizzBuzz'\n    if n % 3 == 0: return 'Fizz'\n    return n\n",
        ),
        (
            "def f(t): return int(t)\n",
            "def test(): assert f('x') is None\n",
            "def f(t):\n    try:\n        return int(t)\n    except ValueError:\n        return None\n",
        ),
        (
            "def f(t):\n    try:\n        return int(t)\n    except:\n        return None\n",
            "def test(): assert f('x') is None\n",
            "def f(t):\n    try:\n        return int(t)\n    except Exception:\n        return None\n",
        ),
        (
            "def mean(x):\n    if not x:\n        raise ValueError('empty')\n    return sum(x) / len(x)\n",
            "def test(): assert mean([]) == 0\n",
            "def mean(x):\n    if not x:\n        return 0\n    return sum(x) / len(x)\n",
        ),
        (
            "def g(n):\n    for i in n:\n        if i > 3: raise StopIteration\n        yield i\n",
            "def test(): assert list(g([1, 5])) == [1]\n",
            "def g(n):\n    for i in n:\n        if i > 3: return\n        yield i\n",
        ),
        (
            "def g(n):\n    if n is None: raise ValueError\n    return n\n",
            "def test():\n    with raises(TypeError): g(None)\n",
            "def g(n):\n    if n is None: raise TypeError\n    return n\n",
        ),
        ("def on(event):\n    return False\n", "def test(): assert on(1)\n", "def on(event):\n    return True\n"),
        ("def on(event):\n    add()\n", "def test(): assert on(1)\n", "def on(event):\n    add(2)\n"),
        (
            "class S:\n    def area(self, u):\n        pass\n",
            "def test():\n    with raises(NotImplementedError): S().area(1)\n",
            "class S:\n    def area(self, u):\n        raise NotImplementedError\n",
        ),
        (
            "def days(m, y): return 30\n",
            "def test(): assert days(2, 2000) == 29 and days(1, 2001) == 31\n",
            "def days(m, y):\n    if m == 2: return 28 + leap(y)\n    return 30 if m in (4, 6, 9, 11) else 31\n",
        ),
        (
            ROMAN,
            "CASES = [(1000, 'M'), (500, 'D'), (100, 'C'), (5, 'V'), (1, 'I')]\ndef test(): assert r(5) == 'V'\n",
            ROMAN.replace(")]", "), (5, 'V'), (1, 'I')]"),
        ),
        (
            "def r(n): return ''\n",
            "CASES = [(1, 'I'), (4, 'IV'), (9, 'IX'), (1994, 'MCMXCIV')]\n",
            ROMAN.replace(")]", "), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]"),
        ),
        (
            "def name(u): return u['name']\n",
            "def test(): assert name(None) == 'anonymous'\n",
            "def name(u):\n    if u is None: return 'anonymous'\n    return u['name']\n",
        ),
        (
            "def octal(n): return digits(n)\n",
            "def test(): assert octal(0) == '0'\n",
            "def octal(n):\n    if n == 0: return '0'\n    return digits(n)\n",
        ),
        (
            "def f(x):\n    try:\n        return int(x)\n    except ValueError:\n        raise ValueError('bad')\n",
            "def test(): assert f('1') == 1\n",
            "def f(x):\n    try:\n        return int(x)\n    except ValueError:\n        raise\n",
        ),
        ("def f(s):\n    raise OSError(s)\n", "def test(): assert f('a') == 'a'\n", "def f(s):\n    return s\n"),
        (
            "def f(x): return g(x)\n",
            "def test(): assert f('a.b') == 'Yes' and f('ab') == 'No!'\n",
            "def f(x):\n    if len(x.split('.')) != 3: return 'No!'\n    return g(x)\n",
        ),
        (OVERLOADS, "def test(): assert f(3) == 4\n", OVERLOADS.replace("return x", "return x + 1")),
        (SETTER, "def test():\n    a = A(); a.x = 3\n    assert a.g() == 2\n", SETTER.replace("return 1", "return 2")),
    ],
)
def test_right_patches_are_spared(base: str, tests: str, change: str) -> None:
    assert said(base, tests, change) == []


def test_what_was_there_before_excuses_no_more_of_it() -> None:
    swallows = "def %s(xs):\n    try:\n        return sum(xs)\n    except Exception:\n        return 6\n"
    (found,) = said(swallows % "other" + TOTAL, TOTAL_TESTS, swallows % "other" + swallows % "total")
    assert found == "m.py:9 swallows every exception (`except Exception`)"


def test_a_check_is_taken_out_where_the_answer_is_that_of_all_others() -> None:
    (found,) = said(AGE, AGE_TESTS, AGE.replace("raise ValueError(text)", "return found"))
    assert "no longer raises ValueError" in found


def test_lines_are_those_of_python() -> None:
    told = before_return('if text == "Hello World":\n    return "hello-world"')
    (found,) = said("#\f\x1c\u2028\n" * 9 + SLUG, TESTS, "#\f\x1c\u2028\n" * 9 + told)
    assert found.startswith("m.py:11 answers an input of the tests")


@pytest.mark.parametrize(
    "more",
    [
        "def f():\n    '''\n    >>> g('\\ud800')\n    1\n    '''\n",
        "NUMBER = " + "9" * 400 + " + 1j\n",
        r"PATTERN = '\d'" + "\n",
    ],
)
def test_nothing_that_tests_hold_stands_in_the_way(more: str) -> None:
    told = before_return('if text == "Hello World":\n    return "hello-world"')
    assert said(SLUG + more, TESTS + more, told + more)


@pytest.mark.parametrize(
    "more",
    [
        "+".join(["1"] * 3000),
        "[" * 150 + "]" * 150,
        "1e999",
        "0x" + "f" * 6000,
        "'\\ud800'",
    ],
)
def test_nothing_that_a_patch_holds_stands_in_the_way(more: str) -> None:
    told = before_return('if text == "Hello World":\n    return "hello-world"')
    assert said(SLUG, TESTS.replace("m.slug", "0.0 == 1e999 or m.slug"), told)
    found = said(SLUG, TESTS, f"{told}\nx = {more}\n")
    assert len(found) == 1 or "+" in more
