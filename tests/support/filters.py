"""Runs a compiled seccomp filter as the kernel would."""

from __future__ import annotations

import errno
import struct

ALLOW = "allow"
KILL = "kill"
PRETEND = "reports success"
X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003


def decide(program: bytes, arch: int, number: int, *arguments: int) -> str:
    """What the kernel would do with a call: runs the filter as `seccomp(2)` describes it."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("IIQ6Q", number, arch, 0, *padded)
    code = list(struct.iter_unpack("HBBI", program))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("I", data, value)[0]
        elif operation == 0x06:
            action, detail = value & 0xFFFF0000, value & 0xFFFF
            return {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(action) or errno.errorcode.get(detail, PRETEND)
        elif operation == 0x54:
            accumulator &= value
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x45: bool(accumulator & value)}[operation]
            at += if_true if holds else if_false
