"""What any sandbox does with a command that behaves."""

from __future__ import annotations

import ast
import asyncio
import resource
from collections.abc import Awaitable, Callable

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._errors import CandidateError, ConfigError
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox

Run = Callable[..., Awaitable[ExecResult]]
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("code", [0, 1, 5, 255])
async def test_the_exit_code_comes_back(run: Run, code: int):
    result = await run(f"import sys; sys.exit({code})")
    assert (result.exit_code, result.signal, result.limit_hit) == (code, None, None)


async def test_a_signal_that_ends_the_command_is_named(run: Run):
    result = await run("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert (result.exit_code, result.signal) == (None, 15)


async def test_a_crash_of_the_interpreter_is_a_result(run: Run):
    result = await run("import ctypes; ctypes.string_at(0)")
    assert (result.exit_code, result.signal) == (None, 11)


async def test_a_program_that_is_not_there_gives_127(sandbox: Sandbox):
    result = await sandbox.run(["no-such-program", "x"], Tree(), Limits())
    assert result.exit_code == 127
    assert b"no-such-program" in result.stderr


async def test_a_file_that_is_no_program_gives_126(sandbox: Sandbox):
    result = await sandbox.run(["./notes.txt"], Tree({"notes.txt": b"hello"}), Limits())
    assert result.exit_code == 126


async def test_an_executable_of_the_tree_runs(sandbox: Sandbox):
    script = f"#!{sandbox.python}\nprint('ran')\n".encode()
    result = await sandbox.run(["./tool"], Tree({"tool": script}, frozenset({"tool"})), Limits())
    assert result.stdout == b"ran\n", result.stderr


async def test_nothing_is_given_to_a_shell(sandbox: Sandbox):
    result = await sandbox.run(
        ["python", "-c", "import sys; print(sys.argv[1:])", "$(id); `id` | id"], Tree(), Limits()
    )
    assert result.stdout == b"['$(id); `id` | id']\n"


async def test_no_command_is_refused(sandbox: Sandbox):
    with pytest.raises(ConfigError, match="no command"):
        await sandbox.run([], Tree(), Limits())


async def test_both_names_of_the_interpreter_are_the_projects(sandbox: Sandbox):
    for name in ("python", "python3"):
        result = await sandbox.run([name, "-c", "import sys; print(sys.executable)"], Tree(), Limits())
        assert result.stdout.decode().strip() == str(sandbox.python)


async def test_the_work_folder_holds_the_tree_and_nothing_else(run: Run):
    files = {"a.py": b"x = 1\n", "pkg/deep/b.txt": b"\x00\xff", "with space/\u00fc.txt": "\u00fc".encode()}
    code = (
        "import os; print(sorted(os.path.relpath(os.path.join(d, f), '.') for d, _, fs in os.walk('.') for f in fs));"
        "print(open('pkg/deep/b.txt', 'rb').read())"
    )
    result = await run(code, files)
    assert result.stdout.decode() == f"{sorted(files)}\n{files['pkg/deep/b.txt']}\n"


async def test_the_work_folder_is_the_current_one_and_can_be_written(run: Run):
    result = await run(
        "open('new.txt', 'w').write('x'); import a; print(a.x, open('new.txt').read())", {"a.py": b"x=7"}
    )
    assert result.stdout == b"7 x\n", result.stderr


async def test_each_run_begins_fresh(run: Run):
    await run("open('left.txt', 'w').write('x'); open('a.py', 'w').write('x = 2')", {"a.py": b"x = 1"})
    result = await run("import os, a; print(os.path.exists('left.txt'), a.x)", {"a.py": b"x = 1"})
    assert result.stdout == b"False 1\n"


async def test_a_temporary_file_is_gone_in_the_next_run(run: Run):
    name = "groundwire-left-behind"
    code = (
        f"import tempfile, os; p = os.path.join(tempfile.gettempdir(), {name!r})\n"
        "print(os.path.exists(p)); open(p, 'w')"
    )
    assert (await run(code)).stdout == b"False\n"
    assert (await run(code)).stdout == b"False\n"


async def test_a_stdin_of_nothing_ends_at_once(run: Run):
    result = await run("input()", wall_s=20)
    assert result.exit_code == 1
    assert b"EOFError" in result.stderr
    assert result.limit_hit is None


async def test_stdin_is_given_and_then_ends(run: Run):
    data = bytes(range(256)) * 1000
    result = await run("import sys; d = sys.stdin.buffer.read(); print(len(d), sum(d))", stdin=data)
    assert result.stdout.decode().split() == [str(len(data)), str(sum(data))]


async def test_output_that_is_not_utf_8_stays_as_it_is(run: Run):
    result = await run("import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\x00ok'); sys.stderr.buffer.write(b'\\x80')")
    assert (result.stdout, result.stderr) == (b"\xff\xfe\x00ok", b"\x80")


async def test_fifty_megabytes_of_output_keep_head_and_tail_and_do_not_grow_us(run: Run):
    size = 50 * 1024 * 1024
    code = (
        "import sys; o = sys.stdout.buffer; o.write(b'BEGIN')\n"
        f"for _ in range({size} // 65536): o.write(b'x' * 65536)\n"
        "o.write(b'END')"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await run(code, output_bytes=100_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert result.exit_code == 0
    assert len(result.stdout) == 100_000
    assert result.stdout.startswith(b"BEGIN")
    assert result.stdout.endswith(b"END")
    assert result.stdout_cut == size + 8 - 100_000
    assert result.limit_hit == "output_bytes"
    assert grown < 16 * 1024  # kilobytes


async def test_both_streams_are_read_at_once(run: Run):
    code = "import sys\nfor _ in range(200):\n sys.stdout.write('o' * 5000); sys.stderr.write('e' * 5000)"
    result = await run(code, output_bytes=2_000_000)
    assert (result.stdout, result.stderr) == (b"o" * 1_000_000, b"e" * 1_000_000)
    assert (result.stdout_cut, result.stderr_cut, result.limit_hit) == (0, 0, None)


async def test_the_environment_is_ours_alone(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GROUNDWIRE_TEST_SECRET", "hush")
    result = await run("import os; print(sorted(os.environ)); print(os.environ['ADDED'])", env={"ADDED": "yes"})
    names, added = result.stdout.decode().splitlines()
    expected = {"ADDED", "GROUNDWIRE_OUT", "HOME", "LANG", "OMP_NUM_THREADS", "PATH", "PYTHONDONTWRITEBYTECODE"}
    assert set(ast.literal_eval(names)) - {"LC_CTYPE"} == expected | {"PYTHONHASHSEED", "TMPDIR"}
    assert added == "yes"


async def test_a_variable_that_can_not_be_one_is_refused(run: Run):
    with pytest.raises(ConfigError, match="can't be an environment variable"):
        await run("", env={"A=B": "c"})
    with pytest.raises(ConfigError, match="can't be an environment variable"):
        await run("", env={"A": "c\0d"})


async def test_files_that_were_asked_for_come_back(run: Run):
    code = (
        "import os; o = os.environ['GROUNDWIRE_OUT']; os.mkdir(o + '/sub')\n"
        "open(o + '/report.json', 'wb').write(b'\\x00{}'); open(o + '/sub/x', 'w').write('deep')"
    )
    result = await run(code, collect=["report.json", "sub/x", "missing"])
    assert result.files == {"report.json": b"\x00{}", "sub/x": b"deep"}


async def test_what_comes_back_is_a_plain_file_of_a_bounded_size(run: Run):
    code = (
        "import os; o = os.environ['GROUNDWIRE_OUT']\n"
        "os.symlink('/etc/passwd', o + '/link'); os.symlink('/etc', o + '/folder'); os.mkfifo(o + '/pipe')\n"
        "os.mkdir(o + '/dir'); open(o + '/large', 'wb').truncate(16 * 1024 * 1024 + 1)"
    )
    result = await run(code, collect=["link", "folder/passwd", "pipe", "dir", "large"])
    assert (result.exit_code, result.files) == (0, {})


async def test_the_out_folder_replaced_by_a_link_gives_nothing(run: Run):
    code = "import os; o = os.environ['GROUNDWIRE_OUT']; os.rmdir(o); os.symlink('/etc', o)"
    result = await run(code, collect=["passwd", "hostname"])
    assert result.files == {}
    # landlock does not even let it remove the folder
    assert result.exit_code == 0 or b"PermissionError" in result.stderr


async def test_files_come_back_also_from_a_command_that_failed(run: Run):
    result = await run(
        "import os; open(os.environ['GROUNDWIRE_OUT'] + '/r', 'w').write('x'); os._exit(3)", collect=["r"]
    )
    assert (result.exit_code, result.files) == (3, {"r": b"x"})


async def test_support_files_are_beside_the_tree_and_off_the_import_path(run: Run):
    code = (
        "import os, sys; s = os.environ['GROUNDWIRE_SUPPORT']\n"
        "print(open(s + '/plugin.py').read(), os.path.exists('plugin.py'), s in sys.path)\n"
        "print(os.path.isfile(s + '/a/b.txt'))"
    )
    result = await run(code, support={"plugin.py": b"mine", "a/b.txt": b""})
    assert result.stdout == b"mine False False\nTrue\n", result.stderr


async def test_without_support_files_there_is_no_support_folder(run: Run):
    result = await run("import os; print('GROUNDWIRE_SUPPORT' in os.environ)")
    assert result.stdout == b"False\n"


@pytest.mark.parametrize("path", ["../out.py", "/etc/x", "a/../../b", "a//b", "./a", "", "a\0b", ".git/hooks/x"])
async def test_a_path_that_leads_out_is_refused(sandbox: Sandbox, path: str):
    with pytest.raises(CandidateError):
        await sandbox.run(["python", "-c", ""], Tree({path: b"x"}), Limits())
    with pytest.raises(CandidateError):
        await sandbox.run(["python", "-c", ""], Tree(), Limits(), collect=[path])
    with pytest.raises(CandidateError):
        await sandbox.run(["python", "-c", ""], Tree(), Limits(), support={path: b"x"})


@pytest.mark.parametrize(
    "files", [{"a": b"", "a/b": b""}, {"n" * 300: b""}], ids=["file and folder at once", "name too long"]
)
async def test_files_that_can_not_be_laid_out_are_refused(sandbox: Sandbox, files: dict[str, bytes]):
    with pytest.raises(CandidateError, match=r"laid out|name of more than 255 bytes"):
        await sandbox.run(["python", "-c", ""], Tree(files), Limits())


async def test_time_is_measured(run: Run):
    result = await run("import time; time.sleep(0.3); [i * i for i in range(3_000_000)]")
    assert 0.3 < result.duration_s < 60
    assert 0.05 < result.cpu_s < 10


async def test_many_at_once_keep_apart(run: Run):
    results = await asyncio.gather(*(run(f"print({n}); open('{n}', 'w')", {"n": b"%d" % n}) for n in range(12)))
    assert [r.stdout for r in results] == [b"%d\n" % n for n in range(12)]
