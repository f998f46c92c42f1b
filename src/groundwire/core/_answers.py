"""Short answers as models write them: where a text states one, what of it is the answer, and the form in which two
are the same.

What has to be told apart stays apart: the form takes off what says nothing (markup, punctuation, spelling of numbers,
units that only count) and never what does (brackets of an interval, a factorial, kilometres for metres).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from itertools import zip_longest
from typing import Any, cast

from groundwire.core._candidates import Candidate
from groundwire.core._normal_forms import LONG, normal_form
from groundwire.core._prompt_text import printable
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import ANNOUNCEMENT, objects_in

MAX_CHARS = 100_000
"""Characters of a text in which an answer is looked for, its last ones, and of an answer."""

# What stands around an answer without belonging to it.

ROUNDS = 12
"""Layers of markup that are taken off one answer."""
_LEAD = (
    r"(?:(?:so|thus|therefore|hence|the|my|our|a|and|here|is)[ \t,]{1,3}){0,4}"
    r"(?:(?:final|correct|short|best)[ \t_]{1,3}){0,2}answer(?:[ \t]alone)?"
)
_ELSEWHERE = (
    r"(?:(?:la|die|a|l['’]|最终|最終)[ ]?)?(?:respuesta|resposta|risposta|réponse|antwort|ответ|答案|答え|回答|정답|답)"
    r"(?:[ ]finale?)?"
)
"""The same in languages that models fall into: Spanish, Portuguese, Italian, French, German, Russian, Chinese,
Japanese, Korean."""
_SAYS = r"(?:is|would[ \t]be|es|est|ist|è|é)\b|是|为|は|은|는"
_EMPHASIS = r"[*_`]{0,6}"
_LEADS = re.compile(
    rf"{_EMPHASIS}(?:\#{{4}}(?!\#)"
    rf"|{_LEAD}{_EMPHASIS}[ \t]{{0,5}}(?:(?:is|would[ \t]be)\b[ \t]{{0,3}}:?|[:：=])){_EMPHASIS}",
    re.IGNORECASE,
)
_ENDS_SO = re.compile(r"(.{1,200}?)[ \t]is[ \t](?:the|my)(?:[ \t](?:final|correct))?[ \t]answer[.!]?", re.IGNORECASE)
_ITEM = re.compile(r"(?:[*•>]|#{1,6}|[-+](?=[ \t]{1,4}[^\d.\\$ \t]))[ \t]{1,4}(?=\S)")
"""The mark of a list's item; a number that stands behind a dash and a blank may be a negative one."""
_BULLET = re.compile(r"(?:[-+*•>]|\d{1,2}[.)])[ \t]{1,4}(?=\S)")
_TICK = re.compile(r"[ \t]*[✓✔✅☑]+\Z")
_FENCE = re.compile(r"\A(`{3,}|~{3,})[^\n`]{0,40}\n(.*?)\n?[ \t]{0,3}\1[ \t]*(?:\n|\Z)", re.DOTALL)
_PAIRS = (
    ("```", "```"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("``", "``"), ("`", "`"), ('"', '"'),
    ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"),
    ("<answer>", "</answer>"),
)  # fmt: skip
_MACRO = re.compile(r"\\(?:boxed|fbox|framebox|text|textbf|mathrm|mathbf|mbox)[ ]?\{")
_SPELLED = re.compile(r"(?:\b\w\.){2,}\Z")
"""An abbreviation, whose last full stop is its own: `U.S.`"""
_WORD = re.compile(r"[^\W\d_]{2,}")
_GOES_ON = re.compile(
    r"(?:(?:[.;!][)\"'*_`$]{0,4}|[ ][-–—(])[ \t]{0,3}[*_(]{0,3}(?:this|it|the|i|because|since|therefore|so|that|these"
    r"|we|here|let|note|hope|please|if|as|which|explanation|reason(?:ing)?)"
    r"|,?[ \t](?:because|since)|,[ \t](?:as|so|which))(?=[ \t':,])",
    re.IGNORECASE,
)
"""Where a sentence begins, or a reason, behind an answer on its line."""


def bare_answer(text: str) -> str:
    """An answer without what only surrounds it: markup, a fence, a box, a list's mark, "The answer is", its full stop.

    Its case, units and line breaks are kept: this is what is handed in.
    """
    said = text[:MAX_CHARS].strip()
    for _ in range(ROUNDS):
        before = said
        said = _without_one_layer(said).strip()
        if said == before:
            break
    return said


def _without_one_layer(said: str) -> str:
    fence = _FENCE.match(said)
    if fence and fence.end() == len(said):
        return fence[2]
    held = _in_json(said)
    if held:
        return held
    for opening, closing in _PAIRS:
        inner = said[len(opening) : len(said) - len(closing)]
        surrounds = said.startswith(opening) and said.endswith(closing) and len(said) >= len(opening) + len(closing)
        # of LaTeX's delimiters both marks, else the sign itself, would say that two things stand side by side
        beside = closing if opening[0] in "\\<" else opening[0]
        if surrounds and beside not in inner.replace("\\$", ""):
            return inner
    macro = _MACRO.match(said)
    if macro and braced_end(said, macro.end()) == len(said):
        return said[macro.end() : -1]
    if "\n" in said:
        return said
    if lead := _LEADS.match(said):
        return said[lead.end() :]
    if ends := _ENDS_SO.fullmatch(said):
        return ends[1]
    if item := _ITEM.match(said):
        return said[item.end() :]
    for mark in ("**", "__", "`", '"'):
        # the other half stood before "ANSWER:"
        if said.count(mark) == 1 and (said.startswith(mark) or said.endswith(mark)):
            return said.replace(mark, "")
    return _without_stop(said)


def _without_stop(said: str) -> str:
    if tick := _TICK.search(said):
        return said[: tick.start()]
    if said.endswith(("!", "?")):
        return said[:-1] if _WORD.search(said[-3:-1]) else said
    if not said.endswith((".", ",", ";", ":", "。")) or _SPELLED.search(said) or len(said.split()) > 6:
        return said
    return said[:-1]


def braced_end(text: str, start: int) -> int:
    """The place behind the brace that closes the one before `start`; -1 where there is none."""
    depth = 1
    for place in range(start, len(text)):
        if text[place] in "{}" and text[place - 1] != "\\":
            depth += 1 if text[place] == "{" else -1
            if not depth:
                return place + 1
    return -1


# The form in which two answers are the same.


def plain_answer(text: str) -> str:
    """The normal form of a short answer: two that say the same have one form.

    So `\\boxed{1,000.0}.`, `$1000$`, `#### 1000`, `1000 dollars` and "The answer is 1000." are one, as are `(B)` and
    `b`, or `\\frac{1}{2}`, `1/2` and `0.5`; but not `(1,2)` and `12`, `[0,1)` and `(0,1]`, `3!` and `3`, 5 km and 5 m.
    What is longer than a thousand characters is compared as text. Empty where nothing is left.

    Args:
        text: as a model wrote it.
    """
    return normal_form(bare_answer(printable(text)))


def answer_key(candidate: Candidate, path: str = "", form: Callable[[str], str] = plain_answer) -> str:
    """What candidates of the same answer share: the normal form of what they wrote, else their digest.

    Args:
        candidate: any candidate.
        path: the file that holds the answer; empty: the one file that was changed, where it is a short text and no
            program (`.txt`, `.md`, or no ending).
        form: brings an answer to its normal form.
    """
    (changed, content), *others = [*candidate.changes.items(), ("", None)]
    is_text = changed == path if path else changed.rpartition("/")[2].rpartition(".")[2] in ("txt", "md", changed)
    if len(others) > 1 or content is None or not is_text or (not path and len(content) > LONG):
        return candidate.digest
    return form(content.decode("utf-8", "replace")) or candidate.digest


# Where a text states its answer.

REFUSED, TWO, NONE_SAID = "a refusal", "different answers", "no answer"
"""Why a text holds no answer."""
_REFUSAL = re.compile(
    r"\bI(?:[ ]am|['’]m)[ ](?:sorry|unable|not[ ](?:able|sure|certain))\b"
    r"|\bI[ ]?(?:can(?:no|['’])?t|won['’]t|will[ ]not|do(?:n['’]t|[ ]not)[ ]know|must[ ]decline|have[ ]no[ ]idea)\b"
    r"|\bas[ ]an[ ]AI\b",
    re.IGNORECASE,
)
_MARK = re.compile(
    rf"^[ \t]{{0,8}}(?:(?:[-+*•>]|\#{{1,6}}|\d{{1,2}}[.)])[ \t]{{1,4}}){{0,2}}{_EMPHASIS}\#{{0,6}}[ \t]{{0,3}}"
    rf"[\"']?(?:{_LEAD}|{_ELSEWHERE})[\"']?{_EMPHASIS}[ \t]{{0,5}}"
    rf"(?:(?:(?:{_SAYS})[ \t]{{0,3}})?[:：=]|(?:is)?[ \t]{{0,3}}$){_EMPHASIS}",
    re.IGNORECASE | re.MULTILINE,
)
_HASHES = re.compile(r"^[ \t]{0,8}#{4}[ \t]{0,4}(?=[^\s#])", re.MULTILINE)
_TAG = re.compile(r"<(?:final_)?answer(?P<more>[ \t][^<>\n]{0,200})?>", re.IGNORECASE)
_ENDS = re.compile(r"(?:<\|[a-z_]{1,20}\|>|</s>|<(?:end_of_turn|eos)>)\Z")
"""What a chat template ends a turn with, where a server lets it through."""
LONGEST_MARK = 24
"""Its characters."""
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_BOX = re.compile(r"\\(?:boxed|fbox)[ ]?\{")
_SENTENCE = re.compile(
    r"\b(?:the|my|our)[ \t](?:final[ \t]|correct[ \t]|right[ \t]){0,2}answer"
    r"(?:[ \t]to[ \t](?:this|that|the|your|our)[ \t](?:\w{1,20}[ \t]){0,2}(?:question|problem|task|puzzle|riddle)"
    r"(?:[ \t][\"“][^\"”\n]{1,300}[\"”])?)?[ \t](?:is|would[ \t]be)\b[ \t:]{0,4}"
    rf"|(?<!\w){_ELSEWHERE}[ \t]?(?:{_SAYS})[ \t:：]{{0,4}}",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?](?=[\s*_\"')\]]|\Z)|\n")
_SHORT = re.compile(r"(?<![^\W\d_])(?:(?:[A-Z]\.)*[A-Z]|St|Dr|Mr|Mrs|Ms|Mt|Ft|Prof|Rev|Gen)\Z")
_TITLE = re.compile(r"(?<![^\W\d_])(?:Dr|Mr|Mrs|Ms|Prof|Rev|[A-Z]\.[ ][A-Z])\Z|\A\W*(?:St|Mt|Ft|Gen)\Z")
_NAME_GOES_ON = re.compile(
    r"[ ](?:(?:[A-Z]\.[ ]?){1,4}[A-Z][\w'’-]+|[A-Z][\w'’-]+(?:[ ][A-Z][\w'’-]*){0,3}(?=[.,;!?)\n]|[ ]*\Z))"
)
_CAPITAL = re.compile(r"[ ][A-Z]")
"""Before a full stop and behind it, where it ends no sentence: J. R. R. Tolkien, St. Louis, Mr. Smith of Rome."""
_CHOICE = re.compile(r"[\s*_(\"']{0,4}[A-J]")
"""One of several that were offered, and what follows is said of it: "B. Correct."."""
_EITHER = re.compile(r"(?:either[ ]+)?([^=]{1,40}?),?[ ]+or[ ]+([^=]{1,40})", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"(?:the(?: final)?(?: answer(?: alone)?(?: is)?:?)?[ ]?){1,64}|<[^<>]{0,40}>|\[[a-z ]{1,40}\]|\.\.\.|…",
    re.IGNORECASE,
)
"""What stands in the place of an answer: the form that was asked for, or the beginning of a sentence without an end."""
MOST = 64
"""Boxes or objects that are looked at."""
LONG_WORDS = 8
"""Words of a line from which on what is said is prose, all of which is the answer."""


@dataclass(frozen=True)
class Stated:
    """What a text states.

    Args:
        answer: bare; empty where there is none.
        problem: why there is none: a refusal, different answers, no answer.
    """

    answer: str = ""
    problem: str = ""


def stated_answer(text: str, form: Callable[[str], str] = plain_answer) -> Stated:
    """The one answer that a text states, thinking left out.

    It is looked for behind a line's `ANSWER:` (also "Final answer:", a heading, a list item), in `<answer>` tags, in a
    JSON object's `answer`, behind `####`, in `\\boxed{}`, behind "the answer is", in this order; where one of these
    states answers that differ, there is none. What is said behind the answer is left out, unless the answer is prose.

    Args:
        text: as a model wrote it.
        form: brings an answer to its normal form; answers of one form do not differ.
    """
    said = _told(text)
    for find in (_marked, _tagged, _objects, _hashed, _boxed, _in_sentences):
        found = [bare for value in find(said) if (bare := bare_answer(value)) and not _PLACEHOLDER.fullmatch(bare)]
        # "Answer: Let's see. …" begins to reason, and what it comes to is said later
        found = [bare for bare in found if not _is_long(bare)] or [_concluded(bare) for bare in found]
        if not found:
            continue
        if any(_REFUSAL.search(bare[:200]) for bare in found):
            return Stated(problem=REFUSED)
        if len({form(bare) for bare in found}) > 1 or _is_hedged(found[-1], form):
            return Stated(problem=TWO)
        return Stated(found[-1])
    return Stated(problem=REFUSED if _REFUSAL.search(said[:2000]) else NONE_SAID)


_TALK = re.compile(r"(?:i|i['’]\w{1,2}|we|you|your|let(?:['’]s)?|please|thanks?|here)\b", re.IGNORECASE)
"""How a line begins that speaks of itself or to whoever asked."""


def only_line(text: str) -> str:
    """What a text says that is one short line and no announcement, no talk, no refusal and no choice of two; bare, and
    empty for any other. Whether it is an answer depends on what was asked."""
    said = _told(text)
    bare = bare_answer(said)
    is_short = "\n" not in bare and not _is_long(bare) and len(bare) <= LONG
    says_more = ANNOUNCEMENT.fullmatch(said) or _TALK.match(said.lstrip()) or said.endswith((":", "?")) or "<" in bare
    is_none = _PLACEHOLDER.fullmatch(bare) or _REFUSAL.search(bare) or _is_hedged(bare, plain_answer)
    return bare if is_short and not says_more and not is_none else ""


def _told(text: str) -> str:
    """The end of a text that is read: printable, without thinking, what is struck out, and what a template added."""
    said = _STRUCK.sub("", printable(without_reasoning(text))[-MAX_CHARS:]).rstrip()
    while mark := _ENDS.search(said, max(0, len(said) - LONGEST_MARK)):
        said = said[: mark.start()].rstrip()
    if "&lt;" in said and not _TAG.search(said):
        said = unescape(said)  # escaped for HTML as a whole
    return said


def _is_long(bare: str) -> bool:
    return len(_WORD.findall(bare)) >= LONG_WORDS


def _concluded(prose: str) -> str:
    """What prose comes to, where it says so in a box or in a sentence; else all of it."""
    said = [*_boxed(prose), *_in_sentences(prose)]
    return bare_answer(said[-1]) if said else prose


def _is_hedged(bare: str, form: Callable[[str], str]) -> bool:
    """True for "41 or 42" and "B or C", which is more than one answer; solutions (`x = 1 or x = 2`) are one."""
    either = _EITHER.fullmatch(bare)
    if not either:
        return False
    one, other = form(either[1]), form(either[2])
    short = (len(one) == 1 and len(other) == 1) or (one[:1] in "-0123456789." and other[:1] in "-0123456789.")
    return short and one != other


def _marked(said: str) -> Iterator[str]:
    marks = list(_MARK.finditer(said))
    ends_as_asked = bool(marks) and _is_final(marks[-1][0])
    for mark, after in zip_longest(marks, marks[1:]):
        # answers of steps on the way to a final one are none of the whole
        if _is_final(mark[0]) or not ends_as_asked:
            yield _value(said[mark.end() : after.start() if after else len(said)])


def _is_final(mark: str) -> bool:
    return "ANSWER" in mark or "final" in mark.casefold()


def _tagged(said: str) -> Iterator[str]:
    for found in list(_TAG.finditer(said))[-MOST:]:
        end = said.find("</", found.end())
        value = said[found.end() : end] if end > 0 else said[found.end() :].partition("\n")[0]
        if (end > 0 and not found["more"]) or "\n" not in value.strip():
            yield value


def _hashed(said: str) -> Iterator[str]:
    return (_value(said[found.end() :].partition("\n")[0]) for found in _HASHES.finditer(said))


def _boxed(said: str) -> Iterator[str]:
    for found in list(_BOX.finditer(said))[-MOST:]:
        end = braced_end(said, found.end())
        if end > 0:
            yield said[found.end() : end - 1]


def _in_sentences(said: str) -> Iterator[str]:
    for found in _SENTENCE.finditer(said):
        rest = said[found.end() : found.end() + LONG]
        value = _line_value(rest[: _sentence_end(rest)])
        if not value.casefold().startswith("not "):
            yield value


def _sentence_end(rest: str) -> int:
    for stop in _STOP.finditer(rest):
        before = rest[max(0, stop.start() - LONGEST_MARK) : stop.start()]
        goes_on = _CAPITAL if _TITLE.search(before) else _NAME_GOES_ON
        name = goes_on.match(rest, stop.end()) if stop[0] == "." and _SHORT.search(before) else None
        if name is None or ("." not in name[0] and _CHOICE.fullmatch(rest, 0, stop.start())):
            return stop.start()
    return len(rest)


def _objects(said: str) -> Iterator[str]:
    for fields in objects_in(said):
        yield from _held(fields)


def _in_json(said: str) -> str:
    if said[:1] != "{" or said[-1:] != "}":
        return ""
    return next((held for fields in objects_in(said)[:1] for held in _held(fields)), "")


_EATEN = re.compile(r"[\b\f](?=[a-z])|\t(?=(?:ext|frac|imes|heta|au)(?![a-z]))")
_BACK = {"\b": "\\b", "\f": "\\f", "\t": "\\t"}
"""What JSON makes of `\\boxed`, `\\frac` and `\\text` in a text whose writer forgot to double the backslash."""


def _held(value: Mapping[str, Any]) -> Iterator[str]:
    """What an object gives as its answer."""
    named = {key.casefold().replace(" ", "_"): held for key, held in value.items()}
    for key in ("answer", "final_answer"):
        held: object = named.get(key)
        if isinstance(held, str | int | float):
            yield _EATEN.sub(lambda found: _BACK[found[0]], str(held))
            return
        if isinstance(held, list):
            yield ", ".join(map(str, cast("list[object]", held)))
            return


def _value(rest: str) -> str:
    """What of the text behind a mark is the answer: the line, the lines that go on with it, or a fence below."""
    if not rest.split("\n", 1)[0].strip(" \t*_`"):
        rest = rest.partition("\n")[2].strip("\n")
        listed = _BULLET.match(rest.lstrip(" \t*_\n"))
        if listed and not _BULLET.search(rest.lstrip(" \t*_\n").partition("\n")[2][:LONG]):
            rest = rest.lstrip(" \t*_\n")[listed.end() :]  # the only item of a list below
    rest = rest.lstrip(" \t")
    below = rest.lstrip("*_ \t\n")
    fence = _FENCE.match(below)
    if fence:
        return fence[2]
    first, *others = rest.split("\n")
    goes_on = _GOES_ON.search(first)
    if _is_long(first) and (goes_on is None or len(_WORD.findall(first[: goes_on.start()])) >= LONG_WORDS // 2):
        return rest
    if boxes := list({plain_answer(box): box for box in _boxed(first)}.values()):
        # one box a line is the answer, whatever is said around it; several that differ are refused as such
        return " or ".join(boxes[:2])
    kept = [_line_value(first)]
    for line in others:
        ends = not line.strip() or line.lstrip().startswith(("```", "~~~")) or _is_prose(line)
        alike = bool(_WORD.search(line)) is bool(_WORD.search(first)) and not _is_prose(first)
        goes_with = line.startswith(("  ", "\t")) and bool(line.strip())  # what is indented belongs to what is above
        if not goes_with and (ends or not alike or kept[0] != first.strip()):
            break
        kept.append(line)
    return "\n".join(kept)


def _line_value(line: str) -> str:
    """The answer at a line's beginning, without a sentence or a reason that follows it."""
    line = line.strip()
    strong = re.match(r"(\*\*|__)([^*_]{1,200})\1(?=[ \t.,;:!(]|\Z)", line)
    if strong:
        return strong[2]
    goes_on = _GOES_ON.search(line)
    # "The Who", "It": a title may begin with such a word, an answer is never nothing
    return line[: goes_on.start()] if goes_on and line[: goes_on.start()].strip("*_` ") else line


def _is_prose(line: str) -> bool:
    words = _WORD.findall(line)
    return len(words) >= 3 or (bool(words) and line.rstrip().endswith((".", "!", "?", ":")))
