"""Roles that people declare for nodes and tools: taken as said, shown as declared, never as proved."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from groundwire_audit._errors import AuditError

KNOWN = ("actor", "critic", "model", "tool", "world", "human", "pure")
TABLE = "groundwire-audit"
MAX_BYTES = 1024 * 1024


def roles_of_flags(flags: Iterable[str]) -> dict[str, str]:
    """`node=role` of each flag.

    Raises:
        AuditError: one has another form, or an unknown role.
    """
    roles: dict[str, str] = {}
    for flag in flags:
        name, sign, role = flag.rpartition("=")
        if not sign or not name:
            raise AuditError(f"{flag!r} is no role.", do="Write it as  --role node=tool")
        roles[name.strip()] = _checked(name, role, f"--role {flag}")
    return roles


def roles_of_file(path: Path) -> dict[str, str]:
    """Roles of a TOML or JSON file: `node = "role"`, at the top or in a table `roles`.

    Raises:
        AuditError: it can't be read, or holds something else.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise AuditError(f"{path} is too large for a file of roles.", do="Give a small TOML or JSON file.")
        text = path.read_text(encoding="utf-8")
        body: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise AuditError(f"The roles in {path} can't be read: {error}.", do="Give a TOML or JSON file.") from error
    return _checked_table(body, str(path))


def roles_of_project(start: Path) -> dict[str, str]:
    """Roles of `[tool.groundwire-audit.roles]` in the nearest pyproject.toml at or above a folder.

    Raises:
        AuditError: the table holds something else than roles.
    """
    folder = (start if start.is_dir() else start.parent).resolve()
    for candidate in (folder, *folder.parents):
        path = candidate / "pyproject.toml"
        if path.is_file():
            try:
                body: Any = tomllib.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError):
                return {}  # somebody's broken file is not what was asked about
            for key in ("tool", TABLE, "roles"):
                if not isinstance(body, dict) or key not in body:
                    return {}
                body = cast("dict[str, Any]", body)[key]
            return _checked_table({"roles": body}, str(path))
    return {}


def _checked_table(body: object, where: str) -> dict[str, str]:
    held = cast("dict[object, object]", body) if isinstance(body, dict) else {}
    table = held.get("roles", held)
    if not isinstance(body, dict) or not isinstance(table, dict):
        raise AuditError(f"{where} holds no table of roles.", do='Write lines such as  run_tests = "tool"')
    return {str(k): _checked(str(k), v, where) for k, v in cast("dict[object, object]", table).items()}


def _checked(name: str, role: object, where: str) -> str:
    if not isinstance(role, str) or role.strip().lower() not in KNOWN:
        raise AuditError(
            f"{where} gives {name!r} the role {role!r}, which there is not.", do=f"Choose one of: {', '.join(KNOWN)}."
        )
    return role.strip().lower()
