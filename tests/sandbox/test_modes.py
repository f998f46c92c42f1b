"""The executable bit, in every kind of sandbox: what the tree says of it is what a command finds."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits, Sandbox, WarmSandbox

TREE = Tree({"base.sh": b"#!/bin/sh\necho base\n", "plain.sh": b"#!/bin/sh\necho plain\n"}, frozenset({"base.sh"}))
CHANGES: dict[str, bytes | None] = {"base.sh": b"#!/bin/sh\necho again\n", "new.sh": b"#!/bin/sh\necho new\n"}
LOOK = "import os; print(*(name for name in sorted(os.listdir()) if os.access(name, os.X_OK)))"


async def looked(box: WarmSandbox, **more: Any) -> str:
    done = await box.run(["-c", LOOK], more.pop("changes", {}), Limits(), **more)
    assert done.exit_code == 0, done.stderr
    return done.stdout.decode().strip()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_command_may_run_what_is_executable(sandbox: Sandbox) -> None:
    done = await sandbox.run(["./base.sh"], TREE, Limits())
    assert (done.exit_code, done.stdout) == (0, b"base\n"), done.stderr
    done = await sandbox.run(["./new.sh"], TREE.with_changes(CHANGES, {"new.sh": True}), Limits())
    assert (done.exit_code, done.stdout) == (0, b"new\n"), done.stderr
    done = await sandbox.run(["python", "-c", LOOK], TREE.with_changes(CHANGES, {"base.sh": False}), Limits())
    assert done.stdout == b"\n"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_fork_server_gives_each_candidate_its_modes(isolating: Sandbox) -> None:
    async with aclosing(await isolating.warm(TREE)) as warm:
        assert await looked(warm) == "base.sh"
        assert await looked(warm, changes=CHANGES) == "base.sh"
        assert await looked(warm, changes=CHANGES, modes={"new.sh": True}) == "base.sh new.sh"
        assert await looked(warm, changes=CHANGES, modes={"base.sh": False}) == ""
        same = {"plain.sh": TREE.files["plain.sh"]}
        assert await looked(warm, changes=same, modes={"plain.sh": True}) == "base.sh plain.sh"
        assert await looked(warm) == "base.sh", "nothing of it stays"
