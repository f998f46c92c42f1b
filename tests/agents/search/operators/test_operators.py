"""Each family of operators offers the edit that repairs a typical bug, and leaves everything else as it stands."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from groundwire.agents.search._candidates import PRIORS

Offers = Callable[..., list[tuple[str, str]]]

HEAD = "# kept:   as it is\ndef f(a, b):   # also kept\n"


def body(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


CASES: dict[str, list[tuple[str, str]]] = {
    "compare.boundary": [("return a < b", "return a <= b"), ("return a >= b", "return a > b")],
    "compare.swap": [("return a < b", "return a > b")],
    "compare.negate": [("return a == b", "return a != b"), ("return a in b", "return a not in b")],
    "compare.replace": [("return a == 0", "return a < 0"), ("return a is b", "return a == b")],
    "compare.sides": [("return a in b", "return b in a")],
    "compare.both": [("return a == b", "return set(a) == set(b)")],
    "compare.chain": [("return 0 < a < b", "return 0 < a")],
    "arith.swap": [
        ("return a + b", "return a - b"),
        ("return (a + 1) * b", "return (a + 1) / b"),
        ("return a - b * 2", "return a % (b * 2)"),
        ("a += b", "a -= b"),
    ],
    "arith.operands": [("return a - b", "return b - a"), ("return a // (b - 1)", "return (b - 1) // a")],
    "arith.regroup": [
        ("return a - 1 // b", "return (a - 1) // b"),
        ("return (a - 1) // b", "return a - 1 // b"),
    ],
    "arith.sign": [("x = 1\n    return -x", "x = 1\n    return x")],
    "arith.add_term": [
        ("return range(len(a))", "return range(len(a) + 1)"),
        ("return b[len(a)]", "return b[len(a) - 1]"),
    ],
    "assign.accumulate": [("a[0] = b", "a[0] += b")],
    "assign.plain": [("a += b", "a = b")],
    "assign.reversed": [("a += b", "a = b + a")],
    "assign.fold": [("for x in a:\n        b = x", "for x in a:\n        b = max(b, x)")],
    "bool.and_or": [
        ("return a and b", "return a or b"),
        ("return (a or b) and a", "return (a or b) or a"),
        ("return a and b or a", "return a and b and a"),
    ],
    "bool.negate": [("if a:\n        return b", "if not a:\n        return b"), ("return not a", "return a")],
    "bool.flip": [("return True", "return False")],
    "cond.fixed": [("return a if b else 0", "return a if True else 0")],
    "cond.add_clause": [
        ("if a > 1:\n        return b > 2", "if a > 1 and b > 2:\n        return b > 2"),
        ("if a or b:\n        return a > 2", "if (a or b) and a > 2:\n        return a > 2"),
    ],
    "cond.remove": [
        ("return [x for x in a if x > b]", "return [x for x in a]"),
        ("if a:\n        b = 1\n    return b", "b = 1\n    return b"),
    ],
    "cond.add_filter": [("return [x for x in a]", "return [x for x in a if x > 0]")],
    "cond.exchange": [("return a if b else 0", "return 0 if b else a")],
    "cond.add_guard": [
        ("for x in a:\n        b.append(x)", "for x in a:\n        if x not in b:\n            b.append(x)"),
    ],
    "const.off_by_one": [("return a[1:]", "return a[2:]"), ("return a - 1", "return a")],
    "const.replace": [("return a * 3", "return a * 6"), ("return a / 0.5", "return a / 2.0")],
    "const.everywhere": [
        ("return a + 1, b + 1", "return a + 2, b + 2"),
        ("return a + 1, b + 1, 1", "return a + 2, b + 2, 1"),
    ],
    "const.shift_all": [("if a:\n        return 1\n    return 2", "if a:\n        return 0\n    return 1")],
    "str.case": [("return 'yes'", "return 'YES'")],
    "str.const": [("return ' '.join(a)", "return ''.join(a)"), ("return a == '>'", "return a == '<'")],
    "str.borrow": [("if a == 'x1':\n        return 'x2'", "if a == 'x2':\n        return 'x2'")],
    "str.delete": [("return a in 'abcd'", "return a in 'abc'")],
    "str.insert": [("return a + 'b'", "return a + 'b '")],
    "init.value": [("best = None\n    return best", "best = []\n    return best")],
    "name.swap": [("x = 1\n    return x", "x = 1\n    return a")],
    "name.element": [
        (
            "s = 'ab'\n    for i in range(2):\n        a = a + b",
            "s = 'ab'\n    for i in range(2):\n        a = s[i] + b",
        ),
    ],
    "name.target": [("x = 1\n    x += a", "x = 1\n    b += a")],
    "name.exchange": [("return a[b]", "return b[a]")],
    "expr.hoist": [
        ("return a + b + b + a", "return a + b"),
        ("return sorted(a)", "return a"),
        ("return a[1:]", "return a"),
        ("return [x for x in a]", "return a"),
    ],
    "expr.borrow": [("x = len(a)\n    return sum(a) / b", "x = len(a)\n    return sum(a) / len(a)")],
    "call.swap": [("return min(a)", "return max(a)"), ("return any(a)", "return all(a)")],
    "call.order": [
        ("return [x for x in a]", "return sorted([x for x in a])"),
        ("d = {1: 2}\n    return [x for x in a]", "d = {1: 2}\n    return sorted([x for x in a], key=d.get)"),
    ],
    "call.wrap": [
        ("return a - b", "return abs(a - b)"),
        ("return ''.join(a)", "return ''.join(a).lower()"),
    ],
    "call.nest": [("return g(a)\n\ndef g(x):\n    return x", "return g(g(a))\n\ndef g(x):\n    return x")],
    "method.swap": [("return a.lower()", "return a.upper()"), ("return a.startswith(b)", "return a.endswith(b)")],
    "attribute.swap": [("return a.left + b.right", "return a.right + b.right")],
    "args.swap": [("return pow(a, b)", "return pow(b, a)")],
    "args.drop": [("return round(a, b)", "return round(a)"), ("return int(a, 2)", "return int(2)")],
    "args.add": [("return sorted(a)", "return sorted(a, reverse=True)"), ("return a.split()", "return a.split(',')")],
    "args.receiver": [("return a.startswith(b)", "return b.startswith(a)")],
    "element.swap": [("return (a, b)", "return (b, a)"), ("return {1: a, 2: b}", "return {1: b, 2: a}")],
    "element.drop": [("return a in ['x', 'y']", "return a in ['x']")],
    "slice.bounds": [("return a[:b]", "return a[b:]"), ("return a[1:b]", "return a[:b]")],
    "slice.add": [("return [x for x in a]", "return [x for x in a][1:]"), ("return a", "return a[::-1]")],
    "index.off_by_one": [("return a[0]", "return a[-1]")],
    "index.from_end": [("return a[b]", "return a[len(a) - b - 1]")],
    "index.to_slice": [("return a[b]", "return a[b:]")],
    "index.add": [("x = sorted(a)\n    return x", "x = sorted(a)\n    return x[0]")],
    "loop.range_bounds": [
        ("return list(range(a))", "return list(range(1, a + 1))"),
        ("return list(range(a, b))", "return list(range(a, b + 1))"),
    ],
    "loop.iterable": [("for x in a:\n        b += x", "for x in reversed(a):\n        b += x")],
    "loop.leave": [
        ("for x in a:\n        if x:\n            break", "for x in a:\n        if x:\n            continue"),
    ],
    "loop.keyword": [("if a:\n        a -= 1", "while a:\n        a -= 1")],
    "return.change": [("x = 1\n    return a + b", "x = 1\n    return x")],
    "return.plain": [("return a.copy()", "return None")],
    "return.exchange": [
        ("if a:\n        return True\n    return False", "if a:\n        return False\n    return True"),
    ],
    "return.flip_all": [
        (
            "if a:\n        return True\n    if b:\n        return True\n    return False",
            "if a:\n        return False\n    if b:\n        return False\n    return True",
        ),
    ],
    "return.add": [("x = a + b", "x = a + b\n    return x")],
    "return.discarded": [("sorted(a)", "return sorted(a)"), ("b.strip()", "b = b.strip()")],
    "return.early": [("return a / b", "if not b:\n        return None\n    return a / b")],
    "stmt.delete": [("a += 1\n    return a", "return a"), ("if a:\n        b = 1", "if a:\n        pass")],
    "stmt.duplicate": [("a += 1\n    return a", "a += 1\n    a += 1\n    return a")],
    "stmt.move": [("a += 1\n    b += a\n    return b", "b += a\n    a += 1\n    return b")],
    "stmt.dedent": [
        ("for x in a:\n        b += x\n        return b", "for x in a:\n        b += x\n    return b"),
    ],
    "stmt.indent": [
        ("for x in a:\n        b += x\n    b *= 2", "for x in a:\n        b += x\n        b *= 2"),
    ],
    "stmt.copy": [
        (
            "b += 1\n    if a:\n        a -= 1\n    return b",
            "b += 1\n    if a:\n        a -= 1\n        b += 1\n    return b",
        ),
    ],
    "stmt.update": [
        ("out = []\n    return out", "out = []\n    out.append(a)\n    return out"),
        ("n = 0\n    for x in a:\n        b = x", "n = 0\n    for x in a:\n        b = x\n        n += 1"),
    ],
    "branch.exchange": [
        ("if a:\n        b = 1\n    else:\n        b = 2", "if a:\n        b = 2\n    else:\n        b = 1"),
    ],
    "branch.flatten_else": [
        ("if a:\n        b = 1\n    else:\n        b = 2", "if a:\n        b = 1\n    b = 2"),
    ],
    "branch.drop_else": [
        ("if a:\n        b = 1\n    else:\n        b = 2\n    return b", "if a:\n        b = 1\n    return b"),
    ],
    "branch.elif": [
        (
            "if a:\n        b = 1\n    elif b:\n        b = 2",
            "if a:\n        b = 1\n    if b:\n        b = 2",
        ),
    ],
    "compare.shifted": [
        ("return a < b - 1", "return a <= b"),
        ("return a <= b", "return a < b + 1"),
        ("return a > 2", "return a >= 3"),
    ],
    "bool.regroup": [
        ("return a or b and a", "return (a or b) and a"),
        ("return (a or b) and a", "return a or b and a"),
        ("return a and b or a", "return a and (b or a)"),
    ],
    "const.name": [("return a + 0", "return a + b"), ("return g(None)", "return g(a)")],
    "const.type": [("return a == '1'", "return a == 1"), ("x = 0\n    return x", "x = None\n    return x")],
    "attribute.add": [
        ("return a.left + b", "return a.left + b.left"),
        ("x = a.size\n    return a", "x = a.size\n    return a.size"),
    ],
    "method.add": [
        ("x = a.items()\n    return b", "x = a.items()\n    return b.items()"),
        ("x = []\n    x\n    return x", "x = []\n    x.append(a)\n    return x"),
    ],
    "call.bound": [("x = len(a)\n    return a[x]", "x = len(a)\n    return a[max(x, 0)]")],
    "call.copy": [
        ("x = a\n    return x", "x = list(a)\n    return x"),
        ("for x in a:\n        b(x)", "for x in list(a):\n        b(x)"),
    ],
    "args.keyword": [
        ("g(end=1)\n    return g(stop=2)", "g(end=1)\n    return g(end=2)"),
        ("return g(x=b)", "return g(b=b)"),
    ],
    "element.add": [("return [a, 1]", "return [a, 1, b]"), ("x = (1, a)\n    return x", "x = (b, 1, a)\n    return x")],
    "except.kind": [
        (
            "try:\n        return a[b]\n    except KeyError:\n        return 0",
            "try:\n        return a[b]\n    except IndexError:\n        return 0",
        ),
        ("raise TypeError('no')", "raise ValueError('no')"),
    ],
    "raise.early": [("return a / b", "if not b:\n        raise ValueError\n    return a / b")],
    "index.from_slice": [("return a[b:]", "return a[b]")],
    "pair.tokens": [
        ("return a < b and a == 0", "return a <= b and a == 1"),
        ("if a < b or b:\n        return a", "if a <= b and b:\n        return a"),
    ],
    "stmt.borrow": [
        (
            "return b\n\ndef g(a, b):\n    if a is None:\n        a = b\n    return a",
            "if a is None:\n        a = b\n    return b\n\ndef g(a, b):\n"
            "    if a is None:\n        a = b\n    return a",
        ),
    ],
    "habit.guard": [
        (
            "a = clean(b)\n    return a\n\ndef g(a, b):\n    if b:\n        a = clean(b)\n    return a",
            "if b:\n        a = clean(b)\n    return a\n\ndef g(a, b):\n    if b:\n        a = clean(b)\n    return a",
        ),
    ],
    "habit.before": [
        (
            "a = clean(b)\n    return a\n\ndef g(a, b):\n    b = b.strip()\n    a = clean(b)\n    return a",
            "b = b.strip()\n    a = clean(b)\n    return a\n\n"
            "def g(a, b):\n    b = b.strip()\n    a = clean(b)\n    return a",
        ),
    ],
    "habit.after": [
        (
            "a = clean(b)\n    return a\n\ndef g(a, b):\n    a = clean(b)\n    a.sort()\n    return a",
            "a = clean(b)\n    a.sort()\n    return a\n\ndef g(a, b):\n    a = clean(b)\n    a.sort()\n    return a",
        ),
    ],
    "habit.opening": [
        (
            "return a / b\n\ndef g(a, b):\n    if not b:\n        return 0\n    return b",
            "if not b:\n        return 0\n    return a / b\n\n"
            "def g(a, b):\n    if not b:\n        return 0\n    return b",
        ),
    ],
    "habit.analogy": [
        (
            "x = None if a.x is None else int(a.x)\n    y = int(a.y)\n    return x, y",
            "x = None if a.x is None else int(a.x)\n    y = None if a.y is None else int(a.y)\n    return x, y",
        ),
        ("return a or (b and b > 0)", "return a and a > 0 or (b and b > 0)"),
    ],
    "stmt.fill": [
        (
            "if a:\n        b += 1\n    elif b:\n        pass\n    return b",
            "if a:\n        b += 1\n    elif b:\n        b += 1\n    return b",
        ),
    ],
    "call.collect": [
        (
            "out = []\n    for x in a:\n        b(x)\n    return out",
            "out = []\n    for x in a:\n        out.append(b(x))\n    return out",
        ),
        (
            "out = []\n    out.append(a)\n    b(a)\n    return out",
            "out = []\n    out.append(a)\n    out.extend(b(a))\n    return out",
        ),
    ],
    "call.again": [
        ("return a.replace('(', '')", "return a.replace('(', '').replace(')', '')"),
        (
            "return a.replace('x', b).replace('[', b).strip('z')",
            "return a.replace('x', b).replace('[', b).replace(']', b).strip('z')",
        ),
    ],
    "expr.alike": [
        ("x = a.get('k')\n    return a or a.get('b')", "x = a.get('k')\n    return a.get('k') or a.get('b')"),
        ("x = a.top\n    return a - a.low", "x = a.top\n    return a.top - a.low"),
    ],
    "fallback.get": [
        ("return a.x[b]", "return a.x.get(b)"),
        ("return a.x[b]", "return a.x.get(b, [])"),
        ("return a.get(b)", "return a.get(b, 0)"),
        ("return a.get(b)", "return a[b]"),
        ("a[b] += 1", "a[b] = a.get(b, 0) + 1"),
    ],
    "fallback.attribute": [("return a.size", "return getattr(a, 'size', None)")],
    "fallback.or": [("x = a.get(b)\n    return x", "x = a.get(b) or []\n    return x"), ("return a", "return a or b"),
        ("x = b.x or b.LIMIT\n    return a.size", "x = b.x or b.LIMIT\n    return a.size or b.LIMIT"),
    ],
    "fallback.else": [
        ("return a.lower()", "return a.lower() if a else None"),
        ("return str(b)", "return str(b) if b is not None else ''"),
        ("return a / len(b)", "return a / len(b) if len(b) else 0"),
        ("return b[1]", "return b[1] if len(b) > 1 else None"),
    ],
    "fallback.none": [
        ("return a.size", "if a is None:\n        return None\n    return a.size"),
        ("return b", "if b is None:\n        b = []\n    return b"),
        (
            "for y in b:\n        x = a.find(y)\n        print(x.z)",
            "for y in b:\n        x = a.find(y)\n        if x is None:\n            continue\n        print(x.z)",
        ),
    ],
    "fallback.fresh": [
        (
            "return b\n\ndef g(x, y=[]):\n    y.append(x)\n    return y",
            "return b\n\ndef g(x, y=None):\n    if y is None:\n        y = []\n    y.append(x)\n    return y",
        ),
    ],
    "fallback.caught": [
        (
            "x = a[b]\n    return x",
            "try:\n        x = a[b]\n    except KeyError:\n        x = None\n    return x",
        ),
        ("return int(a)", "try:\n        return int(a)\n    except ValueError:\n        return None"),
    ],
    "cond.none": [
        ("if a:\n        return b", "if a is not None:\n        return b"),
        ("if a and not b:\n        return b", "if a and b is None:\n        return b"),
        ("if a is None:\n        return b", "if not a:\n        return b"),
    ],
    "alternative.class": [
        ("return isinstance(a, list)", "return isinstance(a, (list, tuple))"),
        ("return isinstance(a, (int, str))", "return isinstance(a, (int, str, list))"),
    ],
    "alternative.text": [
        ("x = 'p'\n    return a.startswith('q')", "x = 'p'\n    return a.startswith(('q', 'p'))"),
        ("x = 'p'\n    return a == 'q'", "x = 'p'\n    return a in ('q', 'p')"),
    ],
    "alternative.exception": [
        (
            "try:\n        return a[b]\n    except KeyError:\n        return 0",
            "try:\n        return a[b]\n    except (KeyError, IndexError):\n        return 0",
        ),
    ],
    "branch.add_else": [
        (
            "if a.x:\n        b = g(a.y)\n    return b",
            "if a.x:\n        b = g(a.y)\n    else:\n        b = a.y\n    return b",
        ),
        ("if a:\n        b = 1\n        g()", "if a:\n        b = 1\n        g()\n    else:\n        b = 0"),
    ],
    "decorator.add": [
        (
            "return a\n\nclass C:\n    def make(cls, x):\n        return cls(x)",
            "return a\n\nclass C:\n    @classmethod\n    def make(cls, x):\n        return cls(x)",
        ),
    ],
    "name.everywhere": [
        ("x = 1\n    return a + x, x", "x = 1\n    return a + b, b"),
        ("return a.top, g(a.top), a.low", "return a.low, g(a.low), a.low"),
    ],
    "arith.add_operand": [
        ("return a.size", "return a.size + b"),
        ("x = 'p'\n    return str(a)", "x = 'p'\n    return str(a) + 'p'"),
    ],
    "args.star": [
        (
            "return a\n\ndef g(*args, **rest):\n    return f(args)",
            "return a\n\ndef g(*args, **rest):\n    return f(*args)",
        ),
    ],
    "loop.skip": [
        ("for x in a:\n        b.go(x)", "for x in a:\n        if not x:\n            continue\n        b.go(x)"),
        (
            "for x in a:\n        y = x.next\n        b.append(y.size)",
            "for x in a:\n        y = x.next\n        if y is None:\n            break\n        b.append(y.size)",
        ),
    ],
    "str.pattern": [
        (r"return re.match(r'\d+', a)", r"return re.match(r'\d+$', a)"),
        (r"return re.compile('a*.b')", r"return re.compile('a*?.b')"),
        (r"return re.sub(r'[a-z].x', '', a)", r"return re.sub(r'[a-z]\.x', '', a)"),
    ],
}  # fmt: skip
PAIRS = [(name, before, after) for name, cases in CASES.items() for before, after in cases]


@pytest.mark.parametrize(("name", "before", "after"), PAIRS, ids=[f"{n}-{b[:24]}" for n, b, _ in PAIRS])
def test_offers_the_repair(offers: Offers, name: str, before: str, after: str) -> None:
    assert (name, body(after)) in offers(body(before))


APART = {"attribute.self", "stmt.keep", "attribute.both", "stmt.state", "super.call", "import.add"}
"""What needs a class, or the head of a file."""


def test_every_operator_has_a_prior_and_a_case() -> None:
    assert set(PRIORS) - set(CASES) == {"const.borrow", *APART}


def test_what_a_method_forgot_of_its_object(offers: Offers) -> None:
    code = (
        "class C:\n    def __init__(self, size, name):\n        {}self.name = name\n\n    def get(self, name):\n"
        "        return {}\n\n    def area(self):\n        return self.size * self.size\n"
    )
    kept = code.format("self.size = size\n        ", "self.name")
    assert ("stmt.keep", kept) in offers(code.format("", "self.name"))
    assert ("attribute.self", kept) in offers(code.format("self.size = size\n        ", "name"))
    assert ("attribute.self", code.format("", "name")) in offers(code.format("", "self.name"))


def test_what_has_to_be_there_before(offers: Offers) -> None:
    code = (
        "class C(B):\n    def __init__(self, size):\n        {}self.size = size\n{}\n    def grow(self):\n"
        "        self.size += 1\n"
    )
    made = "        self.{} = []\n"
    assert ("super.call", code.format("super().__init__(size)\n        ", "")) in offers(code.format("", ""))
    apart = code.replace("(B)", "") + "        return self._seen\n"
    assert ("stmt.state", apart.format("", made.format("_seen"))) in offers(apart.format("", ""))
    known = apart + "\n    def clear(self):\n        self._seen = []\n"
    assert "stmt.state" not in {name for name, _ in offers(known.format("", ""))}, "the class sets it"


def test_a_name_that_nothing_binds_is_imported_behind_the_docstring(offers: Offers) -> None:
    code = '"""Says."""\n\nfrom __future__ import annotations\n\n{}import os\n\n\ndef f(a):\n    return {}\n'
    for line, value in (("import json", "json.loads(a)"), ("from collections import defaultdict", "defaultdict(a)")):
        assert ("import.add", code.format(f"{line}\n", value)) in offers(code.format("", value))
    assert "import.add" not in {name for name, _ in offers(code.format("", "os.sep"))}


def test_a_call_that_does_not_fit_what_the_file_defines(weights: Callable[[str, str], float]) -> None:
    code = "{}def look(a, b, c=0):\n    return a\n\n\ndef f(x, y):\n    return look({})\n"
    lacks = weights(code.format("", "x"), "look(x, y)")
    assert lacks > 1 > weights(code.format("", "x, b=1"), "look(x, y, b=1)") > 0
    assert (
        weights(code.format("", "x, y, x, y"), "look(x, y, x)") > 1 >= weights(code.format("", "x, y, x"), "look(x, y)")
    )
    assert weights(code.format("@checked\n", "x"), "look(x, y)") < lacks, "a decorator may change what it takes"
    assert weights(code.format("", "*x"), "look(*x, y)") < lacks
    method = (
        "class C:\n    def look(self, a, /, *, b):\n        return a\n\n    def f(self, x):\n        return self.{}\n"
    )
    assert weights(method.format("look(b=1)"), "look(x, b=1)") > 1 > weights(method.format("lock(b=1)"), "lock(x, b=1)")


def test_a_parameter_that_nobody_reads_decides_about_several_statements(offers: Offers) -> None:
    code = "def f(a, make_it):\n{}    return b\n"
    plain, guarded = "    b = a.x\n    b.go()\n", "    if make_it:\n        b = a.x\n        b.go()\n"
    assert ("cond.add_guard", code.format(guarded)) in offers(code.format(plain))


def test_what_is_thrown_away_goes_into_a_dictionary_that_is_only_annotated(offers: Offers) -> None:
    code = "def f(a):\n    found: Dict[str, str] = {{}}\n    for x in a:\n        {}\n    return found\n"
    assert ("call.collect", code.format("found.update(x.parts())")) in offers(code.format("x.parts()"))


def test_things_are_looked_up_as_elsewhere(offers: Offers) -> None:
    code = "def f(a, key):\n    a.parts['name'] = 1\n    return a.parts{}\n"
    assert ("index.add", code.format("['name']")) in offers(code.format(""))
    assert ("index.add", code.format("['name']")) in offers(code.format("[key]"))


def test_what_a_piece_of_code_needs_is_asked_for_first(weights: Callable[[str, str], float]) -> None:
    code = "def f(a, data=None):\n    {}data = {{}}\n    {}a.side.turn(data)\n    if {}a.top.name:\n        return a\n"
    parts = ("if data is None:\n        ", "if a.side:\n        ", "a.top and ", "a.top is not None and ")
    for place, part in zip((0, 1, 2, 2), parts, strict=True):
        fixed = code.format(*(part if n == place else "" for n in range(3)))
        assert weights(code.format("", "", ""), fixed) > 1, part
    negative = "def f(a, b):\n    if {}not a.text.strip():\n        return b\n"
    assert weights(negative.format(""), negative.format("not a.text or ")) > 1
    part = "def f(a, b):\n    return b or {}a.text.strip()\n"
    assert weights(part.format(""), part.format("a.text and ")) > 1
    kept = "def f(items):\n    return [x.y for x in items{}]\n"
    assert weights(kept.format(""), kept.format(" if x is not None")) > weights(
        kept.format(""), kept.format(" if x > 0")
    )


def test_a_property_gives_what_it_is_named_after(offers: Offers) -> None:
    code = "class C:\n    def __init__(self, name):\n        self._name = name\n\n    def name(self):\n        go()"
    assert ("return.add", f"{code}\n        return self._name") in offers(code)


def test_texts_are_put_together_before_they_are_anything_else(weights: Callable[[str, str], float]) -> None:
    code = "def f(a):\n    return 'x' - str(a)\n"
    assert weights(code, "'x' + str(a)") > 5 * weights(code, "'x' // str(a)")


def test_two_objects_of_a_class_are_compared_by_one_thing(offers: Offers) -> None:
    code = (
        "class C:\n    def __init__(self, size, name):\n        self.size = size\n        self.name = name\n\n"
        "    def __lt__(self, other):\n        return self.{} < other.{}\n"
    )
    assert ("attribute.both", code.format("size", "size")) in offers(code.format("name", "_nome"))
    assert "attribute.both" not in {name for name, _ in offers(code.format("size", "size"))}


def test_a_habit_is_followed_only_where_its_names_exist(offers: Offers) -> None:
    code = body("a = clean(b)\n    return a\n\ndef g(a, b, c):\n    if c:\n        a = clean(b)\n    return a")
    assert "habit.guard" not in {name for name, _ in offers(code)}, "c is a parameter of the other function"
    guarded = body("if b:\n        a = clean(b)\n    return a\n\ndef g(a, b):\n    if b:\n        a = clean(b)\n")
    assert "habit.guard" not in {name for name, _ in offers(guarded)}, "it is guarded like that"


def test_what_is_read_and_bound_nowhere_was_meant_to_be_bound_or_is_the_objects(offers: Offers) -> None:
    code = "class C:\n    def make(self, a):\n        {} = a.split()\n        return {}(words)\n"
    assert ("name.target", code.format("words", "len")) in offers(code.format("word", "len"))
    assert ("attribute.self", code.format("words", "self.make")) in offers(code.format("words", "make"))
    imported = f"from lib import *\n{code}"
    assert "attribute.self" not in {name for name, _ in offers(imported.format("words", "make"))}, "lib may bind it"


def test_a_method_passes_on_what_it_was_given(offers: Offers) -> None:
    code = "class C:\n    def f(self, *args, **rest):\n        return g({})\n"
    found = [new for name, new in offers(code.format("1")) if name == "args.add"]
    assert {code.format("1, *args"), code.format("1, **rest"), code.format("self, 1")} <= set(found)


def test_a_condition_is_asked_before_the_one_that_needs_it(offers: Offers) -> None:
    code = "def f(a):\n    if {}a.size > 1:\n        return a\n"
    assert ("cond.add_clause", code.format("a is not None and ")) in offers(code.format(""))


def test_items_are_chosen_by_an_attribute(offers: Offers) -> None:
    code = "def f(items, name):\n    return [x.name for x in items{}]\n"
    assert ("cond.add_filter", code.format(" if x.name == name")) in offers(code.format(""))


def test_keywords_that_go_together_elsewhere(offers: Offers) -> None:
    code = "class C:\n    def f(self):\n        a = make(x=self.x, y=self.y)\n        return type(self)(x=1{})\n"
    assert ("args.add", code.format(", y=self.y")) in offers(code.format(""))


def test_a_slip_in_the_name_of_a_method(offers: Offers) -> None:
    code = "def f(a, b):\n    return getattr(a, {})\n\nclass C:\n    def __ne__(self, other):\n        return True\n"
    assert ("str.borrow", code.format("'__ne__'")) in offers(code.format("'__ne_'"))


def test_methods_are_decorated_as_their_siblings_are(offers: Offers) -> None:
    method = "    {}def {}(self, other):\n        return 1\n\n"
    code = "class C:\n" + "".join(method.format("@checked\n    ", name) for name in "ab")
    assert ("decorator.add", code + method.format("@checked\n    ", "c")) in offers(code + method.format("", "c"))


def test_what_is_imported_for_nothing_decorates(offers: Offers) -> None:
    code = "from contextlib import contextmanager\n\n{}def f(a):\n    yield a\n"
    assert ("decorator.add", code.format("@contextmanager\n")) in offers(code.format(""))


def test_arguments_are_forgotten_at_any_place(offers: Offers) -> None:
    code = "def f(a, key):\n    g(a, 3, key=None)\n    return g({})\n"
    found = [new for name, new in offers(code.format("3")) if name == "args.add"]
    assert code.format("a, 3") in found
    assert code.format("3, key=key") in found
    assert code.format("3, key=None") in found


def test_a_value_goes_through_a_function_that_the_file_calls(offers: Offers) -> None:
    code = "from lib import clean\n\ndef f(a):\n    b = clean(a)\n    return {}\n"
    assert ("call.wrap", code.format("clean(b)")) in offers(code.format("b"))
    dotted = "from lib import chain\n\ndef f(a):\n    b = chain.link(a)\n    return {}\n"
    assert ("call.wrap", dotted.format("chain.link(b)")) in offers(dotted.format("b"))
    swapped = "from lib import clean, wash\n\ndef f(a):\n    b = clean(a)\n    return {}(b)\n"
    assert ("call.swap", swapped.format("clean")) in offers(swapped.format("wash"))


def test_of_many_texts_those_most_alike_are_borrowed(offers: Offers) -> None:
    tests = "\n".join(f"assert f() == 'word{n}{n}'" for n in range(30)) + "\nassert f() == 'Colour name'\n"
    found = offers("def f():\n    return 'Color name'\n", tests)
    assert ("str.borrow", "def f():\n    return 'Colour name'\n") in found


def test_numbers_and_texts_are_borrowed_from_the_tests(offers: Offers) -> None:
    tests = "from m import f\n\ndef test_a():\n    assert f(3, 0) == 365\n    assert f(4, 0) == 'leap'\n"
    found = offers(body("return 12, 'common'"), tests)
    assert ("const.borrow", body("return 365, 'common'")) in found
    assert ("str.borrow", body("return 12, 'leap'")) in found


SAMPLE = '''"""A docstring."""
import os


class Cart:
    limit = 3

    @property
    def size(self) -> int:
        """How many."""
        return len(self.items)

    def total(self, factor=1):
        result = 0
        for index, item in enumerate(self.items):
            if item.price > 0 and index < self.limit:
                result += item.price * factor
            elif item.free:
                continue
            else:
                break
        return result


def pick(values, *, key=None):
    try:
        best = max(values, key=key)
    except ValueError:
        return None
    with open(os.devnull) as file:
        file.write(f"{best!r:>{10}}")
    words = {w.strip(): len(w) for w in "a b".split() if w}
    return best if best in words else [x[0] for x in values][-1]
'''


def test_edits_have_known_names_and_touch_one_region(offers: Offers) -> None:
    found = offers(SAMPLE)
    assert len(found) > 1000
    assert {name for name, _ in found} <= set(PRIORS)
    parsed = sum(_parses(text) for _, text in found)
    assert parsed > 0.85 * len(found)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def test_nothing_is_edited_in_imports_decorators_and_docstrings(offers: Offers) -> None:
    for _, text in offers(SAMPLE):
        assert text.startswith('"""A docstring."""\nimport os\n')
        assert text.count("@property") == 1
        assert '"""How many."""' in text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
def test_statement_edits_keep_the_files_own_layout(offers: Offers, newline: str, indent: str) -> None:
    lines = ["def f(a, b):", f"{indent}for x in a:", f"{indent * 2}b.append(x)", f"{indent}return b", ""]
    guarded = [*lines[:2], f"{indent * 2}if x not in b:", f"{indent * 3}b.append(x)", *lines[3:]]
    assert ("cond.add_guard", newline.join(guarded)) in offers(newline.join(lines))
    moved = [*lines[:3], f"{indent * 2}return b", ""]
    assert ("stmt.indent", newline.join(moved)) in offers(newline.join(lines))


def test_a_file_without_a_last_line_end(offers: Offers) -> None:
    code = "def f(a):\n    for x in a:\n        a = x"
    assert ("stmt.dedent", "def f(a):\n    for x in a:\n        pass\n    a = x\n") in offers(code)
