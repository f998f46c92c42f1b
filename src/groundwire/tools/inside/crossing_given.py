"""What the tests are given is never run where the assertions are: not as text, not as a pickle.

Tests like to say `eval(repr(thing)) == thing`, or to load what the code under test has dumped. Text that lies in the
tests, and a pickle that was made here, are run as ever. Other text is evaluated over there, where it may do nothing
that its author could not do anyway; where that can't be, the run is `unfit`.
"""

from __future__ import annotations

import ast
import builtins
import marshal
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_classes import borrowed
    from groundwire.tools.inside.crossing_codec import type_of
    from groundwire.tools.inside.crossing_instances import PLAIN
    from groundwire.tools.inside.crossing_modules import Module
else:
    from _gw_crossing_classes import borrowed
    from _gw_crossing_codec import type_of
    from _gw_crossing_instances import PLAIN
    from _gw_crossing_modules import Module

_frame: Callable[[int], types.FrameType] = vars(sys)["_getframe"]
_TEXT = (str, bytes, bytearray, memoryview)
_MADE_KEPT = 100_000
"""Pickles made here that are known again; a suite that makes more has the others refused."""


class Asks(Protocol):
    """The conversation, as it is used here."""

    def ask(self, verb: str, *fields: Any) -> Any:
        """Asks the candidate's process; raises what it raised."""
        ...

    def unfit(self, why: str) -> Any:
        """Ends this run: the tests need more than can be sent."""
        ...


class Given:
    """Stands where Python runs text and pickles.

    Args:
        asks: evaluates over there.
        root: the work folder, without links.
        fixed: the files below it that are not the candidate's.
    """

    def __init__(self, asks: Asks, root: str, fixed: Iterable[str]) -> None:
        self._asks = asks
        self._root = root
        self._fixed = fixed
        self._own: frozenset[str] | None = None
        self._made: set[bytes] = set()
        self._eval, self._exec, self._compile = builtins.eval, builtins.exec, builtins.compile

    def start(self) -> None:
        """From now on it does."""
        self._texts()
        self._pickles()

    # --- text

    def _texts(self) -> None:
        def eval(source: Any, globals: Any = None, locals: Any = None, /) -> Any:
            scope = _scope(_frame(1), globals, locals)
            if self._is_looked_at(source, _frame(1)):
                return self._evaluated(source, *scope)
            return self._eval(source, *scope)

        def exec(source: Any, globals: Any = None, locals: Any = None, /, **more: Any) -> None:
            if self._is_looked_at(source, _frame(1)):
                self._asks.unfit("the tests run text that they are given (exec)")
            self._exec(source, *_scope(_frame(1), globals, locals), **more)

        def compile(source: Any, filename: Any, mode: str, flags: int = 0, *more: Any, **named: Any) -> Any:
            if not flags & ast.PyCF_ONLY_AST and self._is_looked_at(source, _frame(1)):
                self._asks.unfit("the tests run text that they are given (compile)")
            # what the caller's own file says of the future is meant for its text too
            flags |= 0 if more or "dont_inherit" in named else _future(_frame(1))
            return self._compile(source, filename, mode, flags, *(more or (named.pop("dont_inherit", True),)), **named)

        for stand_in in (eval, exec, compile):
            real = getattr(builtins, stand_in.__name__)
            stand_in.__qualname__, stand_in.__doc__, stand_in.__module__ = real.__name__, real.__doc__, "builtins"
            setattr(builtins, stand_in.__name__, stand_in)

    def _is_looked_at(self, source: Any, caller: types.FrameType) -> bool:
        """True for text that a test has run, and that does not lie in the tests; and for a tree of it.

        The same of what the library runs for whoever asks; there a bare type, as annotations have them, is let through.
        """
        if not isinstance(source, (*_TEXT, ast.AST)):
            return False
        of_tests = self._is_of_tests(caller)
        if not of_tests and caller.f_code.co_filename not in _RUNS_FOR_OTHERS:
            return False
        if isinstance(source, ast.AST):
            return True
        return _squeezed(source) not in self._own_texts() and (of_tests or not _is_bare_type(source))

    def _is_of_tests(self, caller: types.FrameType) -> bool:
        file = caller.f_code.co_filename
        return file.startswith(("<", self._root + os.sep)) and not file.startswith("<frozen ")

    def _own_texts(self) -> frozenset[str]:
        if self._own is None:
            found: set[str] = set()
            for path in self._fixed:
                if path.endswith(".py"):
                    try:
                        with open(path, "rb") as file:  # noqa: PTH123
                            tree = ast.parse(file.read())
                    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                        continue
                    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
                    found.update(_squeezed(value) for value in constants if isinstance(value, (str, bytes)))
            self._own = frozenset(found)
        return self._own

    def _evaluated(self, source: Any, inner: Any, local: Any) -> Any:
        if not isinstance(source, (str, bytes)):
            self._asks.unfit("the tests evaluate something else than text (eval)")
        text = source if isinstance(source, str) else source.decode()
        text = text.lstrip(" \t")
        try:
            return ast.literal_eval(text)
        except (ValueError, TypeError):
            pass  # no literal; what does not parse raises here what it would anyway
        names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
        found: list[tuple[str, Any]] = []
        for name in sorted(names):
            for place in (local, inner):
                if name in place:
                    found.append((name, self._handed_over(name, place[name])))
                    break
        return self._asks.ask("eval", text, tuple(found))

    def _handed_over(self, name: str, value: Any) -> Any:
        """What evaluated text may use: what is over there anyway. Nothing else is had by being named in it."""
        kind = type_of(value)
        if borrowed(value) is not None or kind is Module or kind in PLAIN:
            return value
        module = value.__name__ if kind is types.ModuleType else getattr(value, "__module__", None)
        if (kind is types.ModuleType or kind is type) and module in _LIBRARY:
            return value
        return self._asks.unfit(f"text that the tests evaluate names {name}, which is their own (eval)")

    # --- pickles

    def _pickles(self) -> None:
        def made(real: Callable[..., Any]) -> Callable[..., Any]:
            def dumps(*args: Any, **named: Any) -> Any:
                body = real(*args, **named)
                if len(self._made) < _MADE_KEPT:
                    self._made.add(body)
                return body

            return dumps

        def dump(obj: Any, file: Any, *args: Any, **named: Any) -> None:
            file.write(pickle.dumps(obj, *args, **named))

        def known(real: Callable[..., Any], name: str, *, anywhere: bool) -> Callable[..., Any]:
            def loads(data: Any, /, *args: Any, **named: Any) -> Any:
                if not anywhere and not self._is_of_tests(_frame(1)):
                    return real(data, *args, **named)  # the interpreter reads its own cache
                body = bytes(data)
                if body not in self._made and _squeezed(body) not in self._own_texts():
                    self._asks.unfit(f"the tests load what they are given ({name})")
                return real(body, *args, **named)

            return loads

        def load(file: Any, **named: Any) -> Any:
            start = file.tell()
            body = file.read()
            length = next((len(b) for b in self._made if body.startswith(b)), None)
            if length is None:
                self._asks.unfit("the tests load what they are given (pickle.load)")
            file.seek(start + length)
            return real_loads(body[:length], **named)

        def refused(*_args: Any, **_named: Any) -> Any:
            self._asks.unfit("the tests load what they are given (pickle.Unpickler)")

        real_loads = pickle.loads
        pickle.dumps, pickle.loads = made(pickle.dumps), known(pickle.loads, "pickle.loads", anywhere=True)
        pickle.dump, pickle.load, pickle.Unpickler = dump, load, refused  # type: ignore[misc, assignment]
        marshal.dumps, marshal.loads = made(marshal.dumps), known(marshal.loads, "marshal.loads", anywhere=False)


_LIBRARY: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset(("collections", "datetime", "decimal")))


_RUNS_FOR_OTHERS = frozenset(
    os.path.join(os.path.dirname(os.__file__), f"{name}.py")  # noqa: PTH118, PTH120
    for name in (
        "typing",
        "inspect",
        "annotationlib",
        "timeit",
        "cProfile",
        "profile",
        "trace",
        "code",
        "codeop",
        "bdb",
    )
)
"""Modules of the library that run text of whoever calls them; others run what they have written themselves."""
_OF_TYPES = (ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp,
             ast.UnaryOp, ast.expr_context, ast.operator, ast.unaryop, ast.Slice, ast.Starred)  # fmt: skip


def _is_bare_type(source: Any) -> bool:
    """True for text that calls nothing and changes nothing."""
    try:
        tree = ast.parse(source, mode="eval")
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return False
    return all(isinstance(node, _OF_TYPES) for node in ast.walk(tree))


def _scope(caller: types.FrameType, inner: Any, local: Any) -> tuple[Any, Any]:
    """Where text is run that was given these two: as it would be without us."""
    if inner is None:
        return caller.f_globals, caller.f_locals if local is None else local
    return inner, inner if local is None else local


def _future(caller: types.FrameType) -> int:
    return caller.f_code.co_flags & _FUTURE


_FUTURE = 0x1000000  # annotations, the only one that may still differ (CO_FUTURE_ANNOTATIONS)


def _squeezed(text: Any) -> str:
    """Text without its white space: tests indent what they run."""
    said = text if isinstance(text, str) else bytes(text).decode("latin-1")
    return "".join(said.split())
