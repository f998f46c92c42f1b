"""That nothing of an eval task is trained on: tasks by digest and by the words they share, rows by runs of words.

A run is of 13 words or marks, the length that GPT-3's authors looked for (arXiv 2005.14165, appendix C). What several
tasks say in the same words (the frame of a test file, how a task is put) is nobody's, and is set aside.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from groundwire.core._tasks import Task
from groundwire.training._schema import Row, texts_in

RUN = 13
"""Words or marks of one run."""
COMMON = 4
"""Tasks that say the same in the same words: then it is how tasks are put."""
COMMON_SHARE = 0.02
"""The same, as a share of all tasks."""
ALIKE = 0.5
"""Share of a task's own runs that another task has too, from which the two are the same one in other words."""
_WORD = re.compile(r"\w+|[^\w\s]")

Runs = frozenset[int]


def runs_in(text: str) -> Runs:
    """Digests of all runs of words in a text; of a shorter one, of the whole."""
    words = _WORD.findall(text.casefold())
    if not words:
        return frozenset()
    return frozenset(_digest(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)))


def _digest(words: Sequence[str]) -> int:
    return int.from_bytes(hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=8).digest())


def _texts(task: Task) -> list[str]:
    """What a task consists of: what is asked, and its files, the hidden ones too."""
    trees = [task.tree, *([task.hidden.tree] if task.hidden is not None else [])]
    files = [content.decode("utf-8", "replace") for tree in trees for content in tree.files.values()]
    return [task.prompt, *files]


def identity_of(task: Task) -> str:
    """Equal for tasks that ask the same with the same files, whatever they are called."""
    said = " ".join(_WORD.findall(task.prompt.casefold()))
    return hashlib.sha256(f"{task.tree.digest} {said}".encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class Overlap:
    """A training task that is, or nearly is, one of the eval set's.

    Args:
        task: the training task.
        of: the eval task.
        share: of its own runs of words, those that the eval task has too; 1.0 where the two are equal.
    """

    task: str
    of: str
    share: float


@dataclass
class EvalTexts:
    """What no training row may hold.

    Args:
        train: the training tasks.
        evaluation: the eval tasks.
    """

    train: Sequence[Task]
    evaluation: Sequence[Task]
    overlaps: Sequence[Overlap] = field(init=False)
    """Training tasks that overlap with an eval task."""
    held: Mapping[int, str] = field(init=False)
    """Runs of words of single eval tasks, and whose they are."""
    refused: Counter[str] = field(default_factory=Counter[str])
    """Rows that were left out, by the eval task whose words they hold."""

    note = ""

    def __post_init__(self) -> None:
        own = {task.id: frozenset[int]().union(*map(runs_in, _texts(task))) for task in self.train}
        others = {task.id: frozenset[int]().union(*map(runs_in, _texts(task))) for task in self.evaluation}
        counts = Counter(run for runs in (*own.values(), *others.values()) for run in runs)
        most = max(COMMON, round(COMMON_SHARE * (len(own) + len(others))))
        self.held = {run: name for name, runs in others.items() for run in runs if counts[run] < most}
        self.overlaps = list(self._found(own, counts, most))

    def _found(self, own: Mapping[str, Runs], counts: Mapping[int, int], most: int) -> Iterable[Overlap]:
        same = {identity_of(task): task.id for task in self.evaluation}
        for task in self.train:
            if (twin := same.get(identity_of(task))) is not None:
                yield Overlap(task.id, twin, 1.0)
                continue
            mine = [run for run in own[task.id] if counts[run] < most]
            shared = Counter(self.held[run] for run in mine if run in self.held)
            if shared:
                name, count = shared.most_common(1)[0]
                if count / len(mine) >= ALIKE:
                    yield Overlap(task.id, name, round(count / len(mine), 3))

    def refuses(self, row: Row) -> str:
        """See `Filter`: a row that holds a run of words that one eval task has, and hardly another task."""
        for name, value in row.model_dump(mode="json", include=_spoken(row)).items():
            for _, text in texts_in(value, name):
                found = next((self.held[run] for run in runs_in(text) if run in self.held), "")
                if found:
                    self.refused[found] += 1
                    return "holds_eval_text"
        return ""


def _spoken(row: Row) -> set[str]:
    return set(type(row).model_fields) - {"provenance"}
