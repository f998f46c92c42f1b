"""What is Docker's alone: names, digests, labels, leftovers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from docker.errors import NotFound
from sandboxes_here import own_containers
from services import IMAGE

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxCrashed, SandboxUnavailable
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.sandbox import open_sandbox
from groundwire.sandbox._docker_engine import connect, owner

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox("docker", image=IMAGE)
    yield opened
    await opened.aclose()


@pytest.fixture
def client() -> Iterator[Any]:
    import docker  # pyright: ignore[reportMissingTypeStubs]

    engine: Any = docker.from_env()
    yield engine
    engine.close()


async def running(client: Any) -> Any:
    """Our one container, once it runs."""
    for _ in range(200):
        for container in own_containers(client):
            if container.status == "running":
                await asyncio.sleep(0.5)
                return container
        await asyncio.sleep(0.05)
    raise AssertionError("no container came to run")


async def test_the_image_is_recorded_by_its_digest(box: Sandbox, client: Any):
    assert box.info.kind == "docker"
    assert "sha256:" in box.info.image_digest
    assert client.images.get(IMAGE).id in box.info.image_digest or client.images.get(IMAGE).attrs["RepoDigests"]


async def test_an_image_that_is_not_there_says_how_to_get_it(box: Sandbox):
    with pytest.raises(SandboxUnavailable, match="no image 'groundwire-no-such:1'") as caught:
        await open_sandbox("docker", image="groundwire-no-such:1")
    assert caught.value.do == "docker pull groundwire-no-such:1"


async def test_a_container_is_hardened_labelled_and_removed(box: Sandbox, client: Any):
    task = asyncio.create_task(box.run(["python", "-c", "import time; time.sleep(60)"], Tree(), Limits()))
    container = await running(client)
    assert container.labels["groundwire.run"]
    assert container.labels["groundwire.owner"] == owner()
    host = container.attrs["HostConfig"]
    assert host["ReadonlyRootfs"]
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["ALL"]
    assert {c.removeprefix("CAP_") for c in host["CapAdd"]} == {"SETUID", "SETGID", "KILL"}
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["LogConfig"]["Type"] == "none"
    assert host["PidsLimit"] == Limits().processes + 1
    assert host["Memory"] == host["MemorySwap"] == Limits().memory_bytes
    assert not host["Binds"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert own_containers(client) == []


async def test_nothing_is_left_after_a_run_that_failed_or_ran_out_of_something(box: Sandbox, client: Any):
    await box.run(["python", "-c", "1/0"], Tree(), Limits())
    await box.run(["python", "-c", "while True: pass"], Tree(), Limits(wall_s=0.5))
    result = await box.run(["python", "-c", "b = bytearray(900 << 20)"], Tree(), Limits(memory_bytes=64 << 20))
    assert result.limit_hit == "memory_bytes"
    assert own_containers(client) == []


async def test_a_container_killed_from_outside_is_an_infrastructure_error(box: Sandbox, client: Any):
    task = asyncio.create_task(box.run(["python", "-c", "import time; time.sleep(60)"], Tree(), Limits()))
    (await running(client)).kill()
    with pytest.raises(SandboxCrashed, match="without a result"):
        await task
    assert own_containers(client) == []


async def test_leftovers_of_a_dead_groundwire_are_removed_and_nobody_elses(box: Sandbox, client: Any):
    numbered_by, _, started = owner().split(":")
    owners = {
        "dead": f"{numbered_by}:{os.getpid()}:1",  # the number lives on, in another process
        "living": f"{numbered_by}:{os.getpid()}:{started}",
        "in a container": f"{numbered_by.partition('.')[0]}.1:{os.getpid()}:1",  # whose numbers are its own
        "elsewhere": f"another-machine:{os.getpid()}:1",
    }
    made = {
        name: client.containers.create(IMAGE, ["python3", "-c", ""], labels={"groundwire.owner": label})
        for name, label in owners.items()
    }
    stranger = client.containers.create(IMAGE, ["python3", "-c", ""])
    try:
        second = await open_sandbox("docker", image=IMAGE)
        await second.aclose()
        left = {c.id for c in client.containers.list(all=True, ignore_removed=True)}
        assert {name for name, c in made.items() if c.id in left} == owners.keys() - {"dead"}
        assert stranger.id in left
    finally:
        for container in (*made.values(), stranger):
            with contextlib.suppress(NotFound):
                container.remove(force=True)


async def test_a_runtime_that_the_engine_lacks_is_an_error_that_names_what_it_has():
    with pytest.raises(SandboxUnavailable, match=r"no runtime 'runsc-missing'; it has .*runc"):
        await open_sandbox("docker", image=IMAGE, runtime="runsc-missing")


async def test_the_runtime_is_part_of_what_is_sealed():
    sandbox = await open_sandbox("docker", image=IMAGE, runtime="runc")
    try:
        assert sandbox.info.version.endswith("(runc)")
    finally:
        await sandbox.aclose()


async def test_an_engine_of_the_users_own_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Rootless Docker listens below XDG_RUNTIME_DIR."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("groundwire.sandbox._docker_engine.DEFAULT_SOCKET", str(tmp_path / "none"))
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "docker.sock"))
        with pytest.raises(SandboxUnavailable, match=str(tmp_path / "docker.sock")):
            connect(IMAGE)
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(SandboxUnavailable, match="No Docker engine answers"):
        connect(IMAGE)
