"""Does in a fork what `python …` does after its start, so that a warm interpreter can be used for it.

Whatever a fork can't do exactly as a fresh interpreter would is left to a fresh interpreter: `needs_fresh` says so.
"""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH100, PTH109, PTH113, PTH120, PTH123
from __future__ import annotations

import atexit
import builtins
import io
import os
import runpy
import sys
import threading
from importlib.machinery import BuiltinImporter, SourceFileLoader, all_suffixes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import TracebackType
    from typing import Any, NoReturn

# variables that an interpreter reads at its start and that a fork can't take back
START_VARIABLES = ("PYTHON", "LC_", "LANG", "LD_", "OMP_", "MALLOC_", "GLIBC_")
FLUSH_FAILED = 120


def importable_names(paths: Collection[str]) -> set[str]:
    """Names under which files of a tree could be imported as top-level modules, from whatever folder."""
    suffixes = tuple(all_suffixes())
    packages = {p[: -len("/__init__.py")] for p in paths if p.endswith("/__init__.py")}
    names: set[str] = set()
    for path in paths:
        suffix = next((s for s in suffixes if path.endswith(s)), None)
        if suffix is None:
            continue
        folder, _, name = path[: -len(suffix)].rpartition("/")
        if name == "__init__":
            folder, _, name = folder.rpartition("/")
        if name and folder not in packages:
            names.add(name.partition(".")[0])
    return names


def needs_fresh(
    arguments: list[str],
    env: Mapping[str, str],
    server_env: Mapping[str, str],
    names: set[str],
    loaded: Collection[str],
) -> bool:
    """True if a fork of the warm interpreter would not do what a fresh one does.

    Args:
        arguments: what stands after `python`.
        env: the command's environment.
        server_env: the environment the warm interpreter was started with.
        names: what the tree's own modules are called.
        loaded: what the warm interpreter has imported and a bare one has not.
    """
    if len(arguments) < 1 or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        return True
    if arguments[0].startswith("-") and arguments[0] not in ("-m", "-c"):
        return True
    if arguments[0] not in ("-m", "-c") and not os.path.isfile(arguments[0]):
        return True
    for name in {*env, *server_env}:
        differs = env.get(name) != server_env.get(name)
        if differs and name != "PYTHONPATH" and name.startswith(START_VARIABLES):
            return True
    return not names.isdisjoint(loaded)


def run(arguments: list[str], env: dict[str, str], python: str, path: list[str]) -> NoReturn:
    """Runs `python *arguments`; ends the process as the interpreter would.

    Args:
        arguments: begins with `-m MODULE`, `-c CODE` or an existing script.
        env: becomes the environment.
        python: the interpreter's path.
        path: the import path without the entry for the program itself.
    """
    os.environ.clear()
    os.environ.update(env)
    if "TZ" in env:
        import time

        time.tzset()
    _fresh_streams()
    main = type(sys)("__main__")
    main.__dict__.update(__builtins__=builtins, __loader__=BuiltinImporter)
    if sys.version_info < (3, 14):
        main.__dict__.update(__annotations__={})
    sys.modules["__main__"] = main
    sys.orig_argv = [python, *arguments]  # type: ignore[attr-defined]  # 3.10 and newer
    sys.path_importer_cache.clear()
    sys.path[:] = [*(p for p in env.get("PYTHONPATH", "").split(":") if p), *path]
    kind, target, rest = _split(arguments)
    if kind == "-m":
        sys.argv = ["-m", *rest]
        sys.path.insert(0, os.getcwd())
        _finish(lambda: runpy._run_module_as_main(target))  # type: ignore[attr-defined]
    elif kind == "-c":
        sys.argv = ["-c", *rest]
        sys.path.insert(0, "")
        _finish(lambda: exec(compile(f"{target}\n", "<string>", "exec", dont_inherit=True), main.__dict__))
    else:
        sys.argv = [target, *rest]
        sys.path.insert(0, os.path.dirname(os.path.realpath(target)))
        script = os.path.abspath(target)
        main.__dict__.update(__file__=script, __cached__=None, __loader__=SourceFileLoader("__main__", script))
        _finish(lambda: exec(_script(script), main.__dict__))


def _split(arguments: list[str]) -> tuple[str, str, list[str]]:
    if arguments[0] in ("-m", "-c"):
        return arguments[0], arguments[1], arguments[2:]
    return "", arguments[0], arguments[1:]


def _script(path: str) -> Any:
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _fresh_streams() -> None:
    # the server's own streams were made for other descriptors, and remember what those were
    for name, fd, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        raw = io.FileIO(fd, mode, closefd=False)
        raw.name = f"<{name}>"
        buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        stream = io.TextIOWrapper(
            buffer,
            encoding="utf-8",
            errors="backslashreplace" if fd == 2 else "surrogateescape",  # as in the C.UTF-8 locale
            newline="\n",
            line_buffering=fd == 2,
        )
        setattr(stream, "mode", mode)  # noqa: B010  as the interpreter does; the stubs call it read-only
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _finish(program: Callable[[], object]) -> NoReturn:
    code = 0
    try:
        program()
    except SystemExit as error:
        code = _status(error.code)
    except BaseException as error:
        code = _report(error)
    os._exit(_wind_down() or code)


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _report(error: BaseException) -> int:
    # a traceback begins with the command's own code
    ours = _report.__code__.co_filename
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == ours:
        trace = trace.tb_next
    try:
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except SystemExit as nested:
        return _status(nested.code)
    except BaseException:
        sys.__excepthook__(type(error), error, trace)
    if isinstance(error, KeyboardInterrupt):
        _wind_down()
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def _wind_down() -> int:
    """What an interpreter does before it ends: waits for threads, runs exit handlers, flushes."""
    for step in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]
        try:
            step()
        except BaseException as error:
            if isinstance(error, SystemExit):
                continue
            sys.excepthook(type(error), error, error.__traceback__)
    code = 0
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException as error:
            if stream is sys.stdout:
                code = FLUSH_FAILED
                print(f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    return code
