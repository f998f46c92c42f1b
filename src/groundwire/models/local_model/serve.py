"""llama.cpp's OpenAI-compatible server in a process of its own: `python -P serve.py SETTINGS`, a JSON object.

xllamacpp 2026.10 starts and ends a server while it holds Python's lock, its end waits for the requests in flight, and a
program that ends under a model at work may crash. None of that matters to a process that does nothing else and is
killed. The key comes in the environment, since every user of the machine can read a command line.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
from typing import Any

KEY_VARIABLE = "GROUNDWIRE_LOCAL_SERVER_KEY"
SILENT = -1


def main(settings: dict[str, Any]) -> int:
    """Serves until it is killed; returns 1, with the reason on stderr, where it can't."""
    try:
        engine: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        print(f"xllamacpp can't be loaded here: {error}", file=sys.stderr, flush=True)
        return 1
    try:
        with socket.socket() as probe:  # the engine does not say which of its troubles it had
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((settings["host"], settings["port"]))
        server = engine.Server(_parameters(engine, settings))
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    while server is not None:  # it lives as long as its name
        signal.pause()
    return 0


def _parameters(engine: Any, settings: dict[str, Any]) -> Any:
    parameters = engine.CommonParams()
    parameters.model.path = settings["path"]
    parameters.model_alias = {settings["name"]}
    parameters.hostnames = [settings["host"]]
    parameters.port = settings["port"]
    parameters.api_keys = [os.environ[KEY_VARIABLE]]
    parameters.ui = False
    parameters.verbosity = SILENT
    parameters.n_parallel = settings["slots"]
    parameters.n_ctx = settings["slots"] * settings["context_tokens"]
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = settings["threads"]
    # the same seed gives the same text only where no sample is computed from what another left in a cache
    parameters.kv_unified = False
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    # a file that is mapped can be changed, or cut off, under a running model
    parameters.load_mode = engine.llama_load_mode.LLAMA_LOAD_MODE_NONE
    return parameters


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
