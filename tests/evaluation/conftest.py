"""Fixtures for tests of what is measured."""

from __future__ import annotations

import pytest
from guessing import ANSWER

from groundwire import Task
from groundwire.core._candidates import Tree


@pytest.fixture
def task() -> Task:
    """A word to be guessed."""
    return Task(id="guess", family="words", tree=Tree({ANSWER: b"nothing"}))
