"""What goes from the environment of an agent into that of a separate verifier, and what does not."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence

import pytest

from groundwire.core import Tree
from groundwire.integrations.harbor._artifacts import carried_over, carried_tree, tree_of
from groundwire.integrations.harbor._config import ArtifactSection


def packed(entries: Mapping[str, bytes | None], links: Mapping[str, str] | None = None) -> bytes:
    """An archive as Docker gives it: named from the last part of its path on; None is a folder."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.mode, entry.size = 0o4755, len(content or b"")
            tar.addfile(entry, io.BytesIO(content or b""))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return body.getvalue()


def names(archive: bytes) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {entry.name for entry in tar}


def test_what_leads_out_of_an_artifact_stays_behind() -> None:
    held = packed(
        {"app": None, "app/a.txt": b"a", "app/../../etc/passwd": b"x"},
        {"app/in": "a.txt", "app/out": "../../etc/shadow", "app/root": "/etc/shadow"},
    )
    over = carried_over([ArtifactSection(source="/app")], {"/app": held})
    assert names(over.archive) == {"app", "app/a.txt", "app/in"}
    assert over.emptied == ("/app",)
    with tarfile.open(fileobj=io.BytesIO(over.archive)) as tar:
        assert tar.getmember("app/a.txt").mode == 0o755  # no longer anybody else's rights


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ((), {"a.log", "b.txt", "cache/x", "lib/cache/y", "lib/z.log"}),
        (("*.log",), {"b.txt", "cache/x", "lib/cache/y"}),
        (("cache",), {"a.log", "b.txt", "lib/z.log"}),
        (("lib/cache",), {"a.log", "b.txt", "cache/x", "lib/z.log"}),
        (("lib/*",), {"a.log", "b.txt", "cache/x"}),
    ],
)
def test_what_is_excluded_is_left_out_as_tar_does(patterns: Sequence[str], left: set[str]) -> None:
    paths = ("a.log", "b.txt", "cache/x", "lib/cache/y", "lib/z.log")
    held = packed({"app": None, **{f"app/{path}": b"" for path in paths}})
    over = carried_over([ArtifactSection(source="/app", exclude=list(patterns))], {"/app": held})
    assert tree_of(over.archive, "/app").files.keys() == left


def test_of_two_that_overlap_the_first_one_stays() -> None:
    held = {"/app/a.txt": packed({"a.txt": b"a"}), "/app": packed({"app": None, "app/a.txt": b"a", "app/b.txt": b"b"})}
    whole, one = ArtifactSection(source="/app"), ArtifactSection(source="/app/a.txt")
    assert tree_of(carried_over([whole, one], held).archive, "/app").files.keys() == {"a.txt", "b.txt"}
    assert tree_of(carried_over([one, whole], held).archive, "/app").files.keys() == {"a.txt"}
    elsewhere = ArtifactSection(source="/app", destination="kept")
    assert tree_of(carried_over([one, elsewhere], held).archive, "/app").files.keys() == {"a.txt", "b.txt"}


def test_a_project_alone_is_carried_by_the_same_rules() -> None:
    base = Tree({"old.txt": b"old", "lib/a.py": b"1", "lib/b.py": b"2"})
    left = Tree({"old.txt": b"changed", "lib/a.py": b"3", "run.sh": b"#!"}, frozenset({"run.sh"}))
    chosen = [ArtifactSection(source="/app/lib"), ArtifactSection(source="/app/run.sh"), ArtifactSection(source="/x")]
    tree = carried_tree(chosen, "/app", base, left)
    assert tree.files == {"old.txt": b"old", "lib/a.py": b"3", "run.sh": b"#!"}
    assert tree.executable == {"run.sh"}
    gone = carried_tree([ArtifactSection(source="/app/lib")], "/app", base, Tree())
    assert gone.files == base.files  # what is no longer there is not carried, so the verifier's own stays
