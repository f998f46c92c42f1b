"""groundwire, imported once: for each line of its input it forks a child that goes on as the program itself would, or
as a script that imports it.

    python forking_program.py

A line is a JSON object: `argv`, `cwd`, `env`, and `out` and `err`, the files that the child writes to. The answer, once
the child has ended, is its exit status. Importing takes longer than most of what tests ask of the program.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import sys
from typing import Any

import groundwire.cli
from groundwire.models._library import load_litellm

PROVIDER = re.compile(r"\w+/[\w.-]+|gpt5")
"""A model that LiteLLM is asked about, as our tests name them."""


def become(job: dict[str, Any]) -> None:
    """Makes this process what `exec` would have made of it."""
    for target, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, job["out"], os.O_WRONLY | os.O_CREAT),
        (2, job["err"], os.O_WRONLY | os.O_CREAT),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, target)
        os.close(opened)
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    sys.argv = job["argv"]
    sys.path[0] = os.path.dirname(job["argv"][0])  # noqa: PTH120  as the interpreter itself does
    importlib.invalidate_caches()


def serve() -> dict[str, Any]:
    """Forks for each job, and returns it in the child; ends with its input."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        job: dict[str, Any] = json.loads(line)
        if "--model" in job["argv"] and any(map(PROVIDER.fullmatch, job["argv"])):
            load_litellm()  # it takes as long as all the rest together: once, and only where it is asked for
        child = os.fork()
        if child == 0:
            answers.close()
            return job
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
    sys.exit()


if __name__ == "__main__":
    for module in pkgutil.walk_packages(groundwire.cli.__path__, "groundwire.cli."):
        importlib.import_module(module.name)
    gc.freeze()
    become(serve())
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        sys.exit(groundwire.cli.main())
