"""Real interpreters other than our own, and where they may lie."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits
from groundwire.sandbox import open_sandbox

pytestmark = pytest.mark.slow


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


async def test_an_interpreter_in_the_temporary_folder_leaves_a_temporary_folder(environment_in_tmp: Path):
    box = await open_sandbox(python=environment_in_tmp / "bin" / "python")
    code = "import os, tempfile; print(tempfile.mkdtemp().startswith(os.environ['TMPDIR'] + '/'), os.listdir('/tmp'))"
    result = await box.run(["python", "-c", code], Tree(), Limits())
    assert result.stdout.decode() == f"True {[environment_in_tmp.parent.name]}\n", result.stderr
    await box.aclose()


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
