"""The filter for commands that share the host's namespaces decides as it says, on both processors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from filters import AARCH64, ALLOW, PRETEND, X86_64, decide

from groundwire.sandbox._seccomp_host import compile_host_filter

FILTERED = {
    # name: (x86_64, aarch64), arguments, decision
    "socket unix": ((41, 198), (1, 1, 0), "EAFNOSUPPORT"),
    "socket inet": ((41, 198), (2, 1, 0), "EAFNOSUPPORT"),
    "socketpair stream": ((53, 199), (1, 1 | 0o2000000, 0), ALLOW),
    "socketpair datagram": ((53, 199), (1, 2, 0), "EAFNOSUPPORT"),
    "connect": ((42, 203), (3,), "EPERM"),
    "accept4": ((288, 242), (3,), "EPERM"),
    "shmget": ((29, 194), (), "EPERM"),
    "mq_open": ((240, 180), (), "EPERM"),
    "prlimit64 of itself": ((302, 261), (0,), ALLOW),
    "prlimit64 of another": ((302, 261), (77,), "EPERM"),
    "setpriority of itself": ((141, 140), (0, 0), ALLOW),
    "setpriority of a user": ((141, 140), (2, 0), "EPERM"),
    "setpriority of another": ((141, 140), (0, 9), "EPERM"),
    "ioprio_set": ((251, 30), (), "EPERM"),
    "fchmodat": ((268, 53), (), PRETEND),
    "utimensat": ((280, 88), (), PRETEND),
    "openat": ((257, 56), (), ALLOW),
}


@pytest.mark.parametrize("name", FILTERED)
def test_each_call_is_decided_as_listed(name: str):
    numbers, arguments, wanted = FILTERED[name]
    for processor, arch, number in (("x86_64", X86_64, numbers[0]), ("aarch64", AARCH64, numbers[1])):
        program = compile_host_filter(network=False, own_files=True, processor=processor)
        assert decide(program, arch, number, *arguments) == wanted


def test_metadata_of_ones_own_files_stays_as_it_is(tmp_path: Path):
    """For a caller that is not root: the call reports success and does nothing."""
    mine = tmp_path / "mine"
    mine.write_text("x")
    mine.chmod(0o640)
    code = (
        "import os, sys\nfrom groundwire.sandbox.guest import kernel\n"
        "from groundwire.sandbox._seccomp_host import compile_host_filter\n"
        "kernel.load_filter(compile_host_filter(network=False, own_files=True))\n"
        "os.chmod(sys.argv[1], 0o777); os.utime(sys.argv[1], (1, 1)); print('went on')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(mine)], capture_output=True, text=True, check=True)
    assert done.stdout == "went on\n"
    assert mine.stat().st_mode & 0o777 == 0o640
    assert mine.stat().st_mtime > 1
