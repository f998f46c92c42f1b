"""The rules by name: what each says, and the smallest change after which a loop would not break it."""

from __future__ import annotations

from groundwire_audit._report import Grounding, Level, Loop

RULES = {
    "ungrounded-loop": "A loop can go round with nothing outside the model having said anything.",
    "partly-grounded-loop": "Something outside is asked in the loop, and a model or a counter decides.",
    "unknown-loop": "What decides the loop can't be seen; declare it.",
    "form-only-loop": "Only the form of the reply is checked, and nothing caps the loop.",
    "unknown-target": "A router or jump names a node that does not exist.",
    "unknown-node": "An edge names a node that does not exist.",
    "undefined-router": "The function or method that decides is defined nowhere.",
    "label-not-in-map": "A router returns a label that its map does not hold.",
    "undeclared-jump": "A node jumps to where its annotation does not lead.",
    "dead-node": "No path from the start reaches the node.",
    "self-trigger": "A method of a flow waits for its own name, and so starts itself again.",
    "no-exit": "Nothing leads out of the loop.",
    "old-api": "The graph uses an interface that LangGraph has given up.",
    "too-complex": "Too large to follow.",
    "too-many-loops": "More ways round than can be listed; not all were judged.",
    "syntax-error": "Not Python that can be read.",
    "newer-syntax": "Python that is newer than the one that reads it.",
    "unreadable-file": "The file can't be read.",
    "file-too-large": "The file is larger than what is read.",
    "audit-failed": "The audit itself broke; nothing is said of this graph.",
    "import-failed": "The target could not be imported.",
    "unused-role": "A role was declared for a node or tool that is not there.",
    "ignore-without-reason": "A comment that leaves a finding out gives no reason, so it does not count.",
    "unused-ignore": "A comment leaves out a finding that is not there.",
}
"""Rule → what it says; docs/audit-rules/RULE.md has an example that breaks it and one that does not."""

OF_VERDICT = {
    Grounding.UNGROUNDED: "ungrounded-loop",
    Grounding.PARTLY: "partly-grounded-loop",
    Grounding.UNKNOWN: "unknown-loop",
    Grounding.GROUNDED: "form-only-loop",
}


def rule_of(loop: Loop) -> str:
    """The rule that a loop breaks, or empty."""
    return OF_VERDICT.get(loop.verdict, "") if loop.level is not Level.NONE or loop.suppressed or loop.known else ""


def change_for(loop: Loop) -> str:
    """The smallest change that grounds a loop, as an order; empty where none is needed."""
    if not rule_of(loop):
        return ""
    last, first = loop.nodes[-1], loop.nodes[0]
    after, before = _deciding(loop)
    match loop.verdict:
        case Grounding.UNGROUNDED if loop.kind == "no outside tool":
            return "give the model a tool that asks something outside, and let what it brings decide"
        case Grounding.UNGROUNDED if loop.kind == "fixed rounds":
            said = "# groundwire: ignore[ungrounded-loop] REASON"
            return f"if the rounds are meant, say so: {said}; else let a check decide"
        case Grounding.UNGROUNDED if loop.inside or not loop.compiled:
            return "let a test run, a checker, a query or a person decide whether it is tried again, not the model"
        case Grounding.UNGROUNDED:
            person = f'compile(interrupt_before=["{first.rsplit("/", 1)[-1]}"])'
            return (
                f"between {after} and {before} ask something outside (test run, checker, query)"
                f" and route on its result; the least: {person}, so that a person decides"
            )
        case Grounding.PARTLY if loop.kind.startswith("human"):
            return "ask the person on every way round, or let a check decide where nobody is asked"
        case Grounding.PARTLY:
            return "route on what came from outside itself, not on what the model says of it"
        case Grounding.UNKNOWN if loop.kind == "undeclared targets":
            return "declare where it leads: -> Command[Literal[…]], destinations=, or a path_map"
        case Grounding.UNKNOWN if loop.inside and not loop.compiled:
            return "annotate what is handed in with its class, or audit the program that calls it"
        case Grounding.UNKNOWN:
            unseen = (loop.unseen or last).rsplit("/", 1)[-1]
            return f"say what can't be seen: --role {unseen}=tool (or model, human, pure)"
        case _:
            return (
                "count the tries, and stop at a limit"
                if loop.inside
                else "count the tries in the state, and stop at a limit"
            )


def _deciding(loop: Loop) -> tuple[str, str]:
    """The two nodes between which it is decided that the loop goes round."""
    ahead = (*loop.nodes[1:], loop.nodes[0])
    between = zip(loop.steps, ahead, strict=False)
    return next(
        ((s.node, to) for s, to in between if s.decided_by and s.place == loop.place), (loop.nodes[-1], ahead[-1])
    )
