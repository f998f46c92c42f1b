"""The command tool: exit status, output, JUnit XML; with real commands in a real sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._errors import ConfigError
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import NoVerdict, Origin, Verdict
from groundwire.tools import Command

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE


def python(code: str) -> tuple[str, ...]:
    return ("python", "-c", code)


@pytest.mark.parametrize(
    ("command", "verdict", "reason", "message"),
    [
        (("true",), PASS, None, ""),
        (("false",), FAIL, None, "ended with exit status 1"),
        (python("import sys; print('oh', file=sys.stderr); sys.exit(3)"), FAIL, None, "oh"),
        (python("import os; os.abort()"), FAIL, None, "SIGABRT"),
        (python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), FAIL, None, "SIGSEGV"),
        (("no-such-program",), NONE, NoVerdict.RUNNER_MISSING, ""),
        (("./data.txt",), NONE, NoVerdict.RUNNER_MISSING, ""),
        (python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), NONE, NoVerdict.RUNNER_CRASHED, ""),
        (("FLAVOUR=sour", *python("import os; assert os.environ['FLAVOUR'] == 'sour'")), PASS, None, ""),
        (python("input()"), FAIL, None, "EOFError"),
        (python("import os; assert not any(n.startswith('GROUNDWIRE_KEY') for n in os.environ)"), PASS, None, ""),
        ((), NONE, NoVerdict.USAGE, ""),
    ],
)
async def test_exit_status(
    bench: Any, command: tuple[str, ...], verdict: Verdict, reason: NoVerdict | None, message: str
) -> None:
    found = await bench.judge(Command(), bench.task({"data.txt": "x"}, command=command))
    assert (found.verdict, found.reason) == (verdict, reason), found.evidence
    assert found.origin is Origin.EXECUTION
    assert message in "".join(c.message for c in found.evidence.cases)


async def test_a_program_that_never_ends_fails(bench: Any) -> None:
    task = bench.task({}, command=python("while True: pass"), limits=Limits(wall_s=1))
    found = await bench.judge(Command(), task)
    assert found.verdict is FAIL
    assert "wall_s" in found.evidence.failed()[0].message


async def test_the_signal_says_which_hosts_were_open(bench: Any) -> None:
    limits = Limits(network=("127.0.0.1:1", "a.example:443"))
    code = "import os; assert os.environ['HTTPS_PROXY'] and os.environ['no_proxy'] == 'localhost,::1'"
    found = await bench.judge(Command(), bench.task({}, command=python(code), limits=limits))
    assert (found.verdict, found.sandbox.network) == (PASS, limits.network), found.evidence
    found = await bench.judge(Command(), bench.task({}, command=("true",)))
    assert found.sandbox.network is False


@pytest.mark.parametrize(
    ("code", "expect", "exact", "passes"),
    [
        ("print('a b')", "a b", False, True),
        ("print('a b  \\n\\n')", "a b", False, True),
        ("print('a b')", "a b", True, False),
        ("print('a b')", b"a b\n", True, True),
        ("print('a  b')", "a b", False, False),
        ("print('a\\nc')", "a\nb", False, False),
        ("import os; os.write(1, b'\\xff')", b"\xff", False, True),
        ("print('x' * 3_000_000)", "x", False, False),
        ("print('a'); raise SystemExit(1)", "a", False, False),
    ],
)
async def test_expected_output(bench: Any, code: str, expect: str | bytes, exact: bool, passes: bool) -> None:
    found = await bench.judge(Command(python(code), expect=expect, exact=exact), bench.task({}))
    assert found.verdict is (PASS if passes else FAIL)


async def test_a_wrong_output_says_where(bench: Any) -> None:
    found = await bench.judge(Command(python("print('a\\nc')"), expect="a\nb"), bench.task({}))
    assert found.evidence.failed()[0].message == "line 2: expected 'b', got 'c'"


async def test_output_that_was_cut_can_not_be_compared(bench: Any) -> None:
    found = await bench.judge(Command(python("print('x' * 3_000_000)"), expect="x" * 3_000_000), bench.task({}))
    assert (found.verdict, found.reason) == (NONE, NoVerdict.LIMIT_HIT)


TESTS = "from mod import f\ndef test_a():\n    assert f(1) == 2\ndef test_b():\n    pass\n"
WITH_PYTEST = ("pytest", "-q", "-p", "no:cacheprovider", "--junitxml=out/report.xml")


async def test_a_real_report_of_pytest(bench: Any) -> None:
    tool = Command(report="out/report.xml")
    right = bench.task({"mod.py": "def f(x):\n    return x + 1\n", "test_m.py": TESTS}, command=WITH_PYTEST)
    found = await bench.judge(tool, right)
    assert found.verdict is PASS, found.evidence
    assert found.origin is Origin.TESTS
    assert {c.id: c.result.value for c in found.evidence.cases} == {
        "test_m::test_a": "passed",
        "test_m::test_b": "passed",
    }
    wrong = bench.task({"mod.py": "def f(x):\n    return x\n", "test_m.py": TESTS}, command=WITH_PYTEST)
    found = await bench.judge(tool, wrong)
    assert found.verdict is FAIL
    assert "assert 1 == 2" in found.evidence.failed()[0].message
    assert found.evidence.detail == "1 of 2 tests passed (1 failed)"


def writing(xml: str, status: int = 0) -> tuple[str, ...]:
    return python(f"import pathlib, sys; pathlib.Path('r.xml').write_text({xml!r}); sys.exit({status})")


GOOD_XML = '<testsuite tests="1"><testcase classname="t" name="a"/></testsuite>'
BAD_XML = (
    '<testsuite tests="1" failures="1"><testcase classname="t" name="a"><failure message="m"/></testcase></testsuite>'
)


@pytest.mark.parametrize(
    ("command", "verdict", "reason"),
    [
        (writing(GOOD_XML), PASS, None),
        (writing(GOOD_XML, 1), NONE, NoVerdict.RUNNER_CRASHED),
        (writing(BAD_XML, 1), FAIL, None),
        (writing(BAD_XML, 0), FAIL, None),
        (writing("<testsuite"), NONE, NoVerdict.REPORT_MALFORMED),
        (writing("<html/>"), NONE, NoVerdict.REPORT_MALFORMED),
        (writing('<!DOCTYPE x [<!ENTITY e "e">]>' + GOOD_XML), NONE, NoVerdict.REPORT_MALFORMED),
        (writing("<testsuite/>"), NONE, NoVerdict.NOTHING_COLLECTED),
        (writing('<testsuite><testcase name="a"><skipped/></testcase></testsuite>'), NONE, NoVerdict.ALL_SKIPPED),
        (writing('<testsuite tests="2"><testcase name="a"/></testsuite>'), NONE, NoVerdict.COUNT_MISMATCH),
        (("true",), NONE, NoVerdict.REPORT_MISSING),
        (("no-such-program",), NONE, NoVerdict.RUNNER_MISSING),
        (python("import os; os.symlink('/etc/passwd', 'r.xml')"), NONE, NoVerdict.REPORT_MISSING),
        (python("import os; os.abort()"), NONE, NoVerdict.RUNNER_CRASHED),
    ],
)
async def test_report_rules(bench: Any, command: tuple[str, ...], verdict: Verdict, reason: NoVerdict | None) -> None:
    found = await bench.judge(Command(command, report="r.xml"), bench.task({}))
    assert (found.verdict, found.reason) == (verdict, reason), found.evidence


async def test_a_report_that_was_there_before_does_not_count(bench: Any) -> None:
    found = await bench.judge(Command(("true",), report="r.xml"), bench.task({"r.xml": GOOD_XML}))
    assert (found.verdict, found.reason) == (NONE, NoVerdict.REPORT_MISSING)


async def test_a_report_does_not_lose_cases_of_the_base(bench: Any) -> None:
    two = '<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>'
    files = {
        "mod.py": f"XML = {two!r}\n",
        "run.py": "import pathlib, mod\npathlib.Path('r.xml').write_text(mod.XML)\n",
    }
    task = bench.task(files, command=("python", "run.py"), editable=["mod.py"])
    one = {"mod.py": "XML = '<testsuite><testcase name=\"a\"/></testsuite>'\n"}
    found = await bench.judge(Command(report="r.xml"), task, one, base_first=True)
    assert (found.verdict, found.reason) == (NONE, NoVerdict.COUNT_MISMATCH)


@pytest.mark.parametrize("path", ["/tmp/r.xml", "../r.xml", ""])
async def test_a_report_lies_below_the_work_folder(path: str) -> None:
    with pytest.raises(ConfigError, match="below the project's root"):
        Command(("true",), report=path)
