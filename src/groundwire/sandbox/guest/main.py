"""Where the guest begins: what it was started for comes as the first message."""

from __future__ import annotations

import marshal
import os
import sys

from groundwire.sandbox.guest import child, keeper, layout, signals, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, cast

    from groundwire.sandbox.guest.wire import Job
else:

    def cast(_: object, value: object) -> object:
        """Stands in for typing's, whose import is slow."""
        return value


# a single command is not made to pay for loading what it has no need of
try:
    from groundwire.sandbox.guest import door
except ImportError:
    door = None
try:
    from groundwire.sandbox.guest import kernel
except ImportError:
    kernel = None
try:
    from groundwire.sandbox.guest import landlock
except ImportError:
    landlock = None
try:
    from groundwire.sandbox.guest import relay
except ImportError:
    relay = None
try:
    from groundwire.sandbox.guest import held
except ImportError:
    held = None
try:
    from groundwire.sandbox.guest import server
except ImportError:
    server = None

OURS = "groundwire"


def main(requests: int, reports: int, sources: dict[str, str], startup: frozenset[str]) -> NoReturn:
    """Serves what the first message asks for, then ends the process.

    Args:
        requests: where messages for us come from.
        reports: where our frames go.
        sources: our modules' source by name, if we were started from source.
        startup: names of the modules that a bare interpreter has.
    """
    # the code in here may be groundwire itself, in another version
    for name in [n for n in sys.modules if n == OURS or n.startswith(f"{OURS}.")]:
        del sys.modules[name]
    os.umask(0o022)
    # a command may send us signals; the first process of a namespace gets only those it has a handler for
    signals.signal(signals.SIGINT, signals.SIG_IGN)
    child.close_others(requests, reports)
    child.set_dumpable(dumpable=False)
    try:
        _serve(requests, reports, sources, startup)
    except EOFError:
        os._exit(1)
    except BaseException as error:
        wire.write_frame(reports, wire.BROKEN, repr(error).encode("utf-8", "replace"))
        os._exit(1)
    os._exit(0)


def _serve(requests: int, reports: int, sources: dict[str, str], startup: frozenset[str]) -> None:
    role = wire.read_value(requests)
    if role == "compile":
        for name, source in sources.items():
            code = compile(source, f"<{OURS}.sandbox.guest.{name}>", "exec", dont_inherit=True)
            wire.write_frame(reports, wire.CODE, name.encode() + b"\0" + marshal.dumps(code))
    elif role == "once" or (role == "local" and kernel is not None):
        if role == "local" and kernel is not None:
            # what leaves its parent comes to us, as it would to the first process of a namespace
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        wire.write_frame(reports, wire.HELLO)
        keeper.keep(cast("wire.Job", wire.read_value(requests)), reports, 1, 2, _start_program)
    elif role == "listed" and door is not None:
        wire.write_frame(reports, wire.HELLO)
        door.hand_out(reports)
        keeper.keep(cast("wire.Job", wire.read_value(requests)), reports, 1, 2, _start_program)
    elif role == "confined" and kernel is not None and landlock is not None:
        confinement = cast("wire.Confinement", wire.read_value(requests))
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        landlock.scope()
        wire.write_frame(reports, wire.HELLO)
        shut_in, load_one, drop = landlock.shut_in, kernel.load_filter, kernel.drop_capabilities

        def confine() -> None:
            drop()
            files = confinement["readable"], confinement["writable"], confinement["devices"]
            shut_in(*files, network=confinement["network"])
            for program in confinement["seccomp"]:
                load_one(program)

        def start_confined(job: Job, stdout: int, stderr: int) -> None:
            _start_program(job, stdout, stderr, confine)

        keeper.keep(cast("wire.Job", wire.read_value(requests)), reports, 1, 2, start_confined, scoped=True)
    elif role == "contained" and relay is not None and kernel is not None:
        support = cast("wire.Support", wire.read_value(requests))
        layout.lay(support["folder"], support["files"], (), frozenset(support["executable"]))
        # beside the engine's own; an engine of another processor has its own alone
        programs = support["seccomp"].get(os.uname().machine, [])
        load = kernel.load_filter

        def load_all() -> None:
            for program in programs:
                load(program)

        def start(job: Job, stdout: int, stderr: int) -> None:
            job["python"] = job["python"] or sys.executable
            _start_program(job, stdout, stderr, load_all)

        if support["keep"] and held is not None:
            held.serve(requests, reports, start)
            return
        job = cast("wire.Job", wire.read_value(requests))
        passed_on = relay.Relay(reports, job["output_bytes"])
        if job["line"] >= 0:
            job["line"] = passed_on.open_line(requests)
        stdout, stderr = passed_on.writers
        keeper.keep(job, reports, stdout, stderr, start, passed_on)
    elif role == "serve" and server is not None:
        child.set_dumpable(
            dumpable=True
        )  # it makes namespaces, which a closed process may not; each fork closes itself
        server.serve(cast("wire.Setup", wire.read_value(requests)), requests, startup)
    else:
        raise ValueError(f"no role {role!r}")


def _start_program(job: Job, stdout: int, stderr: int, confine: Callable[[], None] | None = None) -> None:
    line = child.keep_line(job)
    child.connect(job["stdin"], stdout, stderr)
    child.close_others(line)
    child.set_limits(job)
    if job["uid"]:
        child.become_user(job["uid"])
    if confine is not None:
        confine()
    child.restore_signals()
    child.execute(job["arguments"], job["env"], job["python"])
