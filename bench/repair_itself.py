"""Repairs groundwire with groundwire: plants a bug in a copy of this repository and asks for the patch.

    .venv/bin/python bench/repair_itself.py [--json]

Each bug is one that a person could make; its module's own tests are the judge. Prints, per bug, whether the patch
restores the original text, how many candidates were judged and how long it took.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).with_name("groundwire")
BUGS: list[tuple[str, str, str, str]] = [
    ("src/groundwire/graphs/run/_acceptance.py", "if content != before:", "if content == before:",
     "tests/graphs/run/test_acceptance.py"),
    ("src/groundwire/graphs/run/_budget.py", "if trial >= budget.trials:", "if trial > budget.trials:",
     "tests/graphs/run/test_budget.py"),
    ("src/groundwire/graphs/build/_proof.py", "if edge.target not in seen:", "if edge.target in seen:",
     "tests/graphs/build/test_proof.py"),
    ("src/groundwire/core/_candidates.py", "self.base_digest != earlier.base_digest",
     "self.base_digest == earlier.base_digest",
     "tests/core/test_trees.py"),
    ("src/groundwire/core/_candidates.py", "added += line.startswith(\"+\")", "added += line.startswith(\"-\")",
     "tests/core/test_patches.py"),
]  # fmt: skip


def copy_repository(folder: Path) -> None:
    """Writes every tracked file, without history."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())


def repair(path: str, good: str, bad: str, tests: str) -> dict[str, object]:
    """Plants one bug and repairs it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_repository(folder)
        module = folder / path
        original = module.read_text()
        assert original.count(good) == 1, f"{path} has changed: plant the bug anew"
        module.write_text(original.replace(good, bad))
        command = f"python -m pytest -q -o 'pythonpath=src tests/support' {tests}"
        started = time.monotonic()
        ran = subprocess.run(
            [PROGRAM, "repair", folder, "--test", command, "--python", sys.executable, "--apply", "--json",
             "--max-seconds", "300", "--db", f"sqlite:///{folder}/ledger.db"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not ran.stdout:
            return {"bug": path, "stop_reason": ran.stderr.strip(), "exit_code": ran.returncode}
        data = json.loads(ran.stdout)
        return {
            "bug": f"{path}: {good} → {bad}",
            "stop_reason": data["stop_reason"],
            "detail": data["detail"],
            "restored": module.read_text() == original,
            "edits": data["edits"],
            "judged": data["signals"],
            "seconds": round(time.monotonic() - started, 1),
        }


def main() -> None:
    """Prints one line a bug."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", type=int, help="index of one bug")
    arguments = parser.parse_args()
    bugs: list[tuple[str, str, str, str]] = BUGS if arguments.only is None else [BUGS[arguments.only]]
    for bug in bugs:
        print(json.dumps(repair(*bug), ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
