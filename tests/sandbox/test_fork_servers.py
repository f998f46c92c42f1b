"""A sandbox that keeps fork servers: what comes again runs in a fork, whatever its tree, and as clean as ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from sandboxes_here import opened

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxCrashed
from groundwire.core._sandboxes import BoxCommand, ExecResult, ForkingSandbox, Limits
from groundwire.sandbox import _fork_servers
from groundwire.sandbox._bubblewrap import Bubblewrap
from groundwire.sandbox._fork_servers import ForkServers, with_fork_servers

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAYS = "import sys; print(open('said').read(), 'json' in sys.modules, sys.flags.no_site)"


@pytest_asyncio.fixture(loop_scope="module")
async def forks() -> AsyncIterator[ForkServers]:
    box = with_fork_servers(await opened("bubblewrap"))
    assert isinstance(box, ForkServers) and isinstance(box, ForkingSandbox)
    yield box
    await box.aclose()


async def say(
    box: ForkServers, text: str, *, code: str = SAYS, flags: tuple[str, ...] = (), **parts: Any
) -> ExecResult:
    command = BoxCommand(["python", *flags, "-c", code], Tree(), preload=("json",), **parts)
    return await box.run_forked(command, {"said": text.encode()}, Limits())


def kept(box: ForkServers) -> list[Any]:
    return [one.server for one in vars(box)["_kept"].values() if one.server is not None]


async def test_the_first_of_a_kind_starts_afresh_and_the_next_are_forks_of_one_server(forks: ForkServers) -> None:
    assert (await say(forks, "one")).stdout.split() == [b"one", b"False", b"0"] and not kept(forks)
    for word in ("two", "three"):
        assert (await say(forks, word)).stdout.split() == [word.encode(), b"True", b"0"]
    assert len(kept(forks)) == 1


async def test_flags_of_the_interpreter_and_files_of_ours_have_servers_of_their_own(forks: ForkServers) -> None:
    for _ in range(2):
        assert (await say(forks, "bare", flags=("-S",))).stdout.split()[-1] == b"1"
        assert (await say(forks, "more", support={"ours": b"1"})).stdout.split()[0] == b"more"
    assert len(kept(forks)) == 2


async def test_nothing_of_one_command_is_seen_by_the_next(forks: ForkServers) -> None:
    leaves = "import os\nopen('left', 'w').write('x'); open('/tmp/left', 'w')\nimport json; json.left = 1\n"
    looks = "import os, json; print(os.path.exists('left'), os.path.exists('/tmp/left'), hasattr(json, 'left'))"
    await say(forks, "")
    await say(forks, "", code=leaves)
    assert (await say(forks, "", code=looks)).stdout.split() == [b"False"] * 3


async def test_a_server_that_has_died_is_replaced(forks: ForkServers, monkeypatch: pytest.MonkeyPatch) -> None:
    await say(forks, "a")
    await say(forks, "b")
    (dead,) = kept(forks)
    await dead.aclose()
    assert (await say(forks, "c")).stdout.split()[0] == b"c"
    assert kept(forks) != [dead]

    async def crashes(*_: Any, **__: Any) -> ExecResult:
        raise SandboxCrashed("It died.")

    (server,) = kept(forks)
    monkeypatch.setattr(server, "run", crashes)
    assert (await say(forks, "d")).stdout.split()[0] == b"d"
    assert server not in kept(forks)


async def test_only_few_servers_are_kept_and_those_used_last(
    forks: ForkServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fork_servers, "MOST_SERVERS", 1)
    for name in ("a", "a", "b", "b"):
        await say(forks, name, support={"ours": name.encode()})
    (last,) = kept(forks)
    await say(forks, "b", support={"ours": b"b"})
    assert kept(forks) == [last]


async def test_a_sandbox_that_is_somebody_elses_stays_open() -> None:
    given = await opened("bubblewrap")
    assert isinstance(given, Bubblewrap)
    box = with_fork_servers(given, owned=False)
    await box.aclose()
    assert (await given.run(["python", "-c", "print(1)"], Tree(), Limits())).stdout == b"1\n"
    await given.aclose()
