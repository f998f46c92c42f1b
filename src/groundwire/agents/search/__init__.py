"""Program repair without a model."""

from groundwire.agents.search._actor import SearchActor

__all__ = ["SearchActor"]
