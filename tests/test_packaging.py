"""Both distributions are complete, go together, and run from their wheels in environments that were just made."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from audit_cases import CASES, written
from own_source import parsed

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "groundwire"
AUDIT = ROOT / "packages" / "groundwire-audit"
MIB = 1 << 20
PLAIN_LOOP = """
from openai import OpenAI
client = OpenAI()
def ask(prompt):
    return client.responses.create(model="m", input=prompt).output_text
def write():
    text = ask("write")
    while "yes" not in ask("good? " + text):
        text = ask("better " + text)
    return text
"""


@dataclass(frozen=True)
class Built:
    """A distribution as it is published."""

    wheel: Path
    sdist: Path


def built(project: Path, out: Path) -> Built:
    """Both of a project; the wheel is made from the sdist."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(project)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return Built(wheel, sdist)


@pytest.fixture(scope="module")
def groundwire(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built(ROOT, tmp_path_factory.mktemp("groundwire"))


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built(AUDIT, tmp_path_factory.mktemp("audit"))


@dataclass(frozen=True)
class Fresh:
    """An environment of its own: what was installed into it, and nothing else unless it is shared."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, *wheels: Path, shared: bool = False) -> Fresh:
        """Installs wheels, without a network. `shared`: third-party packages of this environment can be imported."""
        venv.create(folder, with_pip=False)
        made = cls(folder)
        if shared:  # no .pth file of that folder is read, so that no source tree comes with it
            (made.site_packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
        if wheels:
            command = [sys.executable, "-m", "pip", "--python", str(made.python), "install", "--no-index", "--no-deps"]
            subprocess.run([*command, "--quiet", *map(str, wheels)], check=True)
        return made

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder)}))

    def run(self, program: str, *arguments: str, cwd: Path) -> tuple[int, str]:
        command = [str(self.folder / "bin" / program), *arguments]
        ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


def shipped(source: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", source],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return {name.removeprefix(f"{source}/") for name in listed if (ROOT / name).is_file()}


def check_complete(one: Built, source: str, package: str) -> None:
    expected = shipped(source)
    assert len(expected) > 40
    with zipfile.ZipFile(one.wheel) as archive:
        inside = set(archive.namelist())
    assert expected - inside == set()
    assert {name.split("/")[0] for name in inside if "dist-info" not in name} == {package}
    with tarfile.open(one.sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {f"src/{name}" for name in expected} - names == set()
    assert "LICENSE" in names


@pytest.mark.slow
def test_wheels_and_sdists_are_complete(groundwire: Built, audit: Built) -> None:
    check_complete(groundwire, "src", "groundwire")
    check_complete(audit, "packages/groundwire-audit/src", "groundwire_audit")


@pytest.mark.slow
def test_the_audit_runs_from_its_wheel_alone(audit: Built, tmp_path: Path) -> None:
    fresh = Fresh.make(tmp_path / "fresh", audit.wheel)
    written(CASES["1 write and critique, no map, no cap"], tmp_path)
    code, said = fresh.run("groundwire-audit", "target_graph.py", cwd=tmp_path)
    assert (code, "✗ ungrounded-loop: write → critique → write" in said) == (1, True), said
    code, said = fresh.run("python", "-c", "import langgraph", cwd=tmp_path)
    assert (code, "No module named 'langgraph'" in said) == (1, True)
    code, said = fresh.run("groundwire-audit", "target_graph.py", "--import", cwd=tmp_path)
    assert (code, "audited from the source instead" in said) == (1, True), said
    code, said = fresh.run("groundwire-audit", "target_graph.py", "--import", "--sandbox", "landlock", cwd=tmp_path)
    assert (code, "Install groundwire beside this" in said) == (3, True), said
    (tmp_path / "loop.py").write_text(PLAIN_LOOP)
    code, said = fresh.run("groundwire-audit", "loop.py", "--format", "sarif", cwd=tmp_path)
    assert (code, "ungrounded-loop" in said, "Traceback" in said) == (1, True, False), said
    code, said = fresh.run("python", "-m", "groundwire_audit", ".", "--json", cwd=tmp_path)
    assert (code, json.loads(said)["counts"]["ungrounded"]) == (1, 2), said
    subprocess.run([fresh.python, "-m", "compileall", "-q", fresh.site_packages], check=True)
    assert sum(p.stat().st_size for p in fresh.site_packages.rglob("*") if p.is_file()) < 10 * MIB


@pytest.mark.slow
def test_the_audit_is_found_by_its_name_beside_its_wheel(audit: Built, tmp_path: Path) -> None:
    fresh = Fresh.make(tmp_path / "fresh")
    where = ["--no-index", "--find-links", str(audit.wheel.parent)]
    command = [sys.executable, "-m", "pip", "--python", str(fresh.python), "install", *where, "--quiet"]
    subprocess.run([*command, f"groundwire-audit=={version(AUDIT)}"], check=True)
    assert fresh.run("groundwire-audit", "--version", cwd=tmp_path)[0] == 0
    subprocess.run([*command[:5], "uninstall", "--yes", "--quiet", "groundwire-audit"], check=True)
    assert not (fresh.site_packages / "groundwire_audit").exists()


@pytest.mark.slow
def test_groundwire_runs_from_both_wheels(groundwire: Built, audit: Built, tmp_path: Path) -> None:
    fresh = Fresh.make(tmp_path / "fresh", groundwire.wheel, audit.wheel, shared=True)
    written(CASES["1 write and critique, no map, no cap"], tmp_path)
    assert fresh.run("groundwire", "--version", cwd=tmp_path) == (0, f"groundwire {version(ROOT)}\n")
    where = "import groundwire, groundwire_audit; print(groundwire.__file__, groundwire_audit.__file__)"
    _, said = fresh.run("python", "-c", where, cwd=tmp_path)
    assert said.count(str(fresh.folder)) == 2, said
    from_source = fresh.run("groundwire-audit", "target_graph.py", cwd=tmp_path)
    assert fresh.run("groundwire", "audit", "target_graph.py", cwd=tmp_path) == from_source
    imported = ("target_graph.py", "--import", "--python", sys.executable)  # a sandbox shows no shared folder
    code, said = fresh.run("groundwire-audit", *imported, cwd=tmp_path)
    assert (code, "sandbox: no network" in said) == (1, True), said


def project(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def version(folder: Path) -> str:
    return str(project(folder)["version"])


def test_groundwire_asks_for_the_audit_of_its_own_version() -> None:
    import groundwire

    assert version(AUDIT) == version(ROOT) == groundwire.__version__
    assert f"groundwire-audit=={version(ROOT)}" in str(project(ROOT)["dependencies"])
    assert project(AUDIT)["dependencies"] == []
    assert (AUDIT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_groundwire_uses_the_public_page_of_the_audit_alone() -> None:
    deep = [
        (place, node.module)
        for place, module in parsed().items()
        if not place.startswith("groundwire_audit/")
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("groundwire_audit.")
    ]
    assert deep == []


def test_the_rooms_at_the_top_are_links_into_the_package() -> None:
    for room in ("agents", "graphs", "tools", "memory", "sandbox"):
        link = ROOT / room
        assert link.is_symlink()
        assert link.resolve() == SOURCE / room
