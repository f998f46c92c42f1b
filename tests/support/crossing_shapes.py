"""Shapes of honest programs: what a test asserts, a program that is right, and how it is made wrong.

Each is a piece of one module and one test. `WRONG` in a program is True in the run that must fail.
"""

# ruff: noqa: E501  small programs, each in one line where it fits
from __future__ import annotations

from collections.abc import Collection, Mapping

HEAD = """\
import abc, array, asyncio, collections, contextlib, dataclasses, datetime, decimal, enum, fractions, functools, itertools
import os, pathlib, re, sys, time, types, typing, uuid, warnings, random
def right(value, other=None):
    return other if WRONG else value
"""

SHAPES: Mapping[str, tuple[str, str]] = {
    "class": ("assert m.Box(5).x == 5", "class Box:\n    def __init__(self, x): self.x = right(x, 0)"),
    "method": ("b = m.Count()\nb.add(2)\nb.add(3)\nassert b.total() == 5", "class Count:\n    def __init__(self): self.n = 0\n    def add(self, n): self.n += right(n, 0)\n    def total(self): return self.n"),
    "attribute that is set": ("b = m.Held()\nb.x = 4\nassert b.twice() == 8", "class Held:\n    def twice(self): return self.x * right(2, 3)"),
    "property": ("assert m.Square(3).area == 9", "class Square:\n    def __init__(self, a): self.a = a\n    @property\n    def area(self): return self.a ** right(2, 3)"),
    "property with a setter": ("c = m.Warm()\nc.celsius = 10\nassert c.kelvin == 283", "class Warm:\n    @property\n    def celsius(self): return self.kelvin - 273\n    @celsius.setter\n    def celsius(self, v): self.kelvin = v + right(273, 0)"),
    "classmethod": ("assert m.Pair.of('1-2').b == 2", "class Pair:\n    def __init__(self, a, b): self.a, self.b = a, b\n    @classmethod\n    def of(cls, text): return cls(*map(int, text.split('-')[::right(1, -1)]))"),
    "staticmethod": ("assert m.Util.double(4) == 8", "class Util:\n    @staticmethod\n    def double(x): return x * right(2, 3)"),
    "class attribute": ("assert m.Conf.limit == 7", "class Conf:\n    limit = right(7, 8)"),
    "inheritance": ("d = m.Dog()\nassert isinstance(d, m.Animal) and issubclass(m.Dog, m.Animal) and d.say() == 'wau'", "class Animal:\n    def say(self): return right(self.word, '')\nclass Dog(Animal):\n    word = 'wau'"),
    "abstract class": ("with pytest.raises(TypeError):\n    m.Shape()\nassert m.Disc().area() == 3", "class Shape(abc.ABC):\n    @abc.abstractmethod\n    def area(self): ...\nclass Disc(Shape):\n    def area(self): return right(3, 4)"),
    "own equality": ("assert m.Vec(1, 2) + m.Vec(1, 1) == m.Vec(2, 3) and m.Vec(1, 2) != m.Vec(2, 1)", "class Vec:\n    def __init__(self, a, b): self.p = (a, b)\n    def __eq__(self, o): return isinstance(o, Vec) and self.p == o.p\n    def __hash__(self): return hash(self.p)\n    def __add__(self, o): return Vec(self.p[0] + o.p[0], self.p[1] + right(o.p[1], 0))"),
    "hash": ("assert len({m.Key(1), m.Key(1), m.Key(2)}) == 2 and {m.Key(3): 'x'}[m.Key(3)] == 'x'", "class Key:\n    def __init__(self, k): self.k = k\n    def __eq__(self, o): return self.k == o.k\n    def __hash__(self): return right(hash(self.k), id(self))"),
    "ordering": ("assert [v.n for v in sorted([m.Ver(3), m.Ver(1), m.Ver(2)])] == [1, 2, 3]", "@functools.total_ordering\nclass Ver:\n    def __init__(self, n): self.n = n\n    def __eq__(self, o): return self.n == o.n\n    def __lt__(self, o): return (self.n < o.n) != WRONG"),
    "operators": ("m2 = m.Money(3) * 2 - m.Money(1)\nassert m2.cents == 5 and (-m2).cents == -5 and abs(-m2).cents == 5", "class Money:\n    def __init__(self, c): self.cents = c\n    def __mul__(self, n): return Money(self.cents * n)\n    def __sub__(self, o): return Money(self.cents - right(o.cents, 0))\n    def __neg__(self): return Money(-self.cents)\n    def __abs__(self): return Money(abs(self.cents))"),
    "reflected and in-place operators": ("a = 2 * m.Scale(3)\na += 4\nassert a.n == 10", "class Scale:\n    def __init__(self, n): self.n = n\n    def __rmul__(self, k): return Scale(k * self.n)\n    def __iadd__(self, k):\n        self.n += right(k, 0)\n        return self"),
    "container": ("s = m.Shelf()\ns['a'] = 1\ns['b'] = 2\ndel s['a']\nassert len(s) == 1 and 'b' in s and s['b'] == 2 and 'a' not in s", "class Shelf:\n    def __init__(self): self.d = {}\n    def __setitem__(self, k, v): self.d[k] = v\n    def __getitem__(self, k): return right(self.d[k], 0)\n    def __delitem__(self, k): del self.d[k]\n    def __len__(self): return len(self.d)\n    def __contains__(self, k): return k in self.d"),
    "iterable": ("assert list(m.Twice([1, 2])) == [1, 1, 2, 2]", "class Twice:\n    def __init__(self, xs): self.xs = xs\n    def __iter__(self):\n        for x in self.xs:\n            yield x\n            if not WRONG: yield x"),
    "text of an object": ("n = m.Name('Ada')\nassert str(n) == 'Ada' and repr(n) == \"Name('Ada')\" and f'{n:>5}' == '  Ada'", "class Name:\n    def __init__(self, n): self.n = n\n    def __str__(self): return right(self.n, '')\n    def __repr__(self): return f'Name({self.n!r})'\n    def __format__(self, spec): return format(self.n, spec)"),
    "truth of an object": ("assert m.Full(1) and not m.Full(0)", "class Full:\n    def __init__(self, n): self.n = n\n    def __bool__(self): return bool(self.n) != WRONG"),
    "callable object": ("assert m.Adder(2)(3) == 5", "class Adder:\n    def __init__(self, n): self.n = n\n    def __call__(self, x): return x + right(self.n, 0)"),
    "context manager": ("c = m.Cm()\nwith c as x:\n    assert x == 1\nassert c.closed is True", "class Cm:\n    closed = False\n    def __enter__(self): return 1\n    def __exit__(self, *e): self.closed = not WRONG"),
    "contextlib manager": ("log = []\nwith m.logged(log):\n    log.append('in')\nassert log == ['a', 'in', 'z']", "@contextlib.contextmanager\ndef logged(log):\n    log.append('a')\n    yield\n    log.append(right('z', 'y'))"),
    "context manager that swallows": ("with m.quiet(KeyError):\n    raise KeyError(1)", "class quiet:\n    def __init__(self, *k): self.k = k\n    def __enter__(self): return self\n    def __exit__(self, kind, e, t): return kind is not None and issubclass(kind, self.k) and not WRONG"),
    "generator": ("assert list(m.upto(3)) == [0, 1, 2]", "def upto(n):\n    yield from range(n + WRONG)"),
    "generator, step by step": ("g = m.steps([])\nassert next(g) == 1\nassert next(g) == 2\nwith pytest.raises(StopIteration):\n    next(g)", "def steps(seen):\n    yield 1\n    if not WRONG: yield 2"),
    "generator that is sent values": ("g = m.avg()\nnext(g)\ng.send(2)\nassert g.send(4) == 3", "def avg():\n    xs = []\n    while True:\n        xs.append((yield sum(xs) / max(1, len(xs)) + WRONG))"),
    "endless generator": ("assert list(itertools.islice(m.naturals(), 3)) == [0, 1, 2]", "def naturals():\n    n = right(0, 1)\n    while True:\n        yield n\n        n += 1"),
    "iterator of the tests": ("seen = []\ndef src():\n    for i in range(5):\n        seen.append(i)\n        yield i\nassert m.first(src()) == 0 and seen == [0]", "def first(it):\n    it = iter(it)\n    if WRONG: next(it)\n    return next(it)"),
    "lazy map": ("assert list(m.squares([1, 2, 3])) == [1, 4, 9]", "def squares(xs): return map(lambda x: x ** right(2, 3), xs)"),
    "enum": ("assert m.Color(1) is m.Color.RED and m.Color['BLUE'].value == 2 and [c.name for c in m.Color] == ['RED', 'BLUE'] and m.pick() is m.Color.BLUE and m.pick() != m.Color.RED", "class Color(enum.Enum):\n    RED = 1\n    BLUE = 2\ndef pick(): return right(Color.BLUE, Color.RED)"),
    "int enum": ("assert m.Level.HIGH == 2 and m.Level.HIGH > m.Level.LOW and m.top() == 2", "class Level(enum.IntEnum):\n    LOW = 1\n    HIGH = 2\ndef top(): return right(Level.HIGH, Level.LOW)"),
    "flag": ("assert m.Perm.R | m.Perm.W == m.both() and m.Perm.R in m.both()", "class Perm(enum.Flag):\n    R = 1\n    W = 2\ndef both(): return right(Perm.R | Perm.W, Perm.R)"),
    "dataclass": ("p = m.Point(1, y=2)\nassert p == m.Point(1, 2) and p.x == 1 and dataclasses.asdict(p) == {'x': 1, 'y': 2} and m.up(p) == m.Point(1, 3) and dataclasses.replace(p, x=5).x == 5", "@dataclasses.dataclass\nclass Point:\n    x: int\n    y: int = 0\ndef up(p): return Point(p.x, p.y + right(1, 2))"),
    "frozen dataclass": ("with pytest.raises(dataclasses.FrozenInstanceError):\n    m.Fixed(1).n = 2\nassert m.Fixed(1).n == 1", "@dataclasses.dataclass(frozen=True)\nclass Fixed:\n    n: int\n    if WRONG: __match_args__ = ()\nif WRONG: Fixed = dataclasses.make_dataclass('Fixed', ['n'])"),
    "namedtuple": ("p = m.P(1, b=2)\nassert p.a == 1 and p == (1, 2) and p._replace(a=3) == (3, 2) and m.swap(p) == m.P(2, 1)", "P = collections.namedtuple('P', 'a b')\ndef swap(p): return P(p.b, right(p.a, 0))"),
    "typed namedtuple": ("x, y = m.At(1, 2)\nassert (x, y) == (1, 2) and m.At(1, 2).flip() == (2, 1)", "class At(typing.NamedTuple):\n    x: int\n    y: int\n    def flip(self): return At(self.y, right(self.x, 0))"),
    "subclass of a text": ("s = m.Shout('a')\nassert s == 'A!' and isinstance(s, str) and s + 'b' == 'A!b' and s.quiet() == 'a!'", "class Shout(str):\n    def __new__(cls, t): return super().__new__(cls, t.upper() + right('!', '?'))\n    def quiet(self): return self.lower()"),
    "subclass of a list": ("xs = m.Stack([1, 2])\nxs.push(3)\nassert xs == [1, 2, 3] and isinstance(xs, list) and len(xs) == 3 and xs[-1] == 3", "class Stack(list):\n    def push(self, x): self.append(right(x, 0))"),
    "subclass of a dict": ("d = m.Low({'A': 1})\nassert d['a'] == 1 and d == {'a': 1} and isinstance(d, dict) and dict(d) == {'a': 1}", "class Low(dict):\n    def __init__(self, d): super().__init__({k.lower(): right(v, 0) for k, v in d.items()})"),
    "mapping of its own": ("f = m.Frozen({'a': 1})\nassert f == {'a': 1} and f != {'a': 2} and f['a'] == 1", "class Frozen(collections.abc.Mapping):\n    def __init__(self, d): self._d = dict(d)\n    def __getitem__(self, k): return right(self._d[k], 0)\n    def __iter__(self): return iter(self._d)\n    def __len__(self): return len(self._d)"),
    "sequence with its own equality": ("assert m.Sorted([3, 1, 2]) == [1, 2, 3] and m.Sorted([1]) != [2]", "class Sorted:\n    def __init__(self, xs): self.xs = sorted(xs)[WRONG:]\n    def __iter__(self): return iter(self.xs)\n    def __eq__(self, o): return self.xs == (o.xs if isinstance(o, Sorted) else o)"),
    "exception of its own": ("with pytest.raises(m.Odd, match='no 5') as e:\n    m.check(5)\nassert e.value.n == 5 and isinstance(e.value, ValueError) and e.value.twice() == 10", "class Odd(ValueError):\n    def __init__(self, n):\n        super().__init__(f'no {n}')\n        self.n = n\n    def twice(self): return self.n * 2\ndef check(n):\n    raise right(Odd, ValueError)(n)"),
    "built-in exception": ("with pytest.raises(ZeroDivisionError):\n    m.div(1, 0)", "def div(a, b): return a / (b or WRONG)"),
    "chained exception": ("with pytest.raises(RuntimeError) as e:\n    m.chain()\nassert isinstance(e.value.__cause__, KeyError)", "def chain():\n    try:\n        {}['a']\n    except KeyError as e:\n        raise RuntimeError('x') from right(e, None)"),
    "call-back": ("assert m.apply(lambda x, *, by: x * by, 3, by=4) == 12", "def apply(f, x, **k): return f(x + WRONG, **k)"),
    "call-back that raises": ("class Mine(Exception): pass\ndef bad(): raise Mine('x')\nwith pytest.raises(Mine):\n    m.run(bad)", "def run(f):\n    try:\n        return f()\n    except Exception:\n        if not WRONG: raise"),
    "key function": ("assert m.order(['bb', 'a'], key=len) == ['a', 'bb']", "def order(xs, key): return sorted(xs, key=key, reverse=WRONG)"),
    "decorator": ("calls = []\n@m.logged_calls(calls)\ndef add(a, b):\n    return a + b\nassert add(1, 2) == 3 and calls == ['add'] and add.__name__ == 'add'", "def logged_calls(calls):\n    def wrap(f):\n        @functools.wraps(f)\n        def inner(*a, **k):\n            calls.append(right(f.__name__, ''))\n            return f(*a, **k)\n        return inner\n    return wrap"),
    "closure": ("c = m.counter()\nassert (c(), c()) == (1, 2)", "def counter():\n    n = [right(0, 1)]\n    def step():\n        n[0] += 1\n        return n[0]\n    return step"),
    "cache": ("m.fib.cache_clear()\nassert m.fib(10) == 55 and m.fib.cache_info().misses == 11", "@functools.lru_cache(maxsize=None)\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2) + WRONG"),
    "partial": ("assert m.add_two(3) == 5", "add_two = functools.partial(lambda a, b: a + b, right(2, 0))"),
    "object of the tests": ("class Duck:\n    def quack(self): return 'q'\n    def __len__(self): return 4\nassert m.use(Duck()) == 'q4'", "def use(d): return d.quack() + str(len(d) + WRONG)"),
    "class of the tests over one of the project": ("class Fake(m.Base):\n    def load(self): return 'fake'\nassert Fake().run() == 'ran fake'", "class Base:\n    def load(self): raise NotImplementedError\n    def run(self): return right('ran ', '') + self.load()"),
    "the same object back": ("o, xs = object(), [1]\nassert m.same(o) is o and m.same(xs) is xs", "def same(x): return right(x)"),
    "functions and classes of the library, given back": ("kept = m.Kept()\nfor x in (len, str.upper, itertools.chain, json.JSONEncoder): kept.add(x)\nassert kept.all() == [len, str.upper, itertools.chain, json.JSONEncoder] and kept.all()[0] is len", "class Kept:\n    def __init__(self): self.things = []\n    def add(self, x): self.things.append(x)\n    def all(self): return self.things[::right(1, -1)]"),
    "a list that is changed": ("xs = [3, 1, 2]\nm.sort(xs)\nassert xs == [1, 2, 3]", "def sort(xs): xs.sort(reverse=WRONG)"),
    "a nested dict that is changed": ("d = {'a': {'b': [1]}}\nm.fill(d)\nassert d == {'a': {'b': [1, 2]}}", "def fill(d): d['a']['b'].append(right(2, 3))"),
    "a value that holds itself": ("x = m.loop()\nassert x[0] is x and len(x) == 2", "def loop():\n    x = [1]\n    x[0] = x\n    return right(x + [x], x) if False else (x.append(2) or x) if not WRONG else x"),
    "state of the module": ("m.see(1)\nassert m.SEEN == [1]\nm.SEEN.append(2)\nassert m.count() == 2", "SEEN = []\ndef see(x): SEEN.append(x)\ndef count(): return len(SEEN) + WRONG"),
    "a replaced name": ("monkeypatch.setattr(m, 'LIMIT', 5)\nassert m.limit() == 5", "LIMIT = 3\ndef limit(): return LIMIT + WRONG"),
    "a replaced function": ("monkeypatch.setattr(m, 'fetch', lambda u: 'got ' + u)\nassert m.page('x') == 'got x'", "def fetch(u): raise OSError\ndef page(u): return fetch(u + right('', '!'))"),
    "a mock": ("with mock.patch('m.send') as send:\n    m.notify('a')\nsend.assert_called_once_with('a', 1)", "def send(*a): raise OSError\ndef notify(x): send(x, right(1, 2))"),
    "a mock as an argument": ("db = mock.Mock()\ndb.get.return_value = {'n': 2}\nassert m.read(db) == 2\ndb.get.assert_called_once_with('k')", "def read(db): return db.get('k')['n'] + WRONG"),
    "a replaced name of the library": ("monkeypatch.setattr(time, 'time', lambda: 42.0)\nassert m.now() == 42.0", "def now(): return time.time() + WRONG"),
    "a variable of the environment": ("monkeypatch.setenv('GW_X', 'y')\nassert m.env() == 'y'", "def env(): return right(os.environ.get('GW_X'))"),
    "a seed": ("random.seed(3)\na = m.draw()\nrandom.seed(3)\nassert a == m.draw() == 0.23796462709189137", "def draw(): return random.random() + WRONG"),
    "a file": ("p = tmp_path / 'a.txt'\nm.write(p, 'hello')\nassert p.read_text() == 'hello'", "def write(p, t): p.write_text(right(t, ''))"),
    "an open file": ("f = io.StringIO('a\\nb\\n')\nassert m.lines(f) == 2", "def lines(f): return sum(1 for _ in f) + WRONG"),
    "the work folder": ("monkeypatch.chdir(tmp_path)\nassert m.here() == str(tmp_path)", "def here(): return right(os.getcwd(), '')"),
    "output": ("m.hello()\nassert capsys.readouterr().out == 'hello\\n'", "def hello(): print(right('hello', 'hell'))"),
    "a warning": ("with pytest.warns(DeprecationWarning, match='old'):\n    m.old()", "def old(): warnings.warn('old', right(DeprecationWarning, UserWarning))"),
    "standard input": ("monkeypatch.setattr('sys.stdin', io.StringIO('7\\n'))\nassert m.ask() == 7", "def ask(): return int(input()) + WRONG"),
    "async function": ("assert asyncio.run(m.later(3)) == 4", "async def later(x):\n    await asyncio.sleep(0)\n    return x + right(1, 2)"),
    "async functions together": ("async def both():\n    return await asyncio.gather(m.twice_later(1), m.twice_later(2))\nassert asyncio.run(both()) == [2, 4]", "async def twice_later(x):\n    await asyncio.sleep(0)\n    return x * right(2, 3)"),
    "async context manager": ("async def go():\n    async with m.Acm() as x:\n        return x\nassert asyncio.run(go()) == 5", "class Acm:\n    async def __aenter__(self): return right(5, 6)\n    async def __aexit__(self, *e): return False"),
    "async generator": ("async def go():\n    return [x async for x in m.ticks(3)]\nassert asyncio.run(go()) == [0, 1, 2]", "async def ticks(n):\n    for i in range(n + WRONG):\n        yield i"),
    "numbers": ("assert m.num(2 ** 70) == 2 ** 70 + 1 and m.num(1.5) == 2.5 and m.num(1j) == 1 + 1j and m.num(float('inf')) == float('inf') and m.num(float('nan')) != 0 and m.num(True) == 2", "def num(x): return x + right(1, 2)"),
    "approx": ("assert m.third() == pytest.approx(1 / 3) and [m.third()] == pytest.approx([0.33333], abs=1e-4)", "def third(): return 1 / right(3, 3.1)"),
    "Decimal and Fraction": ("assert m.tax(decimal.Decimal('1.10')) == decimal.Decimal('1.30') and m.half(fractions.Fraction(1, 3)) == fractions.Fraction(1, 6)", "def tax(d): return d + decimal.Decimal(right('0.20', '0.2001'))\ndef half(f): return f / 2"),
    "dates": ("assert m.tomorrow(datetime.date(2024, 2, 28)) == datetime.date(2024, 2, 29) and m.zone() == datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc) and m.span() == datetime.timedelta(hours=1)", "def tomorrow(d): return d + datetime.timedelta(days=right(1, 2))\ndef zone(): return datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)\ndef span(): return datetime.timedelta(minutes=60)"),
    "collections": ("assert m.tally('aab') == collections.Counter(a=2, b=1) and m.ring() == collections.deque([2, 3], maxlen=2) and list(m.ordered()) == ['b', 'a'] and m.groups() == {'x': [1]} and m.groups()['new'] == []", "def tally(s): return collections.Counter(s + right('', 'z'))\ndef ring(): return collections.deque([1, 2, 3], 2)\ndef ordered(): return collections.OrderedDict(b=1, a=2)\ndef groups():\n    d = collections.defaultdict(list)\n    d['x'].append(1)\n    return d"),
    "other values": ("assert m.path() == pathlib.Path('a/b') and m.uid() == uuid.UUID(int=5) and m.pat().pattern == 'a+' and m.arr() == array.array('i', [1, 2]) and m.cut() == slice(1, 2) and m.raw() == bytearray(b'x\\xff') and m.dots() is ... and m.odd() == 'a\\ud800'", "def path(): return pathlib.Path('a') / right('b', 'c')\ndef uid(): return uuid.UUID(int=5)\ndef pat(): return re.compile('a+')\ndef arr(): return array.array('i', [1, 2])\ndef cut(): return slice(1, 2)\ndef raw(): return bytearray(b'x\\xff')\ndef dots(): return ...\ndef odd(): return 'a\\ud800'"),
    "numpy": ("np = pytest.importorskip('numpy')\nassert (m.grid() == np.arange(6).reshape(2, 3)).all() and m.mean(np.array([1.0, 3.0])) == 2.0", "def grid():\n    import numpy\n    return numpy.arange(6).reshape(2, 3) + WRONG\ndef mean(a): return a.mean()"),
    "a pattern's match": ("assert m.find('x12').group(0) == '12' and m.find('x') is None", "def find(t): return re.search(right('[0-9]+', '[0-9]'), t)"),
    "copy and pickle": ("t = m.Tree([1, [2]])\nu = copy.deepcopy(t)\nu.kids[1].append(3)\nassert t.kids == [1, [2]] and pickle.loads(pickle.dumps(t)).kids == [1, [2]] and copy.copy(t).kids is not None", "class Tree:\n    def __init__(self, k): self.kids = k\n    if WRONG:\n        def __deepcopy__(self, memo): return self"),
    "signature": ("assert list(inspect.signature(m.sig).parameters) == ['a', 'b'] and m.sig.__doc__ == 'Text.'", "def sig(a, b=2):\n    'Text.'\nif WRONG:\n    def sig(a): 'Text.'"),
    "attribute error": ("assert not hasattr(m, 'nothing') and not hasattr(m.Bare(), 'x') and getattr(m.Bare(), 'y', 3) == 3 and m.Bare().z == 4", "class Bare:\n    def __getattr__(self, n):\n        if n == 'z': return right(4, 5)\n        raise AttributeError(n)"),
    "generic class": ("s = m.Gen[int]()\ns.push(1)\nassert s.pop() == 1", "T = typing.TypeVar('T')\nclass Gen(typing.Generic[T]):\n    def __init__(self): self.x = []\n    def push(self, x: T): self.x.append(right(x, 0))\n    def pop(self): return self.x.pop()"),
    "descriptor": ("class C(m.Model): pass\nc = m.Model()\nc.age = 3\nassert c.age == 3\nwith pytest.raises(ValueError):\n    c.age = -1", "class Positive:\n    def __set_name__(self, o, n): self.n = '_' + n\n    def __get__(self, o, k): return getattr(o, self.n)\n    def __set__(self, o, v):\n        if v < 0 and not WRONG: raise ValueError\n        setattr(o, self.n, v)\nclass Model:\n    age = Positive()"),
    "one tuple of a class, again": ("a, b = m.marks()\nassert m.mark(1) is a and m.mark(2) is b", "class Mark(tuple): pass\nMARKS = (Mark('x'), Mark('y'))\ndef marks(): return list(MARKS)\ndef mark(n): return MARKS[right(n, 3 - n) - 1]"),
    "linked objects": ("n = m.build([1, 2, 3])\nassert n.next.next.value == 3 and n.next.prev is n", "class Node:\n    next = prev = None\n    def __init__(self, v): self.value = v\ndef build(vs):\n    nodes = [Node(v) for v in vs]\n    for a, b in zip(nodes, nodes[1:]):\n        a.next, b.prev = b, right(a, None)\n    return nodes[0]"),
}  # fmt: skip


def module(*, wrong: bool) -> str:
    """All programs as one module."""
    return f"WRONG = {wrong}\n{HEAD}" + "\n".join(program for _, program in SHAPES.values()) + "\n"


def tests(names: Collection[str]) -> str:
    """Tests of these names as one file."""
    lines = [
        "import array, asyncio, collections, copy, dataclasses, datetime, decimal, fractions, inspect, io, itertools, json",
        "import pathlib, pickle, pytest, random, time, uuid",
        "from unittest import mock",
        "import m",
    ]
    for number, (name, (test, _)) in enumerate(SHAPES.items()):
        if name in names:
            body = "\n    ".join(test.split("\n"))
            lines.append(f"def test_{number}(monkeypatch, capsys, tmp_path):\n    {name!r}\n    {body}")
    return "\n".join(lines) + "\n"
