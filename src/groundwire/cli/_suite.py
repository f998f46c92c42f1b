"""What a run of many tasks consists of: where the tasks come from, which of them are run, and how that is kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from groundwire.benchmarks import Item, benchmark
from groundwire.cli._checks import check_exists, check_folders
from groundwire.core._candidates import IGNORED_FOLDERS
from groundwire.core._environments import start_of
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._paths import expand_user
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.integrations.harbor._task import HarborTask, is_harbor_folder

if TYPE_CHECKING:
    from groundwire.graphs.run._answer import Select


SPLITS = frozenset({"train", "dev", "valid", "validation", "test"})
"""Names of a folder of tasks that say which split they are."""
MARKS = ("task.toml", "pyproject.toml", "setup.py", "*.py", "tests/test_*.py", "test/test_*.py")
"""What a folder holds that is a task, and not a folder of tasks."""


@dataclass(frozen=True)
class Shard:
    """Part `part` of `parts`, counted from 1."""

    part: int = 1
    parts: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """`2/8`.

        Raises:
            ConfigError: it is no part of a whole.
        """
        left, slash, right = text.partition("/")
        if slash and left.isdecimal() and right.isdecimal() and 1 <= int(left) <= int(right):
            return cls(int(left), int(right))
        raise ConfigError(
            f"{text!r} is not a shard.", do="Give the part and the number of parts, for example --shard 2/8."
        )

    def of(self, items: Sequence[Item]) -> list[Item]:
        """Every `parts`-th item: the parts share none, and together they are all."""
        return list(items[self.part - 1 :: self.parts])

    def __str__(self) -> str:
        return f"{self.part}/{self.parts}"


@dataclass(frozen=True)
class TaskSource:
    """Where tasks come from.

    Args:
        kind: `folders`; `bench`: a public benchmark; `world`: an environment, a task a seed; or `question`.
        paths: folders of tasks; or files of the benchmark's data.
        name: the benchmark's, the world's, or the question itself.
        repos: clones, for a benchmark of repositories.
        split: only this split; empty: all.
        seeds: how many worlds.
        first_seed: of the first of them; each next one has the next seed.
        in_one_go: all actions in a world are written as one answer, and then played.
        expect: the right answers to a question.
        case_s: processor seconds that any one test case may take at most; 0: as many as the task allows.
    """

    kind: Literal["folders", "bench", "world", "question"]
    paths: tuple[Path, ...]
    name: str = ""
    repos: Path | None = None
    split: str = ""
    seeds: int = 0
    first_seed: int = 0
    in_one_go: bool = False
    expect: tuple[str, ...] = ()
    case_s: float = 0.0

    def check(self) -> None:
        """Refuses what is not there, without reading any task.

        Raises:
            TaskError, ConfigError: a folder, the data, the benchmark or the world.
        """
        if self.kind == "world":
            from groundwire.tools.environments._catalogue import world

            world(self.name)
            return
        if self.kind == "question":
            if not self.name.strip() or not any(one.strip() for one in self.expect):
                raise ConfigError(
                    "A question needs an answer that it is judged by.", do='Write  --ask "…" --expect "…".'
                )
        elif self.kind == "bench":
            benchmark(self.name, repos=self.repos)
            check_exists(*self.paths, self.repos, do="Name the benchmark's file, or a folder that holds it.")
        else:
            check_folders(self.paths, do="Name task folders, or a folder of them.")

    def items(self) -> list[Item]:
        """All tasks, in order.

        Raises:
            TaskError, RecordingError, ConfigError: they can't be read, or two have one id.
        """
        if self.kind == "bench":
            items = [item for path in self.paths for item in benchmark(self.name, repos=self.repos).items(path)]
        elif self.kind == "world":
            from groundwire.tools.environments._catalogue import world

            kind = world(self.name)
            seeds = range(self.first_seed, self.first_seed + self.seeds)
            if self.in_one_go:
                from groundwire.tools.environments._one_shot import answer_task

                return [Item(answer_task(kind, seed), "") for seed in seeds]
            return [Item(kind.task(seed), "") for seed in seeds]
        elif self.kind == "question":
            from groundwire.benchmarks.answers._key import question_task

            # by its words, so that no lesson of another question is recalled as this one's own
            digest = hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            items = [Item(question_task(f"question-{digest}", self.name, self.expect, family="question"), "")]
        else:
            items = [item for path in self.paths for item in _in_folder(path)]
        items = [item for item in items if self.split in ("", item.split)]
        if not items:
            raise TaskError(
                f"There is no task{f' of the split {self.split}' if self.split else ''} in {self.paths[0]}.",
                do="Name task folders, or a folder of them; see docs/tasks.md.",
            )
        twice = [name for name, count in Counter(item.task.id for item in items).items() if count > 1]
        if twice:
            raise TaskError(f"Two tasks have the id {twice[0]!r}.", do="Give each its own id in task.toml.")
        return [replace(item, task=item.task.within_case_s(self.case_s)) for item in items] if self.case_s else items

    @property
    def repairs(self) -> bool:
        """True if something stands there already that the tests are to fail on first."""
        return self.kind == "folders" or (self.kind == "bench" and benchmark(self.name, repos=self.repos).repairs)

    def as_data(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        return {
            "kind": self.kind,
            "paths": [str(expand_user(path).resolve()) for path in self.paths],
            "name": str(expand_user(self.name).resolve()) if ".py:" in self.name else self.name,
            "repos": str(expand_user(self.repos).resolve()) if self.repos else None,
            "split": self.split,
            "seeds": self.seeds,
            "first_seed": self.first_seed,
            "in_one_go": self.in_one_go,
            "expect": list(self.expect),
            "case_s": self.case_s,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """From what the ledger keeps."""
        repos = Path(data["repos"]) if data["repos"] else None
        return cls(
            data["kind"],
            tuple(map(Path, data["paths"])),
            data["name"],
            repos,
            data["split"],
            data.get("seeds", 0),
            data.get("first_seed", 0),
            data.get("in_one_go", False),
            tuple(data.get("expect", ())),
            data.get("case_s", 0.0),
        )


def _in_folder(path: Path) -> Iterator[Item]:
    check_folders([path], do="Name task folders, or a folder of them.")
    root = expand_user(path)
    if is_harbor_folder(root):
        yield Item(HarborTask.from_folder(root).task(), root.parent.name if root.parent.name in SPLITS else "")
        return
    if any(next(root.glob(mark), None) for mark in MARKS):
        yield Item(Task.from_folder(root), root.parent.name if root.parent.name in SPLITS else "")
        return
    below = sorted(p for p in root.iterdir() if p.is_dir() and p.name not in IGNORED_FOLDERS and p.name[0] != ".")
    for folder in below:
        yield from _in_folder(folder)


def chosen(items: Sequence[Item], limit: int | None, shard: Shard) -> list[Item]:
    """The shard of the first `limit` tasks."""
    return shard.of(items[:limit])


@dataclass(frozen=True)
class Suite:
    """One run of many tasks.

    Args:
        graph: as on the command line.
        source: where the tasks come from.
        settings: of every episode.
        limit: only the first so many tasks.
        shard: only this part of them.
        select: how an answer is chosen, where the graph can be told (`code_repair`).
        at_once: episodes at a time, in each process; None: four, or as many as keep a local engine full.
        workers: processes that work on it; None: this one alone, or, on a cluster, as many as it has room for.
        on: a cluster that they run on (`ray`, `ray://HOST:PORT`); empty: this machine.
        control: True: blind resampling on the same tasks and seeds follows.
        ungrounded: True: the ungrounded control follows too.
        graph_options: what the graph alone is told, by name (`groundwire.cli.graph_options`).
        oracle: True: the key of a question steers.
    """

    graph: str
    source: TaskSource
    settings: Settings = field(default_factory=Settings)
    limit: int | None = None
    shard: Shard = Shard()
    select: Select = "best"
    at_once: int | None = None
    workers: int | None = None
    on: str = ""
    control: bool = False
    ungrounded: bool = False
    graph_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    oracle: bool = False

    def items(self) -> list[Item]:
        """The tasks that are run.

        Raises:
            TaskError, RecordingError, ConfigError: as `Source.items`; or nothing is left of them.
        """
        items = chosen(self.source.items(), self.limit, self.shard)
        if not items:
            raise ConfigError(f"The shard {self.shard} of these tasks is empty.", do="Use fewer parts.")
        if self.is_shared and any(self.by_image(items)):
            raise ConfigError(
                "The tasks name images of their own, and the workers of a run share one.",
                do="Name it with --image, or run without --workers.",
            )
        return items

    def seed_of(self, item: Item) -> int:
        """Of all choices in its episode: the run's, or, where each task is a world of its own, that world's."""
        acts = self.source.kind == "world" and not self.source.in_one_go
        return start_of(item.task).seed if acts else self.settings.seed

    def by_image(self, items: Sequence[Item]) -> Mapping[str, Sequence[Item]]:
        """The tasks by the image that each is judged in: its own where Docker judges and nobody named one."""
        settings = self.settings
        own = settings.sandbox == "docker" and settings.image == Settings.model_fields["image"].default
        found: dict[str, list[Item]] = {}
        for item in items:
            found.setdefault(item.image if own else "", []).append(item)
        return found

    @property
    def is_shared(self) -> bool:
        """True if other processes than this one run its episodes."""
        return bool(self.on) or (self.workers or 1) > 1

    @property
    def options(self) -> Mapping[str, Any]:
        """Of the graph's builder."""
        return {"select": self.select, "baseline": self.source.repairs}

    def as_data(self, items: Sequence[Item]) -> dict[str, Any]:
        """As the ledger keeps it, with the tasks, by their files' digests, and their splits."""
        return {
            "graph": self.graph,
            "source": self.source.as_data(),
            "settings": self.settings.model_dump(mode="json", exclude={"db"}),
            "limit": self.limit,
            "shard": str(self.shard),
            "select": self.select,
            "workers": self.at_once,  # as it was called before there were workers
            "worker_processes": self.workers,
            "on": self.on,
            "control": self.control,
            "ungrounded": self.ungrounded,
            "graph_options": {name: _kept(value) for name, value in self.graph_options.items()},
            "oracle": self.oracle,
            "seed": self.settings.seed,
            "splits": dict(Counter(item.split for item in items)),
            "tasks": [[item.task.id, item.task.tree.digest, item.split] for item in items],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any], flags: Mapping[str, Any]) -> Self:
        """From what the ledger keeps; `flags` say where the ledger is."""
        given = {name: value for name, value in flags.items() if value is not None}
        return cls(
            graph=data["graph"],
            source=TaskSource.from_data(data["source"]),
            settings=Settings.resolve({**data["settings"], **given}),
            limit=data["limit"],
            shard=Shard.parse(data["shard"]),
            select=data["select"],
            at_once=data["workers"],
            workers=data.get("worker_processes"),
            on=data.get("on", ""),
            control=data["control"],
            ungrounded=data["ungrounded"],
            graph_options=data.get("graph_options", {}),
            oracle=data.get("oracle", False),
        )


def _kept(value: Any) -> Any:
    """An option as the ledger keeps it: what names a file holds from any folder."""
    if isinstance(value, str) and ".py:" in value:
        path, _, name = value.rpartition(":")
        return f"{expand_user(path).resolve()}:{name}"
    if isinstance(value, Path):
        return str(expand_user(value).resolve())
    return value
