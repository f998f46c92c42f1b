"""An actor for models too small to follow instructions: they go on writing a function that is begun for them."""

from __future__ import annotations

import ast
import doctest
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError, ModelReplyInvalid, TaskError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Completion, Message, Request
from groundwire.core._prompt_text import inert, printable, unfence
from groundwire.core._reply_parts import fenced_blocks
from groundwire.core._tasks import Task
from groundwire.core._traits import ActorTraits
from groundwire.models._choice import backend_for

# Functions that have a signature and a docstring and no body yet: found in a tree, filled with what a model wrote.

INDENT = "    "
LONGEST_SIGNATURE = 4000
"""Its characters."""
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Stub:
    """A function without a body, and the module around it.

    Args:
        path: the module, in the task's tree.
        signature: the function's text to the colon before its docstring.
        doc: its docstring, without what indents it.
        before: the module's text to the end of the docstring.
        after: the module's text below the function.
    """

    path: str
    signature: str
    doc: str
    before: str
    after: str

    def description(self) -> str:
        """What the docstring says beside its examples, in one line."""
        return " ".join(" ".join(part for part in _parts(self.doc) if isinstance(part, str)).split())

    def examples(self) -> list[tuple[str, str]]:
        """The docstring's examples: what is called, and what it gives."""
        found = [part for part in _parts(self.doc) if isinstance(part, doctest.Example)]
        return [(example.source.strip(), example.want.strip()) for example in found]

    def filled(self, reply: str) -> str | None:
        """The module with the function's body from a reply that goes on after the signature; None where there is none.

        The body ends at the first line that is not indented. Lines at its end that don't parse, since the reply was cut
        off, are dropped. A reply that begins the function anew, in a fence or not, is read from its own body on.
        """
        lines = _body_lines(_behind_signature(reply, self.signature))
        while lines:
            text = f"{self.before}{''.join(_without_docstring(lines))}{self.after}"
            if _parses(text):
                return text
            lines.pop()
        return None


def find_stub(task: Task) -> Stub:
    """The first function of the task's editable files that has no body.

    Raises:
        TaskError: there is none.
    """
    for path in sorted(task.tree.files):
        if path.endswith(".py") and task.may_edit(path):
            found = _stub_in(path, task.tree.files[path])
            if found is not None:
                return found
    raise TaskError(
        f"Task {task.id} has no function to write: none of its editable files has a function without a body.",
        do="Give a module with a signature, a docstring and `raise NotImplementedError`.",
    )


def _stub_in(path: str, content: bytes) -> Stub | None:
    try:
        text = content.decode()
        module = _parsed(text)
    except UNREADABLE:
        return None
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_empty(node):
            return _stub_of(node, path, text.replace("\r\n", "\n"))
    return None


def _stub_of(node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, text: str) -> Stub:
    # not splitlines: it also ends lines at characters where Python does not
    lines = text.split("\n")
    doc = node.body[0]
    return Stub(
        path=path,
        signature="\n".join(lines[node.lineno - 1 : doc.lineno - 1]).strip(),
        doc=ast.get_docstring(node) or "",
        before=_joined(lines[: doc.end_lineno]),
        after="\n".join(lines[node.end_lineno :]),
    )


def _is_empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if the function has a docstring below its signature, and nothing that does anything."""
    own_line = node.body[0].lineno > node.lineno
    return own_line and ast.get_docstring(node) is not None and all(map(_says_nothing, node.body[1:]))


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name("NotImplementedError") | ast.Call(func=ast.Name("NotImplementedError"))):
            return True
        case _:
            return False


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _parts(doc: str) -> list[str | doctest.Example]:
    try:
        return doctest.DocTestParser().parse(doc)
    except ValueError:
        return [doc]


def _behind_signature(reply: str, signature: str) -> str:
    """What stands behind the function's own signature where the reply writes it again, with the imports before it."""
    name = signature.partition("def ")[2].partition("(")[0].strip()
    begins = re.compile(rf"^(?:async )?def {re.escape(name)}\(", re.MULTILINE)
    texts = [*(block.text for block in fenced_blocks(reply)), reply]
    text, begun = next(((text, found) for text in texts if (found := begins.search(text))), (reply, None))
    end = _colon(text, begun.end() - 1) if begun else -1
    before = text[: begun.start()].split("\n") if begun else []
    if begun is None or end < 0 or any(line[:1] in (" ", "\t") and line.strip() for line in before):
        return reply  # a body stands before it
    imports = [line for line in before if line.startswith(("import ", "from "))]
    first, _, below = text[end:].partition("\n")
    return "\n" + "".join(f"{INDENT}{line.strip()}\n" for line in (*imports, first) if line.strip()) + below


def _colon(text: str, start: int) -> int:
    """The place behind the colon that ends a signature whose bracket opens at `start`; -1 where there is none."""
    depth = 0
    for at in range(start, min(len(text), start + LONGEST_SIGNATURE)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if text[at] == ":" and not depth:
            return at + 1
    return -1


def _body_lines(reply: str) -> list[str]:
    """The body's lines: what stands behind the colon, and all below it up to the first line that is not indented."""
    first, _, below = reply.partition("\n")
    kept = [f"{INDENT}{first.strip()}\n"] if first.strip() else []
    for line in below.split("\n"):
        if line.strip() and not line.startswith((" ", "\t")):
            break
        kept.append(f"{line.rstrip()}\n")
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _without_docstring(lines: list[str]) -> list[str]:
    """`lines` without a docstring of the model's own, since the stub has one, and without empty lines before."""
    try:
        function = _parsed(f"def f():\n{''.join(lines)}").body[0]
    except UNREADABLE:
        return lines
    assert isinstance(function, ast.FunctionDef)
    first = 1 if len(function.body) > 1 and ast.get_docstring(function) is not None else 0
    return lines[function.body[first].lineno - 2 :]


def _parses(text: str) -> bool:
    try:
        _parsed(text)
    except UNREADABLE:
        return False
    return True


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        # an invalid escape in what a model wrote is its own affair
        warnings.simplefilter("ignore")
        return ast.parse(text)


# An actor for models too small to follow instructions: it has them go on writing a function that is begun for them.

GREEDY = "write.greedy"
SAMPLED = "write.sampled"
"""Names of the edits, by which a candidate says how it was made."""

STOPS = ("```", "\ndef ", "\nclass ", "\nprint", "\n#", "\nif ", "\nassert")
"""What begins after the function's end."""
CALLS = 3
"""Calls for one proposal, where answers hold no body or were judged before."""


class FunctionWriter:
    """Writes the body of a function that has a signature and a docstring: first the likeliest answer, then samples.

    The answer is begun for the model (a fence and the signature), so that all it can do is to go on. The first trial
    is one answer at temperature 0. When a signal from outside has said that it fails, each further trial takes
    `samples` answers at `temperature`. What failed is not told: at the size this is for (SmolLM2, 135 million
    parameters) telling it is not expected to help more than another sample does; no bench of ours has measured it.

    Args:
        model: `local`, another model id, or a backend. It must go on with an answer that is begun.
        samples: answers of a trial after the first; fewer where the graph wants fewer.
        temperature: of these.
        max_tokens: tokens of each answer.

    Raises:
        ConfigError: an argument is out of range, or the model can't be had.
    """

    traits = ActorTraits(revision=2)

    def __init__(
        self, model: str | Backend, *, samples: int = 4, temperature: float = 0.8, max_tokens: int = 128
    ) -> None:
        if min(samples, max_tokens) < 1 or temperature < 0:
            raise ConfigError(
                "FunctionWriter got an argument out of range.",
                do="samples and max_tokens are at least 1, the temperature at least 0.",
            )
        self._backend = backend_for(model)
        self._samples = samples
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Empty: no answer held a body that was not judged before.

        Raises:
            TaskError: the task has no function without a body.
            ModelError, BudgetExceeded: from `context.call`.
        """
        stub = find_stub(context.task)
        messages, digest = begun_answer(stub)
        for call in range(CALLS):
            greedy = context.trial <= 1 and not context.escalation and call == 0
            request = Request(
                messages=messages,
                n=1 if greedy else min(n, self._samples),
                temperature=0.0 if greedy else self._temperature,
                max_tokens=self._max_tokens,
                stop=STOPS,
                seed=seed_in(context, "function", call=call),
                purpose="propose",
                prompt_digest=digest,
            )
            new = _new(await self._texts(context, request), stub, context, GREEDY if greedy else SAMPLED)
            if new:
                return new
        return ()

    async def _texts(self, context: ActorContext, request: Request) -> Sequence[str]:
        try:
            completion: Completion = await context.call(self._backend, request)
        except ModelReplyInvalid:
            return ()  # nothing but empty answers: small models give them, and the next sample may hold one
        return completion.texts


def begun_answer(stub: Stub) -> tuple[tuple[Message, ...], str]:
    """The messages that ask for a stub's body, the last of them begun for the model, and the prompt's digest."""
    prompt = load_prompt("write_function_v1")
    examples = " ".join(f"For example, `{inert(call)}` gives `{inert(value)}`." for call, value in stub.examples())
    signature = inert(stub.signature)
    asked = prompt.messages(
        signature=signature.removeprefix("def ").removesuffix(":"),
        description=inert(stub.description()),
        examples=examples,
    )
    # without a line end: models take line end and indentation as one token, and stop where it is given away
    return (*asked, Message(role="assistant", content=f"```python\n{signature}")), prompt.digest


def _new(texts: Sequence[str], stub: Stub, context: ActorContext, how: str) -> Sequence[Candidate]:
    found: dict[str, Candidate] = {}
    base = context.task.tree
    for text in texts:
        content = stub.filled(unfence(printable(text)))
        if content is None:
            continue
        candidate = Candidate(base.digest, {stub.path: content.encode()}, (how,), how.replace(".", " "))
        if candidate.digest not in context.tried:
            found.setdefault(candidate.digest, candidate)
    return tuple(found.values())
