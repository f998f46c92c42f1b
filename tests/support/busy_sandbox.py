"""A groundwire that is always in the middle of something; killed by the test that started it.

python busy_sandbox.py KIND MARK
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import Limits
from groundwire.sandbox import open_sandbox

IMAGE = os.environ.get("GROUNDWIRE_TEST_IMAGE", "sandbox-py:latest")
LIMITS = Limits(wall_s=120, processes=20)
CANDIDATE = """\
import os, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(120)
        os._exit(0)
time.sleep(float(sys.argv[1]))
"""


async def main(kind: str, mark: str) -> None:
    box = await open_sandbox(kind, image=IMAGE)
    tree = Tree({"candidate.py": CANDIDATE.encode()})
    server = None
    with suppress(SandboxUnavailable):
        server = await box.warm(tree)
    print("busy", flush=True)

    async def cold() -> None:
        for turn in range(1000):
            await box.run(["python", "candidate.py", str(turn % 3 * 0.1), mark], tree, LIMITS)

    async def warm() -> None:
        for turn in range(1000 if server else 0):
            assert server
            await server.run(["candidate.py", str(turn % 3 * 0.1), mark], {}, LIMITS)

    await asyncio.gather(cold(), cold(), warm())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
