"""A program that ends without closing its engines."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from groundwire.models.vllm_engine import _registry as registry

ends = []
registry.close_engines = lambda: ends[0].set()
registry._close_in_the_end()

import multiprocessing

context = multiprocessing.get_context("fork")
ends.append(context.Event())
context.Process(target=ends[0].wait).start()
"""
"""The engine's process ends when the engine is closed, and multiprocessing waits for it at the interpreter's end."""


def test_engines_are_closed_before_their_processes_are_waited_for() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600)
    assert (ran.returncode, ran.stderr) == (0, "")
