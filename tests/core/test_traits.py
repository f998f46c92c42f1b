"""What a part declares of itself is read in one way, and what is wrong with it is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._traits import (
    ActorTraits,
    AsksModel,
    BackendTraits,
    CriticTraits,
    LetsPropose,
    Needs,
    ToolTraits,
    models_of,
)
from groundwire.models import ScriptedBackend


class Part:
    """Declares nothing."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        return ()


def part(**attributes: Any) -> Any:
    return type("Part", (Part,), attributes)()


@pytest.mark.parametrize("kind", [ActorTraits, CriticTraits, ToolTraits, BackendTraits])
def test_a_part_that_declares_nothing_has_the_defaults(kind: Any) -> None:
    assert kind.of(Part()) == kind()


def test_what_is_declared_on_the_class_on_the_object_or_by_a_property_is_read() -> None:
    patient = ActorTraits(patient=True)
    own = Part()
    own.traits = patient  # pyright: ignore[reportAttributeAccessIssue]  an object may declare for itself
    computed = part(traits=property(lambda _self: patient))
    assert [ActorTraits.of(p) for p in (part(traits=patient), own, computed)] == [patient] * 3


def test_a_part_that_hands_all_attributes_on_hands_its_traits_on() -> None:
    class Forwards:
        def __getattr__(self, name: str) -> Any:
            return getattr(part(traits=ToolTraits(repeatable=True)), name)

    assert ToolTraits.of(Forwards()).repeatable


@pytest.mark.parametrize(
    ("read", "attributes", "message"),
    [
        (ActorTraits.of, {"traits": {"patient": True}}, "Part: traits is of type dict, and ActorTraits was expected"),
        (ToolTraits.of, {"traits": ActorTraits()}, "Part: traits is of type ActorTraits, and ToolTraits was expected"),
        (ActorTraits.of, {"traits": ActorTraits}, "Part: traits is of type type, and ActorTraits was expected"),
        (ActorTraits.of, {"traits": ActorTraits(patient="no")}, r"Part: traits\.patient is 'no', of type str"),  # pyright: ignore[reportArgumentType]  wrong on purpose
        (ActorTraits.of, {"traits": ActorTraits(needs=3)}, r"Part: traits\.needs is 3, of type int"),  # pyright: ignore[reportArgumentType]  likewise
        (
            ActorTraits.of,
            {"traits": ActorTraits(Needs(lessons=True))},
            r"traits\.needs\.lessons is True, of type",
        ),
        (ToolTraits.of, {"traits": ToolTraits(judges_hidden=1)}, r"traits\.judges_hidden is 1, of type int"),  # pyright: ignore[reportArgumentType]  likewise
        (BackendTraits.of, {"traits": BackendTraits(structured=None)}, r"traits\.structured is None"),  # pyright: ignore[reportArgumentType]  likewise
    ],
)
def test_a_wrong_type_is_refused_by_the_name_of_the_part(
    read: Callable[[object], object], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        read(part(**attributes))


@pytest.mark.parametrize(
    ("read", "name", "value"),
    [
        (ActorTraits.of, "patient", True),
        (ActorTraits.of, "grounded", False),
        (ActorTraits.of, "needs", Needs(coverage=True)),
        (CriticTraits.of, "grounded", False),
        (ToolTraits.of, "judges_hidden", True),
        (ToolTraits.of, "repeatable", True),
        (BackendTraits.of, "prioritises", True),
    ],
)
def test_an_attribute_that_would_silently_declare_nothing_is_refused(
    read: Callable[[object], object], name: str, value: object
) -> None:
    with pytest.raises(ConfigError, match=f"the attribute {name} by itself declares nothing") as refused:
        read(part(**{name: value}))
    assert f"({name}=…)" in refused.value.do


def test_an_attribute_of_that_name_with_another_meaning_is_the_part_s_own() -> None:
    assert ActorTraits.of(part(needs=["a hammer"], grounded="in fact")) == ActorTraits()
    assert ActorTraits.of(part(patient=True, traits=ActorTraits())) == ActorTraits()


def test_traits_that_fail_by_themselves_are_not_taken_for_none() -> None:
    def broken(self: Any) -> ActorTraits:
        return self.nothing_of_that_name

    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        ActorTraits.of(part(traits=property(broken)))


def test_together_one_need_is_a_need_of_all_and_one_control_makes_a_control() -> None:
    searching = part(traits=ActorTraits(Needs(coverage=True, lessons=0), patient=True))
    asking = part(traits=ActorTraits(Needs(episode=True, lesson_tokens=9000), grounded=False))
    both = ActorTraits.together([searching, asking])
    assert both == ActorTraits(Needs(coverage=True, episode=True, lessons=3, lesson_tokens=9000), grounded=False)
    assert ActorTraits.together([searching, searching]).patient


def test_the_models_that_a_part_asks_are_its_own_and_those_of_whom_it_lets_propose() -> None:
    asking = part(backend=ScriptedBackend([], model="a"))
    around = part(lets_propose=(asking, part(backend=ScriptedBackend([], model="b")), Part()))
    assert isinstance(asking, AsksModel) and isinstance(around, LetsPropose)
    assert (models_of(around), models_of(asking), models_of(Part())) == ({"a", "b"}, {"a"}, set())
    with pytest.raises(ConfigError, match="Part: backend is of type str, and a Backend was expected"):
        models_of(part(backend="cuda"))
