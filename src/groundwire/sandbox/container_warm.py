"""Docker's stand-in for a fork server: a fresh interpreter for each command, in a container that is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groundwire.limits import ExecResult, Limits
from groundwire.sandbox.container_pool import ContainerPool
from groundwire.sandbox.exchange import laid_bytes
from groundwire.sandbox.guest import wire
from groundwire.trees import NO_MODES, Tree

__all__ = ["WarmContainers"]


class WarmContainers:
    """Conforms to `groundwire.sandboxes.WarmSandbox`.

    Args:
        tree: the base tree, which lies in every container.
        base: where it lies there.
        supported: there are support files.
        pool: where commands run.
        job_of: makes their jobs; see `Docker`.
        result: what came of one.
    """

    def __init__(
        self,
        tree: Tree,
        base: str,
        supported: bool,
        pool: ContainerPool,
        job_of: Callable[..., wire.Job],
        result: Callable[..., ExecResult],
    ) -> None:
        self._tree = tree
        self._base = base
        self._supported = supported
        self._pool = pool
        self._job_of = job_of
        self._result = result
        self._base_bytes = laid_bytes(tree.files)

    async def run(
        self,
        arguments: Sequence[str],
        changes: Mapping[str, bytes | None],
        limits: Limits,
        *,
        modes: Mapping[str, bool] = NO_MODES,
        env: Mapping[str, str] | None = None,
        collect: Sequence[str] = (),
    ) -> ExecResult:
        """See `groundwire.sandboxes.WarmSandbox.run`."""
        changed = {path: content for path, content in changes.items() if content is not None}
        job = self._job_of(
            ["python", *arguments],
            Tree(changed, self._tree.executable_with(modes) & changed.keys()),
            limits,
            env=env,
            collect=collect,
            supported=self._supported,
            base=self._base,
            deleted=sorted(path for path, content in changes.items() if content is None),
            base_bytes=self._base_bytes,
        )
        return self._result(*await self._pool.run(job, limits), limits)

    async def aclose(self) -> None:
        """Removes the containers."""
        await self._pool.aclose()
