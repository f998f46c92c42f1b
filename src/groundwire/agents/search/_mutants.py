"""Mutants of a patch: its own lines with one thing changed, by the operators of the search."""

from __future__ import annotations

import ast
import difflib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice

from groundwire.agents.search._blame import Blame
from groundwire.agents.search._candidates import Stream
from groundwire.agents.search._examples import Examples
from groundwire.agents.search._source import RankedEdit, apply, note
from groundwire.core._candidates import Candidate, Tree

OPERATORS = frozenset(
    {
        "compare.boundary", "compare.negate", "compare.swap", "arith.swap", "arith.sign", "bool.and_or", "bool.negate",
        "bool.flip", "cond.fixed", "cond.remove", "const.off_by_one", "return.change", "args.swap", "index.off_by_one",
        "slice.bounds", "loop.range_bounds", "stmt.delete", "assign.plain",
    }
)  # fmt: skip
"""Those of the search's that mutation testing uses (DeMillo, Lipton and Sayward, Computer 11(4), 1978, and after): the
others are made to repair, and would mostly say something else in other words."""
SUBSTITUTIONS = frozenset(
    {
        "name.swap", "call.swap", "method.swap", "attribute.swap", "args.drop", "const.replace", "str.const",
        "element.swap", "element.drop", "name.exchange", "return.exchange", "const.type",
    }
)  # fmt: skip
"""Those that put one thing of the file in another's place: they take part where the others offer less than was asked
for, as they do for a line that only calls something."""
CLAUSES = frozenset({"expr.hoist"})
"""What leaves out one side of an `and` or `or`; nothing else that the operator offers is a mutant here."""
LOOKED_AT = 2000


def drops_clause(mutant: Candidate) -> bool:
    """True for a mutant that leaves out one side of an `and` or `or`: where that is not noticed, nothing tests it."""
    return frozenset(mutant.edits) == CLAUSES


def changed_lines(base: Tree, candidate: Candidate) -> Mapping[str, Set[int]]:
    """The 1-based lines of each Python file that a candidate wrote, as they stand in what it made of the file."""
    found: dict[str, Set[int]] = {}
    for path, content in candidate.changes.items():
        if content is None or not path.endswith(".py"):
            continue
        before, after = base.files.get(path, b"").splitlines(), content.splitlines()  # as Python counts lines
        same = _same(before, after)  # what is alike at both ends would make a long file slow to compare
        ends = _same(before[same:][::-1], after[same:][::-1])
        middles = (before[same : len(before) - ends], after[same : len(after) - ends])
        blocks = difflib.SequenceMatcher(None, *middles, autojunk=False).get_opcodes()
        lines = {
            same + line for tag, _, _, first, last in blocks if tag != "equal" for line in range(first + 1, last + 1)
        }
        if lines:
            found[path] = lines
    return found


def _same(some: Sequence[bytes], others: Sequence[bytes]) -> int:
    """How many lines at their beginnings are the same."""
    pairs = zip(some, others, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others)))


def mutants_of(base: Tree, candidate: Candidate, n: int, seed: int = 0) -> Sequence[Candidate]:
    """Up to `n` mutants of a candidate's own lines, each against the same base tree, spread over these lines; up to
    half of them leave out a clause of a condition.

    Those that mean the same as the candidate, or as each other, as far as that can be seen, are left out; so is what
    was there before the candidate, which is known to fail.

    Args:
        base: the tree that the candidate was made against.
        candidate: what is mutated.
        n: how many.
        seed: orders mutants of equal rank.
    """
    lines = changed_lines(base, candidate)
    if not lines:
        return ()
    tree = candidate.applied_to(base)
    blame = Blame({path: dict.fromkeys(own, 1.0) for path, own in lines.items()}, 0.0, tuple(sorted(lines)))
    stream = Stream(tree, blame, Examples(), {}, seed)
    found: dict[frozenset[str], list[RankedEdit]] = {CLAUSES: [], OPERATORS: [], SUBSTITUTIONS: []}
    seen: set[str] = set()
    for index in range(LOOKED_AT):
        edit = stream.at(index)
        if edit is None or edit.score <= 0:
            break
        kind = next((names for names in found if edit.name in names), None)
        fits = kind is not None and _is_within(edit, stream, lines[edit.path])
        key = stream.key((edit,)) if fits and (kind is not CLAUSES or _is_side(edit, stream)) else None
        if kind is not None and key is not None and key not in seen:
            seen.add(key)
            found[kind].append(edit)
    found[CLAUSES] = list(islice(_spread(found[CLAUSES]), n // 2))
    chosen = [edit for edits in found.values() for edit in _spread(edits)]
    mutants = (_mutant(candidate, edit, stream) for edit in chosen)
    others = (m for m in mutants if any(m.changes[path] != base.files.get(path) for path in m.changes))
    return list(islice(others, n))


def _spread(edits: Sequence[RankedEdit]) -> Iterator[RankedEdit]:
    """The same ones: the first of each line, then the second of each."""
    by_line: dict[tuple[str, int], deque[RankedEdit]] = {}
    for edit in edits:
        by_line.setdefault((edit.path, edit.line), deque()).append(edit)
    while by_line:
        for place in sorted(by_line):
            yield by_line[place].popleft()
            if not by_line[place]:
                del by_line[place]


def _is_within(edit: RankedEdit, stream: Stream, own: Set[int]) -> bool:
    parsed = stream.parsed(edit.path)
    return parsed is not None and all(
        line in own
        for splice in edit.proposal.splices
        for line in range(
            parsed.source.line_of(splice.start), parsed.source.line_of(max(splice.start, splice.end - 1)) + 1
        )
    )


def _is_side(edit: RankedEdit, stream: Stream) -> bool:
    """True where an `and` or `or` becomes one of its sides."""
    parsed = stream.parsed(edit.path)
    assert parsed is not None, "an edit is of a file that was parsed"
    (splice,) = edit.proposal.splices
    try:
        whole = ast.parse(parsed.source.data[splice.start : splice.end].strip(), mode="eval").body
        side = ast.parse(splice.text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(whole, ast.BoolOp) and ast.dump(side) in {ast.dump(value) for value in whole.values}


def _mutant(candidate: Candidate, edit: RankedEdit, stream: Stream) -> Candidate:
    parsed = stream.parsed(edit.path)
    assert parsed is not None, "an edit is of a file that was parsed"
    content = apply(parsed.source.data, edit.proposal.splices)
    return Candidate(
        candidate.base_digest,
        {**candidate.changes, edit.path: content},
        modes=candidate.modes,
        edits=(edit.name,),
        note=note(parsed.source, (edit,)),
    )
