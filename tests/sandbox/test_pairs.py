"""Two boxes at once: one line between them and nothing else, and they live and die together."""

from __future__ import annotations

import asyncio
import marshal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from processes import marked
from sandboxes_here import ISOLATING, opened

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import BoxCommand, Limits, Pair, PairingSandbox, Sandbox
from groundwire.sandbox._fork_servers import with_fork_servers

pytestmark = pytest.mark.asyncio(loop_scope="module")

FORKS = "forks"
LINE = "import os, sys\nline = int(os.environ['GROUNDWIRE_LINE'])\n"
ECHO = LINE + "while said := os.read(line, 1 << 16):\n    os.write(line, said)\n"
HOLDS_A_SECRET = (
    LINE + "open('mine.txt', 'w').write('secret'); os.write(line, b'!')\n" + "import time\ntime.sleep(300)\n"
)
LOOKS_FOR_IT = (
    LINE
    + """
import signal
os.read(line, 1)
found = []
for top in ("/box", "/tmp", "/dev/shm", os.path.dirname(os.path.dirname(os.getcwd())), "/proc"):
    for folder, _, names in os.walk(top, onerror=lambda error: None):
        found += [f"{folder}/{n}" for n in names if n == "mine.txt"]
print("files", found)
for pid in range(2, 70000):
    if pid in (os.getpid(), os.getppid()):
        continue
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        continue
    print("signalled", pid)
"""
)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=(*ISOLATING, FORKS))
async def isolating(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """Each kind of sandbox that isolates, and the default one with fork servers of its own, begun before."""
    box = await opened("bubblewrap" if request.param == FORKS else request.param)
    if request.param == FORKS:
        box = with_fork_servers(box)
        await pair(box, LINE, LINE)
    yield box
    await box.aclose()


async def pair(box: Sandbox, asking: str, answering: str, *, wall_s: float = 60, stdin: bytes = b"") -> Pair:
    assert isinstance(box, PairingSandbox)
    return await box.run_pair(
        BoxCommand(["python", "-c", asking], Tree({"asks.py": b""}), support={"side.txt": b"asks"}, stdin=stdin),
        BoxCommand(["python", "-c", answering], Tree({"answers.py": b""})),
        Limits(wall_s=wall_s),
    )


async def test_what_one_says_the_other_hears_in_both_directions(isolating: Sandbox) -> None:
    asks = LINE + (
        "big = os.urandom(3 << 20)\nimport threading\n"
        "def send():\n    view = memoryview(big)\n"
        "    while view:\n        view = view[os.write(line, view[:1 << 16]):]\n"
        "threading.Thread(target=send).start()\n"
        "back = b''\nwhile len(back) < len(big):\n    back += os.read(line, 1 << 16)\n"
        "print(back == big, sorted(os.listdir()), sys.stdin.read())\n"
    )
    done = await pair(isolating, asks, ECHO, stdin=b"key")
    assert done.asking.stdout == b"True ['asks.py'] key\n", done


async def test_neither_sees_a_file_or_a_process_of_the_other(isolating: Sandbox) -> None:
    done = await pair(isolating, LOOKS_FOR_IT, HOLDS_A_SECRET)
    assert done.asking.stdout == b"files []\n", done.asking
    assert done.answering is None, "it was not what ended it"


async def test_the_end_of_the_asking_one_is_the_end_of_both(isolating: Sandbox) -> None:
    done = await pair(isolating, "print(1)", "import time\ntime.sleep(300)")
    assert done.asking.stdout == b"1\n" and done.answering is None, "it still ran when the other had ended"


@pytest.mark.parametrize(
    ("answering", "limit"), [("import os; os._exit(3)", None), ("x = bytearray(3 << 30)", "memory_bytes")]
)
async def test_the_end_of_the_answering_one_is_the_end_of_the_line(
    isolating: Sandbox, answering: str, limit: str | None
) -> None:
    asks = LINE + "try:\n    print(os.read(line, 9))\nexcept OSError:\n    print(b'')\n"
    done = await pair(isolating, asks, answering)
    assert done.asking.stdout == b"b''\n"
    assert done.answering is not None and done.answering.limit_hit == limit


async def test_a_limit_holds_for_each(isolating: Sandbox) -> None:
    done = await pair(isolating, LINE + "os.read(line, 1)", LINE + "os.read(line, 1)", wall_s=2)
    assert done.asking.limit_hit == "wall_s"


async def test_cancelled_both_are_gone(isolating: Sandbox) -> None:
    mark = uuid.uuid4().hex
    becomes = "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(300)', '{}'])"
    running = asyncio.create_task(pair(isolating, becomes.format(f"{mark}-asks"), becomes.format(f"{mark}-answers")))
    while len(marked(mark)) < 2:
        assert not running.done()
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not marked(mark)


async def test_a_command_without_a_pair_has_no_line(isolating: Sandbox) -> None:
    done = await isolating.run(["python", "-c", "import os; print('GROUNDWIRE_LINE' in os.environ)"], Tree(), Limits())
    assert done.stdout == b"False\n"


KEEPERS = """
import os
opened = []
for pid in [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
    for name in ("mem", "maps", "environ", "auxv"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                file.read(1)
        except OSError as error:
            if not isinstance(error, PermissionError) and name == "mem":
                opened.append((pid, name))
            continue
        opened.append((pid, name))
print(opened)
"""


async def test_the_memory_of_a_keeper_can_not_be_opened(isolating: Sandbox) -> None:
    """It may hold what the command must not know, and its word counts."""
    done = await isolating.run(["python", "-c", KEEPERS], Tree(), Limits(), stdin=b"key")
    if isolating.info.kind == "landlock":
        assert done.exit_code == 1 and b"PermissionError" in done.stderr, "/proc is out of reach there"
        return
    assert done.stdout == b"[]\n", (done.stdout, done.stderr)
    async with _Warm(isolating) as warm:
        assert (await warm.run(["-c", KEEPERS], {}, Limits(), stdin=b"key")).stdout == b"[]\n"


async def test_without_that_it_can(bubblewrap: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defence is what holds: a keeper that stays open is read by the command it keeps."""
    from groundwire.sandbox._guestcode import GuestCode

    code = GuestCode()
    source = (Path(__file__).parents[2] / "src/groundwire/sandbox/guest/child.py").read_text()
    stays_open = compile(f"{source}\ndef set_dumpable(*, dumpable):\n    pass\n", "child", "exec", dont_inherit=True)
    code.compiled("child", marshal.dumps(stays_open))
    monkeypatch.setattr(bubblewrap._launcher, "code", code)  # type: ignore[attr-defined]
    done = await bubblewrap.run(["python", "-c", KEEPERS], Tree(), Limits())
    assert b"('1', 'mem')" in done.stdout


class _Warm:
    def __init__(self, box: Sandbox) -> None:
        self._box = box

    async def __aenter__(self):
        self._server = await self._box.warm(Tree())
        return self._server

    async def __aexit__(self, *_error: object) -> None:
        await self._server.aclose()
