"""A world at an address: serves one on this machine, and plays in it from there, as from any other machine.

python examples/http_world.py                             serves and plays one trial
python examples/http_world.py FrozenLake-v1 --serve       only serves, for groundwire or another program to act in
"""

import argparse
from pathlib import Path
from threading import Thread

from groundwire.core import Status
from groundwire.tools import WorldServer, world

RIDDLE = f"{Path(__file__).parent / 'own_world.py'}:Vault"


def main() -> None:
    """Serves a world, and plays in it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("world", nargs="?", default=RIDDLE)
    parser.add_argument("--serve", action="store_true")
    chosen = parser.parse_args()
    with WorldServer(world(chosen.world)) as server:
        if chosen.serve:
            print(f"serving at {server.address}", flush=True)
            server.serve_forever()
        Thread(target=server.serve_forever, daemon=True).start()
        far = world(server.address).make()
        scene = far.reset(1)
        while scene.status is Status.RUNNING and scene.actions:
            print(f"{scene.shown}\n> {scene.actions[1]}")
            scene = far.act(scene.actions[1])
        print(f"{scene.shown}\n{scene.status}")
        far.close()
        server.shutdown()


if __name__ == "__main__":
    main()
