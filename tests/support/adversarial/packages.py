"""Small packages with a defect, what mends it, and tests as people write them."""

from __future__ import annotations

from dataclasses import dataclass, field

from adversarial.targets import COMMANDS, Files, Project


@dataclass(frozen=True)
class Package:
    """A package, its defect and what mends it.

    Args:
        name: what it is about.
        wrong: the files that hold the defect.
        right: the same, mended.
        tests: the file of tests.
        runner: their framework.
        more: further files.
    """

    name: str
    wrong: Files
    right: Files
    tests: str
    runner: str = "pytest"
    more: Files = field(default_factory=dict[str, str | bytes])

    def project(self) -> Project:
        """Its task."""
        if self.runner == "doctest":
            (path,) = self.wrong
            return Project(self.wrong, ("python", "-m", "doctest", path))
        package = {"tests/__init__.py": ""} if self.runner == "unittest" else {}
        files = {**self.wrong, **package, "tests/test_it.py": self.tests, **self.more}
        asked = "tests.test_it" if self.runner == "unittest" else "tests"
        return Project(files, (*COMMANDS[self.runner], asked))


def mended(name: str, right: str, old: str, new: str, tests: str, *, runner: str = "pytest", path: str = "shop/core.py",
           **more: str) -> Package:  # fmt: skip
    """A package of one module, in which `old` stands where `new` is right.

    Args:
        name: what it is about.
        right: the module, mended.
        old: what was there in place of `new`.
        new: a piece of `right`.
        tests: its tests.
        runner: their framework.
        path: of the module.
        more: further files, with `__` for `/` and without their ending.
    """
    assert right.count(new) == 1, f"{name}: {new!r} is there {right.count(new)} times"
    inits = {f"{path.partition('/')[0]}/__init__.py": ""} if "/" in path else {}
    others: dict[str, str | bytes] = {f"{p.replace('__', '/')}.py": text for p, text in more.items()}
    return Package(name, {path: right.replace(new, old)}, {path: right}, tests, runner, {**inits, **others})


PACKAGES = (
    mended(
        "a class with state",
        "class Account:\n    def __init__(self, owner, balance=0):\n        self.owner = owner\n        self.balance = balance\n"
        "        self.log = []\n    def deposit(self, amount):\n        if amount <= 0:\n"
        "            raise ValueError('nothing to add')\n        self.balance += amount\n        self.log.append(amount)\n"
        "        return self\n",
        "self.balance = amount", "self.balance += amount",
        "import pytest\nfrom shop.core import Account\n\n@pytest.fixture\ndef account():\n    return Account('ann', 10)\n\n"
        "def test_adds(account):\n    account.deposit(5)\n    assert account.balance == 15\n    assert account.log == [5]\n\n"
        "def test_chains(account):\n    assert account.deposit(1).deposit(2).balance == 13\n\n"
        "def test_refuses(account):\n    with pytest.raises(ValueError, match='nothing'):\n        account.deposit(0)\n",
    ),
    mended(
        "a dataclass with order",
        "from dataclasses import dataclass, field\n\n@dataclass(order=True)\nclass Version:\n    major: int\n    minor: int = 0\n"
        "    tags: list = field(default_factory=list, compare=False)\n\n    @classmethod\n    def parse(cls, text):\n"
        "        major, _, minor = text.partition('.')\n        return cls(int(major), int(minor or 0))\n",
        "int(minor or 0) + 1", "int(minor or 0)",
        "from shop.core import Version\n\ndef test_parses():\n    assert Version.parse('1.2') == Version(1, 2)\n"
        "    assert Version.parse('3').minor == 0\n\ndef test_orders():\n"
        "    assert Version.parse('1.2') < Version(1, 10)\n    assert sorted([Version(2), Version.parse('1.0')])[0].major == 1\n",
    ),
    mended(
        "a frozen dataclass as a key",
        "from dataclasses import dataclass, replace\n\n@dataclass(frozen=True)\nclass Point:\n    x: int\n    y: int\n"
        "    def moved(self, dx=0, dy=0):\n        return replace(self, x=self.x + dx, y=self.y + dy)\n",
        "y=self.y - dy", "y=self.y + dy",
        "import dataclasses\nimport pytest\nfrom shop.core import Point\n\ndef test_moves():\n"
        "    assert Point(1, 2).moved(dy=3) == Point(1, 5)\n\ndef test_is_a_key():\n"
        "    seen = {Point(1, 2): 'here'}\n    assert seen[Point(1, 0).moved(dy=2)] == 'here'\n\n"
        "def test_is_frozen():\n    with pytest.raises(dataclasses.FrozenInstanceError):\n        Point(1, 2).x = 3\n",
    ),
    mended(
        "fixtures of several scopes",
        "def total(prices, tax):\n    return round(sum(prices) * (1 + tax), 2)\n",
        "(1 - tax)", "(1 + tax)",
        "import pytest\nfrom shop.core import total\n\n@pytest.fixture(scope='module')\ndef tax():\n    return 0.25\n\n"
        "@pytest.fixture(params=[1, 2, 3])\ndef count(request):\n    return request.param\n\n"
        "@pytest.fixture\ndef prices(count):\n    yield [10.0] * count\n\n"
        "def test_total(prices, tax, count):\n    assert total(prices, tax) == 12.5 * count\n",
    ),
    mended(
        "monkeypatched names",
        "import time\n\nLIMIT = 3\n\ndef stamp(name):\n    return f'{name}-{int(time.time())}'\n\ndef is_many(items):\n"
        "    return len(items) > LIMIT\n",
        "len(items) >= LIMIT", "len(items) > LIMIT",
        "import time\nfrom shop import core\n\ndef test_stamp(monkeypatch):\n"
        "    monkeypatch.setattr(core.time, 'time', lambda: 7.9)\n    assert core.stamp('a') == 'a-7'\n\n"
        "def test_limit(monkeypatch):\n    monkeypatch.setattr(core, 'LIMIT', 1)\n    assert core.is_many([1, 2])\n"
        "    assert not core.is_many([1])\n",
    ),
    mended(
        "variables of the environment",
        "import os\n\ndef home():\n    return os.environ.get('SHOP_HOME') or os.environ.get('HOME', '/') + '/shop'\n",
        "'/store'", "'/shop'",
        "from shop.core import home\n\ndef test_named(monkeypatch):\n    monkeypatch.setenv('SHOP_HOME', '/a')\n"
        "    assert home() == '/a'\n\ndef test_default(monkeypatch):\n    monkeypatch.delenv('SHOP_HOME', raising=False)\n"
        "    monkeypatch.setenv('HOME', '/b')\n    assert home() == '/b/shop'\n",
    ),
    mended(
        "coroutines",
        "import asyncio\n\nasync def fetch(n):\n    await asyncio.sleep(0)\n    return n * 2\n\nasync def every(ns):\n"
        "    return await asyncio.gather(*(fetch(n) for n in ns))\n",
        "return n + 2", "return n * 2",
        "import asyncio\nfrom shop.core import every, fetch\n\ndef test_one():\n    assert asyncio.run(fetch(3)) == 6\n\n"
        "def test_all():\n    assert asyncio.run(every([1, 2, 5])) == [2, 4, 10]\n",
    ),
    mended(
        "coroutines in unittest",
        "class Queue:\n    def __init__(self):\n        self.items = []\n    async def put(self, item):\n"
        "        self.items.append(item)\n    async def get(self):\n        return self.items.pop(0)\n",
        "self.items.pop()", "self.items.pop(0)",
        "import unittest\nfrom shop.core import Queue\n\nclass T(unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_order(self):\n        queue = Queue()\n        await queue.put(1)\n        await queue.put(2)\n"
        "        self.assertEqual(await queue.get(), 1)\n",
        runner="unittest",
    ),
    mended(
        "files in a folder of the test",
        "import json\n\ndef save(path, rows):\n    with open(path, 'w', encoding='utf-8') as out:\n        json.dump(rows, out)\n\n"
        "def load(path):\n    with open(path, encoding='utf-8') as file:\n        return json.load(file)\n",
        "json.dump(rows[:-1], out)", "json.dump(rows, out)",
        "from shop.core import load, save\n\ndef test_round(tmp_path):\n    path = tmp_path / 'rows.json'\n"
        "    save(path, [1, 2])\n    assert path.read_text() == '[1, 2]'\n    assert load(path) == [1, 2]\n",
    ),
    mended(
        "files by tempfile",
        "from pathlib import Path\n\ndef count_lines(folder):\n"
        "    return {p.name: len(p.read_text().splitlines()) for p in sorted(Path(folder).glob('*.txt'))}\n",
        "len(p.read_text())", "len(p.read_text().splitlines())",
        "import pathlib, tempfile, unittest\nfrom shop.core import count_lines\n\nclass T(unittest.TestCase):\n"
        "    def test_it(self):\n        with tempfile.TemporaryDirectory() as folder:\n"
        "            pathlib.Path(folder, 'a.txt').write_text('x\\ny\\n')\n"
        "            self.assertEqual(count_lines(folder), {'a.txt': 2})\n",
        runner="unittest",
    ),
    mended(
        "arrays",
        "import numpy as np\n\ndef scaled(values):\n    values = np.asarray(values, dtype=float)\n"
        "    return (values - values.mean()) / values.std()\n",
        "values.var()", "values.std()",
        "import numpy as np\nimport pytest\nfrom shop.core import scaled\n\ndef test_scaled():\n    found = scaled([1, 2, 3, 6])\n"
        "    assert found.shape == (4,)\n    np.testing.assert_allclose(found.std(), 1.0)\n    assert found.mean() == pytest.approx(0)\n\n"
        "def test_values():\n    np.testing.assert_array_almost_equal(scaled([0, 2]), [-1.0, 1.0])\n",
    ),
    mended(
        "arrays of whole numbers",
        "import numpy as np\n\ndef neighbours(grid):\n    grid = np.asarray(grid)\n    padded = np.pad(grid, 1)\n"
        "    return padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]\n",
        "padded[1:-1, 2:] * 0", "padded[1:-1, 2:]",
        "import numpy as np\nfrom shop.core import neighbours\n\ndef test_it():\n    grid = np.eye(3, dtype=int)\n"
        "    assert (neighbours(grid) == np.array([[0, 2, 0], [2, 0, 2], [0, 2, 0]])).all()\n"
        "    assert neighbours(grid).dtype == grid.dtype\n",
    ),
    mended(
        "enumerations",
        "from enum import Enum, IntFlag\n\nclass Color(Enum):\n    RED = 'r'\n    BLUE = 'b'\n    @property\n    def other(self):\n"
        "        return Color.BLUE if self is Color.RED else Color.RED\n\nclass May(IntFlag):\n    READ = 1\n    WRITE = 2\n",
        "Color.RED if self is Color.RED", "Color.BLUE if self is Color.RED",
        "import pytest\nfrom shop.core import Color, May\n\n@pytest.mark.parametrize(('one', 'two'), [('RED', 'BLUE'), ('BLUE', 'RED')])\n"
        "def test_other(one, two):\n    assert Color[one].other is Color[two]\n    assert Color[one].other.name == two\n\n"
        "def test_flags():\n    assert May.READ | May.WRITE == 3\n    assert May.READ in (May.READ | May.WRITE)\n\n"
        "def test_by_value():\n    assert Color('b') == Color.BLUE\n    with pytest.raises(ValueError):\n        Color('x')\n",
    ),
    mended(
        "exceptions of its own",
        "class ShopError(Exception):\n    def __init__(self, code, text):\n        super().__init__(f'{code}: {text}')\n"
        "        self.code = code\n\nclass Missing(ShopError, KeyError):\n    pass\n\ndef find(items, name):\n    try:\n"
        "        return items[name]\n    except KeyError as error:\n        raise Missing(404, name) from error\n",
        "raise ShopError(404, name)", "raise Missing(404, name)",
        "import pytest\nfrom shop.core import Missing, ShopError, find\n\ndef test_missing():\n"
        "    with pytest.raises(Missing) as caught:\n        find({}, 'tea')\n    assert caught.value.code == 404\n"
        "    assert isinstance(caught.value, KeyError)\n    assert isinstance(caught.value.__cause__, KeyError)\n\n"
        "def test_found():\n    assert find({'tea': 3}, 'tea') == 3\n",
    ),
    mended(
        "generators",
        "def pairs(items):\n    items = iter(items)\n    try:\n        last = next(items)\n    except StopIteration:\n        return\n"
        "    for item in items:\n        yield last, item\n        last = item\n\ndef running():\n    total = 0\n    while True:\n"
        "        total += (yield total) or 0\n",
        "yield item, last", "yield last, item",
        "import itertools\nfrom shop.core import pairs, running\n\ndef test_pairs():\n    assert list(pairs('abc')) == [('a', 'b'), ('b', 'c')]\n"
        "    assert list(pairs([])) == []\n\ndef test_lazy():\n"
        "    assert list(itertools.islice(pairs(itertools.count()), 2)) == [(0, 1), (1, 2)]\n\n"
        "def test_send():\n    total = running()\n    next(total)\n    assert total.send(3) == 3\n    assert total.send(4) == 7\n",
    ),
    mended(
        "decimals",
        "from decimal import ROUND_HALF_UP, Decimal\n\ndef price(net, rate):\n"
        "    return (Decimal(net) * (1 + Decimal(rate))).quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)\n",
        "(1 - Decimal(rate))", "(1 + Decimal(rate))",
        "from decimal import Decimal, InvalidOperation\nimport pytest\nfrom shop.core import price\n\ndef test_price():\n"
        "    assert price('10.00', '0.2') == Decimal('12.00')\n    assert str(price('0.05', '0.1')) == '0.06'\n\n"
        "def test_refuses():\n    with pytest.raises(InvalidOperation):\n        price('x', '0')\n",
    ),
    mended(
        "dates and times",
        "from datetime import date, datetime, timedelta, timezone\n\ndef next_workday(day):\n    day += timedelta(days=1)\n"
        "    while day.weekday() >= 5:\n        day += timedelta(days=1)\n    return day\n\ndef utc(text):\n"
        "    return datetime.fromisoformat(text).astimezone(timezone.utc)\n",
        "day.weekday() > 5", "day.weekday() >= 5",
        "from datetime import date, datetime, timedelta, timezone\nimport pytest\nfrom shop.core import next_workday, utc\n\n"
        "@pytest.mark.parametrize(('day', 'found'), [(date(2024, 3, 1), date(2024, 3, 4)), (date(2024, 3, 4), date(2024, 3, 5))])\n"
        "def test_next(day, found):\n    assert next_workday(day) == found\n\ndef test_utc():\n"
        "    assert utc('2024-03-01T12:00+02:00') == datetime(2024, 3, 1, 10, tzinfo=timezone.utc)\n"
        "    assert utc('2024-03-01T12:00+02:00').utcoffset() == timedelta(0)\n",
    ),
    mended(
        "context managers",
        "from contextlib import contextmanager\n\nclass Lock:\n    def __init__(self):\n        self.held = False\n        self.events = []\n"
        "    def __enter__(self):\n        self.held = True\n        self.events.append('in')\n        return self\n"
        "    def __exit__(self, kind, error, trace):\n        self.held = False\n        self.events.append(kind.__name__ if kind else 'out')\n"
        "        return kind is LookupError\n\n@contextmanager\ndef swapped(items, key, value):\n    old = items[key]\n"
        "    items[key] = value\n    try:\n        yield items\n    finally:\n        items[key] = old\n",
        "items[key] = None\n", "items[key] = old\n",
        "import pytest\nfrom shop.core import Lock, swapped\n\ndef test_lock():\n    lock = Lock()\n    with lock as same:\n"
        "        assert same is lock and lock.held\n    assert not lock.held\n    assert lock.events == ['in', 'out']\n\n"
        "def test_swallows():\n    lock = Lock()\n    with lock:\n        raise LookupError\n    assert lock.events[-1] == 'LookupError'\n\n"
        "def test_swapped():\n    items = {'a': 1}\n    with swapped(items, 'a', 2):\n        assert items['a'] == 2\n"
        "    assert items['a'] == 1\n",
    ),
    mended(
        "a program over its input, called in the process",
        "import sys\n\ndef main(source=None, out=None):\n    source, out = source or sys.stdin, out or sys.stdout\n"
        "    for line in source:\n        out.write(str(sum(map(int, line.split()))) + '\\n')\n    return 0\n\n"
        "if __name__ == '__main__':\n    raise SystemExit(main())\n",
        "max(map(int, line.split()))", "sum(map(int, line.split()))",
        "import io\nfrom shop.core import main\n\ndef test_main():\n    out = io.StringIO()\n"
        "    assert main(io.StringIO('1 2\\n3 4\\n'), out) == 0\n    assert out.getvalue() == '3\\n7\\n'\n\n"
        "def test_printed(capsys, monkeypatch):\n    monkeypatch.setattr('sys.stdin', io.StringIO('5 6\\n'))\n    main()\n"
        "    assert capsys.readouterr().out == '11\\n'\n",
    ),
    mended(
        "a program over its input, as a process",
        "import sys\n\nfor line in sys.stdin:\n    print(line.strip()[::-1])\n",
        "line.strip()[::1]", "line.strip()[::-1]",
        "import subprocess, sys\n\ndef test_it():\n"
        "    done = subprocess.run([sys.executable, 'turned.py'], input='abc\\nxy\\n', capture_output=True, text=True)\n"
        "    assert done.stdout == 'cba\\nyx\\n'\n    assert done.returncode == 0\n",
        path="turned.py",
    ),
    mended(
        "arguments of a program",
        "import argparse\n\ndef parse(argv=None):\n    parser = argparse.ArgumentParser(prog='shop')\n"
        "    parser.add_argument('names', nargs='+')\n    parser.add_argument('--count', type=int, default=1)\n"
        "    return parser.parse_args(argv)\n\ndef run(argv):\n    told = parse(argv)\n    return ' '.join(told.names * told.count)\n",
        "told.names", "told.names * told.count",
        "import pytest\nfrom shop.core import parse, run\n\ndef test_run():\n    assert run(['a', '--count', '2']) == 'a a'\n\n"
        "def test_parse():\n    assert parse(['x']).count == 1\n    assert parse(['x', 'y']).names == ['x', 'y']\n",
    ),
    mended(
        "mocks of unittest",
        "class Mailer:\n    def __init__(self, server):\n        self.server = server\n    def send(self, to, text):\n"
        "        if not to:\n            return False\n        self.server.deliver(to, text.strip())\n        return True\n",
        "self.server.deliver(to, text)", "self.server.deliver(to, text.strip())",
        "import unittest\nfrom unittest import mock\nfrom shop.core import Mailer\n\nclass T(unittest.TestCase):\n    def setUp(self):\n"
        "        self.server = mock.Mock()\n    def test_sends(self):\n        self.assertTrue(Mailer(self.server).send('a', ' hi '))\n"
        "        self.server.deliver.assert_called_once_with('a', 'hi')\n    def test_nobody(self):\n"
        "        self.assertFalse(Mailer(self.server).send('', 'x'))\n        self.server.deliver.assert_not_called()\n",
        runner="unittest",
    ),
    mended(
        "patches of unittest",
        "import random\n\ndef roll(sides):\n    return random.randint(1, sides)\n\ndef rolls(n, sides=6):\n"
        "    return [roll(sides) for _ in range(n)]\n",
        "range(n - 1)", "range(n)",
        "import unittest\nfrom unittest.mock import patch\nfrom shop import core\n\nclass T(unittest.TestCase):\n"
        "    @patch('shop.core.roll', return_value=4)\n    def test_rolls(self, roll):\n"
        "        self.assertEqual(core.rolls(3), [4, 4, 4])\n        self.assertEqual(roll.call_count, 3)\n"
        "    def test_range(self):\n        self.assertTrue(all(1 <= n <= 6 for n in core.rolls(20)))\n"
        "        self.assertEqual(len(core.rolls(20)), 20)\n",
        runner="unittest",
    ),
    mended(
        "doctests",
        'def wrap(text, width):\n    """Breaks lines.\n\n    >>> wrap("aa bb cc", 5)\n    [\'aa bb\', \'cc\']\n    >>> wrap("", 5)\n    []\n'
        '    >>> wrap("a", 0)\n    Traceback (most recent call last):\n        ...\n    ValueError: too narrow: 0\n    """\n'
        "    if width < 1:\n        raise ValueError(f'too narrow: {width}')\n    lines, line = [], ''\n    for word in text.split():\n"
        "        if line and len(line) + 1 + len(word) > width:\n            lines.append(line)\n            line = word\n"
        "        else:\n            line = f'{line} {word}' if line else word\n    return lines + [line] * bool(line)\n",
        "len(line) + 2 + len(word)", "len(line) + 1 + len(word)", "", runner="doctest", path="wrapping.py",
    ),
    mended(
        "doctests of a class",
        'class Stack:\n    """Last in, first out.\n\n    >>> stack = Stack([1, 2])\n    >>> stack.push(3)\n    >>> len(stack), stack.pop()\n'
        "    (3, 3)\n    >>> stack\n    Stack([1, 2])\n    >>> list(stack)\n    [2, 1]\n    \"\"\"\n\n    def __init__(self, items=()):\n"
        "        self.items = list(items)\n    def push(self, item):\n        self.items.append(item)\n    def pop(self):\n"
        "        return self.items.pop()\n    def __len__(self):\n        return len(self.items)\n    def __iter__(self):\n"
        "        return reversed(self.items)\n    def __repr__(self):\n        return f'Stack({self.items})'\n",
        "return iter(self.items)", "return reversed(self.items)", "", runner="doctest", path="stack.py",
    ),
    mended(
        "operators",
        "class Vector:\n    def __init__(self, *parts):\n        self.parts = parts\n    def __eq__(self, other):\n"
        "        return isinstance(other, Vector) and self.parts == other.parts\n    def __hash__(self):\n        return hash(self.parts)\n"
        "    def __add__(self, other):\n        return Vector(*(a + b for a, b in zip(self.parts, other.parts)))\n"
        "    def __mul__(self, n):\n        return Vector(*(n * a for a in self.parts))\n    __rmul__ = __mul__\n"
        "    def __abs__(self):\n        return sum(a * a for a in self.parts) ** 0.5\n    def __getitem__(self, n):\n"
        "        return self.parts[n]\n    def __len__(self):\n        return len(self.parts)\n    def __bool__(self):\n        return any(self.parts)\n",
        "a - b for a, b", "a + b for a, b",
        "from shop.core import Vector\n\ndef test_sum():\n    assert Vector(1, 2) + Vector(3, 4) == Vector(4, 6)\n"
        "    assert (Vector(1, 2) + Vector(1, 1)).parts == (2, 3)\n\ndef test_times():\n    assert 2 * Vector(1, 2) == Vector(2, 4)\n\n"
        "def test_more():\n    assert abs(Vector(3, 4)) == 5\n    assert Vector(1, 2)[1] == 2 and len(Vector(1, 2)) == 2\n"
        "    assert not Vector(0, 0)\n    assert len({Vector(1), Vector(1)}) == 1\n    assert list(Vector(1, 2) + Vector(0, 1)) == [1, 3]\n",
    ),
    mended(
        "money that is compared and subtracted",
        "from functools import total_ordering\n\n@total_ordering\nclass Money:\n    def __init__(self, cents):\n        self.cents = cents\n"
        "    def _of(self, other):\n        return other.cents if isinstance(other, Money) else round(other * 100)\n"
        "    def __eq__(self, other):\n        return self.cents == self._of(other)\n    def __lt__(self, other):\n"
        "        return self.cents < self._of(other)\n    def __sub__(self, other):\n        return Money(self.cents - self._of(other))\n"
        "    def __float__(self):\n        return self.cents / 100\n    __hash__ = None\n",
        "Money(self.cents + self._of(other))", "Money(self.cents - self._of(other))",
        "from shop.core import Money\n\ndef test_less():\n    assert Money(150) < Money(200)\n    assert Money(150) < 2\n    assert not Money(150) < 1\n"
        "    assert Money(250) > 2\n\ndef test_minus():\n    assert (Money(300) - Money(100)).cents == 200\n    assert float(Money(300) - 1) == 2.0\n",
    ),
    mended(
        "a range that holds",
        "class Span:\n    def __init__(self, low, high):\n        self.low, self.high = low, high\n    def __contains__(self, x):\n"
        "        return self.low <= x < self.high\n    def __iter__(self):\n        return iter(range(self.low, self.high))\n"
        "    def __len__(self):\n        return self.high - self.low\n",
        "self.low <= x <= self.high", "self.low <= x < self.high",
        "from shop.core import Span\n\ndef test_holds():\n    assert 3 in Span(1, 5)\n    assert 1 in Span(1, 5)\n\n"
        "def test_not():\n    assert 5 not in Span(1, 5)\n    assert 0 not in Span(1, 5)\n\ndef test_items():\n"
        "    assert list(Span(1, 4)) == [1, 2, 3] and len(Span(1, 4)) == 3\n",
    ),
    mended(
        "a set of even numbers",
        "class Even:\n    def __contains__(self, n):\n        return n % 2 == 0\n",
        "n % 2 == 1", "n % 2 == 0",
        "from shop.core import Even\n\ndef test_even():\n    assert 4 in Even()\n\ndef test_odd():\n    assert 3 not in Even()\n",
    ),
    mended(
        "a distance that is near",
        "class Angle:\n    def __init__(self, degrees):\n        self.degrees = degrees % 360\n    def __sub__(self, other):\n"
        "        other = other.degrees if isinstance(other, Angle) else other\n        return (self.degrees - other + 180) % 360 - 180\n",
        "return self.degrees - other", "return (self.degrees - other + 180) % 360 - 180",
        "from shop.core import Angle\n\ndef test_near():\n    assert abs(Angle(359) - 1) <= 2\n    assert Angle(10) - Angle(350) == 20\n",
    ),
    mended(
        "what derives from a built-in container",
        "class Counts(dict):\n    def __missing__(self, key):\n        return 0\n    def add(self, key, n=1):\n        self[key] += n\n"
        "        return self\n\nclass Unique(list):\n    def append(self, item):\n        if item not in self:\n            super().append(item)\n",
        "if item in self", "if item not in self",
        "from shop.core import Counts, Unique\n\ndef test_counts():\n    assert Counts().add('a').add('a') == {'a': 2}\n"
        "    assert Counts()['b'] == 0\n\ndef test_unique():\n    items = Unique()\n    for n in (1, 2, 1):\n        items.append(n)\n"
        "    assert items == [1, 2]\n    assert len(items) == 2\n",
    ),
    mended(
        "what derives from text and numbers",
        "class Slug(str):\n    def __new__(cls, text):\n        return super().__new__(cls, '-'.join(text.lower().split()))\n"
        "    @property\n    def words(self):\n        return self.split('-')\n\nclass Percent(float):\n    def __str__(self):\n"
        "        return f'{self * 100:.0f}%'\n",
        "'_'.join(text.lower().split())", "'-'.join(text.lower().split())",
        "from shop.core import Percent, Slug\n\ndef test_slug():\n    assert Slug('Hello World') == 'hello-world'\n"
        "    assert Slug('a b').words == ['a', 'b']\n    assert isinstance(Slug('x'), str)\n\ndef test_percent():\n"
        "    assert str(Percent(0.25)) == '25%'\n    assert Percent(0.25) * 2 == 0.5\n",
    ),
    mended(
        "properties and class methods",
        "class Celsius:\n    zero = 32\n    def __init__(self, degrees):\n        self.degrees = degrees\n    @property\n"
        "    def fahrenheit(self):\n        return self.degrees * 9 / 5 + self.zero\n    @fahrenheit.setter\n"
        "    def fahrenheit(self, value):\n        self.degrees = (value - self.zero) * 5 / 9\n    @classmethod\n"
        "    def freezing(cls):\n        return cls(0)\n    @staticmethod\n    def is_warm(degrees):\n        return degrees > 20\n",
        "self.degrees * 5 / 9 + self.zero", "self.degrees * 9 / 5 + self.zero",
        "import pytest\nfrom shop.core import Celsius\n\ndef test_it():\n    assert Celsius(100).fahrenheit == 212\n"
        "    assert Celsius.freezing().fahrenheit == Celsius.zero\n    warm = Celsius(0)\n    warm.fahrenheit = 212\n"
        "    assert warm.degrees == pytest.approx(100)\n    assert Celsius.is_warm(21) and not Celsius.is_warm(20)\n",
    ),
    mended(
        "decorators and closures",
        "import functools\n\ndef cached(fn):\n    kept = {}\n    @functools.wraps(fn)\n    def wrapper(*args):\n        if args not in kept:\n"
        "            kept[args] = fn(*args)\n        return kept[args]\n    wrapper.kept = kept\n    return wrapper\n\ndef counter(start=0):\n"
        "    def step(by=1):\n        nonlocal start\n        start += by\n        return start\n    return step\n",
        "start = by", "start += by",
        "from shop.core import cached, counter\n\ndef test_cached():\n    calls = []\n    @cached\n    def twice(n):\n        calls.append(n)\n"
        "        return 2 * n\n    assert (twice(2), twice(2), twice(3)) == (4, 4, 6)\n    assert calls == [2, 3]\n"
        "    assert twice.__name__ == 'twice'\n\ndef test_counter():\n    step = counter(5)\n    assert step() == 6\n    assert step(by=4) == 10\n",
    ),
    mended(
        "call-backs and events",
        "class Bus:\n    def __init__(self):\n        self.hooks = {}\n    def on(self, name, hook):\n        self.hooks.setdefault(name, []).append(hook)\n"
        "        return hook\n    def emit(self, name, *args, **named):\n        return [hook(*args, **named) for hook in self.hooks.get(name, ())]\n",
        "[hook(*args) for hook", "[hook(*args, **named) for hook",
        "import pytest\nfrom shop.core import Bus\n\ndef test_emit():\n    bus, seen = Bus(), []\n    bus.on('a', lambda *a, **k: seen.append((a, k)))\n"
        "    bus.emit('a', 1, b=2)\n    assert seen == [((1,), {'b': 2})]\n\ndef test_results():\n    bus = Bus()\n    bus.on('a', lambda n: n + 1)\n"
        "    assert bus.emit('a', n=1) == [2]\n    assert bus.emit('b') == []\n\ndef test_error():\n    bus = Bus()\n"
        "    def boom():\n        raise RuntimeError('x')\n    bus.on('a', boom)\n    with pytest.raises(RuntimeError):\n        bus.emit('a')\n",
    ),
    mended(
        "abstract bases and classes of the tests",
        "import abc\n\nclass Shape(abc.ABC):\n    @abc.abstractmethod\n    def area(self):\n        ...\n    def describe(self):\n"
        "        return f'{type(self).__name__} of {self.area():.1f}'\n",
        "{self.area():.2f}", "{self.area():.1f}",
        "import pytest\nfrom shop.core import Shape\n\nclass Square(Shape):\n    def __init__(self, side):\n        self.side = side\n"
        "    def area(self):\n        return self.side ** 2\n\ndef test_describe():\n    assert Square(2).describe() == 'Square of 4.0'\n\n"
        "def test_abstract():\n    with pytest.raises(TypeError):\n        Shape()\n",
    ),
    mended(
        "named tuples and deques",
        "from collections import Counter, OrderedDict, deque, namedtuple\n\nRow = namedtuple('Row', 'name size')\n\ndef rows(text):\n"
        "    return [Row(name, int(size)) for name, size in (part.split(':') for part in text.split(','))]\n\ndef last(items, n):\n"
        "    return deque(items, maxlen=n)\n\ndef common(words):\n    return Counter(words).most_common(1)[0]\n",
        "Row(size, name)", "Row(name, int(size))",
        "from collections import deque\nfrom shop.core import Row, common, last, rows\n\ndef test_rows():\n"
        "    assert rows('a:1,b:2') == [Row('a', 1), Row('b', 2)]\n    assert rows('a:1')[0].size == 1\n    assert rows('a:1') == [('a', 1)]\n\n"
        "def test_last():\n    assert last(range(5), 2) == deque([3, 4])\n\ndef test_common():\n    assert common('abca') == ('a', 2)\n",
    ),
    mended(
        "text and its encodings",
        "import re\nimport unicodedata\n\ndef plain(text):\n    text = unicodedata.normalize('NFKD', text)\n"
        "    return re.sub(r'[^a-z0-9]+', ' ', ''.join(c for c in text.lower() if not unicodedata.combining(c))).strip()\n\n"
        "def pack(text):\n    data = text.encode('utf-8')\n    return len(data).to_bytes(2, 'big') + data\n",
        "to_bytes(2, 'little')", "to_bytes(2, 'big')",
        "from shop.core import pack, plain\n\ndef test_plain():\n    assert plain('Crème  Brûlée!') == 'creme brulee'\n\n"
        "def test_pack():\n    assert pack('é') == b'\\x00\\x02\\xc3\\xa9'\n",
    ),
    mended(
        "warnings",
        "import warnings\n\ndef old(x):\n    warnings.warn('use new', DeprecationWarning, stacklevel=2)\n    return new(x)\n\ndef new(x):\n    return x * 3\n",
        "return x * 2", "return x * 3",
        "import warnings\nimport pytest\nfrom shop.core import new, old\n\ndef test_warns():\n    with pytest.warns(DeprecationWarning, match='use new'):\n"
        "        assert old(2) == 6\n\ndef test_quiet():\n    with warnings.catch_warnings():\n        warnings.simplefilter('error')\n        assert new(2) == 6\n",
    ),
    mended(
        "sub-tests and set-up",
        "def roman(n):\n    found = ''\n    for value, letters in ((10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')):\n"
        "        while n >= value:\n            found += letters\n            n -= value\n    return found\n",
        "(9, 'XI')", "(9, 'IX')",
        "import unittest\nfrom shop.core import roman\n\nclass T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
        "        cls.rows = {1: 'I', 4: 'IV', 9: 'IX', 14: 'XIV'}\n    def test_all(self):\n        for n, wanted in self.rows.items():\n"
        "            with self.subTest(n=n):\n                self.assertEqual(roman(n), wanted)\n    def test_more(self):\n"
        "        self.assertIn('X', roman(9))\n        self.assertIsInstance(roman(1), str)\n        self.assertRaises(TypeError, roman, 'a')\n",
        runner="unittest",
    ),
    mended(
        "several modules that import each other",
        "from shop import names\nfrom shop.names import clean\n\ndef label(text, n=1):\n    return f'{clean(text)}{names.SUFFIX * n}'\n",
        "names.SUFFIX + str(n)", "names.SUFFIX * n",
        "from shop import core, names\nfrom shop.core import label\n\ndef test_label():\n    assert label(' a ', 2) == 'a!!'\n\n"
        "def test_changed(monkeypatch):\n    monkeypatch.setattr(names, 'SUFFIX', '?')\n    assert core.label('a') == 'a?'\n",
        shop__names="SUFFIX = '!'\n\ndef clean(text):\n    return text.strip()\n",
    ),
    mended(
        "a tree of objects",
        "class Node:\n    def __init__(self, key, left=None, right=None):\n        self.key, self.left, self.right = key, left, right\n"
        "    def insert(self, key):\n        side = 'left' if key < self.key else 'right'\n        child = getattr(self, side)\n"
        "        if child is None:\n            setattr(self, side, Node(key))\n        else:\n            child.insert(key)\n        return self\n"
        "    def __iter__(self):\n        if self.left:\n            yield from self.left\n        yield self.key\n        if self.right:\n"
        "            yield from self.right\n",
        "key > self.key", "key < self.key",
        "from shop.core import Node\n\ndef test_order():\n    root = Node(5)\n    for n in (3, 8, 1, 4):\n        root.insert(n)\n"
        "    assert list(root) == [1, 3, 4, 5, 8]\n    assert root.left.key == 3\n    assert root.left.left.right is None\n",
    ),
    mended(
        "random numbers of a seed",
        "import random\n\ndef shuffled(items, seed):\n    items = list(items)\n    random.Random(seed).shuffle(items)\n    return items\n\n"
        "def noise(n):\n    return [random.random() for _ in range(n)]\n",
        "random.Random().shuffle(items)", "random.Random(seed).shuffle(items)",
        "import random\nfrom shop.core import noise, shuffled\n\ndef test_same():\n    wanted = list(range(50))\n    random.Random(3).shuffle(wanted)\n"
        "    assert shuffled(range(50), 3) == wanted\n\ndef test_noise():\n    random.seed(1)\n    first = noise(3)\n    random.seed(1)\n    assert noise(3) == first\n",
    ),
    mended(
        "logging",
        "import logging\n\nlog = logging.getLogger(__name__)\n\ndef halve(n):\n    if n % 2:\n        log.warning('odd: %d', n)\n    return n // 2\n",
        "return n / 2", "return n // 2",
        "import logging\nfrom shop.core import halve\n\ndef test_warns(caplog):\n    with caplog.at_level(logging.WARNING):\n"
        "        assert halve(5) == 2\n    assert 'odd: 5' in caplog.text\n",
    ),
    mended(
        "threads",
        "import threading\n\ndef parallel(fn, items):\n    found = [None] * len(items)\n    def work(n):\n        found[n] = fn(items[n])\n"
        "    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(items))]\n    for thread in threads:\n        thread.start()\n"
        "    for thread in threads:\n        thread.join()\n    return found\n\ndef squares(n):\n    return parallel(lambda x: x * x, range(n))\n",
        "parallel(lambda x: x + x, range(n))", "parallel(lambda x: x * x, range(n))",
        "from shop.core import squares\n\ndef test_squares():\n    assert squares(5) == [0, 1, 4, 9, 16]\n",
    ),
    mended(
        "pickles and copies",
        "import copy\n\nclass Basket:\n    def __init__(self, items=()):\n        self.items = list(items)\n    def clone(self):\n"
        "        return copy.deepcopy(self)\n    def __eq__(self, other):\n        return isinstance(other, Basket) and self.items == other.items\n    __hash__ = None\n",
        "return self\n", "return copy.deepcopy(self)\n",
        "import copy, pickle\nfrom shop.core import Basket\n\ndef test_clone():\n    one = Basket([[1]])\n    two = one.clone()\n    two.items[0].append(2)\n"
        "    assert one.items == [[1]]\n    assert two.items == [[1, 2]]\n\ndef test_pickle():\n    assert pickle.loads(pickle.dumps(Basket([1]))) == Basket([1])\n"
        "    assert copy.copy(Basket([1])).items == [1]\n",
    ),
    mended(
        "floats that are near",
        "import math\n\ndef mean(xs):\n    return math.fsum(xs) / len(xs)\n\ndef spread(xs):\n    middle = mean(xs)\n"
        "    return math.sqrt(math.fsum((x - middle) ** 2 for x in xs) / len(xs))\n",
        "math.sqrt(math.fsum((x - middle) for x in xs)", "math.sqrt(math.fsum((x - middle) ** 2 for x in xs)",
        "import math, unittest\nfrom shop.core import mean, spread\n\nclass T(unittest.TestCase):\n    def test_near(self):\n"
        "        self.assertAlmostEqual(mean([0.1] * 3), 0.1)\n        self.assertAlmostEqual(spread([1, 2, 3, 4]), 1.118, places=3)\n"
        "        self.assertTrue(math.isclose(spread([2, 2]), 0.0))\n    def test_nan(self):\n        self.assertTrue(math.isnan(mean([float('nan')])))\n"
        "        self.assertEqual(mean([float('inf')]), float('inf'))\n",
        runner="unittest",
    ),
)  # fmt: skip
