"""Hostile programs against every kind of sandbox that isolates; and each of them where its defence is taken out.

What an attack is, and what must happen instead, is said in tests/support/attacks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from attacks import ATTACKS, BARE, NO_FILTER, Attack, Prey

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox
from groundwire.sandbox import open_sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")
IS_ROOT = os.getuid() == 0


@dataclass(frozen=True)
class Daemons:
    """Listeners of every kind, and what they were told."""

    words: Mapping[str, str]
    received: list[bytes]


@pytest.fixture(scope="module")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemons]:
    received: list[bytes] = []
    folder = open_to_all(tmp_path_factory.mktemp("daemons"))
    with _daemons(folder, secrets.token_hex(8), received) as words:
        yield Daemons(words, received)


def open_to_all(folder: Path) -> Path:
    """The folder, which every user can reach."""
    for place in (folder, *folder.parents[:3]):
        if place.is_relative_to("/tmp") and place != Path("/tmp"):
            place.chmod(0o755)
    return folder


@pytest.fixture
def prey(daemons: Daemons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prey]:
    """A host worth attacking: secrets, daemons, a process, a folder that is open to all."""
    token = secrets.token_hex(8)
    secret, mark = f"groundwire-secret-{token}", f"groundwire-mark-{token}"
    monkeypatch.setenv("GROUNDWIRE_TEST_SECRET", secret)
    home, common = open_to_all(tmp_path) / "home", tmp_path / "open"
    daemons.received.clear()
    home.mkdir()
    common.mkdir()
    common.chmod(0o777)
    (home / "secret").write_text(secret)
    with contextlib.ExitStack() as stack:
        victim = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", secret], start_new_session=True)
        )
        stack.callback(victim.kill)
        yield Prey(
            words={
                **daemons.words,
                "<SECRET_FILE>": str(home / "secret"),
                "<SECRET_START>": secret[:9],
                "<SECRET_END>": secret[9:],
                "<OPEN_DIR>": str(common),
                "<VICTIM>": str(victim.pid),
                "<MARK>": mark,
                "<HOST>": socket.gethostname(),
                "<KEY>": str(secrets.randbits(30)),
            },
            received=daemons.received,
            secret=secret,
            mark=mark,
            alive=lambda: _goes_on(victim.pid),
        )
        _end(mark)


@contextlib.contextmanager
def _daemons(folder: Path, token: str, received: list[bytes]) -> Generator[Mapping[str, str]]:
    """Listeners of every kind that write down what they are told."""
    places = {
        "<PORT>": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "<PORT6>": (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
        "<UDP>": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "<ABSTRACT>": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{token}"),
        "<UNIX>": (socket.AF_UNIX, socket.SOCK_STREAM, f"{folder}/daemon"),
        "<UNIX_DGRAM>": (socket.AF_UNIX, socket.SOCK_DGRAM, f"{folder}/datagrams"),
    }
    words: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        for word, (family, kind, address) in places.items():
            door = stack.enter_context(socket.socket(family, kind))
            door.bind(address)
            door.settimeout(0.1)
            if isinstance(address, str):
                words[word] = address.lstrip("\0")
                if address.startswith("/"):
                    Path(address).chmod(0o777)
            else:
                words[word] = str(door.getsockname()[1])
            stack.enter_context(_listening(door, kind, received))
        yield words


@contextlib.contextmanager
def _listening(door: socket.socket, kind: int, received: list[bytes]) -> Generator[None]:
    over = threading.Event()

    def listen() -> None:
        if kind == socket.SOCK_STREAM:
            door.listen()
        while not over.is_set():
            with contextlib.suppress(TimeoutError, ConnectionError):
                if kind == socket.SOCK_DGRAM:
                    received.append(door.recv(100))
                else:
                    caller, _ = door.accept()
                    with caller:
                        received.append(caller.recv(100))

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _goes_on(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZTtX"


def _end(mark: str) -> None:
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
    for left in (*Path("/tmp").glob(f"{mark}*"), *Path("/dev/shm").glob(f"{mark}*")):
        left.unlink()


def armed(program: str, prey: Prey) -> str:
    """The program with its placeholders filled in."""
    for word, value in prey.words.items():
        program = program.replace(word, value)
    return program


async def strike(
    sandbox: Sandbox, attack: Attack, prey: Prey, raised: Mapping[str, object] | None = None
) -> ExecResult:
    limits = Limits.model_validate({"wall_s": 60, "cpu_s": 60, **attack.limits, **(raised or {})})
    if attack.first:
        await sandbox.run(["python", "-c", armed(attack.first, prey)], Tree(), limits)
    program = armed(attack.program, prey)
    return await sandbox.run(["python", "-c", program], Tree(), limits, collect=attack.collect)


@pytest.mark.parametrize("name", ATTACKS)
async def test_is_stopped(isolating: Sandbox, prey: Prey, name: str):
    attack = ATTACKS[name]
    result = await strike(isolating, attack, prey)
    assert not attack.succeeded(result, prey), f"must: {attack.must}; {result}"
    assert attack.holds is None or attack.holds(result), f"must: {attack.must}; {result}"
    assert prey.alive()
    again = await isolating.run(["python", "-c", "print('well')"], Tree(), Limits())
    assert again.stdout == b"well\n", "the sandbox goes on afterwards"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def unfiltered() -> AsyncIterator[Sandbox]:
    """Bubblewrap whose filter allows everything."""
    everything = bytes.fromhex("060000000000ff7f")
    patch = pytest.MonkeyPatch()
    patch.setattr("groundwire.sandbox._bubblewrap.compile_filter", lambda: everything)
    try:
        box = await open_sandbox("bubblewrap")
    finally:
        patch.undo()
    yield box
    await box.aclose()


@pytest.mark.parametrize("name", ATTACKS)
async def test_succeeds_where_its_defence_is_taken_out(
    bubblewrap: Sandbox, unfiltered: Sandbox, prey: Prey, tmp_path: Path, name: str
):
    """Else it would prove nothing that it is stopped."""
    attack = ATTACKS[name]
    if attack.root and not IS_ROOT:
        pytest.skip("undefended it needs to run as root")
    if attack.undefended == BARE:
        result = bare(attack, prey, tmp_path / "home")
    elif attack.undefended == NO_FILTER:
        result = await strike(unfiltered, attack, prey)
    else:
        assert isinstance(attack.undefended, Mapping)
        result = await strike(bubblewrap, attack, prey, attack.undefended)
    assert attack.succeeded(result, prey) or await _soon(lambda: attack.succeeded(result, prey)), result


async def _soon(happened: Callable[[], bool]) -> bool:
    for _ in range(600):
        if happened():
            return True
        await asyncio.sleep(0.05)
    return False


def bare(attack: Attack, prey: Prey, home: Path) -> ExecResult:
    """No sandbox at all: a child with our environment, one of our files open, and the files it leaves read plainly."""
    work, out = home.parent / "work", home.parent / "out"
    work.mkdir()
    out.mkdir()

    def run(program: str) -> subprocess.CompletedProcess[bytes]:
        with (home / "secret").open() as ours:
            return subprocess.run(
                [sys.executable, "-c", armed(program, prey)],
                cwd=work,
                env={**os.environ, "GROUNDWIRE_OUT": str(out)},
                pass_fds=[ours.fileno()],
                capture_output=True,
                timeout=600,
                check=False,
            )

    if attack.first:
        run(attack.first)
    done = run(attack.program)
    files = {name: (out / name).read_bytes() for name in attack.collect if (out / name).exists()}
    return ExecResult(done.returncode, done.stdout, done.stderr, files=files)
