"""What Gymnasium's own environments call their actions, how their states read, and when they are won.

Sources: the documentation of each at gymnasium.farama.org. What is won is what it says the goal is, and nothing else.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.core._scenes import Status
from groundwire.tools.environments.gymnasium._spaces import observation_as_text

# How an episode of a Gymnasium environment ended, and the rules that say whether that was a win.
#
# Gymnasium itself has no word for it: `terminated` may be the goal as well as the abyss.

COMPARED = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq}
WRITTEN = re.compile(r"(reward|return)\s*(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?)")
IN_INFO = re.compile(r"info\.(\w+)")


@dataclass(frozen=True)
class End:
    """The last step of an episode, as the environment gave it back.

    Args:
        terminated: a state was reached in which the environment ends.
        truncated: it was cut off, as a rule by its step limit.
        reward: of the last action.
        total: the sum of all rewards (the return, not discounted).
        observation: the last one.
        info: what came with it.
        env: the environment, without its wrappers.
    """

    terminated: bool
    truncated: bool
    reward: float
    total: float = 0.0
    observation: Any = None
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    env: Any = None


Rule = Callable[[End], Status]
"""Says how an episode that is over stands."""


def unknown(end: End) -> Status:
    """The rule where nobody gave one: `info["is_success"]` where there is such a thing, lost where the step limit cut
    it off, and otherwise over without a verdict."""
    if "is_success" in end.info:
        return Status.WON if bool(end.info["is_success"]) else Status.LOST
    return Status.ENDED if end.terminated else Status.LOST


def rule_of(won_if: str | Callable[[End], bool]) -> Rule:
    """The rule "won where this holds when it is over, and lost where not".

    Args:
        won_if: `reward>=1` (of the last action), `return>=475` (of the episode), `info.NAME` (true in `info`),
            `terminated`, or a function.

    Raises:
        ConfigError: it is none of these.
    """
    holds = won_if if callable(won_if) else _parsed(won_if)
    return lambda end: Status.WON if holds(end) else Status.LOST


def _parsed(text: str) -> Callable[[End], bool]:
    if text == "terminated":
        return lambda end: end.terminated
    if found := IN_INFO.fullmatch(text):
        name = found[1]
        return lambda end: bool(end.info.get(name, False))
    if found := WRITTEN.fullmatch(text):
        compare, bound = COMPARED[found[2]], float(found[3])
        if found[1] == "reward":
            return lambda end: compare(end.reward, bound)
        return lambda end: compare(end.total, bound)
    raise ConfigError(
        f"This is no rule of what is won: {text!r:.80}.",
        do="Write won_if=reward>=1, won_if=return>=475, won_if=info.is_success or won_if=terminated.",
    )


def _generic(env: Any, observation: Any) -> str:
    return observation_as_text(observation)


def _reward(reward: float) -> str:
    return f"Reward: {reward:g}." if reward else ""


@dataclass(frozen=True)
class Known:
    """What is known of an environment beyond what its spaces say.

    Args:
        prompt: what is asked for.
        names: of its actions, in their order.
        also: other words for these.
        text: the state in words, from the environment without wrappers and an observation.
        rule: how it stands when it is over.
        event: what a reward says of the action.
        steps: a limit of our own, where Gymnasium sets none.
        repeats: see `World`.
    """

    prompt: str = "Act so that the environment's goal is reached."
    names: tuple[str, ...] = ()
    also: Mapping[str, str] = field(default_factory=dict[str, str])
    text: Callable[[Any, Any], str] = _generic
    rule: Rule = unknown
    event: Callable[[float], str] = _reward
    steps: int | None = None
    repeats: int | None = 3


ANY = Known()
TILES = {b"S": "the start", b"F": "ice", b"H": "a hole", b"G": "the goal"}
STANDS = ("Red", "Green", "Yellow", "Blue")


def _won_where(holds: Callable[[End], bool]) -> Rule:
    return lambda end: Status.WON if holds(end) else Status.LOST


def _lake(env: Any, observation: Any) -> str:
    row, column = divmod(int(observation), env.ncol)
    tile = TILES.get(bytes(env.desc[row, column]), "unknown")
    return f"A frozen lake of {env.nrow} × {env.ncol}. You are at row {row}, column {column}: {tile}."


def _on_the_goal(end: End) -> bool:
    return end.terminated and bytes(end.env.desc.flatten()[int(end.observation)]) == b"G"


def _taxi(env: Any, observation: Any) -> str:
    row, column, passenger, destination = map(int, env.decode(int(observation)))
    waits = f"waits at {_stand(env, passenger)}" if passenger < len(STANDS) else "is in the taxi"
    return (
        f"The taxi is at row {row}, column {column}. The passenger {waits}. "
        f"The destination is {_stand(env, destination)}."
    )


def _stand(env: Any, number: int) -> str:
    row, column = env.locs[number]
    return f"{STANDS[number]} (row {row}, column {column})"


def _cliff(env: Any, observation: Any) -> str:
    rows, columns = map(int, env.shape)
    row, column = divmod(int(observation), columns)
    return f"A field of {rows} × {columns}. You are at row {row}, column {column}."


def _blackjack(env: Any, observation: Any) -> str:
    total, dealer, ace = map(int, observation)
    return f"You hold {total}, {'with' if ace else 'without'} a usable ace. The dealer shows {dealer}."


LAKE = Known(
    prompt="Cross the frozen lake from the start to the goal without falling into a hole. The ice may be slippery.",
    names=("left", "down", "right", "up"),
    also={"west": "left", "south": "down", "east": "right", "north": "up"},
    text=_lake,
    rule=_won_where(_on_the_goal),
    # on slippery ice the best thing to do may be to walk against the bank again and again
    repeats=None,
)
CLIFF = Known(
    prompt="Walk from the lower left to the lower right corner. Between them is a cliff; who falls begins anew.",
    names=("up", "right", "down", "left"),
    also={"north": "up", "east": "right", "south": "down", "west": "left"},
    text=_cliff,
    rule=_won_where(lambda end: end.terminated),
    event=lambda reward: f"You fell off the cliff: {reward:g}. You are back at the start." if reward <= -100 else "",
    steps=100,
)
TAXI = Known(
    prompt="Fetch the passenger and set them down at the destination.",
    names=("south", "north", "east", "west", "pickup", "dropoff"),
    also={"down": "south", "up": "north", "right": "east", "left": "west"},
    text=_taxi,
    rule=_won_where(lambda end: end.terminated and end.reward == 20),
    event=lambda reward: f"That was not allowed here: {reward:g}." if reward <= -10 else "",
)
BLACKJACK = Known(
    prompt="Beat the dealer: come closer to 21 without going over. A draw is no win.",
    names=("stick", "hit"),
    also={"stand": "stick"},
    text=_blackjack,
    rule=_won_where(lambda end: end.terminated and end.reward > 0),
)
CAR = Known(
    prompt="Drive the car up the right hill (position 0.5). You see [position, velocity].",
    names=("left", "coast", "right"),
    rule=_won_where(lambda end: end.terminated),
    event=lambda reward: "",
    repeats=None,
)
ACROBOT = Known(
    prompt="Swing the free end of the two links above the height of one link over the base.",
    names=("backward", "nothing", "forward"),
    rule=_won_where(lambda end: end.terminated),
    event=lambda reward: "",
    repeats=None,
)
POLE = Known(
    prompt="Keep the pole upright until the step limit. You see [position, velocity, angle, angular velocity].",
    names=("left", "right"),
    rule=_won_where(lambda end: end.truncated and not end.terminated),
    event=lambda reward: "",
    repeats=None,
)
KNOWN = {
    "gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv": LAKE,
    "gymnasium.envs.toy_text.cliffwalking:CliffWalkingEnv": CLIFF,
    "gymnasium.envs.toy_text.taxi:TaxiEnv": TAXI,
    "gymnasium.envs.toy_text.blackjack:BlackjackEnv": BLACKJACK,
    "gymnasium.envs.classic_control.mountain_car:MountainCarEnv": CAR,
    "gymnasium.envs.classic_control.acrobot:AcrobotEnv": ACROBOT,
    "gymnasium.envs.classic_control.cartpole:CartPoleEnv": POLE,
}


def known(entry_point: object) -> Known:
    """What is known of the environment that is registered under this entry point."""
    return KNOWN.get(entry_point, ANY) if isinstance(entry_point, str) else ANY
