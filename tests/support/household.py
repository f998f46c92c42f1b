"""A tiny game in ALFWorld's form (`game.tw-pddl`): an apple is shut in a fridge, and belongs on the desk."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["write_game"]

DOMAIN = """
(define (domain household)
 (:requirements :adl :typing)
 (:types agent location receptacle object)
 (:predicates
  (atLocation ?a - agent ?l - location) (receptacleAtLocation ?r - receptacle ?l - location)
  (openable ?r - receptacle) (opened ?r - receptacle) (inReceptacle ?o - object ?r - receptacle)
  (holds ?a - agent ?o - object) (holdsAny ?a - agent) (checked ?x))
 (:action look :parameters (?a - agent ?l - location) :precondition (atLocation ?a ?l) :effect (checked ?l))
 (:action inventory :parameters (?a - agent) :precondition () :effect (checked ?a))
 (:action examineReceptacle :parameters (?a - agent ?r - receptacle ?l - location)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)) :effect (checked ?r))
 (:action GotoLocation :parameters (?a - agent ?lStart - location ?lEnd - location ?r - receptacle)
  :precondition (and (atLocation ?a ?lStart) (receptacleAtLocation ?r ?lEnd))
  :effect (and (not (atLocation ?a ?lStart)) (atLocation ?a ?lEnd)))
 (:action OpenObject :parameters (?a - agent ?l - location ?r - receptacle)
  :precondition (and (openable ?r) (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (not (opened ?r)))
  :effect (opened ?r))
 (:action PickupObject :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (inReceptacle ?o ?r) (not (holdsAny ?a))
                     (or (not (openable ?r)) (opened ?r)))
  :effect (and (not (inReceptacle ?o ?r)) (holds ?a ?o) (holdsAny ?a)))
 (:action PutObject :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (holds ?a ?o) (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (or (not (openable ?r)) (opened ?r)))
  :effect (and (inReceptacle ?o ?r) (not (holds ?a ?o)) (not (holdsAny ?a))))
)
"""

PROBLEM = """
(define (problem apple) (:domain household)
 (:objects agent1 - agent loc_bar_0 loc_bar_1 loc_bar_2 - location
  fridge_bar__plus_00_dot_10 desk_bar__minus_01_dot_20 desk_bar__plus_02_dot_00 - receptacle
  apple_bar__plus_00_dot_30 - object)
 (:init (atLocation agent1 loc_bar_0)
  (receptacleAtLocation fridge_bar__plus_00_dot_10 loc_bar_1) (openable fridge_bar__plus_00_dot_10)
  (receptacleAtLocation desk_bar__minus_01_dot_20 loc_bar_2) (receptacleAtLocation desk_bar__plus_02_dot_00 loc_bar_0)
  (inReceptacle apple_bar__plus_00_dot_30 fridge_bar__plus_00_dot_10))
 (:goal (inReceptacle apple_bar__plus_00_dot_30 desk_bar__minus_01_dot_20))
)
"""

IN_IT = "[{o.indefinite + ' ' + o.name | inreceptacle(o:object, r:receptacle)}]"
HERE = "atlocation(a:agent, l:location) & receptacleatlocation(r:receptacle, l:location)"
RULES = {
    "intro": [{"rhs": "-= Welcome =-\n\n#look.feedback#\n\n#task#"}],
    "task": [{"rhs": "Your task is to: put the apple on a desk."}],
    "look.feedback": [{"rhs": f"You are facing the [{{r.name | {HERE}}}]. Next to it, you see nothing."}],
    "inventory.feedback": [
        {"condition": "holdsany(a:agent)", "rhs": "You are carrying: [{o.name | holds(a:agent, o:object)}]."},
        {"rhs": "You are not carrying anything."},
    ],
    "examine.feedback": [
        {
            "condition": "openable(r:receptacle) & opened(r:receptacle)",
            "rhs": f"The {{r.name}} is open. In it, you see {IN_IT}.",
        },
        {"condition": "openable(r:receptacle)", "rhs": "The {r.name} is closed."},
        {"rhs": f"On the {{r.name}}, you see {IN_IT}."},
    ],
    "go.feedback": [{"rhs": "You arrive at {r.name}. #examine.feedback#"}],
    "open.feedback": [{"rhs": "You open the {r.name}. #examine.feedback#"}],
    "take.feedback": [{"rhs": "You pick up the {o.name} from the {r.name}."}],
    "list_empty": [{"rhs": "nothing"}],
    "list_separator": [{"rhs": ", "}],
    "list_last_separator": [{"rhs": ", and "}],
    "put.feedback": [{"rhs": "You move the {o.name} to the {r.name}."}],
}
ACTIONS = {
    "look": ("look", "look"),
    "inventory": ("inventory", "inventory"),
    "examineReceptacle": ("examine {r}", "examine"),
    "GotoLocation": ("go to [{r.name | receptacleatlocation(r:receptacle, lend:location)}]", "go"),
    "OpenObject": ("open {r}", "open"),
    "PickupObject": ("take {o} from {r}", "take"),
    "PutObject": ("move {o} to {r}", "put"),
}


def write_game(folder: Path, *, solvable: bool = True) -> Path:
    """Writes the game where ALFWorld's data would have it, and returns its file."""
    actions = "\n".join(
        f'action {name} {{\n    template :: "{template}";\n    feedback :: "#{rule}.feedback#";\n}}\n'
        for name, (template, rule) in ACTIONS.items()
    )
    grammar = f'grammar :: """\n{json.dumps(RULES, indent=1)}\n""";\n\n{actions}'
    game = {"pddl_domain": DOMAIN, "grammar": grammar, "pddl_problem": PROBLEM, "solvable": solvable}
    file = folder / "pick_and_place_simple-Apple-None-Desk-301" / "trial_T2026" / "game.tw-pddl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(game), "utf-8")
    return file
