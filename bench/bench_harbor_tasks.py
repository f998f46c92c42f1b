"""Of Harbor's task folders: which can be read, which can be judged here and in what, and which without a network.

    .venv/bin/python bench/bench_harbor_tasks.py FOLDER… [--judge] [--json rows.jsonl] [--each]

Each folder below FOLDER that has a `task.toml` and an instruction (or steps) is read as `groundwire run` reads it.
Nothing is fetched, pulled or built. `--judge` has the verifier judge the project as it stands, in bubblewrap, where
that is all it takes. `--each` prints a line a task.

| word | meaning |
|---|---|
| unreadable | refused while it was read: malformed, or it copies a file that is not in the folder |
| refused | its own files tell that it can't be judged here (`HarborTask.why_not`) |
| bubblewrap | its Dockerfile does nothing but copy files, set variables and name a folder |
| image | it needs an image |
| offline | no line of the Dockerfile and of the test script asks for the network: base images are all that it takes |
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from groundwire import Candidate
from groundwire.core import Backend, Completion, Request, Sandbox, ToolContext
from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.evaluation import Rate
from groundwire.integrations.harbor import HarborTask, HarborVerifier
from groundwire.integrations.harbor._task import FETCHES, is_harbor_folder


@dataclass(frozen=True)
class Row:
    """What came of one task."""

    folder: str
    kind: str
    """`unreadable`, `refused`, `bubblewrap` or `image`."""
    why: str = ""
    images: tuple[str, ...] = ()
    steps: int = 0
    is_apart: bool = False
    """Its verifier has an environment of its own."""
    build_fetches: str = ""
    test_fetches: str = ""
    judged: str = ""

    @property
    def is_offline(self) -> bool:
        """True if base images are all that it takes."""
        return self.kind in ("bubblewrap", "image") and not self.build_fetches and not self.test_fetches


def folders(root: Path) -> Iterator[Path]:
    """The folders of tasks below a folder; none within another."""
    inside: Path | None = None
    for path in sorted(root.rglob("task.toml")):
        if is_harbor_folder(path.parent) and not (inside and path.is_relative_to(inside)):
            inside = path.parent
            yield inside


def row_of(folder: Path) -> Row:
    """Reads one task."""
    name = str(folder)
    try:
        harbor = HarborTask.from_folder(folder)
        steps = [harbor.at(step) for step in harbor.steps] or [harbor]
        builds = [one for step in steps for one in (step.verification.agents, step.verification.own) if one is not None]
        recipes = [one.recipe for one in builds if one.recipe is not None]
        apart = any(step.verification.own is not None for step in steps)
        if why := harbor.why_not():
            return Row(name, "refused", why, steps=len(harbor.steps), is_apart=apart)
    except GroundwireError as error:
        return Row(name, "unreadable", error.what)
    named = [one.named for one in builds if one.named]
    bases = [base for recipe in recipes for base in recipe.bases]
    lines = [line for recipe in recipes for line in recipe.needs]
    fetched = [line for line in lines if FETCHES.search(f"{line} ".encode()) or "network" in line]
    needs = harbor.why_not_in_a_sandbox()
    return Row(
        name,
        "image" if needs else "bubblewrap",
        needs,
        tuple(dict.fromkeys([*named, *bases])),
        len(harbor.steps),
        apart,
        fetched[0] if fetched else "",
        harbor.fetches,
    )


async def judged(folder: Path) -> str:
    """The verdict on the project as it stands: of several steps that of the first."""

    async def opened() -> Sandbox:
        raise ConfigError("The run's sandbox was asked for.")

    async def asked(backend: Backend, request: Request) -> Completion:
        raise ConfigError("A model was asked.")

    harbor = HarborTask.from_folder(folder)
    task = (harbor.at(harbor.steps[0]) if harbor.steps else harbor).task()
    tool = HarborVerifier(sandbox="bubblewrap")
    seen = await tool.judge(Candidate(task.tree.digest, {}), task, ToolContext(sandbox=opened, call=asked))
    return f"{seen.verdict.value}: {seen.evidence.detail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--judge", action="store_true", help="judge what needs nothing but bubblewrap")
    parser.add_argument("--each", action="store_true", help="a line a task")
    parser.add_argument("--json", type=Path, help="rows, as JSON a line")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for folder in (one for root in arguments.folders for one in folders(root)):
        row = row_of(folder)
        if arguments.judge and row.kind == "bubblewrap" and row.is_offline:
            row = replace(row, judged=asyncio.run(judged(folder)))
        rows.append(row)
        if arguments.each:
            print(f"{row.kind:<10} {'offline' if row.is_offline else '':<7} {folder}  {row.judged or row.why}")
    if arguments.json:
        arguments.json.write_text("".join(f"{json.dumps(asdict(row))}\n" for row in rows))
    _tell(rows)


def _tell(rows: Sequence[Row]) -> None:
    readable = [row for row in rows if row.kind != "unreadable"]
    judgeable = [row for row in readable if row.kind != "refused"]
    for said, part in (
        ("can be read", readable),
        ("can be judged here", judgeable),
        ("… in bubblewrap", [row for row in judgeable if row.kind == "bubblewrap"]),
        ("… offline, with base images here", [row for row in judgeable if row.is_offline]),
        ("of several steps", [row for row in judgeable if row.steps]),
        ("verifier apart", [row for row in judgeable if row.is_apart]),
    ):
        share = Rate(len(part), len(rows))
        low, high = share.interval
        print(f"{said:<34} {share.part:>4} of {share.whole}  {low:.0%} to {high:.0%}")
    for title, counted in (
        ("unreadable or refused", [_short(row.why) for row in rows if row not in judgeable]),
        ("the build asks for the network", [_short(row.build_fetches) for row in judgeable if row.build_fetches]),
        ("the test script asks for the network", [_short(row.test_fetches) for row in judgeable if row.test_fetches]),
        ("images", [image for row in judgeable for image in row.images]),
        ("judged as it stands", [row.judged.partition(":")[0] for row in rows if row.judged]),
    ):
        if counted:
            print(f"\n{title}")
            for what, count in Counter(counted).most_common(12):
                print(f"  {count:>4}  {what}")


def _short(text: str) -> str:
    """Without what differs from task to task: the task's own name, what is quoted."""
    return re.sub(r"^\S+: ", "", text)[:90]


if __name__ == "__main__":
    main()
