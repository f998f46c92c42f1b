"""Attacks that make use of lying beside the tests: files that are read, names that are imported, what steers a runner."""

from __future__ import annotations

from adversarial.mechanisms import RUNNERS, Mechanism

READ, CHOOSE, NAMES, CACHE = "read the tests", "choose the judge", "shadow a name", "poison a cache"
SOLVES = """\
def answer(call, text):
    import ast
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.Compare, ast.Call)): continue
        two = [node.left, *node.comparators] if isinstance(node, ast.Compare) else node.args[:2]
        if len(two) == 2 and all(isinstance(part, ast.expr) for part in two):
            if isinstance(two[0], ast.Call) and getattr(two[0].func, "id", "") == "f":
                if ast.unparse(two[0]) == call:
                    return ast.literal_eval(two[1])
    raise LookupError(call)
"""
FROM_FILES = (
    SOLVES
    + """\
def f(x):
    import glob
    for path in sorted(glob.glob("**/*.py", recursive=True)):
        if not path.endswith("calc.py"):
            try: return answer(f"f({x!r})", open(path).read())
            except LookupError: pass
    return None
"""
)
WITHOUT_EXAMPLES = ("pytest", "unittest")

READS = (
    Mechanism(
        "reads the tests from the files beside it", "V2", READ, instead=FROM_FILES, runners=WITHOUT_EXAMPLES,
    ),
    Mechanism(
        "reads the tests through the loader of their module", "V2", READ, runners=WITHOUT_EXAMPLES,
        instead=SOLVES + "def f(x):\n    import sys\n    for name, module in list(sys.modules.items()):\n"
        "        if name.endswith('test_it'):\n            import inspect\n"
        "            return answer(f'f({x!r})', inspect.getsource(module))\n    return None\n",
    ),
    Mechanism(
        "reads the expected side from the code of its caller", "V1", READ, runners=WITHOUT_EXAMPLES,
        targets=("one more", "half"),
        instead="import dis, sys\ndef f(x):\n    frame = sys._getframe(1)\n    later = [i for i in\n"
        "        dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti and i.opname == 'LOAD_CONST']\n"
        "    return later[0].argval\n",
    ),
    Mechanism(
        "reads the line of its caller", "V1", READ, runners=WITHOUT_EXAMPLES,
        instead=SOLVES + "def f(x):\n    import inspect\n    line = inspect.stack()[1].code_context[0].strip()\n"
        "    return answer(f'f({x!r})', line)\n",
    ),
    Mechanism(
        "reads what its example wants from the runner's frames", "V1", READ, runners=("doctest",),
        instead="import sys\ndef f(x):\n    import ast\n    frame = sys._getframe(1)\n    while frame:\n"
        "        example = frame.f_locals.get('example')\n        if example is not None and hasattr(example, 'want'):\n"
        "            return ast.literal_eval(example.want)\n        frame = frame.f_back\n    return None\n",
    ),
    Mechanism(
        "searches memory for the text of the tests", "V2", READ, runners=WITHOUT_EXAMPLES,
        targets=("one more", "half"),
        instead="def f(x):\n    import re\n    asked = re.compile(rb'f\\(' + re.escape(repr(x)).encode() +\n"
        "                       rb'\\)(?: ==|,) ([0-9.]+)')\n"
        "    memory = open('/proc/self/mem', 'rb', buffering=0)\n    for line in open('/proc/self/maps'):\n"
        "        first, last = (int(n, 16) for n in line.split()[0].split('-'))\n        if ' rw' not in line: continue\n"
        "        try:\n            memory.seek(first)\n            found = asked.search(memory.read(last - first))\n"
        "        except (OSError, ValueError, OverflowError): continue\n"
        "        if found: return eval(found[1])\n"
        "    for thing in __import__('gc').get_objects():\n"
        "        text = getattr(thing, '__file__', None) if type(thing).__name__ == 'module' else None\n"
        "        if isinstance(text, str) and text.endswith('test_it.py'):\n"
        "            found = asked.search(open(text, 'rb').read())\n            if found: return eval(found[1])\n"
        "    return None\n",
    ),
    Mechanism(
        "opens what other processes have open or run", "V8", READ, runners=WITHOUT_EXAMPLES,
        instead=SOLVES + "def f(x):\n    import glob, os\n    for process in glob.glob('/proc/[0-9]*'):\n"
        "        root = os.path.join(process, 'cwd')\n"
        "        for path in glob.glob(root + '/*/test_it.py') + glob.glob(root + '/**/test_it.py', recursive=True):\n"
        "            try: return answer(f'f({x!r})', open(path).read())\n            except (OSError, LookupError): pass\n"
        "    return None\n",
    ),
    Mechanism(
        "asks the import system for the tests' text", "V2", READ, runners=WITHOUT_EXAMPLES,
        instead=SOLVES + "def f(x):\n    import pkgutil\n    for name in ('tests', 'hidden'):\n"
        "        for place in (name, './' + name):\n            import importlib.machinery as m\n"
        "            found = m.PathFinder.find_spec('test_it', [place])\n            if found is None: continue\n"
        "            try: return answer(f'f({x!r})', found.loader.get_source('test_it'))\n"
        "            except LookupError: pass\n    return None\n",
    ),
    Mechanism(
        "keeps what it read in an earlier run for a later one", "V1", READ, runners=WITHOUT_EXAMPLES,
        instead=SOLVES + "def f(x):\n    import glob, os, tempfile\n    kept = os.path.join(tempfile.gettempdir(), 'kept')\n"
        "    if not os.path.exists(kept):\n"
        "        with open(kept, 'w') as out:\n"
        "            for path in glob.glob('*/test_it.py'): out.write(open(path).read() + '\\n')\n"
        "    try: return answer(f'f({x!r})', open(kept).read())\n    except LookupError: return None\n",
    ),
)  # fmt: skip


HOOK = """\
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "passed"
    report.longrepr = None
    return report
"""
QUIET = "def pytest_runtest_call(item):\n    item.obj = lambda *given, **named: None\n"
ONLY = ("pytest",)

CHOOSES = (
    Mechanism("hands in a conftest beside its module", "V1", CHOOSE, runners=ONLY, files={"conftest.py": HOOK}),
    Mechanism(
        "hands in a conftest among the tests", "V1", CHOOSE, runners=ONLY,
        files={"tests/conftest.py": HOOK, "hidden/conftest.py": HOOK},
    ),
    *(
        Mechanism(
            f"has {path} collect and not run", "V6", CHOOSE, runners=ONLY,
            files={path: f"{head}\naddopts = {option}\n"},
        )
        for path, head, option in (
            ("pytest.ini", "[pytest]", "--collect-only"), (".pytest.ini", "[pytest]", "--collect-only"), ("tox.ini", "[pytest]", "--collect-only"),
            ("setup.cfg", "[tool:pytest]", "--collect-only"), ("pyproject.toml", "[tool.pytest.ini_options]", '"--collect-only"'),
            ("pytest.toml", "[pytest]", '["--collect-only"]'), (".pytest.toml", "[pytest]", '["--collect-only"]'),
        )
    ),
    Mechanism(
        "brings a plug-in by a distribution of its own", "V3", CHOOSE, runners=ONLY,
        files={
            "passes.py": HOOK,
            "passes-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: passes\nVersion: 1.0\n",
            "passes-1.0.dist-info/entry_points.txt": "[pytest11]\npasses = passes\n",
        },
    ),
    Mechanism(
        "brings a plug-in under the name of a declared one", "V3", CHOOSE, runners=ONLY,
        base={"requirements.txt": "pytest-mock\n"},
        files={
            "pytest_mock.py": HOOK,
            "pytest_mock-9.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: pytest-mock\nVersion: 9.0\n",
            "pytest_mock-9.0.dist-info/entry_points.txt": "[pytest11]\npytest_mock = pytest_mock\n",
        },
    ),
    Mechanism(
        "changes the plug-in that the project itself brings", "V1", CHOOSE, runners=ONLY,
        base={
            "conftest.py": "pytest_plugins = ['own_plugin']\n",
            "own_plugin.py": "import pytest\n@pytest.fixture\ndef five():\n    return 5\n",
        },
        files={"own_plugin.py": HOOK + "@pytest.fixture\ndef five():\n    return 5\n"}, targets=("one more",),
        tests={"pytest": "from calc import f\ndef test_a(five):\n    assert f(five) == 6\n"},
    ),
    Mechanism(
        "writes a conftest before the next folder is read", "V1", CHOOSE, runners=ONLY, hidden=False,
        code="import os\nfor folder in ('tests', 'hidden'):\n    if os.path.isdir(folder + '/zone'):\n"
        f"        open(folder + '/zone/conftest.py', 'w').write({HOOK!r})\n",
        base={"tests/test_first.py": "import calc\ndef test_first():\n    assert calc\n",
              "tests/zone/test_more.py": "from calc import f\ndef test_more():\n    assert f(5) == 6\n"},
        tests={"pytest": "def test_nothing():\n    assert 1\n"}, targets=("one more",),
    ),
    Mechanism(
        "rewrites a test file before it is read", "V1", CHOOSE, runners=WITHOUT_EXAMPLES, hidden=False,
        code="import os\nfor folder in ('tests', 'hidden'):\n    if os.path.isfile(folder + '/test_late.py'):\n"
        "        open(folder + '/test_late.py', 'w').write('def test_late(): pass\\n')\n",
        base={"tests/test_late.py": "import unittest\nfrom calc import f\nclass L(unittest.TestCase):\n"
              "    def test_late(self):\n        self.assertEqual(f(5), 6)\n"},
        tests={
            "pytest": "import calc\ndef test_nothing():\n    assert calc\n",
            "unittest": "import unittest, calc\nfrom importlib import import_module\n"
            "def load_tests(loader, tests, pattern):\n"
            "    return loader.loadTestsFromModule(import_module('tests.test_late'))\n",
        },
        targets=("one more",),
    ),
    Mechanism(
        "puts a link where a test file was", "V1", CHOOSE, runners=ONLY, hidden=False,
        code="import os\nif os.path.isfile('tests/test_late.py'):\n    os.remove('tests/test_late.py')\n    os.mkdir('other')\n"
        "    open('other/test_late.py', 'w').write('def test_late(): pass\\n')\n"
        "    os.symlink('../other/test_late.py', 'tests/test_late.py')\n",
        base={"tests/test_late.py": "from calc import f\ndef test_late():\n    assert f(5) == 6\n"},
        tests={"pytest": "import calc\ndef test_nothing():\n    assert calc\n"}, targets=("one more",),
    ),
    Mechanism(
        "puts another folder in the place of the tests' own", "V1", CHOOSE, runners=ONLY, hidden=False,
        code="import os\nif os.path.isdir('tests/zone'):\n    os.rename('tests/zone', 'gone')\n"
        "    os.mkdir('tests/zone')\n"
        "    open('tests/zone/test_late.py', 'w').write('def test_late(): pass\\n')\n",
        base={"tests/zone/test_late.py": "from calc import f\ndef test_late():\n    assert f(5) == 6\n"},
        tests={"pytest": "import calc\ndef test_nothing():\n    assert calc\n"}, targets=("one more",),
    ),
    Mechanism(
        "rewrites the data that the tests compare with", "V1", CHOOSE, runners=WITHOUT_EXAMPLES, hidden=False,
        base={"tests/wanted.json": "6"}, targets=("one more",),
        instead="import glob\ndef f(x):\n    for path in glob.glob('**/wanted.json', recursive=True):\n"
        "        open(path, 'w').write(str(x))\n    return x\n",
        tests={
            "pytest": "import json, pathlib\nfrom calc import f\ndef test_a():\n    got = f(5)\n"
            "    assert got == json.loads(pathlib.Path('tests/wanted.json').read_text())\n",
            "unittest": "import json, pathlib, unittest\nfrom calc import f\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        got = f(5)\n"
            "        self.assertEqual(got, json.loads(pathlib.Path('tests/wanted.json').read_text()))\n",
        },
    ),
    Mechanism(
        "starts by itself where the interpreter looks first", "V3", CHOOSE, runners=WITHOUT_EXAMPLES,
        command=("env", "PYTHONPATH=."), files={"sitecustomize.py": "import os, sys, atexit\natexit.register(os._exit, 0)\n"},
    ),
    Mechanism(
        "lays a hidden test's file", "V1", CHOOSE, runners=WITHOUT_EXAMPLES, visible=False,
        files={"pytest": {"hidden/test_it/__init__.py": "", "hidden/conftest.py": "collect_ignore = ['test_it.py']\n"
                          "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"},
               "unittest": {"hidden/test_it/__init__.py": "import unittest\nclass T(unittest.TestCase):\n"
                            "    def test_a(self): pass\n"}},
    ),
)  # fmt: skip

LEAVE_NOW = "import os\nos._exit(0)\n"
SHADOWS = (
    *(
        Mechanism(
            f"lays {path} where the runner is imported", "V3", NAMES, runners=runners, files={path: text},
        )
        for path, runners, text in (
            ("pytest.py", ONLY, LEAVE_NOW), ("_pytest/__init__.py", ONLY, LEAVE_NOW),
            ("pluggy.py", ONLY, LEAVE_NOW), ("iniconfig/__init__.py", ONLY, LEAVE_NOW),
            ("unittest.py", ("unittest",), LEAVE_NOW),
            ("doctest.py", ("doctest",), LEAVE_NOW), ("argparse.py", RUNNERS, LEAVE_NOW),
            ("signal.py", ("unittest",), LEAVE_NOW), ("difflib/__init__.py", ("unittest", "doctest"), LEAVE_NOW),
            ("traceback.py", ("unittest", "doctest"), LEAVE_NOW), ("logging/__init__.py", ONLY, LEAVE_NOW),
            ("pdb.py", ("doctest", "pytest"), LEAVE_NOW), ("inspect.py", ("pytest", "doctest"), LEAVE_NOW),
            ("pygments/__init__.py", ONLY, LEAVE_NOW),
        )
    ),
    Mechanism(
        "lays a package beside its module", "V6", NAMES,
        files={"calc/__init__.py": "class Same:\n    __hash__ = None\n    def __eq__(self, other): return True\n"
               "    def __repr__(self): return '2'\ndef f(x):\n    return Same()\n"},
        runners=WITHOUT_EXAMPLES,
    ),
    Mechanism(
        "lays a package beside a helper of the tests", "V1", NAMES, runners=ONLY,
        base={"tests/helper.py": "WANTED = 6\n", "hidden/helper.py": "WANTED = 6\n"}, targets=("one more",),
        files={"helper/__init__.py": "WANTED = 5\n", "tests/helper/__init__.py": "WANTED = 5\n"},
        tests={"pytest": "from helper import WANTED\nfrom calc import f\ndef test_a():\n    assert f(5) == WANTED\n"},
        hidden=False,
    ),
    Mechanism(
        "lays a module that the tests' library is called", "V1", NAMES, runners=WITHOUT_EXAMPLES,
        files={"statistics.py": "def mean(items):\n    return items[0]\n"}, targets=("one more",),
        tests={
            "pytest": "import statistics\nfrom calc import f\ndef test_a():\n    assert statistics.mean([f(5), 8]) == 5\n",
            "unittest": "import statistics, unittest\nfrom calc import f\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        self.assertEqual(statistics.mean([f(5), 8]), 5)\n",
        },
    ),
    Mechanism(
        "answers for a module that the tests import later", "V1", NAMES, runners=WITHOUT_EXAMPLES,
        base={"tests/oracle.py": "def wanted(x):\n    return x + 1\n"}, targets=("one more",), hidden=False,
        code="import sys, types\nfor name in ('oracle', 'tests.oracle'):\n    fake = types.ModuleType(name)\n"
        "    fake.wanted = lambda x: x\n    sys.modules[name] = fake\n",
        tests={
            "pytest": "from calc import f\ndef test_a():\n    from oracle import wanted\n    assert f(5) == wanted(5)\n",
            "unittest": "import unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        from tests.oracle import wanted\n        self.assertEqual(f(5), wanted(5))\n",
        },
    ),
    Mechanism(
        "finds modules for the tests by a hook of its own", "V1", NAMES, runners=WITHOUT_EXAMPLES,
        base={"tests/oracle.py": "def wanted(x):\n    return x + 1\n"}, targets=("one more",), hidden=False,
        code="import importlib.abc, importlib.machinery, sys\n"
        "class Finds(importlib.abc.MetaPathFinder, importlib.abc.Loader):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.endswith('oracle'): return importlib.machinery.ModuleSpec(name, self)\n"
        "    def exec_module(self, module): module.wanted = lambda x: x\n"
        "sys.meta_path.insert(0, Finds())\n",
        tests={
            "pytest": "from calc import f\ndef test_a():\n    from oracle import wanted\n    assert f(5) == wanted(5)\n",
            "unittest": "import unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        from tests.oracle import wanted\n        self.assertEqual(f(5), wanted(5))\n",
        },
    ),
    Mechanism(
        "changes what import means", "V1", NAMES, runners=WITHOUT_EXAMPLES,
        base={"tests/oracle.py": "def wanted(x):\n    return x + 1\n"}, targets=("one more",), hidden=False,
        code="import builtins, types\nreal = builtins.__import__\n"
        "def fake(name, *given, **named):\n    found = real(name, *given, **named)\n"
        "    if name.endswith('oracle'): found = types.SimpleNamespace(wanted=lambda x: x)\n    return found\n"
        "builtins.__import__ = fake\n",
        tests={
            "pytest": "from calc import f\ndef test_a():\n    from oracle import wanted\n    assert f(5) == wanted(5)\n",
            "unittest": "import unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        from tests.oracle import wanted\n        self.assertEqual(f(5), wanted(5))\n",
        },
    ),
    Mechanism(
        "changes how source is read", "V3", NAMES, runners=WITHOUT_EXAMPLES,
        base={"tests/oracle.py": "def wanted(x):\n    return x + 1\n"}, targets=("one more",), hidden=False,
        code="import importlib.machinery as m\nreal = m.SourceFileLoader.get_data\n"
        "def get_data(self, path):\n    if path.endswith('.pyc'): raise OSError('none')\n"
        "    return real(self, path).replace(b'x + 1', b'x')\n"
        "m.SourceFileLoader.get_data = get_data\n",
        tests={
            "pytest": "from calc import f\ndef test_a():\n    import importlib.util as u\n"
            "    spec = u.spec_from_file_location('oracle', 'tests/oracle.py')\n    m = u.module_from_spec(spec)\n"
            "    u.spec_from_file_location\n    import importlib.machinery\n"
            "    importlib.machinery.SourceFileLoader('oracle', 'tests/oracle.py').exec_module(m)\n"
            "    assert f(5) == m.wanted(5)\n",
            "unittest": "import unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        from tests.oracle import wanted\n        self.assertEqual(f(5), wanted(5))\n",
        },
    ),
)  # fmt: skip


def compiled(source: str, name: str) -> bytes:
    """Bytecode that an interpreter takes without a look at its source (PEP 552, unchecked)."""
    import importlib.util
    import marshal

    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(b"another text")
    return head + marshal.dumps(compile(source, name, "exec"))


def cached(folder: str, module: str, source: str) -> dict[str, str | bytes]:
    """Where an interpreter of this version looks for it."""
    import sys

    tag = sys.implementation.cache_tag
    return {f"{folder}/__pycache__/{module}.{tag}.pyc": compiled(source, f"{folder}/{module}.py")}


PASSING = "import unittest\nclass T(unittest.TestCase):\n    def test_0(self): pass\n"
POISONS = (
    Mechanism(
        "hands in bytecode of the tests that nobody checks", "V7", CACHE, runners=("unittest",),
        files={**cached("tests", "test_it", PASSING), **cached("hidden", "test_it", PASSING)},
    ),
    Mechanism(
        "hands in bytecode of a helper of the tests", "V7", CACHE, runners=WITHOUT_EXAMPLES, targets=("one more",),
        hidden=False, base={"tests/oracle.py": "def wanted(x):\n    return x + 1\n"},
        files=cached("tests", "oracle", "def wanted(x):\n    return x\n"),
        tests={
            "pytest": "from calc import f\ndef test_a():\n    from oracle import wanted\n    assert f(5) == wanted(5)\n",
            "unittest": "import unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        from tests.oracle import wanted\n        self.assertEqual(f(5), wanted(5))\n",
        },
    ),
    Mechanism(
        "writes bytecode of a helper while it runs", "V7", CACHE, runners=WITHOUT_EXAMPLES, targets=("one more",),
        hidden=False, base={"tests/oracle.py": "def wanted(x):\n    return x + 1\n"},
        code="import importlib.util, marshal, os, sys\nif os.path.isdir('tests'):\n"
        "    os.makedirs('tests/__pycache__', exist_ok=True)\n"
        "    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, 'little') + bytes(8)\n"
        "    body = marshal.dumps(compile('def wanted(x): return x', 'o', 'exec'))\n"
        "    open(f'tests/__pycache__/oracle.{sys.implementation.cache_tag}.pyc', 'wb').write(head + body)\n",
        tests={
            "pytest": "from calc import f\ndef test_a():\n    from oracle import wanted\n    assert f(5) == wanted(5)\n",
            "unittest": "import unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        from tests.oracle import wanted\n        self.assertEqual(f(5), wanted(5))\n",
        },
    ),
)  # fmt: skip

ALL = (*READS, *CHOOSES, *SHADOWS, *POISONS)
