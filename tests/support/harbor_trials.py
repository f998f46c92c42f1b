# pyright: basic, reportMissingImports=false, reportIncompatibleMethodOverride=false, reportAttributeAccessIssue=false
"""Harbor's own word on tasks: a program that its Python runs, with a list of [task folder, agent, options] as JSON.

Harbor's trial, agents and verifier are used as they are. Its Docker environment needs Docker Compose, which a plain
engine has not, so theirs is stood in for by one on the `docker` command: it builds, starts, copies and executes.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.trajectories.trajectory import Trajectory
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.trial.trial import Trial


class PlainDocker(BaseEnvironment):
    """One container, by the `docker` command."""

    @staticmethod
    def type() -> str:
        return "plain-docker"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        if not (self.environment_dir / "Dockerfile").exists():
            raise FileNotFoundError("Dockerfile")

    async def _docker(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return await asyncio.to_thread(subprocess.run, ["docker", *words], capture_output=True)

    async def start(self, force_build: bool) -> None:
        built = await self._docker("build", "-q", "--network", "none", str(self.environment_dir))
        if built.returncode:
            raise RuntimeError(built.stderr.decode())
        image = built.stdout.decode().strip()
        begun = await self._docker("run", "-d", "--network", "none", image, "sh", "-c", "sleep 600")
        self.container = begun.stdout.decode().strip()
        folders = "/tests /solution /logs/agent /logs/verifier /logs/artifacts"
        await self.exec(f"mkdir -p {folders}; chmod 777 /logs/*", user="0")

    async def stop(self, delete: bool) -> None:
        await self._docker("rm", "-f", "-v", self.container)

    async def upload_file(self, source_path, target_path) -> None:
        await self._docker("cp", str(source_path), f"{self.container}:{target_path}")

    async def upload_dir(self, source_dir, target_dir) -> None:
        await self._docker("cp", f"{source_dir}/.", f"{self.container}:{target_dir}")

    async def download_file(self, source_path, target_path) -> None:
        await self._docker("cp", f"{self.container}:{source_path}", str(target_path))

    async def download_dir(self, source_dir, target_dir) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
        await self._docker("cp", f"{self.container}:{source_dir}/.", str(target_dir))

    async def download_dir_with_exclusions(self, source_dir, target_dir, exclude) -> None:
        """By this machine's tar: the image's, which is BusyBox's, knows no `--exclude`."""
        with tempfile.TemporaryDirectory() as whole:
            await self.download_dir(source_dir, whole)
            left_out = [f"--exclude={pattern}" for pattern in exclude]
            packed = subprocess.run(["tar", "-cf", "-", *left_out, "-C", whole, "."], capture_output=True, check=True)  # noqa: ASYNC221
            Path(target_dir).mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
            subprocess.run(["tar", "-xf", "-", "-C", str(target_dir)], input=packed.stdout, check=True)  # noqa: ASYNC221

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None, **_more) -> ExecResult:
        env, user = self._merge_env(env) or {}, self._resolve_user(user)
        words = ["exec", *(["-w", cwd] if cwd else []), *(["-u", str(user)] if user is not None else [])]
        words += [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
        done = await self._docker(*words, self.container, "sh", "-c", command)
        return ExecResult(
            stdout=done.stdout.decode("utf-8", "replace"),
            stderr=done.stderr.decode("utf-8", "replace"),
            return_code=done.returncode,
        )


async def main(wanted: list[list]) -> None:
    here = f"{Path(__file__).stem}:{PlainDocker.__name__}"
    with tempfile.TemporaryDirectory() as trials:
        for folder, agent, options in wanted:
            named = {"import_path": agent} if ":" in agent else {"name": agent}
            config = TrialConfig(
                task=TaskConfig(path=Path(folder)),
                trials_dir=Path(trials),
                agent=AgentConfig(**named, model_name=options.pop("model_name", None), kwargs=options),
                environment=EnvironmentConfig(import_path=here),
            )
            result = await (await Trial.create(config)).run()
            rewards = result.verifier_result.rewards if result.verifier_result else None
            error = result.exception_info.exception_message if result.exception_info else ""
            told = result.agent_result.metadata if result.agent_result else None
            found = sorted(Path(trials).glob(f"{result.trial_name}/agent/trajectory.json"))  # noqa: ASYNC240
            kept = json.loads(found[0].read_text()) if found else None
            if kept is not None:
                Trajectory.model_validate(kept)
            line = {"task": Path(folder).name, "agent": agent, "rewards": rewards, "error": error}
            print(json.dumps({**line, "told": told, "trajectory": kept}))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())))
