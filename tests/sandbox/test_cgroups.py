"""Control groups: found by making one, used again, counted from zero, removed; version 2 on a copy of its files."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import Seen, left_of, seen
from sandboxes_here import opened

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits
from groundwire.sandbox._cgroups import Cgroup, CgroupPool, Parents, find_parents

MIB = 1024 * 1024


@pytest.fixture
def parents() -> Parents:
    found = find_parents()
    if found is None:
        pytest.skip("this user may make no control groups")
    return found


def test_a_group_is_used_again_and_removed_at_the_end(parents: Parents):
    def groups() -> set[Path]:
        mine = f"groundwire-{os.getpid()}."
        return {p for p in (*parents.memory.iterdir(), *parents.pids.iterdir()) if p.name.startswith(mine)}

    before = groups()  # of sandboxes that other tests of this process have open
    pool = CgroupPool(parents)
    first = pool.take(64 * MIB, 10)
    assert first is not None
    pool.give_back(first)
    second = pool.take(32 * MIB, 5)
    assert second is first
    third = pool.take(32 * MIB, 5)
    assert third is not first
    assert groups() > before
    pool.give_back(second)
    pool.give_back(third)
    pool.close()
    assert groups() == before


def test_what_an_earlier_command_hit_is_not_counted_for_the_next(parents: Parents):
    pool = CgroupPool(parents)
    group = pool.take(32 * MIB, 10)
    assert group is not None
    code = "import sys; sys.stdin.read(1); b = bytearray(100 << 20)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        group.add(child.pid)
        child.communicate(b"x")
    assert group.hits().oom_kills >= 1
    pool.give_back(group)
    again = pool.take(32 * MIB, 10)
    assert again is not None
    assert again is group
    assert again.hits().oom_kills == 0
    pool.give_back(again)
    pool.close()


def test_whoever_is_still_in_a_group_is_ended_before_it_is_used_again(parents: Parents):
    pool = CgroupPool(parents)
    group = pool.take(64 * MIB, 10)
    assert group is not None
    code = "import os, sys, time; sys.stdin.read(1); os.fork(); os.fork(); print('x', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
    ) as survivor:
        assert survivor.stdin
        assert survivor.stdout
        group.add(survivor.pid)
        survivor.stdin.write(b"x")
        survivor.stdin.close()
        assert survivor.stdout.read(2) == b"x\n"
        pool.give_back(group)
        assert survivor.wait(60) == -signal.SIGKILL
        survivor.stdout.read()  # ends once the last of the four is gone
    # the dead count until somebody reaps them, so that it may be another one
    again = pool.take(64 * MIB, 1)
    assert again is not None
    assert again.is_empty
    pool.give_back(again)
    pool.close()


def test_a_crowd_larger_than_what_is_killed_at_a_time_is_ended(parents: Parents):
    group = Cgroup(parents)
    group.prepare(64 * MIB, 400)
    crowd = "import os, sys, time; sys.stdin.read(1); [os.fork() or time.sleep(60) for _ in range(200)]; print('x')"
    try:
        with subprocess.Popen(
            [sys.executable, "-c", crowd], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
        ) as survivor:
            group.add(survivor.pid)
            assert survivor.stdin
            survivor.stdin.write(b"x")
            survivor.stdin.close()
            assert survivor.stdout
            assert survivor.stdout.read(2) == b"x\n"
            group.end_all()
            assert survivor.wait(60) == -signal.SIGKILL
    finally:
        group.remove()


def test_groups_of_a_dead_groundwire_are_removed_and_those_of_a_living_one_are_not(parents: Parents):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    parent = os.getppid()
    started = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[19])
    orphan = parents.memory / f"groundwire-{ended.pid}.{started}-0"
    living = parents.memory / f"groundwire-{parent}.{started}-99999"
    number_given_again = parents.memory / f"groundwire-{parent}.{started - 1}-99999"
    strange = parents.memory / "groundwire-x-y"
    folders = (orphan, living, number_given_again, strange)
    for folder in folders:
        folder.mkdir()
    try:
        find_parents()
        assert [folder.exists() for folder in folders] == [False, True, False, True]
    finally:
        living.rmdir()
        strange.rmdir()


def test_without_a_place_for_them_there_are_none(tmp_path: Path):
    membership = tmp_path / "cgroup"
    membership.write_text("0::/user.slice\n")
    assert find_parents(tmp_path, membership) is None
    assert find_parents(tmp_path, tmp_path / "missing") is None
    pool = CgroupPool(None)
    assert not pool.available
    assert pool.take(MIB, 1) is None
    pool.give_back(None)


def test_version_2_groups_are_made_beside_our_own_where_controllers_are_handed_down(tmp_path: Path):
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    ours = tmp_path / "user.slice" / "session.scope"
    ours.mkdir(parents=True)
    (tmp_path / "user.slice" / "cgroup.subtree_control").write_text("memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory pids\n")
    membership = tmp_path / "membership"
    membership.write_text("0::/user.slice/session.scope\n")
    found = find_parents(tmp_path, membership)
    assert found == Parents(2, tmp_path / "user.slice", tmp_path / "user.slice")


def test_a_version_2_group_writes_the_limits_and_reads_the_counts(tmp_path: Path):
    group = Cgroup(Parents(2, tmp_path, tmp_path))
    (folder,) = (p for p in tmp_path.iterdir() if p.is_dir())
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n")
    (folder / "pids.events").write_text("max 5\n")
    group.prepare(64 * MIB, 12)
    assert (folder / "memory.max").read_text() == str(64 * MIB)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "pids.max").read_text() == "12"
    assert (group.hits().oom_kills, group.hits().refused_forks) == (0, 0)
    (folder / "memory.events").write_text("oom 2\noom_kill 3\n")
    (folder / "pids.events").write_text("max 9\n")
    assert (group.hits().oom_kills, group.hits().refused_forks) == (1, 4)
    group.add(1234)
    assert (folder / "cgroup.procs").read_text() == "1234"


@pytest.mark.usefixtures("parents")
async def test_nobody_else_waits_while_the_kernel_moves_a_command_into_its_group(monkeypatch: pytest.MonkeyPatch):
    began, may_go_on, may_end, moved = threading.Event(), threading.Event(), threading.Event(), list[set[Seen]]()
    add = Cgroup.add

    def slow(group: Cgroup, pid: int) -> None:
        living = seen([pid])
        began.set()
        assert may_go_on.wait(20), "what lets it go on did not run"
        moved.append(living)
        add(group, pid)

    async def waited(event: threading.Event) -> bool:
        return await asyncio.get_running_loop().run_in_executor(watching, event.wait, 20)

    watching = ThreadPoolExecutor(1)
    box = await opened("bubblewrap")
    monkeypatch.setattr(Cgroup, "add", slow)
    # whoever waits for a person or a model in the loop's own threads holds no command up
    asyncio.get_running_loop().set_default_executor(busy := ThreadPoolExecutor(1))
    busy.submit(may_end.wait, 60)
    try:
        running = asyncio.create_task(box.run(["python", "-c", "print(1)"], Tree(), Limits(wall_s=20)))
        assert await waited(began)
        may_go_on.set()
        assert (await running).stdout == b"1\n"

        began.clear()
        may_go_on.clear()
        cancelled = asyncio.create_task(box.run(["python", "-c", "print(2)"], Tree(), Limits(wall_s=20)))
        assert await waited(began)
        cancelled.cancel()
        asyncio.get_running_loop().call_later(0.05, may_go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert len(moved) == 2, "its group was given to nobody while it might still be moved"
        assert moved[1] and not left_of(moved[1])
    finally:
        may_end.set()
        may_go_on.set()
        await box.aclose()
