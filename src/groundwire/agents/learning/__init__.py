"""Actors that learn to act in an environment and need no model."""

from groundwire.agents.learning.random_actor import RandomActor

__all__ = ["RandomActor"]
