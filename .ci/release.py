"""Makes a release and says what would be uploaded; uploads nothing.

    python .ci/release.py                  both distributions into dist/, checked, with SHA256SUMS and RELEASE.md
    python .ci/release.py version 0.3.0    the one way to change the version: every place that states it

It builds from the last commit, not from the work tree. In what it builds, README's lines that install from the
repository are those that install from the package index, since that is where the reader then is.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = {
    "src/groundwire/core/_version.py": r'(?m)^__version__ = "(.+?)"',
    "pyproject.toml": r'(?m)^version = "(.+?)"',
    "packages/groundwire-audit/pyproject.toml": r'(?m)^version = "(.+?)"',
    "CITATION.cff": r"(?m)^version: (.+)$",
}
PIN = r'"groundwire-audit==(.+?)"'
FROM_REPOSITORY = {
    "uvx --from git+REPOSITORY groundwire demo": "uvx groundwire demo",
    "pip install git+REPOSITORY#subdirectory=packages/groundwire-audit git+REPOSITORY": "pip install groundwire",
}
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")


class NotReady(Exception):
    """Why there is nothing to release."""


def stated(root: Path) -> dict[str, str]:
    """Place → the version that it states.

    Raises:
        NotReady: a place states none.
    """
    found: dict[str, str] = {}
    for place, pattern in [*PLACES.items(), ("pyproject.toml", PIN)]:
        match = re.search(pattern, (root / place).read_text(encoding="utf-8"))
        if match is None:
            raise NotReady(f"{place} states no version.")
        found[f"{place} (its pin)" if pattern is PIN else place] = match[1]
    return found


def set_version(root: Path, version: str) -> None:
    """Writes a version to every place that states one.

    Raises:
        NotReady: it is no version.
    """
    if not VERSION.fullmatch(version):
        raise NotReady(f"{version} is no version: write MAJOR.MINOR.PATCH.")
    for place, pattern in [*PLACES.items(), ("pyproject.toml", PIN)]:
        path = root / place
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(pattern, lambda m: m[0].replace(m[1], version), text, count=1), encoding="utf-8")


def notes(changelog: str, version: str) -> str:
    """What the changelog says of a version.

    Raises:
        NotReady: nothing, or there are changes that belong to no version.
    """
    sections = dict(re.findall(r"(?ms)^## (\S+).*?$\n(.*?)(?=^## |\Z)", changelog))
    if sections.get("Unreleased", "").strip():
        raise NotReady("CHANGELOG.md has lines under Unreleased: put them under the version.")
    said = sections.get(version, "").strip()
    if not said:
        raise NotReady(f"CHANGELOG.md has no section for {version}.")
    return said


def for_the_index(readme: str) -> str:
    """README as the package index shows it.

    Raises:
        NotReady: a line that installs from the repository is not there.
    """
    for line, instead in FROM_REPOSITORY.items():
        if line not in readme:
            raise NotReady(f"README.md has no line {line!r}.")
        readme = readme.replace(line, instead)
    return readme


def release(root: Path, out: Path) -> str:
    """Builds and checks.

    Returns:
        What would be uploaded, in words.

    Raises:
        NotReady: something is missing, or a check failed.
    """
    versions = stated(root)
    (version, *others) = set(versions.values())
    if others:
        raise NotReady(f"The version is not the same everywhere: {versions}. Run:  python .ci/release.py version …")
    said = notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if out.exists() and any(out.iterdir()):
        raise NotReady(f"{out} is not empty.")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=root, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as packed:
            packed.extractall(source, filter="tar")
        readme = source / "README.md"
        readme.write_text(for_the_index(readme.read_text(encoding="utf-8")), encoding="utf-8")
        for project in (source / "packages" / "groundwire-audit", source):
            _run("build", "--no-isolation", "--outdir", str(out), str(project))
    files = sorted(out.iterdir())
    _run("twine", "check", "--strict", *map(str, files))
    digests = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {file.name}\n" for file, digest in digests.items()))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True).stdout
    sizes = "".join(f"| {file.name} | {file.stat().st_size:,} | {digest} |\n" for file, digest in digests.items())
    told = (
        f"# groundwire {version}\n\nBuilt from commit {commit.strip()}; checked by twine; not uploaded.\n\n"
        f"| file | bytes | sha256 |\n|---|---|---|\n{sizes}\n## Changes\n\n{said}\n"
    )
    (out / "RELEASE.md").write_text(told, encoding="utf-8")
    return told


def _run(module: str, *arguments: str) -> None:
    ran = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True)
    if ran.returncode:
        raise NotReady(f"{module} failed:\n{ran.stdout}{ran.stderr}")


def main(arguments: list[str]) -> int:
    """The program."""
    try:
        if arguments[:1] == ["version"] and len(arguments) == 2:
            set_version(ROOT, arguments[1])
        elif not arguments:
            print(release(ROOT, ROOT / "dist").partition("\n## Changes")[0])
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except NotReady as why:
        print(f"no release: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
