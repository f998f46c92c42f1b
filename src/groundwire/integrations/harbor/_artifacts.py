"""What a separate verifier is given of the environment that an agent worked in, as Harbor carries it over.

Each artifact is copied out under a path of its own (its destination, else its source), where two may not overlap: the
first one stays. From there it is laid into the verifier's environment, at its source again.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from groundwire.core._candidates import Tree
from groundwire.integrations.harbor._config import ArtifactSection

_NOWHERE = "/groundwire-artifacts"
"""Names in an archive are looked at as if they were unpacked there, so that none leads out of it."""


@dataclass(frozen=True)
class CarriedArtifacts:
    """What is laid into the verifier's environment.

    Args:
        emptied: folders that are removed there before, since they come whole.
        archive: what comes, as one tar archive from the root on.
    """

    emptied: tuple[str, ...]
    archive: bytes


@dataclass(frozen=True)
class _Member:
    """A file, folder or link: what it is, and a file's content."""

    info: tarfile.TarInfo
    content: bytes = field(default=b"", repr=False)


def carried_over(artifacts: Sequence[ArtifactSection], archives: Mapping[str, bytes]) -> CarriedArtifacts:
    """What the artifacts are, as they come out of one environment and go into another.

    Links that lead out of an artifact, devices and the bits of other users' rights are left behind.

    Args:
        artifacts: in the order in which they are declared.
        archives: source → what lay there, as a tar archive; a source that was not there is not in it.

    Raises:
        tarfile.TarError: an archive can't be read.
    """
    kept: dict[PurePosixPath, _Member] = {}
    claimed: list[tuple[PurePosixPath, ArtifactSection]] = []
    for one in artifacts:
        target = _target(one)
        if any(_overlap(target, there) and not _same(one, other) for there, other in claimed):
            continue
        claimed.append((target, one))
        if (archive := archives.get(one.source)) is None:
            continue
        for path, member in _members(archive):
            if not _is_excluded(path, one.exclude):
                kept[target / path] = member
    emptied: list[str] = []
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        for one in artifacts:
            target, place = _target(one), PurePosixPath(one.source)
            found = {path: member for path, member in kept.items() if path == target or target in path.parents}
            if target not in found or found[target].info.isdir():
                emptied += [str(place)] * bool(found)
            for path, member in sorted(found.items()):
                _add(tar, str(place / path.relative_to(target)), member)
    return CarriedArtifacts(tuple(emptied), body.getvalue())


def carried_tree(artifacts: Sequence[ArtifactSection], workdir: str, base: Tree, tree: Tree) -> Tree:
    """The same for a project alone: the base with what the artifacts name taken from `tree`.

    Args:
        artifacts: in the order in which they are declared.
        workdir: the project's folder.
        base: the project as the verifier's environment has it.
        tree: the project as the candidate left it.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, content in tree.files.items():
            entry = tarfile.TarInfo(f"{workdir}/{path}".lstrip("/"))
            entry.size, entry.mode = len(content), 0o755 if path in tree.executable else 0o644
            tar.addfile(entry, io.BytesIO(content))
    archives = {one.source: part for one in artifacts if (part := _part(packed.getvalue(), one.source)) is not None}
    over = carried_over(artifacts, archives)
    came = tree_of(over.archive, workdir)
    gone = {path for path in base.files for place in over.emptied if _is_within(f"{workdir}/{path}", place)}
    files = {path: body for path, body in base.files.items() if path not in gone}
    return Tree({**files, **came.files}, ((base.executable & files.keys()) - came.files.keys()) | came.executable)


def tree_of(archive: bytes, folder: str) -> Tree:
    """The regular files below a folder of an archive, by their paths from there.

    Args:
        archive: a tar archive from the root on.
        folder: absolute.

    Raises:
        tarfile.TarError: it can't be read.
    """
    start = PurePosixPath(folder.lstrip("/") or ".")
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for entry in tar:
            path = PurePosixPath(entry.name.lstrip("/"))
            if not path.is_relative_to(start) or not entry.isfile() or (file := tar.extractfile(entry)) is None:
                continue
            name = path.relative_to(start).as_posix()
            files[name] = file.read()
            if entry.mode & 0o100:
                executable.add(name)
    return Tree(files, frozenset(executable))


def _members(archive: bytes) -> Iterator[tuple[PurePosixPath, _Member]]:
    """What is in an archive of one path: each by its place below that path, which is `.` itself."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for entry in tar:
            try:
                info = tarfile.data_filter(entry, _NOWHERE)
            except tarfile.FilterError:
                continue
            place = PurePosixPath(*PurePosixPath(info.name).parts[1:])
            file = tar.extractfile(entry) if entry.isfile() or entry.islnk() else None
            if file is not None:
                yield place, _Member(info, file.read())
            elif info.isdir() or info.issym():
                yield place, _Member(info)


def _add(tar: tarfile.TarFile, path: str, member: _Member) -> None:
    entry = tarfile.TarInfo(path.lstrip("/"))
    if member.info.isdir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o777
    elif member.info.issym():
        entry.type, entry.linkname = tarfile.SYMTYPE, member.info.linkname
    else:
        entry.size, entry.mode = len(member.content), (member.info.mode or 0o644) | 0o444
    entry.mtime = int(member.info.mtime or 0)
    tar.addfile(entry, io.BytesIO(member.content))


def _part(archive: bytes, source: str) -> bytes | None:
    """What an archive from the root on holds at a path, as an archive of that path; None where there is nothing."""
    start = PurePosixPath(source.lstrip("/"))
    body, found = io.BytesIO(), False
    with tarfile.open(fileobj=io.BytesIO(archive)) as whole, tarfile.open(fileobj=body, mode="w") as part:
        for entry in whole:
            path = PurePosixPath(entry.name)
            if path.is_relative_to(start):
                entry.name = str(PurePosixPath(start.name) / path.relative_to(start))
                part.addfile(entry, whole.extractfile(entry))
                found = True
    return body.getvalue() if found else None


def _target(one: ArtifactSection) -> PurePosixPath:
    parts = [part for part in PurePosixPath(one.destination or one.source).parts if part not in ("/", "..")]
    return PurePosixPath(*parts)


def _overlap(one: PurePosixPath, other: PurePosixPath) -> bool:
    return one == other or one in other.parents or other in one.parents


def _same(one: ArtifactSection, other: ArtifactSection) -> bool:
    mine, theirs = (PurePosixPath(each.source) for each in (one, other))
    return (mine, _target(one), one.exclude) == (theirs, _target(other), other.exclude)


def _is_excluded(path: PurePosixPath, patterns: Sequence[str]) -> bool:
    """As tar's `--exclude` has it: a pattern may match from any folder on, and what lies below is left out too."""
    whole = path.parts
    names = ["/".join(whole[begin:end]) for end in range(1, len(whole) + 1) for begin in range(end)]
    return any(fnmatchcase(name, pattern.strip("/")) for pattern in patterns for name in names)


def _is_within(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(folder)
