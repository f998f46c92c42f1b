# pyright: basic, reportMissingImports=false
"""groundwire's tasks behind an OpenEnv server, and a client of OpenEnv's that hands two answers in.

python examples/openenv_tasks.py   (pip install "groundwire[openenv]")
"""

import socket
import threading
from tempfile import TemporaryDirectory

import uvicorn
from openenv.core import GenericEnvClient

from groundwire import Candidate, Task
from groundwire.integrations.rl import openenv_app


def loud(candidate: Candidate) -> bool | str:
    return candidate.text.isupper() or "not in capitals"


with TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as held:
    tasks = [Task.of("Say hello loudly.", id="loud")]
    app = openenv_app(tasks, check=loud, tries=2, db=f"sqlite:///{folder}/ledger.db")  # uvicorn module:app
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="websockets-sansio"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
    thread.start()
    with GenericEnvClient(f"http://127.0.0.1:{held.getsockname()[1]}").sync() as client:
        print(client.reset(seed=0).observation["prompt"])
        for text in ("hello", "HELLO"):
            result = client.step({"text": text})
            print(result.reward, result.done, result.observation["detail"])
    server.should_exit = True
    thread.join()
