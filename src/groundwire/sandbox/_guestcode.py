"""Loads our guest code into an interpreter we know nothing about: sent as source once, then as its own bytecode."""

from __future__ import annotations

from importlib import resources
from typing import Final

from groundwire.sandbox.guest import wire

PACKAGE: Final = "groundwire.sandbox.guest"
COLD_MODULES: Final = ("wire", "signals", "layout", "watch", "child", "keeper", "main")
"""What runs one command, in the order in which they import each other."""
LOCAL_MODULES: Final = (*COLD_MODULES[:-1], "kernel", "main")
"""What runs one command where there is no PID namespace."""
LISTED_MODULES: Final = (*COLD_MODULES[:-1], "door", "main")
"""The same with a way out to an allow list."""
CONFINED_MODULES: Final = (*COLD_MODULES[:-1], "kernel", "landlock", "main")
"""The same, shut into its files."""
CONTAINED_MODULES: Final = (*COLD_MODULES[:-1], "headtail", "relay", "kernel", "main")
"""What runs one command where only a byte stream leads out."""
HELD_MODULES: Final = (*CONTAINED_MODULES[:-1], "held", "main")
"""The same for one command after the other."""
WARM_MODULES: Final = (*COLD_MODULES[:-1], "kernel", "pyrun", "forking", "headstart", "server", "main")
"""The same with the fork server."""

# argv: the descriptor of requests, the descriptor of reports. A module comes as source, or as code that this very
# interpreter made of it earlier.
BOOT: Final = """\
import sys
startup = frozenset(sys.modules)
import marshal, os
requests, reports = int(sys.argv[1]), int(sys.argv[2])
def take(size):
    parts = []
    while size:
        part = os.read(requests, size)
        if not part:
            os._exit(1)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
image = marshal.loads(take(int.from_bytes(take(4), "little")))
for name in ("groundwire", "groundwire.sandbox", "groundwire.sandbox.guest"):
    package = sys.modules[name] = type(sys)(name)
    package.__path__ = []
sources = {}
for name, body in image:
    full = "groundwire.sandbox.guest." + name
    module = sys.modules[full] = type(sys)(full)
    if isinstance(body, str):
        sources[name] = body
        body = compile(body, "<" + full + ">", "exec", dont_inherit=True)
    else:
        body = marshal.loads(body)
    exec(body, module.__dict__)
    setattr(package, name, module)
module.main(requests, reports, sources, startup)
"""


class GuestCode:
    """The guest's modules as they are sent: as source until the interpreter in the sandbox has compiled them."""

    def __init__(self) -> None:
        folder = resources.files(PACKAGE)
        self._bodies: dict[str, str | bytes] = {
            name: (folder / f"{name}.py").read_text(encoding="utf-8")
            for name in {*WARM_MODULES, *LISTED_MODULES, *CONFINED_MODULES, *HELD_MODULES}
        }
        self._packed: dict[tuple[str, ...], bytes] = {}

    def compiled(self, name: str, code: bytes) -> None:
        """Takes the code that the sandbox's interpreter made of a module.

        Raises:
            KeyError: there is no such module.
        """
        if name not in self._bodies:
            raise KeyError(name)
        self._bodies[name] = code
        self._packed.clear()

    def image(self, modules: tuple[str, ...]) -> bytes:
        """These modules, packed to be sent."""
        if modules not in self._packed:
            self._packed[modules] = wire.pack_value([(name, self._bodies[name]) for name in modules])
        return self._packed[modules]
