"""Program repair without a model."""

from groundwire.agents.search.actor import SearchActor

__all__ = ["SearchActor"]
