"""The candidate's process: imports its modules and calls its functions when the assertions' process asks.

It reports nothing about tests. All it can do is answer, which the assertions then judge.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.apart_codec import NotPlain, pack, type_of, unpack
    from groundwire.tools.inside.apart_wire import read_message, write_message
else:
    from _gw_apart_codec import NotPlain, pack, type_of, unpack
    from _gw_apart_wire import read_message, write_message

OUTPUT_CHARS = 1 << 20
SCALARS = (bool, int, float, complex, str, bytes, range, tuple, frozenset, type(None))


def serve(requests: int, answers: int) -> None:
    """Answers until nobody asks any more."""
    handlers: Mapping[str, Callable[..., dict[str, Any]]] = {"import": _import, "get": _get, "call": _call}
    while True:
        body = read_message(requests)
        if body is None:
            return
        asked = unpack(body)
        out, err = io.StringIO(), io.StringIO()
        sys.stdout, sys.stderr = out, err
        try:
            answer = handlers[asked.pop("do")](**asked)
        except BaseException as error:
            answer = _raised(error)
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        answer["out"], answer["err"] = out.getvalue()[:OUTPUT_CHARS], err.getvalue()[:OUTPUT_CHARS]
        write_message(answers, pack(answer))


def _import(module: str, path: list[str]) -> dict[str, Any]:
    sys.path[:] = path
    found = importlib.import_module(module)
    public = getattr(found, "__all__", None)
    names = [n for n in vars(found) if not n.startswith("_")] if public is None else [str(n) for n in public]
    return {"names": names, "doc": found.__doc__ if isinstance(found.__doc__, str) else None}


def _get(module: str, name: str) -> dict[str, Any]:
    try:
        value: Any = getattr(sys.modules[module], name)
    except AttributeError:
        return {"is": "nothing"}
    # a list or dict of the module may change later, and the asker would hold a copy
    other = {"is": "other", "what": f"{module}.{name}, a {type_of(value).__name__}"}
    if issubclass(type_of(value), SCALARS):
        try:
            pack((value,))
        except NotPlain as error:
            return {"is": "other", "what": error.what}
        return {"is": "value", "value": value}
    if isinstance(value, types.ModuleType):
        return {"is": "module", "name": value.__name__}
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        return {"is": "function", "doc": value.__doc__ if isinstance(value.__doc__, str) else None}
    if isinstance(value, type) and issubclass(value, BaseException):
        return {"is": "exception", "kinds": _kinds(value)}
    return other


def _call(module: str, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    before = pack((args, named))
    try:
        value = getattr(sys.modules[module], name)(*args, **named)
        answer: dict[str, Any] = {"value": value}
        pack(answer)
    except NotPlain as error:
        return {"unfit": f"{module}.{name} returns {error.what}"}
    except BaseException as error:
        answer = _raised(error)
    try:
        after = pack((args, named))
    except NotPlain as error:
        return {"unfit": f"{module}.{name} puts {error.what} into its argument"}
    if after != before:
        answer["changed"] = [args, named]
    return answer


def _raised(error: BaseException) -> dict[str, Any]:
    try:
        state = dict(vars(error))
        pack((error.args, state))
    except NotPlain as problem:
        return {"unfit": f"an exception that holds {problem.what}"}
    except Exception:  # a candidate's exception may do anything when it is looked into
        return {"unfit": "an exception that can't be looked into"}
    return {"raised": _kinds(type(error)), "args": error.args, "state": state}


def _kinds(kind: type[BaseException]) -> list[list[str]]:
    """The class and what it inherits from, as (module, name), down to the first built-in one."""
    found: list[list[str]] = []
    for base in kind.__mro__:
        found.append([str(base.__module__), str(base.__qualname__)])
        if base.__module__ == "builtins":
            break
    return found


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
    os._exit(0)
