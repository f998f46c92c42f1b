"""The system's own bubblewrap, which is taken before the packaged one: the rest runs on whichever is there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.sandbox import open_sandbox
from groundwire.sandbox._bwrap_launch import find_bwrap
from groundwire.sandbox._warm import ForkServer

pytestmark = [pytest.mark.system_bwrap, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox("bubblewrap")
    yield opened
    await opened.aclose()


async def test_it_is_the_one_that_is_taken(box: Sandbox):
    program = shutil.which("bwrap")
    assert program and find_bwrap() == Path(program)
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221
    assert box.info.version in said and box.info.isolated


async def test_it_isolates(box: Sandbox, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("ours")
    code = (
        "import ctypes, os, pathlib, socket\n"
        f"print(pathlib.Path({str(secret)!r}).exists(), os.getuid() == 0, len(socket.if_nameindex()))\n"
        "print(ctypes.CDLL(None).unshare(0x10000000))"
    )
    result = await box.run(["python", "-c", code], Tree(), Limits())
    assert result.stdout == b"False False 1\n-1\n", result
    hog = await box.run(
        ["python", "-c", "b = bytearray(300 << 20); print('BREACH')"], Tree(), Limits(memory_bytes=96 << 20)
    )
    assert b"BREACH" not in hog.stdout


async def test_its_fork_server_judges_one_candidate_after_the_other(box: Sandbox):
    server = await box.warm(Tree({"m.py": b"VALUE = 1\n"}))
    assert isinstance(server, ForkServer)
    for value in (b"2", b"3"):
        result = await server.run(["-c", "import m; print(m.VALUE)"], {"m.py": b"VALUE = " + value}, Limits())
        assert result.stdout == value + b"\n"
    assert (await server.run(["-c", "import m; print(m.VALUE)"], {}, Limits())).stdout == b"1\n"
    await server.aclose()
