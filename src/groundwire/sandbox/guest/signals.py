"""The C module behind `signal`: the wrapper imports `enum`, which costs a cold run 5 ms."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

SIG_BLOCK = _signal.SIG_BLOCK
SIG_UNBLOCK = _signal.SIG_UNBLOCK
SIG_DFL = _signal.SIG_DFL
SIG_IGN = _signal.SIG_IGN
SIGCHLD = _signal.SIGCHLD
SIGINT = _signal.SIGINT
SIGKILL = _signal.SIGKILL
SIGPIPE = _signal.SIGPIPE
SIGXCPU = _signal.SIGXCPU
SIGXFSZ = _signal.SIGXFSZ
pthread_sigmask = _signal.pthread_sigmask
sigtimedwait = _signal.sigtimedwait
signal = _signal.signal
default_int_handler = _signal.default_int_handler
