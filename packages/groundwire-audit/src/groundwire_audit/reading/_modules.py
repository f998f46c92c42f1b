"""Finds the source of imported modules beside the target; what lies elsewhere is a library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from groundwire_audit.reading._files import read_code
from groundwire_audit.reading._values import Module

MAX_MODULES = 800


class ModuleFinder:
    """Reads each file once.

    Args:
        roots: folders in which absolute imports are looked up.
        base: what file names in reports are relative to.
    """

    def __init__(self, roots: list[Path], base: Path) -> None:
        self.roots = [r.resolve() for r in roots]
        self.base = base.resolve()
        self.modules: dict[Path, Module] = {}

    def open(self, path: Path) -> Module:
        """The module of a file; the same object each time."""
        resolved = path.resolve()
        found = self.modules.get(resolved)
        if found is None:
            found = Module(self._name(resolved), read_code(resolved, self._shown(resolved)))
            self.modules[resolved] = found
        return found

    def find(self, dotted: str, *, importer: Module | None = None, level: int = 0) -> Module | None:
        """The module under a name, or None where it is not beside the target."""
        if len(self.modules) >= MAX_MODULES:
            return None
        for folder in self._starts(importer, level):
            path = folder.joinpath(*dotted.split(".")) if dotted else folder
            for candidate in (path.with_suffix(".py") if dotted else None, path / "__init__.py"):
                if candidate is not None and candidate.is_file():
                    return self.open(candidate)
        return None

    def is_folder(self, dotted: str, *, importer: Module | None = None, level: int = 0) -> bool:
        """True if the name is a folder beside the target that holds Python files (a namespace package)."""
        for folder in self._starts(importer, level):
            path = folder.joinpath(*dotted.split("."))
            if dotted and path.is_dir() and next(path.glob("*.py"), None) is not None:
                return True
        return False

    def _starts(self, importer: Module | None, level: int) -> Iterator[Path]:
        if level:
            if importer is not None:
                folder = importer.code.path.parent
                for _ in range(level - 1):
                    folder = folder.parent
                yield folder
            return
        if importer is None:
            yield from self.roots
            return
        # as Python does: a package's own folder is not where its imports begin, but a script's is
        beside = importer.code.path.parent
        *inner, start = [beside, *_package_parents(importer.code.path)]
        yield start
        yield from self.roots
        yield from inner

    def _name(self, path: Path) -> str:
        for root in sorted(self.roots, key=lambda r: -len(r.parts)):
            if path.is_relative_to(root):
                parts = path.relative_to(root).with_suffix("").parts
                return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return path.stem

    def _shown(self, path: Path) -> str:
        return path.relative_to(self.base).as_posix() if path.is_relative_to(self.base) else path.as_posix()


def _package_parents(path: Path) -> Iterator[Path]:
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
        yield folder
