"""What an interpreter needs to be seen, and that any supported one runs a guest."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.errors import SandboxUnavailable
from groundwire.limits import Limits
from groundwire.sandbox import open_sandbox
from groundwire.sandbox.interpreter import Interpreter, inspect_interpreter
from groundwire.sandbox.stage import barrier
from groundwire.trees import Tree


def test_the_current_interpreter_is_found_with_its_environment():
    found = inspect_interpreter(Path(sys.executable))
    assert found.executable == Path(sys.executable)
    assert found.version == sys.version_info[:2]
    for prefix in (sys.prefix, sys.base_prefix):
        assert any(Path(prefix).is_relative_to(f) for f in (*found.folders, Path("/usr")))
    found.refuse_homes()


def test_an_interpreter_that_does_not_run_is_said(tmp_path: Path):
    with pytest.raises(SandboxUnavailable, match="does not run"):
        inspect_interpreter(tmp_path / "python")
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho hello\n")
    fake.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match="does not run"):
        inspect_interpreter(fake)


def test_an_old_interpreter_is_refused(tmp_path: Path):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nprintf '/x/bin/python\\n/x\\n/x\\n/x/lib\\n3 8\\n'\n")
    fake.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match=r"3\.8.*3\.9 or newer"):
        inspect_interpreter(fake)


@pytest.mark.parametrize("folder", ["/home", str(Path.home()), "/etc", "/var"])
def test_a_home_or_system_folder_is_never_shown(folder: str):
    interpreter = Interpreter(Path(folder) / "bin/python", (3, 12), (Path(folder),), ())
    with pytest.raises(SandboxUnavailable, match="holds a home or system folder"):
        interpreter.refuse_homes()


def test_a_barrier_is_the_outermost_folder_that_is_closed_to_others(tmp_path: Path):
    closed = tmp_path / "closed"
    below = closed / "also closed" / "open"
    below.mkdir(parents=True)
    (closed / "also closed").chmod(0o700)
    closed.chmod(0o700)
    outer = barrier(tmp_path / "x")
    assert barrier(below / "x") == (outer or closed)
    assert barrier(Path("/usr/bin")) is None


@pytest.mark.slow
async def test_a_virtual_environment_in_a_private_folder_works_with_its_packages_and_scripts(tmp_path: Path):
    home = tmp_path / "private"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], check=True)  # noqa: ASYNC221
    python = home / "venv" / "bin" / "python"
    packages = next((home / "venv" / "lib").glob("python*/site-packages"))
    (packages / "installed.py").write_text("WHERE = __file__\n")
    (home / "secret").write_text("hush")
    editable = home / "source"
    editable.mkdir()
    (editable / "editable.py").write_text("")
    (packages / "editable.pth").write_text(f"{editable}\n")
    script = python.parent / "greet"
    script.write_text(f"#!{python}\nimport installed; print('hello')\n")
    script.chmod(0o755)
    home.chmod(0o700)
    box = await open_sandbox(python=python)
    code = (
        "import installed, os, sys; print(installed.WHERE == sys.argv[1], os.path.exists(sys.argv[2]))\n"
        "try: import editable; print('the source tree is seen')\n"
        "except ImportError: print('not seen')"
    )
    arguments = ["python", "-c", code, str(packages / "installed.py"), str(home / "secret")]
    result = await box.run(arguments, Tree(), Limits())
    assert result.stdout == b"True False\nnot seen\n", result.stderr
    assert (await box.run(["greet"], Tree(), Limits())).stdout == b"hello\n"
    assert box.python == python
    await box.aclose()


@pytest.fixture
def environment_in_tmp() -> Iterator[Path]:
    """A virtual environment right below /tmp."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/venv"], check=True)
        Path(folder).chmod(0o755)
        yield Path(folder) / "venv"


@pytest.mark.slow
async def test_an_interpreter_in_the_temporary_folder_leaves_a_temporary_folder(environment_in_tmp: Path):
    box = await open_sandbox(python=environment_in_tmp / "bin" / "python")
    code = "import os, tempfile; print(tempfile.mkdtemp().startswith(os.environ['TMPDIR'] + '/'), os.listdir('/tmp'))"
    result = await box.run(["python", "-c", code], Tree(), Limits())
    assert result.stdout.decode() == f"True {[environment_in_tmp.parent.name]}\n", result.stderr
    await box.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13", "3.14"])
async def test_other_versions_run_cold_and_warm(version: str):
    beside = sorted(Path(sys.base_prefix).parent.glob(f"*{version}*/bin/python{version}"))
    python = next(iter(beside), None) or shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"there is no python{version} here")
    box = await open_sandbox(python=Path(python))
    code = "import sys; print('%d.%d' % sys.version_info[:2], sys.argv); sys.exit('end')"
    tree = Tree({"a.py": b"1"})
    cold = await box.run(["python", "-c", code, "x"], tree, Limits())
    server = await box.warm(tree, preload=["unittest"])
    warm = await server.run(["-c", code, "x"], {}, Limits())
    assert cold.stdout == warm.stdout == f"{version} ['-c', 'x']\n".encode()
    assert cold.stderr == warm.stderr == b"end\n"
    await server.aclose()
    await box.aclose()
