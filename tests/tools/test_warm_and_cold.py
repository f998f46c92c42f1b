"""Many candidates are judged as each of them is by itself, whatever the shape of the project."""

# ruff: noqa: E501  each file of a project is one string
from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import pytest

from groundwire.core._candidates import Candidate
from groundwire.core._signals import CaseResult, Observation, Verdict
from groundwire.tools import Pytest, _batches
from groundwire.tools._batches import FEW, MANY

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

PASS, FAIL = Verdict.PASS, Verdict.FAIL
BASE = "def f(x):\n    return x\n"
RIGHT = "def f(x):\n    return x + 1\n"
WRONG = "def f(x):\n    return x + 2\n"
PLAIN = "from mod import f\ndef test_a():\n    assert f(1) == 2\ndef test_b():\n    assert f(1)\n"
CASE = "import unittest\nfrom mod import f\nclass TestF(unittest.TestCase):\n"

Shape = Mapping[str, str]
SHAPES: dict[str, Shape] = {
    "plain": {"test_mod.py": PLAIN},
    "test_case": {
        "test_mod.py": CASE + "    def test_a(self):\n        self.assertEqual(f(1), 2)\n"
        "    def test_b(self):\n        self.assertTrue(f(1))\n    def test_c(self):\n        self.assertTrue(True)\n"
    },
    "test_case_fixtures": {
        "test_mod.py": CASE + "    @classmethod\n    def setUpClass(cls):\n        cls.one = 1\n"
        "    def setUp(self):\n        self.two = self.one + 1\n"
        "    def test_a(self):\n        self.assertEqual(f(self.one), self.two)\n"
        "    @unittest.skip('no')\n    def test_b(self):\n        pass\n"
        "    @unittest.expectedFailure\n    def test_c(self):\n        self.fail()\n"
    },
    "sub_test": {
        "test_mod.py": CASE + "    def test_a(self):\n        for n in range(3):\n            with self.subTest(n=n):\n"
        "                self.assertEqual(f(n), n + 1)\n    def test_b(self):\n        pass\n"
    },
    "isolated_asyncio_test_case": {
        "test_mod.py": "import unittest\nfrom mod import f\nclass TestF(unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_a(self):\n        self.assertEqual(f(1), 2)\n    async def test_b(self):\n        pass\n"
    },
    "test_case_by_another_name": {
        "base.py": "import unittest as u\nBase = u.TestCase\n",
        "test_mod.py": "from base import Base\nfrom mod import f\nclass F(Base):\n"
        "    def test_a(self):\n        self.assertEqual(f(1), 2)\n    def test_b(self):\n        pass\n",
    },
    "doctest_modules": {
        "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
        "test_mod.py": 'def test_b():\n    """\n    >>> 1 + 1\n    2\n    """\n' + PLAIN,
    },
    "doctest_text": {"docs/use.txt": ">>> from mod import f\n>>> f(1)\n2\n", "test_mod.py": PLAIN,
                     "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.txt\n"},
    "doctest_text_by_name": {"test_use.txt": ">>> from mod import f\n>>> f(1)\n2\n", "test_mod.py": PLAIN},
    "async": {
        "requirements.txt": "pytest-asyncio\n",
        "test_mod.py": "import pytest\nfrom mod import f\n@pytest.mark.asyncio\nasync def test_a():\n"
        "    assert f(1) == 2\ndef test_b():\n    pass\n",
    },
    "async_auto": {
        "pyproject.toml": '[project]\nname = "p"\nversion = "1"\ndependencies = ["pytest-asyncio"]\n'
        '[tool.pytest.ini_options]\nasyncio_mode = "auto"\n',
        "test_mod.py": "from mod import f\nasync def test_a():\n    assert f(1) == 2\nasync def test_b():\n    pass\n",
    },
    "parametrised": {
        "test_mod.py": "import pytest\nfrom mod import f\n@pytest.mark.parametrize('x', [1, 2, 3])\n"
        "@pytest.mark.parametrize('y', ['a::b', 'sp ace', 'ü'], ids=str)\ndef test_a(x, y):\n    assert f(x) == x + 1\n"
        "def test_b():\n    pass\n"
    },
    "same_names": {
        "test_mod.py": "import pytest\nfrom mod import f\n@pytest.mark.parametrize('x', [1, 2], ids=['a', 'a'])\n"
        "def test_a(x):\n    assert f(x) == 2 or x == 2\n"
    },
    "conftest_tree": {
        "conftest.py": "import pytest\n@pytest.fixture(scope='session')\ndef one():\n    return 1\n",
        "tests/conftest.py": "import pytest\n@pytest.fixture\ndef two(one):\n    return one + 1\n",
        "tests/sub/conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef three(two):\n    yield\n",
        "tests/sub/test_mod.py": "from mod import f\ndef test_a(one, two):\n    assert f(one) == two\n"
        "def test_b():\n    pass\n",
        "pytest.ini": "[pytest]\npythonpath = .\n",
    },
    "importlib": {
        "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\npythonpath = .\n",
        "tests/a/test_mod.py": PLAIN, "tests/b/test_mod.py": PLAIN,
    },
    "append": {"pytest.ini": "[pytest]\naddopts = --import-mode=append\npythonpath = .\n", "tests/test_mod.py": PLAIN},
    "strict": {
        "pytest.ini": "[pytest]\naddopts = --strict-markers --strict-config\nmarkers =\n    fast: quick\n"
        "xfail_strict = true\n",
        "test_mod.py": "import pytest\nfrom mod import f\n@pytest.mark.fast\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    pass\n",
    },
    "in_package": {
        "pack/__init__.py": "", "pack/core.py": "from mod import f\n", "pack/tests/__init__.py": "",
        "pack/tests/test_core.py": "from ..core import f\ndef test_a():\n    assert f(1) == 2\ndef test_b():\n    pass\n",
    },
    "set_up_by_name": {
        "test_mod.py": "from mod import f\ndef setup_module(module):\n    module.one = 1\ndef teardown_module(module):\n"
        "    del module.one\nclass TestF:\n    def setup_method(self, method):\n        self.two = 2\n"
        "    def test_a(self):\n        assert f(one) == self.two\n    def test_b(self):\n        pass\n"
    },
    "scopes": {
        "test_mod.py": "import pytest\nfrom mod import f\nlog = []\n@pytest.fixture(scope='module', params=[1, 2])\n"
        "def one(request):\n    log.append(request.param)\n    yield request.param\n"
        "@pytest.fixture(scope='class')\ndef two(one):\n    return one + 1\nclass TestF:\n"
        "    def test_a(self, one, two):\n        assert f(one) == two\n    def test_b(self, one):\n        assert log\n"
    },
    "xfail_and_skip": {
        "test_mod.py": "import pytest\nfrom mod import f\n@pytest.mark.xfail\ndef test_a():\n    assert f(1) == 5\n"
        "@pytest.mark.skipif(True, reason='no')\ndef test_b():\n    pass\ndef test_c():\n    assert f(1) == 2\n"
        "def test_d():\n    pytest.skip('here')\n@pytest.mark.xfail(raises=ValueError)\ndef test_e():\n"
        "    raise ValueError\n"
    },
    "warnings_are_errors": {
        "pytest.ini": "[pytest]\nfilterwarnings = error\n",
        "test_mod.py": "import warnings, pytest\nfrom mod import f\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    with pytest.warns(UserWarning):\n        warnings.warn('w')\n",
    },
    "warnings_in_threads": {
        "pytest.ini": "[pytest]\nfilterwarnings = error\n",
        "test_mod.py": "import threading\nfrom mod import f\ndef test_a():\n"
        "    t = threading.Thread(target=lambda: 1 // (f(1) == 2))\n    t.start()\n    t.join()\ndef test_b():\n    pass\n",
    },
    "markers": {
        "pytest.ini": "[pytest]\nmarkers =\n    slow: slow\naddopts = -m 'not slow'\n",
        "test_mod.py": PLAIN + "import pytest\n@pytest.mark.slow\ndef test_c():\n    assert 0\n",
    },
    "plugin_in_conftest": {
        "conftest.py": "pytest_plugins = ['helping']\n",
        "helping.py": "import pytest\n@pytest.fixture\ndef two():\n    return 2\n"
        "def pytest_collection_modifyitems(items):\n    items.reverse()\n",
        "test_mod.py": "from mod import f\ndef test_a(two):\n    assert f(1) == two\ndef test_b():\n    pass\n",
    },
    "plugin_that_looks_for_plugins": {
        "conftest.py": "def pytest_configure(config):\n    name = 'rec' + 'warn'\n"
        "    assert config.pluginmanager.hasplugin(name), 'no ' + name\n",
        "test_mod.py": PLAIN,
    },
    "fixture_by_a_made_up_name": {
        "test_mod.py": "from mod import f\ndef test_a(request):\n    assert request.getfixturevalue('monkey' 'patch')\n"
        "    assert f(1) == 2\ndef test_b(request):\n    assert request.getfixturevalue('tmp' + '_path')\n"
    },
    "python_files": {
        "pytest.ini": "[pytest]\npython_files = check_*.py\npython_functions = check_*\npython_classes = Check*\n",
        "tests/conftest.py": "", "tests/check_mod.py": PLAIN.replace("test_", "check_"), "conftest.py": "",
    },
    "src": {
        "pyproject.toml": '[project]\nname = "pack"\nversion = "1"\n',
        "src/pack/__init__.py": "from mod import f\n",
        "tests/test_pack.py": PLAIN.replace("from mod", "from pack"), "conftest.py": "",
    },
    "namespace": {
        "space/one/a.py": "from mod import f\n", "pytest.ini": "[pytest]\npythonpath = .\n",
        "tests/test_a.py": PLAIN.replace("from mod", "from space.one.a"),
    },
    "chdir": {
        "test_mod.py": "import os\nfrom mod import f\ndef test_a(tmp_path):\n    os.chdir(tmp_path)\n"
        "    open('x', 'w').close()\n    assert f(1) == 2\ndef test_b():\n    import json.decoder\n"
    },
    "tmp_path": {
        "test_mod.py": "from mod import f\ndef test_a(tmp_path, tmp_path_factory):\n"
        "    (tmp_path / 'x').write_text(str(f(1)))\n    assert (tmp_path / 'x').read_text() == '2'\n"
        "def test_b(tmpdir):\n    tmpdir.join('x').write('y')\n"
    },
    "capsys": {
        "test_mod.py": "from mod import f\ndef test_a(capsys):\n    print(f(1))\n"
        "    assert capsys.readouterr().out == '2\\n'\ndef test_b(capfd):\n    import os\n    os.write(1, b'x')\n"
        "    assert capfd.readouterr().out == 'x'\n"
    },
    "monkeypatch": {
        "test_mod.py": "import mod\ndef test_a(monkeypatch):\n    monkeypatch.setenv('X', '1')\n    assert mod.f(1) == 2\n"
        "def test_b(monkeypatch):\n    monkeypatch.setattr(mod, 'f', len)\n    assert mod.f('a') == 1\n"
    },
    "caplog": {
        "test_mod.py": "import logging\nfrom mod import f\ndef test_a(caplog):\n    logging.warning('%d', f(1))\n"
        "    assert caplog.messages == ['2']\ndef test_b():\n    pass\n"
    },
    "recwarn": {
        "test_mod.py": "import warnings\nfrom mod import f\ndef test_a(recwarn):\n    warnings.warn(str(f(1)))\n"
        "    assert str(recwarn.pop().message) == '2'\ndef test_b():\n    pass\n"
    },
    "pytester": {
        "conftest.py": "pytest_plugins = ['pytester']\n",
        "test_mod.py": "from mod import f\ndef test_a(pytester):\n    pytester.makepyfile('def test_x(): pass')\n"
        "    pytester.runpytest_inprocess().assert_outcomes(passed=f(0))\ndef test_b():\n    pass\n",
    },
    "order_matters": {
        "test_mod.py": "from mod import f\nseen = []\ndef test_a():\n    seen.append(1)\ndef test_b():\n    assert seen\n"
        "    assert f(1) == 2\ndef test_c():\n    seen.clear()\n"
    },
    "order_matters_once_it_is_right": {
        "test_mod.py": "from mod import f\nseen = []\ndef test_a():\n    assert not seen\ndef test_b():\n    assert f(1) == 2\n    seen.append(2)\n"
    },
    "first_failure_ends_it": {"pytest.ini": "[pytest]\naddopts = -x\n", "test_mod.py": PLAIN},
    "class_state": {
        "test_mod.py": "from mod import f\nclass TestF:\n    calls = 0\n    def test_a(self):\n"
        "        type(self).calls += 1\n    def test_b(self):\n        assert f(1) == 2\n    def test_c(self):\n"
        "        assert self.calls == 1\n"
    },
    "generated": {
        "conftest.py": "def pytest_generate_tests(metafunc):\n    if 'n' in metafunc.fixturenames:\n"
        "        metafunc.parametrize('n', range(3))\n",
        "test_mod.py": "from mod import f\ndef test_a(n):\n    assert f(n) == n + 1\ndef test_b():\n    pass\n",
    },
    "data_files": {
        "tests/data.json": '{"1": 2}', "pytest.ini": "[pytest]\npythonpath = .\n",
        "tests/test_mod.py": "import json, pathlib\nfrom mod import f\n"
        "DATA = json.loads((pathlib.Path(__file__).parent / 'data.json').read_text())\ndef test_a():\n"
        "    assert all(f(int(k)) == v for k, v in DATA.items())\ndef test_b():\n    pass\n",
    },
    "mock": {
        "test_mod.py": "from unittest import mock\nimport mod\ndef test_a():\n    with mock.patch('mod.f', wraps=mod.f) as m:\n"
        "        assert mod.f(1) == 2\n    m.assert_called_once()\ndef test_b():\n    pass\n"
    },
    "conftest_that_imports_the_project": {
        "conftest.py": "import mod, pytest\n@pytest.fixture\ndef two():\n    return mod.f(1)\n",
        "test_mod.py": "def test_a(two):\n    assert two == 2\ndef test_b():\n    pass\n",
    },
    "conftest_with_hooks": {
        "conftest.py": "import os, pytest\nfrom mod import f\nstarted = os.getpid()\ndef pytest_addoption(parser):\n"
        "    parser.addoption('--times', type=int, default=1)\ndef pytest_configure(config):\n"
        "    config.value = f(config.getoption('--times'))\ndef pytest_sessionstart(session):\n"
        "    session.config.started = os.getpid()\ndef pytest_report_header(config):\n    return 'a header'\n"
        "@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_call(item):\n    assert item.config.started == started\n"
        "    yield\n@pytest.fixture\ndef value(pytestconfig):\n    return pytestconfig.value\n",
        "test_mod.py": "import os\ndef test_a(value, pytestconfig):\n    assert value == 2\ndef test_b(pytestconfig):\n"
        "    assert pytestconfig.started == os.getpid()\n",
    },
    "conftest_with_hooks_of_the_cases": {
        "conftest.py": "import pytest\nfrom mod import f\ndef pytest_ignore_collect(collection_path, config):\n"
        "    return collection_path.name == 'test_not.py' or None\n@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_call(item):\n    item.seen = f(1)\n    yield\n"
        "@pytest.fixture(autouse=True)\ndef value():\n    yield f(1)\n",
        "tests/conftest.py": "collect_ignore = ['test_nor.py']\n",
        "test_not.py": "1 / 0\n", "tests/test_nor.py": "1 / 0\n",
        "test_mod.py": "def test_a(value):\n    assert value == 2\ndef test_b(request):\n    assert request.node.seen\n",
    },
    "plugin_with_state": {
        "requirements.txt": "pytest-asyncio\nhypothesis\n",
        "conftest.py": "import pytest\nclass Counting:\n    seen = 0\n    def pytest_runtest_setup(self, item):\n"
        "        self.seen += 1\ndef pytest_configure(config):\n    config.pluginmanager.register(Counting(), 'counting')\n",
        "test_mod.py": "from mod import f\ndef test_a(pytestconfig):\n    assert f(1) == 2\n"
        "    assert pytestconfig.pluginmanager.getplugin('counting').seen\ndef test_b():\n    pass\n",
    },
    "plugin_by_name": {
        "tests/helping.py": "import pytest, random\nstate = random.random()\n@pytest.fixture\ndef two():\n    return 2\n",
        "pytest.ini": "[pytest]\naddopts = -p helping\n",
        "test_mod.py": "from mod import f\ndef test_a(two):\n    assert f(1) == two\ndef test_b():\n    pass\n",
        "command": "PYTHONPATH=tests python -m pytest -q",
    },
    "setup_cfg": {"setup.cfg": "[tool:pytest]\npython_functions = test_* also_*\n",
                  "test_mod.py": PLAIN + "def also_c():\n    pass\n"},
    "tox_ini": {"tox.ini": "[pytest]\npython_functions = test_* also_*\n",
                "test_mod.py": PLAIN + "def also_c():\n    pass\n"},
    "assertions_of_a_helper": {
        "tests/conftest.py": "import pytest\npytest.register_assert_rewrite('helping')\n",
        "tests/helping.py": "def check(x, y):\n    assert x == y\n",
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "tests/test_mod.py": "from helping import check\nfrom mod import f\ndef test_a():\n    check(f(1), 2)\n"
        "def test_b():\n    import pytest\n    with pytest.raises(AssertionError, match='1 == 2'):\n        check(1, 2)\n",
    },
    "seeds": {
        "test_mod.py": "import os, random, tempfile, uuid\nfrom mod import f\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    assert len({random.random(), random.random(), uuid.uuid4(), tempfile.mkdtemp()}) == 4\n"
        "def test_c():\n    assert hash('a') == hash('a') and os.environ['PYTHONHASHSEED'] == '0'\n"
    },
    "import_path": {
        "test_mod.py": "import os, sys\nfrom mod import f\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
        "def test_a():\n    assert f(1) == 2\ndef test_b():\n    assert sys.path[0] == HERE and sys.path.count('') == 0\n"
        "def test_c():\n    assert [p for p in sys.path if 'support' in p] == [] and os.getcwd() == HERE\n"
    },
    "variables": {
        "test_mod.py": "import os\nfrom mod import f\nSEEN = dict(os.environ)\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    assert SEEN['MODE'] == 'fast' and 'PYTEST_CURRENT_TEST' not in SEEN\n"
        "def test_c():\n    assert [n for n in SEEN if n.startswith('GROUNDWIRE')] == []\n",
        "command": "MODE=fast python -m pytest -q",
    },
    "processes_and_threads": {
        "test_mod.py": "import os, subprocess, sys, threading\nfrom mod import f\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    assert threading.active_count() == 1 and len(os.listdir('/proc/self/task')) == 1\n"
        "def test_c():\n    assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout == b'1\\n'\n"
        "def test_d():\n    pid = os.fork()\n    if not pid:\n        os._exit(3)\n    assert os.waitpid(pid, 0)[1] >> 8 == 3\n"
    },
    "thread_of_a_conftest": {
        "conftest.py": "import threading\nbell = threading.Event()\nwaiting = threading.Thread(target=bell.wait, daemon=True)\n"
        "waiting.start()\n",
        "test_mod.py": "import conftest\nfrom mod import f\ndef test_a():\n    assert f(1) == 2\ndef test_b():\n"
        "    assert conftest.waiting.is_alive()\n    conftest.bell.set()\n    conftest.waiting.join(5)\n",
    },
    "coverage_and_workers": {
        "requirements.txt": "pytest-xdist\n", "pytest.ini": "[pytest]\naddopts = -n 2\n", "test_mod.py": PLAIN,
    },
    "without_a_plugin": {"pytest.ini": "[pytest]\naddopts = -p no:debugging -p no:capture\n", "test_mod.py": PLAIN},
    "no_capture": {
        "pytest.ini": "[pytest]\naddopts = -s\n",
        "test_mod.py": "import sys\nfrom mod import f\ndef test_a():\n    print('seen')\n    assert f(1) == 2\n"
        "def test_b():\n    assert sys.stdin.read() == ''\n"
    },
    "log_file": {
        "pytest.ini": "[pytest]\nlog_file = run.log\nlog_cli = true\n",
        "test_mod.py": "import logging, pathlib\nfrom mod import f\ndef test_a():\n    logging.warning('here')\n"
        "    assert f(1) == 2\ndef test_b():\n    logging.warning('there')\n    assert pathlib.Path('run.log').exists()\n"
    },
    "warning_of_the_compiler": {
        "pytest.ini": "[pytest]\nfilterwarnings = error\n    ignore:invalid escape\n",
        "text.py": "PATTERN = '\\d'\n",
        "test_mod.py": "import text\nfrom mod import f\nPATTERN = '\\d'\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    assert text.PATTERN == PATTERN\n"
    },
    "names_of_the_runner": {
        "recorder.py": "x = 1\n", "child.py": "x = 2\n", "server.py": "x = 3\n",
        "test_mod.py": "import child, recorder, server\nfrom mod import f\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    assert recorder.x + child.x + server.x == 6\n"
    },
    "add_options": {"test_mod.py": PLAIN, "command": "PYTEST_ADDOPTS='-p pytester' python -m pytest -q -- test_mod.py"},
}  # fmt: skip


def cases(seen: Observation) -> dict[str, CaseResult]:
    return {case.id: case.result for case in seen.evidence.cases}


NARROW = (
    "test_case", "sub_test", "doctest_modules", "doctest_text", "parametrised", "same_names", "conftest_tree",
    "importlib", "in_package", "scopes", "markers", "add_options",
)  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
async def test_a_batch_agrees_with_each_candidate_by_itself(
    bench: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they are so many that they meet the cases alone that failed on the base tree."""
    files = dict(SHAPES[name])
    command = shlex.split(files.pop("command", "")) or ("python", "-m", "pytest", "-q")
    task = bench.task({"mod.py": BASE, **files}, command=command)
    tool = Pytest()
    base = await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    assert base.verdict is FAIL, base.evidence
    # the first and the last are the base tree with a comment, which is judged by itself once
    some = [
        Candidate(task.tree.digest, {"mod.py": s.encode()}) for s in (BASE + "#\n", "def f(x:\n", RIGHT, BASE + "##\n")
    ]
    batches: list[list[Observation]] = []
    for many in (MANY, FEW) if name in NARROW else (MANY,):
        monkeypatch.setattr(_batches, "MANY", many)
        async with aclosing(tool.judge_many(some, task, bench.context())) as observations:
            batches.append([o async for o in observations])
        assert [o.verdict for o in batches[-1]] == [FAIL, FAIL, PASS, FAIL], [o.evidence.detail for o in batches[-1]]
        assert many == MANY or "no others ran" in batches[-1][3].evidence.detail
    broken, right = [await tool.judge(candidate, task, bench.context()) for candidate in some[1:3]]
    for seen in batches:
        for alone, together in zip((base, broken, right, base), seen, strict=True):
            assert (alone.verdict, alone.reason, alone.origin) == (together.verdict, together.reason, together.origin)
            assert cases(together).items() <= cases(alone).items()
            assert together.partial or cases(together) == cases(alone)


async def test_a_base_tree_that_ends_otherwise_in_a_fork_server_is_judged_cold(bench: Any) -> None:
    files = {
        "mod.py": BASE,
        "test_mod.py": PLAIN + "def test_c():\n    import sys\n    assert 'sqlite3' not in sys.modules\n"
        "def test_d():\n    import sqlite3\n",
    }
    task = bench.task(files)
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    some = [Candidate(task.tree.digest, {"mod.py": s.encode()}) for s in (WRONG, "def f(x:\n", RIGHT, BASE + "#\n")]
    async with aclosing(tool.judge_many(some, task, bench.context())) as observations:
        many = [o async for o in observations]
    assert [o.verdict for o in many] == [FAIL, FAIL, PASS, FAIL], [o.evidence.detail for o in many]
    assert {o.evidence.note for o in many} == set(bench.said)
    (said,) = bench.said
    assert "from scratch" in said and "test_mod.py::test_c: failed at test_mod.py:8, by itself passed" in said
