"""What a part declares of itself, in one attribute `traits`, so that whoever wires or calls it knows what to expect.

    class Chooser:
        traits = ActorTraits(needs=Needs(lessons=0), patient=True)

        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]: ...

A part that declares nothing has the defaults. One that holds others of its kind passes on what they declare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from inspect import getattr_static
from operator import attrgetter
from typing import Any, Protocol, Self, runtime_checkable

from groundwire.core._contexts import Actor
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend


@dataclass(frozen=True)
class Needs:
    """What an actor wants the runtime to find out for it (`ActorTraits.needs`).

    Args:
        coverage: per-case line coverage of the base tree.
        edit_statistics: which edits paid before.
        lessons: the most that memory recalls for one trial, Ω of Reflexion (arXiv 2303.11366): 1 to 3 there.
        lesson_tokens: tokens that these may have together, at 3.5 characters a token.
        episode: `ActorContext.judged` is to hold what all trials of the episode judged, not only the last one.
        experience: what actions led to in this world, and in others of its family.
    """

    coverage: bool = False
    edit_statistics: bool = False
    episode: bool = False
    experience: bool = False
    lessons: int = 3
    lesson_tokens: int = 2000

    def __or__(self, other: Needs) -> Needs:
        """What both want; of two numbers, the greater one."""
        return Needs(
            coverage=self.coverage or other.coverage,
            edit_statistics=self.edit_statistics or other.edit_statistics,
            episode=self.episode or other.episode,
            experience=self.experience or other.experience,
            lessons=max(self.lessons, other.lessons),
            lesson_tokens=max(self.lesson_tokens, other.lesson_tokens),
        )


class _Traits:
    """How traits are read."""

    @classmethod
    def of(cls, part: object, *, name: str = "") -> Self:
        """What `part` declares; the defaults where it declares nothing.

        Args:
            part: an actor, a critic, a tool or a backend.
            name: of its node, for the error.

        Raises:
            ConfigError: `traits` is something else, a value in it is of another type, or the part has an attribute that
                is named and typed like a trait and no `traits`: it would declare nothing.
        """
        of_whom = f"{type(part).__name__} of the node {name}" if name else type(part).__name__
        told = _attribute(part)
        if told is None:
            _refuse_loose(part, cls(), of_whom)
            return cls()
        if not isinstance(told, cls):
            raise ConfigError(
                f"{of_whom}: traits is of type {type(told).__name__}, and {cls.__name__} was expected.",
                do=f"Declare  traits = {cls.__name__}(…), on the class or on the object.",
            )
        _check_types(told, cls(), f"{of_whom}: traits")
        return told


def _attribute(part: object) -> object:
    try:
        return attrgetter("traits")(part)
    except AttributeError:
        if getattr_static(part, "traits", None) is not None:
            raise  # it is declared, and fails by itself
        return None


def _refuse_loose(part: object, defaults: Any, of_whom: str) -> None:
    kind = type(defaults).__name__
    for field in fields(defaults):
        if type(getattr_static(part, field.name, None)) is type(getattr(defaults, field.name)):
            raise ConfigError(
                f"{of_whom}: the attribute {field.name} by itself declares nothing.",
                do=f"Say it in  traits = {kind}({field.name}=…);  or  traits = {kind}()  if it means something else.",
            )


def _check_types(value: Any, default: Any, of_whom: str) -> None:
    for field in fields(default):
        given, expected = getattr(value, field.name), getattr(default, field.name)
        if type(given) is not type(expected):
            wanted = type(expected).__name__
            raise ConfigError(
                f"{of_whom}.{field.name} is {given!r:.80}, of type {type(given).__name__}.", do=f"Give a {wanted}."
            )
        if isinstance(expected, Needs):
            _check_types(given, expected, f"{of_whom}.{field.name}")


@dataclass(frozen=True)
class ActorTraits(_Traits):
    """What an actor declares.

    Args:
        needs: what the runtime finds out for it.
        patient: it goes through a plan of its own and ends that by itself: no rule of standstill ends it.
        grounded: False for a control, which revises its own answers without an outside signal; a graph lets it
            in with `allow_ungrounded=True` only, and every report says so.
        revision: raised whenever it would propose otherwise than before, or ask a model otherwise. A replay of a run
            that another revision made takes its recorded candidates, and asks the ledger what was asked for them, where
            else it proposes them again.
        calls_only: all that it does in the world are the calls and programs that its context runs for it. These are in
            the ledger first, but for calls that cost nothing, so nothing else need be before it begins: all that a
            trial comes to can be written at once.
    """

    needs: Needs = Needs()
    patient: bool = False
    grounded: bool = True
    revision: int = 1
    calls_only: bool = False

    @classmethod
    def together(cls, actors: Sequence[Actor]) -> Self:
        """Of an actor that lets others propose: it needs what one of them needs; it is patient, grounded and of calls
        only where all of them are; its revision is the highest of theirs.

        Raises:
            ConfigError: as `of`.
        """
        first, *others = [cls.of(actor) for actor in actors]
        needs = first.needs
        for other in others:
            needs |= other.needs
        every = (first, *others)
        return cls(
            needs,
            patient=all(t.patient for t in every),
            grounded=all(t.grounded for t in every),
            revision=max(t.revision for t in every),
            calls_only=all(t.calls_only for t in every),
        )


@dataclass(frozen=True)
class CriticTraits(_Traits):
    """What a critic declares.

    Args:
        grounded: see `ActorTraits`.
        calls_only: see `ActorTraits`.
    """

    grounded: bool = True
    calls_only: bool = False


@dataclass(frozen=True)
class ToolTraits(_Traits):
    """What a tool declares.

    Args:
        judges_hidden: it is the one to judge hidden tests; no other is given them.
        judges_visible: it judges by the visible tests too, and says by an observation's origin which it was. What the
            visible ones said keeps its evidence, unless text of the hidden ones is in there.
        repeatable: it may judge the same candidate again, because nothing of one judging is left for the next.
        never_passes: it makes or looks at steps, and accepts no answer; a picture of the graph shows "go on" there.
        calls_only: see `ActorTraits`; what it runs stays in its context's sandbox, which is no effect in the world.
        judges_all: it judges every candidate of a trial, also behind one that passes: samples that are counted, or
            trained on.
    """

    judges_hidden: bool = False
    judges_visible: bool = False
    repeatable: bool = False
    never_passes: bool = False
    calls_only: bool = False
    judges_all: bool = False


@dataclass(frozen=True)
class BackendTraits(_Traits):
    """What a backend declares.

    Args:
        structured: it holds answers to `Request.json_schema`, so that an actor may ask for JSON by itself.
        prioritises: it serves requests by `Request.priority`.
        continues: it writes on where a begun answer stands, which is a last message of the assistant's. What does not
            is told to go on in a turn of its own.
    """

    structured: bool = False
    prioritises: bool = False
    continues: bool = False


# Which models a part asks: nobody is made the judge of its own text.


@runtime_checkable
class AsksModel(Protocol):
    """A part that asks a model: an actor, a critic, a reviewer, a judge of steps."""

    @property
    def backend(self) -> Backend:
        """What answers it."""
        ...


@runtime_checkable
class LetsPropose(Protocol):
    """An actor that lets others propose; its `ActorTraits` come from theirs."""

    @property
    def lets_propose(self) -> Sequence[Actor]:
        """The others."""
        ...


def models_of(part: object) -> frozenset[str]:
    """The ids of the models that a part asks, and of those that the actors ask which it lets propose.

    Raises:
        ConfigError: its `backend` is something else.
    """
    own = {_asked(part, part.backend)} if isinstance(part, AsksModel) else set[str]()
    others = part.lets_propose if isinstance(part, LetsPropose) else ()
    return frozenset(own).union(*map(models_of, others))


def _asked(part: object, backend: object) -> str:
    if not isinstance(backend, Backend):
        raise ConfigError(
            f"{type(part).__name__}: backend is of type {type(backend).__name__}, and a Backend was expected.",
            do="Give another name to what is no model's backend.",
        )
    return backend.model
