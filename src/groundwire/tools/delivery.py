"""Brings our runners into the sandbox, and starts them there."""

from __future__ import annotations

import json
import marshal
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from types import CodeType
from typing import Any, cast

from groundwire.tools.commands import Invocation
from groundwire.trees import Tree

__all__ = ["ENVIRONMENT", "LINES", "REPORT", "STACK", "arguments_of", "support_files"]

REPORT, LINES, STACK = "report.jsonl", "lines.jsonl", "stack.txt"
ENVIRONMENT: Mapping[str, str] = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "COLUMNS": "120",
}
"""The same candidate shall give the same output: no colours, no random hash seed, no stranger's plugin."""

# Runs our module before anything of the project can be imported: neither the work folder nor PYTHONPATH is on the
# import path until pytest and all we need are loaded, so a `json.py` or `pytest.py` in the project can't stand in for
# them. Then the path is as it would have been, and at its end come the folders that an editable install would add.
_BOOT = """
import os, sys
name, here, more, sys.argv[1:] = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
work, old = os.getcwd(), [p for p in sys.path if p]
theirs = {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep)} | {work}
sys.path[:] = [os.environ["GROUNDWIRE_SUPPORT"]] + [p for p in old if os.path.isabs(p) and p not in theirs]
run = __import__(name).prepare()
sys.path[:] = [work] * (here == "here") + [p for p in old if p != os.environ["GROUNDWIRE_SUPPORT"]]
more = [os.path.normpath(os.path.join(work, m)) for m in more.split(os.pathsep) if m]
sys.path += [p for p in more if p not in sys.path]
del name, here, more, work, old, theirs, os.environ["GROUNDWIRE_SUPPORT"], os.environ["GROUNDWIRE_OUT"]
sys.exit(run(sys.argv[1:]))
"""


def arguments_of(module: str, invocation: Invocation, tree: Tree) -> tuple[str, ...]:
    """Arguments of the Python interpreter that run one of our modules in place of the runner that was named."""
    here = "here" if invocation.here else "-"
    return ("-c", _BOOT, f"_gw_{module}", here, os.pathsep.join(_install_folders(tree)), *invocation.arguments)


def _install_folders(tree: Tree) -> Sequence[str]:
    """What an editable install of the project would put on the import path: it can't be followed into the sandbox."""
    if not any(name in tree.files for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        return ()
    return ("src", ".") if any(p.startswith("src/") and p.endswith(".py") for p in tree.files) else (".",)


@cache
def _ours() -> Mapping[str, bytes]:
    files: dict[str, bytes] = {}
    for path in sorted((Path(__file__).parent / "inside").glob("*.py")):
        if path.name != "__init__.py":
            source = path.read_bytes()
            files[f"_gw_{path.name}"] = source
            files[f"__pycache__/_gw_{path.stem}.{sys.implementation.cache_tag}.pyc"] = _compiled(path, source)
    return files


def _compiled(path: Path, source: bytes) -> bytes:
    """Bytecode in the form of PEP 552, never checked against its source; another Python than ours ignores it.

    Each run would have to compile our modules otherwise, which takes as long as a small test suite. This process takes
    it from its own `__pycache__` where that is there.
    """
    name = f"_gw_{path.stem}"
    code = _named(cast("CodeType", SourceFileLoader(name, str(path)).get_code(name)), f"{name}.py")
    return MAGIC_NUMBER + (1).to_bytes(4, "little") + source_hash(source) + marshal.dumps(code)


def _named(code: CodeType, file: str) -> CodeType:
    """The same code as if it had been compiled from `file`: no path of this machine goes into the sandbox."""
    parts = tuple(_named(part, file) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=parts)


def support_files(settings: Mapping[str, Any]) -> Mapping[str, bytes]:
    """Our modules, and what they are told."""
    return {**_ours(), "_gw_settings.json": json.dumps(settings, sort_keys=True).encode()}
