"""Tests that use files together with the code they test, judged in two boxes: what they may do, what a candidate can't."""

# small programs, each in one line where it fits
# ruff: noqa: E501, PTH208  os.listdir says it shortest
from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import inside_modules as inside_modules
import pytest

from groundwire.core import Hidden, Isolation, Observation, Tree, Verdict
from groundwire.tools import HiddenTests
from groundwire.tools.inside.crossing_codec import NotPlain
from groundwire.tools.inside.crossing_files import AnsweringFiles
from groundwire.tools.inside.crossing_guard import AskingFiles

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
APART = Isolation.TWO_BOXES
BASE = "def f(path):\n    raise NotImplementedError\n"


async def judged(bench: Any, module: str, tests: str, files: Mapping[str, str | bytes] | None = None) -> Observation:
    """What hidden tests say of a module."""
    base = {"mod.py": BASE, "test_mod.py": "import mod\ndef test_a(): assert mod.f\n"}
    laid = Tree({name: text.encode() if isinstance(text, str) else text for name, text in (files or {}).items()})
    tests = f"import os, sys, subprocess, tempfile, pathlib, pytest, mod\n{tests}"
    hidden = Hidden(
        ("python", "-m", "pytest", "-q", "secret"), Tree({**laid.files, "secret/test_more.py": tests.encode()})
    )
    task = bench.task(base, hidden=hidden)
    return await bench.judge(HiddenTests(), task, {"mod.py": f"import os, sys, pathlib, tempfile, json\n{module}"})


def said(found: Observation) -> str:
    return "\n".join((found.evidence.detail, found.evidence.stderr, *(c.message for c in found.evidence.failed())))


HONEST = {
    "a file that is written there": (
        "def f(path, text): pathlib.Path(path).write_text(text)\n",
        "def test_a(tmp_path):\n    mod.f(tmp_path / 'a.txt', 'x')\n    assert (tmp_path / 'a.txt').read_text() == 'x'\n",
    ),
    "a file that is read there": (
        "def f(path): return pathlib.Path(path).read_text()\n",
        "def test_a(tmp_path):\n    p = tmp_path / 'a.txt'\n    p.write_text('x')\n    assert mod.f(str(p)) == 'x'\n    p.write_text('y')\n    assert mod.f(str(p)) == 'y'\n",
    ),
    "a file that is changed in its place": (
        "def f(path):\n    with open(path, 'a') as file: file.write('b')\n",
        "def test_a(tmp_path):\n    p = tmp_path / 'a.txt'\n    p.write_text('a')\n    mod.f(p)\n    assert p.read_text() == 'ab'\n",
    ),
    "a folder": (
        "def f(path):\n    (path / 'sub').mkdir()\n    (path / 'sub' / 'n.txt').write_text(str(len(list(path.rglob('*')))))\n",
        "def test_a(tmp_path):\n    for n in range(3): (tmp_path / f'{n}.txt').write_text('x')\n    mod.f(tmp_path)\n    assert (tmp_path / 'sub' / 'n.txt').read_text() == '4'\n    assert sorted(os.listdir(tmp_path)) == ['0.txt', '1.txt', '2.txt', 'sub']\n",
    ),
    "a folder of the candidate's own": (
        "def f():\n    d = tempfile.mkdtemp()\n    open(os.path.join(d, 'x'), 'w').write('1')\n    return d\n",
        "def test_a():\n    d = mod.f()\n    assert os.listdir(d) == ['x'] and open(os.path.join(d, 'x')).read() == '1'\n    os.remove(os.path.join(d, 'x'))\n",
    ),
    "tmpdir and tempfile": (
        "def f(name): return os.path.getsize(name)\n",
        "def test_a(tmpdir):\n    p = tmpdir.join('a')\n    p.write('abc')\n    assert mod.f(str(p)) == 3\ndef test_b():\n    with tempfile.NamedTemporaryFile('w') as t:\n        t.write('abcd')\n        t.flush()\n        assert mod.f(t.name) == 4\n        t.write('e')\n        t.flush()\n        assert mod.f(t.name) == 5\n",
    ),
    "the work folder": (
        "def f(name):\n    with open('out.txt', 'w') as out: out.write(open(name).read().upper())\n",
        "def test_a():\n    open('in.txt', 'w').write('abc')\n    mod.f('in.txt')\n    assert open('out.txt').read() == 'ABC'\n",
    ),
    "another work folder": (
        "def f():\n    data = json.load(open('c.json'))\n    os.makedirs('deep/er')\n    open('deep/er/o.txt', 'w').write(data['a'])\n",
        "def test_a(tmp_path, monkeypatch):\n    monkeypatch.chdir(tmp_path)\n    (tmp_path / 'c.json').write_text('{\"a\": \"b\"}')\n    mod.f()\n    assert open('deep/er/o.txt').read() == 'b'\n    assert pathlib.Path('deep/er/o.txt').resolve().is_relative_to(tmp_path)\n",
    ),
    "a path that comes back": (
        "def f(path):\n    out = path.with_suffix('.out')\n    out.write_text(path.read_text().upper())\n    return out\ndef g(folder): return sorted(folder.iterdir())\n",
        "def test_a(tmp_path):\n    (tmp_path / 'a.in').write_text('x')\n    out = mod.f(tmp_path / 'a.in')\n    assert out.read_text() == 'X' and mod.f(out.with_suffix('.in')) == out\n    assert [p.read_text() for p in mod.g(tmp_path)] == ['x', 'X']\n",
    ),
    "data beside the tests": (
        "def f(path): return open(path).read()\n",
        "HERE = pathlib.Path(__file__).parent\ndef test_a():\n    assert mod.f(HERE / 'data' / 'in.txt') == 'in'\n    assert mod.f('secret/data/in.txt') == 'in'\n    assert (HERE / 'golden.txt').read_text() == mod.f(HERE / 'data' / 'in.txt')\n",
    ),
    "many files": (
        "def f(path):\n    for n in range(100): (path / f'{n}.txt').write_text(str(n))\ndef g():\n    names = [tempfile.mkstemp()[1] for _ in range(50)]\n    for n in names: open(n, 'w').write('x')\n    return names\n",
        "def test_a(tmp_path):\n    mod.f(tmp_path)\n    assert sum(int(p.read_text()) for p in tmp_path.iterdir()) == 4950\n    assert {open(name).read() for name in mod.g()} == {'x'}\n",
    ),
    "gone, moved and modes": (
        "import shutil\ndef f(path):\n    os.chmod(path / 'b', 0o600)\n    os.rename(path / 'a', path / 'c')\n    shutil.rmtree(path / 'd')\n",
        "def test_a(tmp_path):\n    for n in 'ab': (tmp_path / n).write_text(n)\n    os.chmod(tmp_path / 'b', 0o644)\n    (tmp_path / 'd').mkdir()\n    (tmp_path / 'd' / 'x').write_text('')\n    mod.f(tmp_path)\n    assert sorted(os.listdir(tmp_path)) == ['b', 'c'] and (tmp_path / 'c').read_text() == 'a'\n    assert os.stat(tmp_path / 'b').st_mode & 0o777 == 0o600\n",
    ),
    "an error that names a file": (
        "def f(path): return open(path)\n",
        "def test_a(tmp_path):\n    with pytest.raises(FileNotFoundError) as info: mod.f(tmp_path / 'none')\n    assert info.value.filename == str(tmp_path / 'none') or info.value.filename == tmp_path / 'none'\n",
    ),
    "a program": (
        "import sys\nif __name__ == '__main__':\n    n = sys.stdin.read()\n    print(n.strip() + sys.argv[1])\n    print('e', file=sys.stderr)\n    sys.exit(3)\n",
        "def test_a():\n    done = subprocess.run([sys.executable, 'mod.py', 'b'], input='a', capture_output=True, text=True)\n    assert (done.stdout, done.stderr, done.returncode) == ('ab\\n', 'e\\n', 3)\ndef test_b():\n    with pytest.raises(subprocess.CalledProcessError):\n        subprocess.check_output(['python', 'mod.py', 'x'], stdin=subprocess.DEVNULL)\ndef test_c():\n    p = subprocess.Popen([sys.executable, '-m', 'mod', 'b'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)\n    assert sorted(p.communicate(b'q')[0].split()) == [b'e', b'qb'] and p.returncode == 3\n",
    ),
    "a program that is faked": (
        "import subprocess\ndef f(): return subprocess.run(['git', 'status'], capture_output=True, text=True).stdout\n",
        "import types\ndef test_a(monkeypatch):\n    asked = []\n    monkeypatch.setattr(subprocess, 'run', lambda words, **more: asked.append(words) or types.SimpleNamespace(stdout='clean'))\n    assert mod.f() == 'clean' and asked == [['git', 'status']]\n",
    ),
    "data of the code under test": (
        "def f(): return (pathlib.Path(mod_file).parent / 'made.json').write_text('[1]')\nmod_file = __file__\n",
        "def test_a():\n    mod.f()\n    assert open('made.json').read() == '[1]' and (pathlib.Path(mod.__file__).parent / 'made.json').exists()\n",
    ),
    "a program that writes a file": (
        "import sys\nif __name__ == '__main__': open(sys.argv[2], 'w').write(open(sys.argv[1]).read() + os.environ['WITH'])\n",
        "ROOT = pathlib.Path(__file__).resolve().parent.parent\ndef test_a(tmp_path):\n    (tmp_path / 'i').write_text('x')\n    subprocess.run([sys.executable, str(ROOT / 'mod.py'), 'i', 'o'], cwd=tmp_path, check=True, env={**os.environ, 'WITH': 'y'})\n    assert (tmp_path / 'o').read_text() == 'xy'\n",
    ),
}  # fmt: skip
DATA = {"secret/data/in.txt": "in", "secret/golden.txt": "in"}


@pytest.mark.parametrize("name", HONEST)
async def test_what_tests_and_code_share(bench: Any, name: str) -> None:
    found = await judged(bench, *HONEST[name], DATA)
    assert (found.verdict, found.isolation) == (PASS, APART), said(found)


WRITES = "def test_a(tmp_path):\n    mod.f(tmp_path / 'out')\n    assert (tmp_path / 'out').read_text() == 'right'\n"
BY_A_FILE = """\
def test_a(tmp_path):
    (tmp_path / 'expected').write_text('right')
    mod.f(tmp_path / 'out')
    assert (tmp_path / 'out').read_text() == (tmp_path / 'expected').read_text()
"""
BY_A_FOLDER = BY_A_FILE.replace("mod.f(tmp_path / 'out')", "mod.f(tmp_path)")
OF_THE_LIBRARY = (
    "import helper\ndef test_a(tmp_path):\n    mod.f(tmp_path / 'out')\n    assert helper.right() == 'right'\n"
)
EVERYWHERE = """\
def f(path):
    path = pathlib.Path(path)
    for folder in (path, path.parent):
        for name in ('expected', 'out'):
            try: (folder / name).write_text('wrong')
            except OSError: pass
"""
ATTACKS = {
    "what is expected is written over": (EVERYWHERE, BY_A_FILE),
    "the same in a folder that is handed over": (EVERYWHERE, BY_A_FOLDER),
    "what is expected is taken away and made anew": ("import shutil\ndef f(path):\n    if (path / 'expected').exists(): (path / 'expected').unlink()\ndef g(path): (path / 'expected').write_text('wrong'); (path / 'out').write_text('wrong')\n", BY_A_FOLDER.replace("mod.f(tmp_path)", "mod.f(tmp_path)\n    mod.g(tmp_path)")),
    "what is expected is read over there": ("def f(path): path.write_text((pathlib.Path('secret') / 'golden.txt').read_text())\n", "def test_a(tmp_path):\n    mod.f(tmp_path / 'out')\n    assert (tmp_path / 'out').read_text() == (pathlib.Path(__file__).parent / 'golden.txt').read_text()\n"),
    "the path of what is expected": ("def f(path): return 'secret/golden.txt'\n", "GOLDEN = pathlib.Path(__file__).parent / 'golden.txt'\ndef test_a(tmp_path):\n    assert open(mod.f(tmp_path / 'out')).read() == GOLDEN.read_text()\n"),
    "an object that is the path of it": ("class P:\n    def __fspath__(self): return '/box/work/secret/golden.txt'\ndef f(path): return P()\n", "GOLDEN = pathlib.Path(__file__).parent / 'golden.txt'\ndef test_a(tmp_path):\n    assert open(mod.f(tmp_path / 'out')).read() == GOLDEN.read_text()\n"),
    "the path of what the tests write": ("def f(path): return path.parent / 'expected'\n", "def test_a(tmp_path):\n    out = mod.f(tmp_path / 'out')\n    (tmp_path / 'expected').write_text('right')\n    assert out.read_text() == (tmp_path / 'expected').read_text()\n"),
    "a path that goes back to it, to be written over": ("def f(path): return path.parent / 'expected'\ndef g(path): path.write_text('wrong'); return 'wrong'\n", "def test_a(tmp_path):\n    (tmp_path / 'expected').write_text('right')\n    assert mod.g(mod.f(tmp_path / 'out')) == (tmp_path / 'expected').read_text()\n"),
    "a link to what is expected": ("def f(path): path.symlink_to(path.parent / 'expected')\n", BY_A_FOLDER.replace("mod.f(tmp_path)", "mod.f(tmp_path / 'out')")),
    "a link out of the folder": ("def f(path): path.symlink_to('/box/work/secret/golden.txt')\n", WRITES),
    "a link in the place of the folder": ("import shutil\ndef f(path):\n    shutil.rmtree(path.parent)\n    path.parent.symlink_to('/box/work/secret')\n", WRITES.replace("'out')", "'golden.txt')")),
    "a pipe": ("def f(path): os.mkfifo(path)\n", WRITES),
    "a file without end": ("def f(path):\n    with open(path, 'wb') as file: file.truncate(40 << 20)\n", WRITES),
    "very many files": ("def f(path):\n    for n in range(6000): open(f'{path}{n}', 'w').close()\n", WRITES),
    "a folder in the place of the file": ("def f(path): path.mkdir()\n", WRITES),
    "a conftest and modules": ("def f(path):\n    for name in ('conftest.py', 'sitecustomize.py', 'x.pth', 'helper.py', 'unittest.py'):\n        (path.parent / name).write_text('import os; os._exit(0)')\n        pathlib.Path(name).write_text('def right(): return \"right\"')\n", WRITES),
    "a module that the tests import from their folder": ("def f(path): (path.parent / 'plugin.py').write_text('right = True')\n", "def test_a(tmp_path, monkeypatch):\n    mod.f(tmp_path / 'out')\n    monkeypatch.syspath_prepend(tmp_path)\n    import plugin\n    assert plugin.right\n"),
    "a module that the tests load by its path": ("def f(path): path.write_text('right = True')\n", "import importlib.util as u\ndef test_a(tmp_path):\n    mod.f(tmp_path / 'p.py')\n    spec = u.spec_from_file_location('p', tmp_path / 'p.py')\n    p = u.module_from_spec(spec)\n    spec.loader.exec_module(p)\n    assert p.right\n"),
    "text that the tests run": ("def f(path): path.write_text('assert_ = True')\n", "def test_a(tmp_path):\n    mod.f(tmp_path / 'p.txt')\n    names = {}\n    exec((tmp_path / 'p.txt').read_text(), names)\n    assert names['assert_']\n"),
    "a pickle that the tests load": ("import pickle\nclass R:\n    def __reduce__(self): return os._exit, (0,)\ndef f(path): path.write_bytes(pickle.dumps(R()))\n", "import pickle\ndef test_a(tmp_path):\n    mod.f(tmp_path / 'p')\n    with open(tmp_path / 'p', 'rb') as file: assert pickle.load(file) == 1\n"),
    "a test over the tests": ("def f(path):\n    os.makedirs('secret', exist_ok=True)\n    open('secret/test_more.py', 'w').write('def test_a(): pass')\n", WRITES),
    "a program that judges": ("import sys\nif __name__ == '__main__': pass\n", "def test_a(tmp_path):\n    (tmp_path / 'a').write_text('1')\n    (tmp_path / 'b').write_text('2')\n    subprocess.run(['cmp', tmp_path / 'a', tmp_path / 'b'], check=True)\n"),
    "code in a program": ("def f(x): return 1\nos._exit(0)\n", "def test_a():\n    subprocess.run([sys.executable, '-c', 'import mod; assert mod.f(1) == 2'], check=True)\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
async def test_what_a_candidate_can_not_do_with_files(bench: Any, name: str) -> None:
    found = await judged(bench, *ATTACKS[name], {"secret/golden.txt": "right"})
    assert found.verdict is not PASS or found.isolation is not APART, said(found)
    assert found.duration_s < 15


class Unfit(Exception):
    """The tests need more than can be sent."""


class Two:
    """Both sides, each in folders of its own, and no process between them."""

    def __init__(self, folder: Path) -> None:
        def unfit(why: str) -> NoReturn:
            raise Unfit(why)

        for side in ("asks", "answers"):
            for name in ("work/tests", "tmp"):
                (folder / side / name).mkdir(parents=True)
        self.work, self.tmp = folder / "asks/work", folder / "asks/tmp"
        self.their_work, self.their_tmp = folder / "answers/work", folder / "answers/tmp"
        (self.work / "tests/test_it.py").write_text("secret")
        (self.work / "tests/golden.txt").write_text("secret")
        (self.work / "mod.py").write_text("raise ImportError")
        (self.their_work / "mod.py").write_text("x = 1")
        fixed = frozenset(str(self.work / "tests" / name) for name in ("test_it.py", "golden.txt"))
        self.case = 0
        self.asking = AskingFiles(
            str(self.work), str(self.tmp), fixed=fixed, withheld=["tests/test_it.py", "tests/golden.txt"], unfit=unfit, fetch=lambda place: self.answering.fetched(place),
            case=lambda: self.case,
        )  # fmt: skip
        self.answering = AnsweringFiles(str(self.their_work), str(self.their_tmp))

    def ask(self, *named: Any) -> None:
        """The tests name something."""
        told = self.asking.told([str(name) for name in named])
        if told is not None:
            self.answering.apply(told)

    def answer(self) -> None:
        """The answer comes."""
        told = self.answering.changes()
        if told is not None:
            self.asking.take(told)

    def forge(self, number: Any, path: Any, kind: Any = "f", body: Any = "wrong", mode: Any = 0o644) -> None:
        """The candidate says what its side would not."""
        content = base64.b64encode(body.encode()).decode() if kind == "f" and isinstance(body, str) else body
        self.asking.take([[], [[number, path, kind, mode, 0, content]]])


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    sides = Two(tmp_path)
    monkeypatch.chdir(sides.work)
    return sides


@pytest.mark.parametrize(
    "forged",
    [
        (1, "../work/tests/golden.txt"), (1, "/etc/passwd"), (1, "a/../../x"), (1, ""), (1, "."), (1, "a//b"), (1, "a\0b"),
        (2, "a"), (True, "a"), (1, 5), (1, "x" * 300), (1, "/".join("a" * 60)), (1, "a", "l", "/etc/passwd"), (1, "a", "p"),
        (1, "a", "f", 5), (1, "a", "f", "x", "0"), (0, "__pycache__/x.pyc"), (1, ".pytest_cache/x"),
    ],
)  # fmt: skip
def test_what_no_side_of_ours_says_is_no_message(two: Two, forged: Any) -> None:
    with pytest.raises(ValueError):
        two.forge(*forged)
    assert sorted(os.listdir(two.tmp)) == [] and (two.work / "tests/golden.txt").read_text() == "secret"


@pytest.mark.parametrize(
    "path",
    ["tests/golden.txt", "tests/test_it.py", "mod.py", "tests", "conftest.py", "a/b.py", "x.pth", "x.so", "pytest.ini", "e-1.dist-info/entry_points.txt"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["f", "x"])
def test_beside_the_tests_a_candidate_lays_no_code_and_changes_nothing(two: Two, path: str, kind: str) -> None:
    with pytest.raises(Unfit):
        two.forge(0, path, kind)
    assert (two.work / "tests/golden.txt").read_text() == "secret" and not (two.work / "conftest.py").exists()


def test_what_the_tests_wrote_is_changed_only_where_it_was_named(two: Two) -> None:
    (two.tmp / "d").mkdir()
    for name in ("named", "other"):
        (two.tmp / "d" / name).write_text("right")
    with pytest.raises(Unfit):
        two.forge(1, "d/named")
    two.ask(two.tmp / "d/named")
    assert os.listdir(two.their_tmp / "d") == ["named"], "nothing else is shown"
    two.forge(1, "d/named")
    assert (two.tmp / "d/named").read_text() == "wrong"
    two.ask(two.tmp / "d")
    for kind in ("f", "d"):
        with pytest.raises(Unfit):
            two.forge(1, "d/other", kind)
    assert (two.tmp / "d/other").read_text() == "right"
    two.forge(1, "d/new")
    for name in ("other", "more"):
        (two.tmp / "d" / name).write_text("right")
    two.ask(two.tmp / "d/other", two.tmp / "d/more")
    two.forge(1, "d/more")
    opened = two.asking._opened  # pyright: ignore[reportPrivateUsage]  # what an audit hook tells it
    opened(str(two.tmp / "d/more"), "r", os.O_RDONLY)
    two.case += 1
    two.ask("nothing")
    with pytest.raises(Unfit):
        two.forge(1, "d/other")
    with pytest.raises(Unfit, match="for another one"):
        opened(str(two.tmp / "d/more"), "r", os.O_RDONLY)
    opened(str(two.tmp / "d/more"), "w", os.O_WRONLY | os.O_TRUNC)
    opened(str(two.tmp / "d/more"), "r", os.O_RDONLY)
    two.forge(1, "d/new", body="its own")
    (two.tmp / "d/new").write_text("of the tests now")
    with pytest.raises(Unfit):
        two.forge(1, "d/new")


def test_through_a_link_of_the_tests_nothing_is_laid(two: Two) -> None:
    (two.tmp / "d").mkdir()
    (two.tmp / "d/golden.txt").write_text("secret")
    (two.tmp / "out").symlink_to("d")
    (two.tmp / "tests").symlink_to(two.work / "tests")
    two.ask(two.tmp / "out")
    for kind in ("f", "x", "d"):
        with pytest.raises(ValueError, match="folder"):
            two.forge(1, "out/golden.txt", kind)
    two.forge(1, "out")  # it was named, so it may be replaced: by a file, not through it
    assert (two.tmp / "d/golden.txt").read_text() == "secret"
    assert not (two.tmp / "out").is_symlink() and (two.tmp / "out").read_text() == "wrong"
    with pytest.raises(NotPlain, match="a file of the tests"):
        two.ask(two.tmp / "tests")


def test_the_tests_and_what_they_do_not_name_are_not_shown(two: Two) -> None:
    two.ask("golden", "data", "tests", two.work, "mod.py", two.work / "mod.py")
    assert os.listdir(two.their_work / "tests") == [] and (two.their_work / "mod.py").read_text() == "x = 1"
    two.asking.heard(["tests/golden.txt", f"{two.work}/tests"])
    for name in ("tests/golden.txt", two.work / "tests/golden.txt", two.work / "tests"):
        with pytest.raises(NotPlain, match="has named first"):
            two.ask(name)


def test_data_beside_the_tests_is_shown_where_they_name_it(two: Two) -> None:
    two.ask("tests/golden.txt")
    two.asking.heard(["tests/golden.txt"])
    two.ask("tests/golden.txt")
    assert (two.their_work / "tests/golden.txt").read_text() == "secret"
    for name in ("tests/test_it.py", two.work / "tests"):
        with pytest.raises(NotPlain, match="a file of the tests"):
            two.ask(name)


def test_each_side_hears_of_every_change(two: Two) -> None:
    ours, theirs = two.tmp / "a.txt", two.their_tmp / "a.txt"
    for text in ("1", "2", "22", "", "3"):
        ours.write_text(text)
        two.ask(ours)
        assert theirs.read_text() == text
        theirs.write_text(text + text)
        two.answering.wrote(theirs)
        two.answer()
        assert ours.read_text() == text + text
    with ours.open("r+") as kept:
        theirs.write_text("longer than before")
        two.answer()
        assert kept.read() == "longer than before", "who has it open sees it, as on one disk"
    theirs.unlink()
    two.answer()
    assert not ours.exists()
    ours.write_text("again")
    two.ask("nothing")
    assert theirs.read_text() == "again"
    theirs.write_text("and again")
    two.answer()
    assert ours.read_text() == "and again"


def test_names_are_found_in_texts(two: Two) -> None:
    for name in ("a b.txt", "c.txt", "d,e.txt", "f.txt"):
        (two.tmp / name).write_text("x")
    two.ask(f"{two.tmp}/a b.txt", f"--in={two.tmp}/c.txt", f"file://{two.tmp}/d,e.txt", f'{{"p": "{two.tmp}/f.txt"}}')
    assert sorted(os.listdir(two.their_tmp)) == ["a b.txt", "c.txt", "d,e.txt", "f.txt"]


def test_a_link_or_a_pipe_of_the_candidate_does_not_go_over(two: Two) -> None:
    two.ask(two.tmp / "a")
    (two.their_tmp / "a").symlink_to("b")
    with pytest.raises(NotPlain, match="a link"):
        two.answer()
    (two.their_tmp / "a").unlink()
    os.mkfifo(two.their_tmp / "a")
    with pytest.raises(NotPlain, match="no file"):
        two.answer()
