"""A language model that writes test cases for a task, and the reader that keeps what checks something."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from textwrap import dedent

from groundwire.agents.patching._project_view import relevance_of, view_project
from groundwire.agents.prompting._structured import answered
from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._contexts import WriterContext, WrittenCases
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Request
from groundwire.core._prompt_text import data
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import fenced_blocks
from groundwire.models._choice import backend_for

# Reads test cases out of a model's answer: what can be parsed and checks something is kept, the rest is named.

ANSWER_CHARS = 64 * 1024
SHOWN_CHARS = 300
_BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""What the parser raises; the last where Python 3.11 loses count of its own depth."""

_ITEM = re.compile(r"^(?:[-+*•]|\d{1,3}[.)])[ \t]+|^>>>[ \t]?")
_GOES_ON = re.compile(r"[)\]}]|(?:else|elif|except|finally)\b")

Dropped = list[tuple[str, str]]


def read_cases(answer: str, n: int, *, by: str = "") -> WrittenCases:
    """At most `n` cases of an answer.

    An `assert` at the top and a function `test_…` without parameters are cases; each gets the answer's imports. Of an
    answer that does not parse as a whole, the lines that parse by themselves are used (Reflexion, arXiv 2303.11366).

    Args:
        answer: what the model said; its code in fences or bare.
        n: the most that are kept.
        by: the model.
    """
    text = without_reasoning(answer[:ANSWER_CHARS])
    dropped: Dropped = []
    sources = [block.text for block in fenced_blocks(text)] or [text]
    statements = [statement for source in sources for statement in _statements(source, dropped)]
    imports = [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
    imports = [s for s in imports if _can_move(s, dropped)]
    cases: list[str] = []
    seen: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        body, why = _body_of(statement)
        known = "".join(ast.dump(node) for node in body)
        why = why or ("repeats another" if known in seen else "") or ("more than asked for" if len(cases) >= n else "")
        if why:
            dropped.append((_shown(ast.unparse(statement)), why))
            continue
        seen.add(known)
        cases.append(_function(f"test_{len(cases) + 1}", [*imports, *body]))
    return WrittenCases(cases=tuple(cases), dropped=tuple(dropped), by=by)


def _statements(source: str, dropped: Dropped) -> Iterator[ast.stmt]:
    """The statements of some code; of code that does not parse, those of its parts that begin at the margin and do, and
    of such a part that is no block the lines that do."""
    for part in [source] if _parses(source) else _parts(source):
        is_block = _parses(part) or part.strip().split("\n")[0].rstrip().endswith(":")
        for piece in [part] if is_block else filter(str.strip, part.split("\n")):
            try:
                yield from _checked(ast.parse(dedent(piece)).body)
            except _BROKEN:
                dropped.append((_shown(piece.strip()), "does not parse"))


def _parses(source: str) -> bool:
    try:
        _checked(ast.parse(source).body)
    except _BROKEN:
        return False
    return True


def _parts(source: str) -> Iterator[str]:
    """A text cut before each line at its margin, but before `else:` and what else goes on with what stands above; a
    list's marks are taken off."""
    kept: list[str] = []
    for line in dedent(source).split("\n"):
        bare = _ITEM.sub("", line)
        begins = bool(bare[:1].strip()) and not _GOES_ON.match(bare)
        if begins and any(map(str.strip, kept)) and not kept[-1].startswith("@"):
            yield "\n".join(kept)
            kept = []
        kept.append(bare)
    if any(map(str.strip, kept)):
        yield "\n".join(kept)


def _checked(statements: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Raises, as parsing does, where they are nested too deeply to be written out again."""
    for statement in statements:
        ast.unparse(statement)
    return statements


def _can_move(statement: ast.Import | ast.ImportFrom, dropped: Dropped) -> bool:
    """An import that may stand inside a function, and means the same there."""
    if isinstance(statement, ast.Import):
        return True
    odd = statement.level > 0 or statement.module == "__future__" or any(a.name == "*" for a in statement.names)
    if odd:
        dropped.append((_shown(ast.unparse(statement)), "an import of this form can't be used"))
    return not odd


def _body_of(statement: ast.stmt) -> tuple[list[ast.stmt], str]:
    """A case's statements, and why it is none."""
    if isinstance(statement, ast.Assert):
        body: list[ast.stmt] = [statement]
    elif isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
        arguments = statement.args
        if any((arguments.posonlyargs, arguments.args, arguments.kwonlyargs, arguments.vararg, arguments.kwarg)):
            return [], "takes parameters"
        if statement.decorator_list:
            return [], "is decorated"
        body = statement.body
    else:
        return [], "is neither an import nor a test"
    nodes = [node for part in body for node in ast.walk(part)]
    checks = any(isinstance(node, ast.Assert) or _expects_an_error(node) for node in nodes)
    if not checks or not any(isinstance(node, ast.Call) for node in nodes):
        return [], "checks nothing that the code does"
    return body, ""


def _expects_an_error(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("raises", "assertRaises")


def _function(name: str, body: list[ast.stmt]) -> str:
    module = ast.parse(f"def {name}():\n    pass\n")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    return ast.unparse(module) + "\n"


def _shown(source: str) -> str:
    return source if len(source) <= SHOWN_CHARS else f"{source[: SHOWN_CHARS - 1]}…"


# A language model that writes test cases for a task, before it is known what will be proposed.


class LLMCaseWriter:
    """Asks for a few tests of what the task wants, as in Reflexion (arXiv 2303.11366).

    It sees the task and the project, nothing of hidden tests and no candidate. What it writes is checked before it may
    judge (`groundwire.tools.ModelTests`).

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        temperature: of the call.
        max_tokens: tokens of the answer.
        context_tokens: tokens that files may take in the prompt, at 3.5 characters a token.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self, model: str | Backend, *, temperature: float = 0.2, max_tokens: int = 2048, context_tokens: int = 6000
    ) -> None:
        if min(max_tokens, context_tokens) < 1 or temperature < 0:
            raise ConfigError(
                "LLMCaseWriter got an argument out of range.",
                do="max_tokens and context_tokens are at least 1, temperature at least 0.",
            )
        self._backend = backend_for(model)
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._context_tokens = context_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def write(self, context: WriterContext, n: int) -> WrittenCases:
        """See `groundwire.core._contexts.CaseWriter`."""
        task = context.task.public()
        view = view_project(task, task.tree, relevance_of(task.tree, None), self._context_tokens)
        prompt = load_prompt("write_cases_v1")
        messages = prompt.messages(
            task=data("task", task.prompt, id=task.id),
            tests=view.tests,
            sources=view.sources,
            not_shown=view.omitted,
            count=str(n),
        )
        request = Request(
            messages=messages,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            seed=seed_in(context, "write_tests", of_episode=True),
            purpose="write_tests",
            prompt_digest=prompt.digest,
        )
        completion = await answered(context.call, self._backend, request)
        return read_cases("\n".join(completion.texts[:1]), n, by=completion.model or self._backend.model)
