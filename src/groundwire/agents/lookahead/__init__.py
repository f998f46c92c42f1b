"""Planning: looking ahead in a model of the world, doing one thing, and planning anew."""

from groundwire.agents.lookahead.actor import LookaheadActor
from groundwire.agents.lookahead.models import Imagined, LLMForesight, Simulator, WorldModel
from groundwire.agents.lookahead.values import Rollouts, Value

__all__ = ["Imagined", "LLMForesight", "LookaheadActor", "Rollouts", "Simulator", "Value", "WorldModel"]
