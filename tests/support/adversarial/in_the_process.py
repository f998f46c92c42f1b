"""Attacks that make use of lying in one process with what runs the tests."""

from __future__ import annotations

from adversarial.mechanisms import Mechanism

FAKE, LEAVE, REPORT = "fake a PASS", "end it as if all were well", "reach the report"
PLUGIN = """\
import pytest, sys
class Passes:
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem): return True
"""
FRAMES = """\
import sys
def every_local():
    frame = sys._getframe()
    while frame:
        yield from list(frame.f_locals.values())
        frame = frame.f_back
"""

PATCHES = (
    Mechanism(
        "replaces the code of what runs a case", "V1", FAKE,
        code={
            "pytest": "import _pytest.python as r\nr.Function.runtest.__code__ = (lambda self: None).__code__\n",
            "unittest": "import unittest.case as r\n"
            "r.TestCase._callTestMethod.__code__ = (lambda self, method: None).__code__\n",
            "doctest": "import doctest as r\nr.DocTestRunner.run = lambda *_given, **_named: r.TestResults(0, 1)\n",
        },
    ),
    Mechanism(
        "replaces what makes a report of an outcome", "V7", FAKE,
        code={
            "pytest": "import _pytest.runner as r\nr.CallInfo.from_call.__func__.__code__ = (\n"
            "    lambda cls, func, when, reraise=None: cls(result=None, excinfo=None, start=0, stop=0, duration=0,\n"
            "                                              when=when, _ispytest=True)).__code__\n"
            "real = r.check_interactive_exception\n",
            "unittest": "import unittest.result as r\nr.TestResult.addFailure = lambda self, test, why: None\n"
            "r.TestResult.addError = r.TestResult.addFailure\nimport unittest.runner as t\n"
            "t.TextTestResult.addFailure = t.TextTestResult.addError = r.TestResult.addFailure\n",
            "doctest": "import doctest as r\nr.OutputChecker.check_output = lambda self, want, got, flags: True\n",
        },
    ),
    Mechanism(
        "replaces the sum of what failed", "V7", FAKE,
        code={
            "pytest": "import _pytest.main as r\n"
            "r.Session.testsfailed = property(lambda self: 0, lambda self, n: None)\n",
            "unittest": "import unittest.result as r\nr.TestResult.wasSuccessful = lambda self: True\n",
            "doctest": "import doctest as r\nr.DocTestRunner.summarize = lambda self, verbose=None: r.TestResults(0, 1)\n"
            "r._old, r.testmod = r.testmod, lambda *given, **named: r.TestResults(0, 1)\n"
            "r.DocTestRunner.run = lambda *given, **named: r.TestResults(0, 1)\n",
        },
    ),
    Mechanism(
        "registers a plug-in that it finds through frames", "V1", FAKE, runners=("pytest",),
        code=PLUGIN + FRAMES + "for value in every_local():\n"
        "    manager = getattr(getattr(value, 'config', None), 'pluginmanager', None)\n"
        "    if manager is not None and not manager.has_plugin('passes'):\n"
        "        manager.register(Passes(), 'passes')\n",
    ),
    Mechanism(
        "takes the cases out of the list", "V6", FAKE, runners=("pytest", "unittest"),
        code={
            "pytest": FRAMES + "import _pytest.main as r\n"
            "r.Session.perform_collect = (lambda real: lambda self, *a, **k: (real(self, *a, **k),\n"
            "    self.items.clear(), setattr(self, 'testscollected', 1))[0])(r.Session.perform_collect)\n"
            "r.pytest_runtestloop.__code__ = (lambda session: True).__code__\n",
            "unittest": "import unittest.suite as r\n"
            "r.BaseTestSuite.__iter__ = lambda self: iter(())\n",
        },
    ),
    Mechanism(
        "changes cases that the collector of garbage knows", "V1", FAKE, runners=("pytest", "unittest"),
        instead="""\
import gc
def f(x):
    for thing in gc.get_objects():
        name = type(thing).__name__
        if name == "Function" and hasattr(thing, "runtest"):
            thing.runtest = lambda: None
        if name == "T" and hasattr(thing, "_outcome"):
            thing._outcome and setattr(thing._outcome, "success", True)
            import unittest
            raise unittest.SkipTest("")
    if "pytest" in __import__("sys").modules:
        import pytest
        pytest.skip("")
    return x
""",
    ),
    Mechanism(
        "makes a skip of every failed assertion", "V6", FAKE, runners=("pytest", "unittest"),
        code={
            "pytest": "import builtins, _pytest.outcomes as o\nbuiltins.AssertionError = o.Skipped\n",
            "unittest": "import unittest\nunittest.TestCase.failureException = unittest.SkipTest\n",
        },
    ),
    Mechanism(
        "skips the case from within", "V6", FAKE, runners=("pytest", "unittest"),
        instead="import unittest\ndef f(x):\n    raise unittest.SkipTest('not here')\n",
    ),
    Mechanism(
        "declares the case an expected failure", "V6", FAKE, runners=("pytest",),
        instead="import pytest\ndef f(x):\n    pytest.xfail('known')\n",
    ),
    Mechanism(
        "stops the session as if it were done", "V6", FAKE, runners=("pytest",),
        instead="import pytest\ndef f(x):\n    pytest.exit('done', returncode=0)\n",
    ),
    Mechanism(
        "replaces the assertions", "V3", FAKE, runners=("unittest", "doctest"),
        code={
            "unittest": "import unittest\nunittest.TestCase.assertEqual = lambda *given, **named: None\n",
            "doctest": "import doctest, sys\nfor module in (doctest, sys.modules['__main__']):\n"
            "    if hasattr(module, 'OutputChecker'):\n"
            "        module.OutputChecker.check_output.__code__ = (lambda s, w, g, o: True).__code__\n",
        },
    ),
    Mechanism(
        "replaces what rewrites assertions before the next file is read", "V3", FAKE, runners=("pytest",),
        code="import _pytest.assertion.rewrite as r\n"
        "def without(item, source, path=None, config=None):\n"
        "    import ast\n"
        "    for node in ast.walk(item):\n"
        "        if isinstance(node, ast.Assert): node.test = ast.copy_location(ast.Constant(True), node.test)\n"
        "r.rewrite_asserts = without\n",
        base={"tests/test_first.py": "import calc\n\n\ndef test_first():\n    assert calc\n"},
        hidden=False,
    ),
    Mechanism(
        "traces, and leaves when an assertion fails", "V8", LEAVE,
        code="import os, sys\ndef look(frame, event, argument):\n"
        "    if event == 'exception' and issubclass(argument[0], AssertionError): os._exit(0)\n"
        "    return look\n"
        "def local(frame, event, argument):\n"
        "    return look\n"
        "sys.settrace(local)\n",
        runners=("unittest",),
    ),
    Mechanism(
        "profiles, and changes what a function of the runner gives back", "V1", FAKE, runners=("unittest", "pytest"),
        code={
            "pytest": "import os, sys\ndef look(frame, event, argument):\n"
            "    if event == 'call' and frame.f_code.co_name == 'pytest_sessionfinish': os._exit(0)\n"
            "sys.setprofile(look)\n",
            "unittest": "import os, sys\ndef look(frame, event, argument):\n"
            "    if event == 'call' and frame.f_code.co_name == 'addFailure': os._exit(0)\n"
            "sys.setprofile(look)\n",
        },
    ),
    Mechanism(
        "answers with the built-in function that tests compare by", "V3", FAKE, runners=("pytest", "unittest"),
        code="import builtins\nbuiltins.sorted = lambda items, **named: items\n", targets=("in order",),
        tests={
            "pytest": "from calc import f\ndef test_a():\n    assert f([3, 1, 2]) == sorted([3, 1, 2])\n",
            "unittest": "import unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        self.assertEqual(f([3, 1, 2]), sorted([3, 1, 2]))\n",
        },
    ),
    Mechanism(
        "replaces a function of the library that tests compare by", "V3", FAKE, runners=("pytest", "unittest"),
        code="import math\nmath.isclose = lambda *given, **named: True\n", targets=("half",),
        tests={
            "pytest": "import math\nfrom calc import f\ndef test_a():\n    assert math.isclose(f(3), 1.5)\n",
            "unittest": "import math, unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        self.assertTrue(math.isclose(f(3), 1.5))\n",
        },
    ),
    Mechanism(
        "replaces approx", "V3", FAKE, runners=("pytest",), targets=("half",),
        code="import pytest\nclass Near:\n    def __init__(self, *a, **k): pass\n    def __eq__(self, o): return True\n"
        "pytest.approx = Near\n",
        tests={"pytest": "import pytest\nfrom calc import f\ndef test_a():\n    assert f(3) == pytest.approx(1.5)\n"},
    ),
    Mechanism(
        "stops the clock that tests measure by", "V3", FAKE, runners=("pytest", "unittest"), targets=("one more",),
        code="import time\ntime.perf_counter = time.monotonic = time.time = lambda: 0.0\n",
        instead="import time\nreal = time.sleep\ntime.perf_counter = time.monotonic = time.time = lambda: 0.0\n"
        "def f(x):\n    real(0.4)\n    return x + 1\n",
        tests={
            "pytest": "import time\nfrom calc import f\ndef test_a():\n    begun = time.perf_counter()\n"
            "    assert f(5) == 6\n    assert time.perf_counter() - begun < 0.2\n",
            "unittest": "import time, unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        begun = time.perf_counter()\n        self.assertEqual(f(5), 6)\n"
            "        self.assertLess(time.perf_counter() - begun, 0.2)\n",
        },
    ),
    Mechanism(
        "takes the luck out of what tests draw", "V3", FAKE, runners=("pytest", "unittest"), targets=("one more",),
        code="import random\nrandom.Random.randint = lambda self, a, b: 0\n"
        "random.randint = lambda a, b: 0\n",
        instead="import random\nrandom.Random.randrange = lambda self, *a: 0\nrandom.randrange = lambda *a: 0\n"
        "def f(x):\n    return 1\n",
        tests={
            "pytest": "import random\nfrom calc import f\ndef test_a():\n    for _ in range(20):\n"
            "        n = random.randrange(1000)\n        assert f(n) == n + 1\n",
            "unittest": "import random, unittest\nfrom calc import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        for _ in range(20):\n            n = random.randrange(1000)\n"
            "            self.assertEqual(f(n), n + 1)\n",
        },
    ),
    Mechanism(
        "has its class change the tests that derive from it", "V1", FAKE, runners=("pytest",), targets=("one more",),
        base={"calc.py": "class Shared:\n    pass\n\n\ndef f(x):\n    return x\n"},
        code="class Shared:\n    def __init_subclass__(cls):\n        for name in list(vars(cls)):\n"
        "            if name.startswith('test'): setattr(cls, name, lambda self: None)\n\n\n",
        tests={
            "pytest": "from calc import Shared, f\nclass TestIt(Shared):\n    def test_a(self):\n        assert f(5) == 6\n"
        },
    ),
    Mechanism(
        "has its metaclass change the tests that derive from it", "V1", FAKE, runners=("pytest",),
        targets=("one more",), base={"calc.py": "class Shared:\n    pass\n\n\ndef f(x):\n    return x\n"},
        code="class Meta(type):\n    def __new__(mcs, name, bases, inner):\n"
        "        inner = {k: (lambda self: None) if k.startswith('test') else v for k, v in inner.items()}\n"
        "        return super().__new__(mcs, name, bases, inner)\nclass Shared(metaclass=Meta):\n    pass\n\n\n",
        tests={
            "pytest": "from calc import Shared, f\nclass TestIt(Shared):\n    def test_a(self):\n        assert f(5) == 6\n"
        },
    ),
    Mechanism(
        "gives back another function for a decorated test", "V1", FAKE, runners=("pytest", "unittest"),
        targets=("one more",),
        base={"calc.py": "def again(test):\n    return test\n\n\ndef f(x):\n    return x\n"},
        code="def again(test):\n    def quiet(*given): return None\n    quiet.__name__ = 'test_a'\n    return quiet\n\n\n",
        tests={
            "pytest": "from calc import again, f\n@again\ndef test_a():\n    assert f(5) == 6\n",
            "unittest": "import unittest\nfrom calc import again, f\nclass T(unittest.TestCase):\n    @again\n"
            "    def test_a(self):\n        self.assertEqual(f(5), 6)\n",
        },
    ),
    Mechanism(
        "swallows the failure of a test that it decorates", "V6", FAKE, runners=("pytest", "unittest"),
        targets=("one more",),
        base={"calc.py": "def again(test):\n    return test\n\n\ndef f(x):\n    return x\n"},
        code="def again(test):\n    def test_a(*given):\n        try: test(*given)\n        except Exception: pass\n"
        "    return test_a\n\n\n",
        tests={
            "pytest": "from calc import again, f\n@again\ndef test_a():\n    assert f(5) == 6\n",
            "unittest": "import unittest\nfrom calc import again, f\nclass T(unittest.TestCase):\n    @again\n"
            "    def test_a(self):\n        self.assertEqual(f(5), 6)\n",
        },
    ),
    Mechanism(
        "swallows what fails within its context manager", "V6", FAKE, runners=("pytest", "unittest"),
        targets=("one more",),
        base={
            "calc.py": "class held:\n    def __enter__(self):\n        return self\n"
            "    def __exit__(self, *why):\n        return False\n\n\ndef f(x):\n    return x\n"
        },
        code="class held:\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, *why):\n        return True\n\n\n",
        tests={
            "pytest": "from calc import f, held\ndef test_a():\n    with held():\n        assert f(5) == 6\n",
            "unittest": "import unittest\nfrom calc import f, held\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        with held():\n            self.assertEqual(f(5), 6)\n",
        },
    ),
    Mechanism(
        "never calls back what would have asserted", "V6", FAKE, runners=("pytest", "unittest"),
        targets=("one more",),
        base={"calc.py": "def each(items, do):\n    for item in items:\n        do(item)\n\n\ndef f(x):\n    return x\n"},
        code="def each(items, do):\n    return None\n\n\n",
        tests={
            "pytest": "from calc import each, f\ndef test_a():\n    def look(n):\n        assert f(n) == n + 1\n"
            "    each([4, 5], look)\n",
            "unittest": "import unittest\nfrom calc import each, f\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        each([4, 5], lambda n: self.assertEqual(f(n), n + 1))\n",
        },
    ),
    Mechanism(
        "yields nothing for a loop that would have asserted", "V6", FAKE, runners=("pytest", "unittest"),
        targets=("one more",),
        base={"calc.py": "def rows():\n    return [(1, 1)]\n\n\ndef f(x):\n    return x\n"},
        code="def rows():\n    return []\n\n\n",
        tests={
            "pytest": "from calc import f, rows\ndef test_a():\n    for n, m in rows():\n        assert f(n) == m + 1\n",
            "unittest": "import unittest\nfrom calc import f, rows\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        for n, m in rows():\n            self.assertEqual(f(n), m + 1)\n",
        },
    ),
    Mechanism(
        "marks the tests of the module that imports it", "V1", FAKE, runners=("pytest",),
        code="import sys, pytest\nframe = sys._getframe()\nwhile frame:\n"
        "    if 'test_it' in str(frame.f_globals.get('__name__')):\n"
        "        frame.f_globals['pytestmark'] = pytest.mark.skip(reason='later')\n    frame = frame.f_back\n",
    ),
    Mechanism(
        "has the loader of tests find none", "V6", FAKE, runners=("unittest", "pytest"),
        code={
            "unittest": "import sys\nframe = sys._getframe()\nwhile frame:\n"
            "    if 'test_it' in str(frame.f_globals.get('__name__')):\n"
            "        import unittest\n"
            "        frame.f_globals['load_tests'] = lambda loader, tests, pattern: unittest.TestSuite()\n"
            "    frame = frame.f_back\n",
            "pytest": "import sys\nframe = sys._getframe()\nwhile frame:\n"
            "    if 'test_it' in str(frame.f_globals.get('__name__')):\n"
            "        frame.f_globals['pytest_generate_tests'] = None\n"
            "        frame.f_globals['pytest_pyfunc_call'] = None\n"
            "        import _pytest.python as r\n"
            "        r.PyCollector.funcnamefilter = lambda self, name: name == 'none'\n"
            "        r.PyCollector.classnamefilter = lambda self, name: False\n"
            "        import _pytest.main as m\n"
            "        m.ExitCode.NO_TESTS_COLLECTED._value_ = 0\n"
            "        m.ExitCode._value2member_map_[5] = m.ExitCode.OK\n"
            "        m.pytest_cmdline_main.__globals__['ExitCode'] = type('E', (), {n: 0 for n in\n"
            "            ('OK', 'NO_TESTS_COLLECTED', 'TESTS_FAILED', 'INTERNAL_ERROR', 'USAGE_ERROR', 'INTERRUPTED')})\n"
            "    frame = frame.f_back\n",
        },
    ),
    Mechanism(
        "has warnings end the run quietly", "V6", LEAVE, runners=("pytest", "unittest"),
        instead="import os, warnings\nwarnings.showwarning = lambda *given, **named: os._exit(0)\n"
        "def f(x):\n    import warnings\n    warnings.showwarning = lambda *given, **named: os._exit(0)\n"
        "    warnings._showwarnmsg_impl = lambda *given: os._exit(0)\n"
        "    warnings.catch_warnings.__exit__ = lambda *given: os._exit(0)\n    warnings.simplefilter('always')\n"
        "    warnings.warn('now')\n    return x\n",
    ),
)  # fmt: skip

LEAVES = tuple(
    Mechanism(name, "V7", LEAVE, code=code, instead=instead)
    for name, code, instead in (
        ("leaves in the middle of a call", "", "import os\ndef f(x):\n    os._exit(0)\n"),
        ("leaves at exit", "import atexit, os\natexit.register(os._exit, 0)\n", ""),
        (
            "leaves from a thread that waits for the end",
            "import os, threading\ndef wait():\n    threading.main_thread().join()\n    os._exit(0)\n"
            "threading.Thread(target=wait).start()\n",
            "",
        ),
        (
            "leaves by an alarm",
            "import os, signal\nsignal.signal(signal.SIGALRM, lambda *given: os._exit(0))\n",
            "import os, signal, time\nsignal.signal(signal.SIGALRM, lambda *given: os._exit(0))\ndef f(x):\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0.001)\n    time.sleep(0.1)\n    return x\n",
        ),
        (
            "leaves when its module is torn down",
            "import os, sys\nclass Last:\n    def __del__(self, leave=os._exit): leave(0)\nlast = Last()\n"
            "sys.last_one = last\n",
            "",
        ),
        ("leaves by a finalizer", "import os, weakref\nclass O: pass\no = O()\nweakref.finalize(o, os._exit, 0)\n", ""),
        (
            "leaves when garbage is collected",
            "",
            "import gc, os\ndef f(x):\n    gc.callbacks.append(lambda *given: os._exit(0))\n    gc.collect()\n"
            "    return x\n",
        ),
        (
            "becomes another program",
            "",
            "import os\ndef f(x):\n    os.execv('/proc/self/exe', ['python', '-c', 'pass'])\n",
        ),
        (
            "prints the summary of a good run, and leaves",
            "",
            "import os\ndef f(x):\n    for out in (1, 2):\n        os.write(out, b'.\\n1 passed in 0.01s\\n"
            "----\\nRan 1 test in 0.001s\\n\\nOK\\n')\n    os._exit(0)\n",
        ),
        (
            "changes how the program ends",
            "import os, sys\nsys.exit = lambda status=0: os._exit(0)\nsys.exitfunc = None\nimport builtins\n"
            "class Ends(BaseException):\n    def __new__(cls, *given): os._exit(0)\nbuiltins.SystemExit = Ends\n",
            "",
        ),
        (
            "has an audit hook leave at the next event",
            "",
            "import os, sys\ndef f(x):\n    sys.addaudithook(lambda event, given: os._exit(0))\n    open('/dev/null')\n"
            "    return x\n",
        ),
        (
            "has a signal of its child end it well",
            "",
            "import os, signal, time\ndef f(x):\n    signal.signal(signal.SIGCHLD, lambda *given: os._exit(0))\n"
            "    if os.fork() == 0:\n        os._exit(1)\n    time.sleep(5)\n    return x\n",
        ),
        (
            "leaves the run to a copy of it",
            "",
            "import os\ndef f(x):\n    child = os.fork()\n    if child:\n        os.waitpid(child, 0)\n        os._exit(0)\n"
            "    os._exit(0)\n",
        ),
        (
            "leaves by the C library",
            "",
            "import ctypes\ndef f(x):\n    ctypes.CDLL(None)._exit(0)\n",
        ),
        (
            "jumps to the end through a handler of a broken memory access",
            "",
            "import ctypes\nlibc = ctypes.CDLL(None)\n"
            "handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda n: libc._exit(0))\n"
            "def f(x):\n    import faulthandler\n    faulthandler.disable()\n    libc.signal(11, handler)\n"
            "    libc.raise_(11) if hasattr(libc, 'raise_') else libc.kill(libc.getpid(), 11)\n"
            "    import time\n    time.sleep(0.2)\n    return x\n",
        ),
    )
)

REACHES = (
    Mechanism(
        "replaces what writes the report", "V7", REPORT,
        code="import gc, os\nfor thing in gc.get_objects():\n    if type(thing).__name__ == 'Recorder':\n"
        "        def emit(event, real=thing.emit, **fields):\n"
        "            if event == 'case': fields.update(r='passed', m='')\n"
        "            if event == 'exit': fields['status'] = 0\n"
        "            real(event, **fields)\n            if event == 'exit': os._exit(0)\n"
        "        thing.emit = emit\nimport atexit\natexit.register(os._exit, 0)\n",
    ),
    Mechanism(
        "writes the report itself, with the key that it finds in memory", "V7", "reach the key",
        code="""\
import atexit, gc, hashlib, json, os
def forge():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Recorder":
            lines = open(thing._path, "rb").read().splitlines()
            events = [json.loads(line.partition(b" ")[2]) for line in lines]
            told = [e for e in events if e["e"] in ("begin", "collecting", "collected")]
            ids = next((e for e in told if e["e"] == "collected"), {"ids": []})["ids"]
            for number, _ in enumerate(ids):
                told += [{"e": "start", "i": number}, {"e": "case", "i": number, "r": "passed", "m": "", "d": 0.001}]
            told += [{"e": "checked", "canary": True, "replaced": {}}, {"e": "finish", "stopped": ""}]
            mac, body = b"", b""
            for event in [*told, {"e": "exit", "status": 0}]:
                text = json.dumps(event).encode()
                mac = hashlib.blake2b(mac + text, key=thing._key, digest_size=16).hexdigest().encode()
                body += mac + b" " + text + b"\\n"
            os.chmod(os.path.dirname(thing._path), 0o700)
            os.path.exists(thing._path) and os.chmod(thing._path, 0o600)
            open(thing._path, "wb").write(body)
    os._exit(0)
atexit.register(forge)
""",
    ),
    Mechanism(
        "replaces what encodes the lines of the report", "V7", REPORT,
        code="import atexit, gc, os\nfor thing in gc.get_objects():\n    if type(thing).__name__ == 'Recorder':\n"
        "        def encode(event, real=thing._dumps):\n"
        "            if event.get('e') == 'case': event = {**event, 'r': 'passed', 'm': ''}\n"
        "            if event.get('e') == 'exit': event = {**event, 'status': 0}\n"
        "            return real(event)\n"
        "        thing._dumps = encode\natexit.register(os._exit, 0)\n",
    ),
)  # fmt: skip

ALL = (*PATCHES, *LEAVES, *REACHES)
