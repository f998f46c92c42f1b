"""Reading and writing what lies outside the box."""

from __future__ import annotations

from attacks.model import BARE, Attack, Prey
from groundwire.core._sandboxes import ExecResult

__all__ = ["ATTACKS"]


def _leaked(result: ExecResult, prey: Prey) -> bool:
    return prey.secret.encode() in result.stdout + b"".join(result.files.values())


def _planted(_result: ExecResult, prey: Prey) -> bool:
    from pathlib import Path

    return any(Path(prey.words["<OPEN_DIR>"]).iterdir())


ATTACKS = (
    Attack("reads a file of the user", "it can't be opened", "print(open('<SECRET_FILE>').read())", succeeded=_leaked),
    Attack(
        "a symbolic link to it",
        "a link leads nowhere",
        "import os\nos.symlink('<SECRET_FILE>', 'link'); print(open('link').read())",
        succeeded=_leaked,
    ),
    Attack(
        "a hard link to it",
        "a second name can't be made",
        "import os\nos.link('<SECRET_FILE>', 'name'); print(open('name').read())",
        succeeded=_leaked,
    ),
    Attack(
        "through the root of another process",
        "the process can't be seen",
        "print(open('/proc/<VICTIM>/root<SECRET_FILE>').read())",
        succeeded=_leaked,
        root=True,
    ),
    Attack(
        "through the folder of its parent process",
        "the parent lies in the same sandbox, or can't be seen",
        "import os\nprint(open(f'/proc/{os.getppid()}/root<SECRET_FILE>').read())",
        succeeded=_leaked,
    ),
    Attack(
        "up the tree, step by step",
        "above the box there is nothing of the host",
        "import os\nprint(open('../' * 30 + '<SECRET_FILE>'.lstrip('/')).read())",
        succeeded=_leaked,
    ),
    Attack(
        "a file handle instead of a path",
        "handles can't be opened",
        "import ctypes, os, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "handle = ctypes.create_string_buffer(struct.pack('Ii', 120, 0), 128); mount = ctypes.c_int()\n"
        "if libc.name_to_handle_at(-100, b'<SECRET_FILE>', handle, ctypes.byref(mount), 0): raise SystemExit(1)\n"
        "fd = libc.open_by_handle_at(os.open('/', os.O_RDONLY), handle, os.O_RDONLY)\n"
        "print(os.read(fd, 100).decode())",
        succeeded=_leaked,
        root=True,
    ),
    Attack(
        "a link left where a result is fetched",
        "what is fetched is a plain file of the box",
        "import os\nos.symlink('<SECRET_FILE>', os.environ['GROUNDWIRE_OUT'] + '/result')",
        succeeded=_leaked,
        collect=("result",),
    ),
    Attack(
        "a linked folder left where a result is fetched",
        "no folder on the way is a link either",
        "import os\nos.symlink(os.path.dirname('<SECRET_FILE>'), os.environ['GROUNDWIRE_OUT'] + '/d')",
        succeeded=_leaked,
        collect=("d/secret",),
    ),
    Attack(
        "a device of its own making",
        "no device can be made",
        "import os, stat\nos.mknod('disk', 0o600 | stat.S_IFBLK, os.makedev(7, 0)); print('BREACH')",
        root=True,
    ),
    Attack(
        "the host's memory as a device",
        "the device is not there",
        "fd = open('/dev/kmsg', 'rb'); print('BREACH')",
        root=True,
    ),
    Attack(
        "writes where everybody may",
        "outside of the box nothing can be written",
        "open('<OPEN_DIR>/planted', 'w').write('x')",
        succeeded=_planted,
    ),
    Attack(
        "moves a file out of its box",
        "nothing leaves the box",
        "import os\nopen('x', 'w').close(); os.rename('x', '<OPEN_DIR>/moved')",
        succeeded=_planted,
    ),
    Attack(
        "makes itself part of the interpreter",
        "the interpreter's folders are read-only",
        "import os, sysconfig\nif os.access(sysconfig.get_paths()['purelib'], os.W_OK): print('BREACH')",
        root=True,
    ),
    Attack(
        "changes the system's files",
        "they are read-only",
        "import os\nif any(os.access(p, os.W_OK) for p in ('/etc', '/usr/bin', '/usr/lib')): print('BREACH')",
        root=True,
    ),
    Attack(
        "leaves a file for the next candidate",
        "every command starts with an empty box",
        "import os, glob\n"
        "if glob.glob('<OPEN_DIR>/for-next') + glob.glob('/tmp/*-for-next') + glob.glob('/dev/shm/*-for-next')"
        " + glob.glob('for-next'): print('BREACH')",
        first="for place in ('<OPEN_DIR>/', '/tmp/<MARK>-', '/dev/shm/<MARK>-', ''):\n"
        " try: open(place + 'for-next', 'w').close()\n except OSError: pass",
        undefended=BARE,
    ),
    Attack(
        "leaves shared memory for the next candidate",
        "System V memory is the command's own, or can't be had",
        "import ctypes\nif ctypes.CDLL(None).shmget(<KEY>, 64, 0) >= 0: print('BREACH')",
        first="import ctypes\nctypes.CDLL(None).shmget(<KEY>, 64, 0o1666)",
    ),
)
