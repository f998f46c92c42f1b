"""groundwire as an agent of Harbor's: it works in the task's environment, and a command there says what fails."""

from __future__ import annotations

import importlib
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from groundwire.agents import CommandActor, LLMActor, LLMCritic, RuleCritic
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Actor, Critic, ToolContext
from groundwire.core._errors import ConfigError
from groundwire.core._ids import new_id
from groundwire.core._records import RunRecord
from groundwire.core._sandboxes import SandboxInfo
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import TEST_GLOBS, Task, default_command, split_command
from groundwire.core._traits import ToolTraits
from groundwire.core._version import __version__
from groundwire.graphs import Budget, EpisodeResult, code_repair
from groundwire.integrations.harbor._atif import atif_of
from groundwire.memory import SqlStore
from groundwire.tools import HiddenTests
from groundwire.tools._summaries import cut_stream
from groundwire.training import trajectories_of

AGENT_S = 600.0
try:
    _Base: Any = importlib.import_module("harbor.agents.base").BaseAgent
except ImportError:
    _Base = object


class EnvironmentCommand:
    """Judges by a command that is run in a Harbor environment, on a copy of the project with the candidate in it.

    Exit status 0 passes, others fail; a command that is not there, and a pytest that collects nothing, is no verdict.

    Args:
        environment: Harbor's.
        place: the project's folder in it.
        command: split; quoted for the shell that Harbor gives it to.
        timeout_s: wall seconds.
    """

    traits = ToolTraits(repeatable=True)

    def __init__(self, environment: Any, place: str, command: Sequence[str], timeout_s: float) -> None:
        self._environment = environment
        self._place = place
        self._command = tuple(command)
        self._timeout_s = timeout_s

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        copy = f"/tmp/groundwire-{new_id()}"
        run = self._environment.exec
        made = await run(f"cp -a {shlex.quote(self._place)} {copy}", timeout_sec=int(self._timeout_s))
        if made.return_code != 0:
            return self._none(NoVerdict.SANDBOX, f"The project can't be copied in its environment: {made.stderr}")
        try:
            await lay(self._environment, candidate, copy)
            end = await run(shlex.join(self._command), cwd=copy, timeout_sec=int(self._timeout_s))
        finally:
            await run(f"rm -rf {copy}")
        status: int = end.return_code
        if status in (126, 127):
            return self._none(NoVerdict.RUNNER_MISSING, f"The command {self._command[0]} is not in the environment.")
        if status == 5 and "pytest" in self._command:
            return self._none(NoVerdict.NOTHING_COLLECTED, "pytest collected no test.")
        passed = status == 0
        stdout, cut = cut_stream((end.stdout or "").encode("utf-8", "surrogatepass"))
        stderr, more = cut_stream((end.stderr or "").encode("utf-8", "surrogatepass"))
        said = f"exit status {status}"
        case = CaseOutcome(
            id="command", result=CaseResult.PASSED if passed else CaseResult.FAILED, message="" if passed else said
        )
        return Observation(
            verdict=Verdict.PASS if passed else Verdict.FAIL,
            origin=Origin.TESTS,
            command=self._command,
            exit_code=status,
            sandbox=_INFO,
            evidence=Evidence(
                cases=(case,), collected=1, stdout=stdout, stderr=stderr, stdout_cut=cut, stderr_cut=more, detail=said
            ),
        )

    def _none(self, reason: NoVerdict, detail: str) -> Observation:
        return Observation(
            verdict=Verdict.NONE,
            reason=reason,
            origin=Origin.TESTS,
            command=self._command,
            sandbox=_INFO,
            evidence=Evidence(detail=detail),
        )


_INFO = SandboxInfo(kind="harbor")


class GroundwireAgent(_Base):
    """A grounded loop as an agent that `harbor run` can name.

        harbor run -p TASK --agent groundwire.integrations.harbor:GroundwireAgent -m openai/gpt-5-mini
            --ak test="python -m pytest -q"

    It reads the project out of the environment, lets a model or a program propose, judges each proposal by a command in
    the environment, tries again only after a sealed FAIL, and leaves its best there. Harbor's own tests are not seen.

    Args:
        logs_dir: Harbor's; the trajectory is written there.
        model_name: any model that `--model` of groundwire takes.
        test: what judges; default: pytest, where the project has tests.
        actor_command: a program that edits files, in the place of the model: any agent's command line, so that the same
            agent is compared with and without the loop. It runs on this machine, in a copy of the project.
        trials: tries.
        timeout_s: wall seconds of one run of `test`, and of the program.
        db: the ledger; default: the user's own.
        **options: of Harbor's `BaseAgent`.

    Raises:
        ConfigError: Harbor is not installed, or there is neither a model nor a program.
    """

    def __init__(
        self,
        logs_dir: Path,
        model_name: str | None = None,
        *,
        test: str = "",
        actor_command: str = "",
        trials: int = 3,
        timeout_s: float = AGENT_S,
        db: str | None = None,
        **options: Any,
    ) -> None:
        if _Base is object:
            raise ConfigError("Harbor is not installed.", do='pip install "groundwire[harbor]"')
        super().__init__(logs_dir, model_name, **options)  # pyright: ignore[reportUnknownMemberType]
        if not (model_name or actor_command):
            raise ConfigError(
                "The agent has neither a model nor a program.", do='Give -m MODEL, or --ak actor_command="my-agent …".'
            )
        self._folder = logs_dir
        self._model = model_name or ""
        self._test = test
        self._program = actor_command
        self._trials = int(trials)
        self._timeout_s = float(timeout_s)
        self._db = db

    @staticmethod
    def name() -> str:
        """See Harbor's `BaseAgent`."""
        return "groundwire"

    def version(self) -> str | None:
        """See Harbor's `BaseAgent`."""
        return __version__

    async def setup(self, environment: Any) -> None:
        """See Harbor's `BaseAgent`: nothing is installed in the environment."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """See Harbor's `BaseAgent`.

        Raises:
            ConfigError: nothing is named that judges, and the project has no tests.
        """
        where = await environment.exec("pwd")
        place = (where.stdout or "").strip() or "/"
        with TemporaryDirectory(prefix="groundwire-harbor-") as folder:
            await environment.download_dir(place, folder)
            tree = Tree.from_folder(Path(folder))
        command = self._judged_by(tree)
        task = Task(
            id=str(getattr(environment, "environment_name", "") or "harbor"),
            family="harbor",
            prompt=instruction,
            tree=tree,
            command=command,
            editable=("**",),
            test_files=TEST_GLOBS,
        )
        actor, critic = self._parts()
        judge = EnvironmentCommand(environment, place, command, self._timeout_s)
        graph = code_repair(actor, critic, judge, HiddenTests())
        async with aclosing(SqlStore(self._db)) as store:
            app = graph.compile(store=store, budget=Budget(trials=self._trials))
            result = await app.arun(task, on_error="end")
            if result.best is not None and result.best.candidate.changes:
                await lay(environment, result.best.candidate, place)
            await self._tell(store, result, context)

    def _parts(self) -> tuple[Actor, Critic]:
        if self._program:
            return CommandActor(self._program, timeout_s=self._timeout_s), RuleCritic()
        from groundwire.models import backend_for

        backend = backend_for(self._model)
        return LLMActor(backend), LLMCritic(backend)

    def _judged_by(self, tree: Tree) -> tuple[str, ...]:
        if self._test:
            return split_command(self._test)
        has_tests = any(path.endswith(".py") and Task("", tree=tree).is_test(path) for path in tree.files)
        if not has_tests:
            raise ConfigError(
                "Nothing outside of the model judges: the project in the environment has no tests.",
                do='Name a command that fails while the work is not done:  --ak test="python -m pytest -q"',
            )
        command = default_command(tree)
        return ("python3", "-m", *command) if command[0] == "pytest" else ("python3", *command[1:])

    async def _tell(self, store: SqlStore, result: EpisodeResult, context: Any) -> None:
        """What Harbor keeps of it: tokens, cost, the outcome, and the trajectory in its own format."""
        context.n_output_tokens = result.completion_tokens
        context.n_input_tokens = max(0, result.tokens - result.completion_tokens)
        context.cost_usd = result.usd
        context.metadata = {"groundwire": _outcome(result)}
        runs: Sequence[RunRecord] = await store.runs(prefix=result.run_id, limit=1)
        async for trajectory in trajectories_of(store, runs):
            text = json.dumps(atif_of(trajectory), ensure_ascii=False, indent=1)
            (self._folder / "trajectory.json").write_text(text, encoding="utf-8")


async def lay(environment: Any, candidate: Candidate, place: str) -> None:
    """Writes a candidate's changes into a folder of a Harbor environment.

    Args:
        environment: Harbor's.
        candidate: whose paths are plain ones (`Candidate` refuses others).
        place: absolute.
    """
    gone = [f"{place}/{path}" for path, body in candidate.changes.items() if body is None]
    if gone:
        await environment.exec(f"rm -f -- {shlex.join(gone)}")
    written = {path: body for path, body in candidate.changes.items() if body is not None}
    if not written:
        return
    with TemporaryDirectory(prefix="groundwire-harbor-") as folder:
        for path, body in written.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)
            if candidate.modes.get(path):
                target.chmod(0o755)
        await environment.upload_dir(folder, place)


def _outcome(result: EpisodeResult) -> Mapping[str, Any]:
    return {
        "run": result.run_id,
        "verdict": result.verdict.value,
        "stop_reason": result.stop_reason.value,
        "detail": result.detail,
        "trials": result.trials,
        "signals": result.signals,
    }
