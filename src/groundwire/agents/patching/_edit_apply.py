"""Applies a model's edits to a tree, within what the task allows, and makes a candidate of the result."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from html import unescape
from itertools import accumulate

from groundwire.agents.patching._edit_blocks import Edit, SearchReplace, WholeFile
from groundwire.core._candidates import NO_MODES, Candidate, Tree, check_path
from groundwire.core._errors import CandidateError
from groundwire.core._prompt_text import plain, printable
from groundwire.core._tasks import Task

# Where in a file a text that is not in it was probably meant to be, for the model that quoted it wrongly.

SHOWN_LINES = 12
LINE_CHARS = 200
SCAN_LINES = 20_000
ALIKE_SCAN_LINES = 2000
MAX_TIED = 40
TIE_CHARS = 400
ALIKE = 0.6
"""difflib's ratio from which two lines count as the same one, misquoted."""


def closest_lines(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """A sentence that shows the nearest lines and where they differ first; empty if nothing is near.

    The nearest lines are the window that shares most lines with what was wanted; where none is shared, the line that is
    most like the first one wanted. Takes time linear in the file, since both texts are hostile.
    """
    filled = [i for i, line in enumerate(wanted) if line.strip()]
    if not filled:
        return ""
    wanted = wanted[filled[0] : filled[-1] + 1]
    at = _sharing_most(lines, wanted)
    if at is None:
        at = _most_alike(lines, wanted[0])
    if at is None:
        return ""
    there = lines[at : at + min(len(wanted), SHOWN_LINES)]
    shown = "\n".join(_shown(line) for line in there)
    return f" The closest lines are {at + 1} to {at + len(there)}:\n{shown}{_first_difference(there, wanted, at)}"


def _sharing_most(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    size = len(wanted)
    names = {line.strip() for line in wanted} - {""}
    shared = [line.strip() in names for line in lines[:SCAN_LINES]]
    if size < 2 or not any(shared):
        return None
    below = [0, *accumulate(shared)]
    counts = [below[min(at + size, len(shared))] - below[at] for at in range(max(1, len(shared) - size + 1))]
    most = max(counts)
    best = [at for at, count in enumerate(counts) if count == most][:MAX_TIED]
    quoted = difflib.SequenceMatcher(None, b="\n".join(wanted[:SHOWN_LINES])[:TIE_CHARS], autojunk=False)

    def likeness(at: int) -> float:
        quoted.set_seq1("\n".join(lines[at : at + min(size, SHOWN_LINES)])[:TIE_CHARS])
        return quoted.ratio()

    return max(best, key=lambda at: (likeness(at), -at))


def _most_alike(lines: Sequence[str], first: str) -> int | None:
    scanned = [line.strip()[:LINE_CHARS] for line in lines[:ALIKE_SCAN_LINES]]
    close = difflib.get_close_matches(first.strip()[:LINE_CHARS], scanned, n=1, cutoff=ALIKE)
    return scanned.index(close[0]) if close else None


def _first_difference(there: Sequence[str], wanted: Sequence[str], at: int) -> str:
    for offset, (has, quoted) in enumerate(zip(there, wanted, strict=False)):
        if has.rstrip() != quoted.rstrip():
            return f"\nLine {at + offset + 1} of the file differs from what was quoted:\n{_shown(quoted)}"
    return ""


def _shown(line: str) -> str:
    return printable(line)[:LINE_CHARS]


# From a changed tree to a candidate: whatever was edited, a candidate is expressed against the task's own tree.

MAX_FILE_BYTES = 2 * 1024 * 1024
NOTE_CHARS = 200


def candidate_of(
    task: Task,
    start: Tree,
    changed: Mapping[str, bytes | None],
    *,
    edits: Iterable[str],
    note: str,
    modes: Mapping[str, bool] = NO_MODES,
) -> Candidate:
    """The candidate that `changed` makes of `start`; empty (`is_base`) where that is the task's tree again.

    Args:
        task: holds the base.
        start: what was edited: the task's tree, perhaps with the best candidate so far.
        changed: path → new content, or None where the file is deleted.
        edits: names for statistics.
        note: one line for people; untrusted text in it is made printable.
        modes: path → whether it carries the executable bit from now on.
    """
    base, final = task.tree.files, start.with_changes(changed, modes)
    # a mode that is the base's is none that the candidate sets
    other = {path: path in final.executable for path in final.executable ^ task.tree.executable if path in final.files}
    paths = [path for path in sorted({*base, *final.files}) if base.get(path) != final.files.get(path) or path in other]
    return Candidate(
        base_digest=task.tree.digest,
        changes={path: final.files.get(path) for path in paths},
        edits=tuple(sorted(set(edits))),
        note=plain(note, NOTE_CHARS),
        modes=other,
    )


# Applies a model's edits to a tree: each SEARCH has to be found once, and only what the task allows is touched.

MAX_PLACES = 8
MAX_COMPLAINTS = 4


def candidate_from(edits: Sequence[Edit], tree: Tree, task: Task) -> Candidate:
    """The candidate that `edits` make of `tree`, expressed against the task's own tree.

    Args:
        edits: applied in order.
        tree: what the edits quote: the task's tree with the best candidate so far.
        task: says what may be edited, and holds the base.

    Raises:
        CandidateError: an edit can't be applied, touches what it may not, or nothing changes. The text is for the
            model that made it.
    """
    changed = apply_edits(edits, tree, task)
    if all(tree.files.get(path) == content for path, content in changed.items()):
        raise CandidateError("The edits change nothing.", do="Give an edit that changes what the code does.")
    kinds = ("llm.whole_file" if isinstance(edit, WholeFile) else "llm.search_replace" for edit in edits)
    files = ", ".join(sorted({edit.path for edit in edits}))
    note = f"{len(edits)} edit{'s' if len(edits) != 1 else ''} in {files}"
    return candidate_of(task, tree, changed, edits=kinds, note=note)


def apply_edits(edits: Sequence[Edit], tree: Tree, task: Task) -> Mapping[str, bytes]:
    """The new contents of the files that `edits` touch.

    Raises:
        CandidateError: see `candidate_from`. It says of each edit that does not fit why, not only of the first.
    """
    changed: dict[str, bytes] = {}
    whole: set[str] = set()
    complaints: list[tuple[int, CandidateError]] = []
    for number, edit in enumerate(edits, 1):
        try:
            changed[edit.path] = _applied(edit, changed, whole, tree, task)
        except CandidateError as error:
            complaints.append((number, error))
    if complaints:
        raise _together(complaints, len(edits))
    return changed


def _applied(edit: Edit, changed: Mapping[str, bytes], whole: set[str], tree: Tree, task: Task) -> bytes:
    path = _allowed(edit.path, {*tree.files, *changed}, task)
    now = changed.get(path, tree.files.get(path))
    if path in whole or (isinstance(edit, WholeFile) and path in changed):
        raise CandidateError(f"{path} is given as a whole and edited too.", do="Do one or the other.")
    if isinstance(edit, WholeFile):
        whole.add(path)
        new = _like(now, edit.text)
    else:
        new = _replaced(edit, now, tree, task)
    if len(new) > MAX_FILE_BYTES:
        raise CandidateError(f"{path} would have {len(new)} bytes; at most {MAX_FILE_BYTES} are allowed.")
    return new


def _together(complaints: Sequence[tuple[int, CandidateError]], count: int) -> CandidateError:
    if count == 1:
        return complaints[0][1]
    parts = [f"Edit {number} of {count}: {error}" for number, error in complaints[:MAX_COMPLAINTS]]
    if len(complaints) > MAX_COMPLAINTS:
        parts.append(f"{len(complaints) - MAX_COMPLAINTS} more edits don't fit.")
    fitting = count - len(complaints)
    if fitting:
        parts.append(f"The other {fitting} fit{'s' if fitting == 1 else ''}; none was applied.")
    return CandidateError("\n".join(parts), do="Send all edits again, those that fit as well.")


def _allowed(path: str, names: Collection[str], task: Task) -> str:
    check_path(path)
    if not task.may_edit(path):
        raise CandidateError(
            f"{path} may not be changed: tests, configuration and files outside the task are read-only.",
            do="Change the code that the tests run.",
        )
    parents = path.split("/")[:-1]
    if any("/".join(parents[: i + 1]) in names for i in range(len(parents))):
        raise CandidateError(f"{path} can't be made: a part of its path is a file.", do="Name another path.")
    if path not in names and any(name.startswith(f"{path}/") for name in names):
        raise CandidateError(f"{path} is a folder.", do="Name a file in it.")
    return path


def _replaced(edit: SearchReplace, now: bytes | None, tree: Tree, task: Task) -> bytes:
    if now is None:
        if edit.search.strip():
            raise _no_such_file(edit.path, tree, task)
        return _encoded(edit.replace, edit.path)
    text = _decoded(now, edit.path)
    if not edit.search.strip():
        if text.strip():
            raise CandidateError(
                f"The SEARCH part for {edit.path} is empty, but the file exists.",
                do="Quote the lines that are to be replaced.",
            )
        return _like(now, edit.replace)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    crlf = 0 < body.count("\n") == body.count("\r\n")
    if crlf:
        body = body.replace("\r\n", "\n")
    body = _substituted(edit, body)
    return _encoded(mark + (body.replace("\n", "\r\n") if crlf else body), edit.path)


def _substituted(edit: SearchReplace, body: str) -> str:
    ends = body.endswith("\n")
    lines = (body[:-1] if ends else body).split("\n")
    wanted = edit.search.removesuffix("\n").split("\n")
    start, new = _found(edit, lines, wanted, edit.replace.removesuffix("\n").split("\n") if edit.replace else [])
    result = [*lines[:start], *new, *lines[start + len(wanted) :]]
    return "\n".join(result) + ("\n" if ends and result else "")


def _found(
    edit: SearchReplace, lines: Sequence[str], wanted: Sequence[str], new: Sequence[str]
) -> tuple[int, Sequence[str]]:
    """Where the lines are, and what to put there: exact first, then without trailing space, then at another indent."""
    found = _as_quoted(lines, wanted, new)
    for retold in _RETOLD:
        meant = list(map(retold, wanted))
        if not found and meant != list(wanted):
            found = _as_quoted(lines, meant, list(map(retold, new)))
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(str(at + 1) for at, _ in found[:MAX_PLACES])
        raise CandidateError(
            f"The SEARCH text for {edit.path} is found more than once (lines {shown}).",
            do="Quote more lines around it, so that it is found once.",
        )
    raise CandidateError(
        f"The SEARCH text for {edit.path} is not in the file.{closest_lines(lines, wanted)}",
        do="Quote the lines exactly as the file shows them.",
    )


def _as_quoted(lines: Sequence[str], wanted: Sequence[str], new: Sequence[str]) -> list[tuple[int, Sequence[str]]]:
    found = [(at, new) for at in _places(lines, wanted)]
    if not found:
        bare = [line.rstrip() for line in lines]
        found = [(at, new) for at in _places(bare, [line.rstrip() for line in wanted])]
    return found or _at_another_indent(lines, wanted, new)


_STRAIGHT = str.maketrans("“”„‘’‚\u00a0–—", "\"\"\"''' --")


def _straight(line: str) -> str:
    """A line as it was before something made print of it."""
    return line.translate(_STRAIGHT)


def _spaced(line: str) -> str:
    """A line indented by blanks, four for each tab."""
    text = line.lstrip(" \t")
    return line[: len(line) - len(text)].expandtabs(4) + text


def _tabbed(line: str, width: int) -> str:
    """A line indented by tabs, one for each `width` blanks."""
    text = line.lstrip(" ")
    tabs, blanks = divmod(len(line) - len(text), width)
    return "\t" * tabs + " " * blanks + text


_RETOLD = (_straight, unescape, _spaced, *(partial(_tabbed, width=width) for width in (4, 2, 8)))
"""How a model may have quoted what the file has in another way, and then writes what takes its place."""


def _at_another_indent(
    lines: Sequence[str], wanted: Sequence[str], new: Sequence[str]
) -> list[tuple[int, Sequence[str]]]:
    places = _places([line.strip() for line in lines], [line.strip() for line in wanted])
    if len(places) > MAX_PLACES:
        return [(at, new) for at in places]
    moved = ((at, _moved(lines[at : at + len(wanted)], wanted, new)) for at in places)
    return [(at, text) for at, text in moved if text is not None]


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    # str.find is linear where comparing slices at every line is not, and these texts are hostile
    text, needle = "\n".join(["", *lines, ""]), "\n".join(["", *wanted, ""])
    places: list[int] = []
    line, counted, at = 0, 0, text.find(needle)
    while at >= 0 and len(places) <= MAX_PLACES:
        line += text.count("\n", counted, at)
        counted = at
        places.append(line)
        at = text.find(needle, at + 1)
    return places


def _moved(there: Sequence[str], wanted: Sequence[str], new: Sequence[str]) -> Sequence[str] | None:
    """`new` at the indent of `there`; None unless `there` is `wanted` at one other indent throughout."""
    old, own = _indent(wanted), _indent(there)
    pairs = zip(there, wanted, strict=True)
    if any(a.strip() and a.rstrip() != own + b.rstrip().removeprefix(old) for a, b in pairs):
        return None
    if any(line.strip() and not line.startswith(old) for line in new):
        return None
    return [own + line.removeprefix(old) if line.strip() else line for line in new]


def _indent(lines: Sequence[str]) -> str:
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    first, final = min(indents), max(indents)  # what the extremes share, all share
    same = next((i for i, (a, b) in enumerate(zip(first, final, strict=False)) if a != b), len(first))
    return first[:same]


def _no_such_file(path: str, tree: Tree, task: Task) -> CandidateError:
    known = [name for name in sorted(tree.files) if task.may_edit(name)]
    close = difflib.get_close_matches(path, known[:2000], n=3, cutoff=0.4) or known[:3]
    names = ", ".join(close) or "none"
    return CandidateError(f"There is no file {path}. Files that may be changed: {names}.", do="Name one that exists.")


def _like(now: bytes | None, text: str) -> bytes:
    """`text` with the line ends and the byte order mark that the file has now."""
    before = b"" if now is None else now
    crlf = 0 < before.count(b"\n") == before.count(b"\r\n")
    mark = "\ufeff" if before.startswith(b"\xef\xbb\xbf") and not text.startswith("\ufeff") else ""
    return _encoded(mark + (text.replace("\n", "\r\n") if crlf else text), "the file")


def _encoded(text: str, path: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CandidateError(
            f"The new text of {path} is not valid Unicode.", do="Leave the odd characters out."
        ) from None


def _decoded(content: bytes, path: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise CandidateError(f"{path} is not UTF-8 and can't be edited this way.", do="Change another file.") from None
