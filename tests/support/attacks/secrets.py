"""Reading what only groundwire should know."""

from __future__ import annotations

from attacks.model import NO_FILTER, Attack, Prey
from groundwire.core._sandboxes import ExecResult

__all__ = ["ATTACKS"]


def _leaked(result: ExecResult, prey: Prey) -> bool:
    return prey.secret.encode() in result.stdout


ATTACKS = (
    Attack("its own environment", "nothing of ours is in it", "import os\nprint(dict(os.environ))", succeeded=_leaked),
    Attack(
        "the environment of every process in sight",
        "no process of the host is in sight, and the sandbox's own started empty",
        "import glob\nfor p in glob.glob('/proc/[0-9]*/environ'):\n"
        " try: print(open(p).read())\n except OSError: pass",
        succeeded=_leaked,
    ),
    Attack(
        "the command line of every process in sight",
        "the host's processes can't be seen",
        "import glob\nfor p in glob.glob('/proc/[0-9]*/cmdline'):\n"
        " try: print(open(p).read())\n except OSError: pass",
        succeeded=_leaked,
    ),
    Attack(
        "the memory of its parent",
        "another process's memory can't be opened",
        "import os\npid = os.getppid()\n"
        "for line in open(f'/proc/{pid}/maps'):\n"
        " if '[heap]' in line or ' 00:00 0 ' in line:\n"
        "  a, b = (int(x, 16) for x in line.split()[0].split('-'))\n"
        "  try:\n"
        "   with open(f'/proc/{pid}/mem', 'rb') as m:\n"
        "    m.seek(a)\n"
        "    if b'<SECRET_START>' b'<SECRET_END>' in m.read(b - a): print('<SECRET_START>' '<SECRET_END>'); break\n"
        "  except (OSError, OverflowError, ValueError): pass",
        succeeded=_leaked,
        root=True,
    ),
    Attack(
        "the memory of its parent, by system call",
        "the call is refused",
        "import ctypes, os\nclass V(ctypes.Structure): _fields_ = [('p', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
        "libc = ctypes.CDLL(None); here = ctypes.create_string_buffer(16)\n"
        "word = ctypes.create_string_buffer(b'word')\n"
        "pid = os.fork()\nif pid == 0:\n"
        " v, r = V(ctypes.addressof(here), 4), V(ctypes.addressof(word), 4)\n"
        " if libc.process_vm_readv(os.getppid(), ctypes.byref(v), 1, ctypes.byref(r), 1, 0) == 4: print('BREACH', flush=True)\n"
        " os._exit(0)\n"
        "libc.prctl(0x59616d61, -1, 0, 0, 0); os.waitpid(pid, 0)",
    ),
    Attack(
        "the descriptors it was started with",
        "it has three, and none leads to the host",
        "import os\nfor fd in range(3, 200):\n"
        " try: print(os.pread(fd, 100, 0).decode(errors='replace'))\n except OSError: pass",
        succeeded=_leaked,
    ),
    Attack(
        "the keys that the kernel keeps for its user",
        "the kernel's key rings are out of reach",
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "if libc.syscall(248, b'user', b'mine', b'x', 1, -2) >= 0 or libc.syscall(217, b'user', b'mine', b'x', 1, -2) > 0:"
        " print('BREACH')",
        undefended=NO_FILTER,
    ),
    Attack(
        "the name of the host",
        "it has a name of its own, or none",
        "import socket\nprint(open('/etc/hostname').read())\nif '<HOST>' in (open('/etc/hostname').read().strip(), socket.gethostname()): print('BREACH')",
    ),
    Attack(
        "what somebody typed at the terminal",
        "no terminal is attached, and nothing can be typed into one",
        "import fcntl, os, pty\na, b = pty.openpty()\nfcntl.ioctl(b, 0x5412, b'x'); print('BREACH')",
        root=True,
    ),
)  # fmt: skip
