"""Is a patch the fix, as good as the fix, or wrong? Compared with the original, which the search never saw.

Beside the package's tests, which a verified patch has passed, each function in which the patched file differs from the
original is called in both: with the arguments that the tests call it with, and with variations of these drawn by seed.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from planted_packages import Package, apart, working_copy

__all__ = ["compare"]

_RECORDING = r"""
import json, pickle, sys, pytest
path, names, out, *options = sys.argv[1:]
names, kept = set(json.loads(names)), {}

def watch(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_filename == path and code.co_qualname in names:
        mine = kept.setdefault(code.co_qualname, [])
        if len(mine) < 60:
            count = code.co_argcount + code.co_kwonlyargcount
            named = list(code.co_varnames[:count])
            rest = [code.co_varnames[count]] if code.co_flags & 4 else []
            try:
                body = pickle.dumps(({n: frame.f_locals[n] for n in named}, [frame.f_locals[n] for n in rest]))
            except Exception:  # what can't be kept is no call to be compared
                return
            if len(body) < 20000 and body.hex() not in mine:
                mine.append(body.hex())

sys.setprofile(watch)
pytest.main(["-q", "-x", "-p", "no:cacheprovider", *options])
sys.setprofile(None)
json.dump(kept, open(out, "w"))
"""

_CALLING = r"""
import importlib, inspect, itertools, json, pickle, random, re, signal, sys
root, module, kept, out = sys.argv[1:]
sys.path.insert(0, root)
sys.path.insert(1, ".")
module = importlib.import_module(module)

def plain(value, depth=0):
    if inspect.isgenerator(value) or (hasattr(value, "__next__") and hasattr(value, "__iter__")):
        return [type(value).__name__, [plain(v, depth + 1) for v in itertools.islice(value, 60)]]
    text = repr(value)
    if " at 0x" in text and depth < 3 and hasattr(value, "__dict__") and not callable(value):
        return [type(value).__name__, {k: plain(v, depth + 1) for k, v in sorted(vars(value).items())}]
    return re.sub(r"0x[0-9a-f]+", "0x", text)

def other(value, chance):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice([value + 1, value - 1, 0, 1, -value, value * 2])
    if isinstance(value, float):
        return chance.choice([value + 1, value / 2, 0.0, -value])
    if isinstance(value, str):
        return chance.choice([value[1:], value[:-1], value + value[:1], value.upper(), "", value + " "])
    if isinstance(value, (list, tuple)):
        kind = type(value) if type(value) in (list, tuple) else None
        if kind is None:
            return value
        offers = [value[1:], value[:-1], value + value[:1], value[::-1], kind()]
        if value:
            place = chance.randrange(len(value))
            offers.append(value[:place] + kind([other(value[place], chance)]) + value[place + 1:])
        return chance.choice(offers)
    if type(value) is dict:
        return {k: (other(v, chance) if chance.random() < 0.5 else v) for k, v in value.items()}
    return value

def late(*_):
    raise TimeoutError

signal.signal(signal.SIGALRM, late)

def outcome(function, given, rest):
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    try:
        positional, named, gathered = [], {}, {}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += rest[0] if rest else ()
            elif parameter.kind is parameter.VAR_KEYWORD or name not in given:
                continue
            elif parameter.kind is parameter.KEYWORD_ONLY:
                named[name] = given[name]
            else:
                positional.append(given[name])
        result = function(*positional, **named)
        return ["value", plain(result), [plain(v) for v in given.values()]]
    except TimeoutError:
        return ["late"]
    except BaseException as error:
        return ["raised", type(error).__name__]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

found = {}
for name, calls in json.load(open(kept)).items():
    function = module
    for part in name.split("."):
        function = inspect.getattr_static(function, part)
    function = getattr(function, "__func__", function)
    function = getattr(function, "fget", None) or function
    function = inspect.unwrap(function)
    mine = found.setdefault(name, [])
    for place, body in enumerate(calls):
        for variation in range(6):
            try:
                given, rest = pickle.loads(bytes.fromhex(body))
            except Exception:  # of a class that this version has otherwise
                continue
            chance = random.Random(f"{name} {place} {variation}")
            if variation and given:
                for key in [k for k in given if k not in ("self", "cls")]:
                    if chance.random() < 0.6:
                        given[key] = other(given[key], chance)
            mine.append([variation, *outcome(function, given, rest)])
json.dump(found, open(out, "w"))
"""


def _functions(data: bytes) -> Mapping[str, str]:
    """Qualified name → dump, of functions and methods that are no part of another function."""
    found: dict[str, str] = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[f"{prefix}{node.name}"] = ast.dump(node)
            elif isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")

    walk(ast.parse(data).body, "")
    return found


def _module(package: Package, path: str) -> tuple[str, str]:
    root = "src" if path.startswith("src/") else "."
    inside = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return root, inside.replace("/", ".")


def compare(package: Package, folder: Path, path: str, patched: bytes) -> str:
    """`exact`, `same` (no call differs), `wrong: …` (a call does) or `not compared: …`.

    Args:
        package: of the file.
        folder: the original distribution.
        path: the file.
        patched: what the search made of it.
    """
    original = (folder / path).read_bytes()
    if ast.dump(ast.parse(original)) == ast.dump(ast.parse(patched)):
        return "exact"
    before, after = _functions(original), _functions(patched)
    names = [name for name in before if before[name] != after.get(name)]
    if not names:
        return "not compared: the difference is outside of functions"
    with working_copy(folder, {}) as copy:
        command = [sys.executable, "-c", _RECORDING, str(copy / path), json.dumps(names), "kept.json", *package.options]
        apart(copy, command)
        if not (copy / "kept.json").exists():
            return "not compared: no call could be recorded"
        kept = (copy / "kept.json").read_bytes()
    told: list[dict[str, list[list[object]]]] = []
    for content in (original, patched):
        with working_copy(folder, {path: content}) as copy:
            (copy / "kept.json").write_bytes(kept)
            command = [sys.executable, "-c", _CALLING, *_module(package, path), "kept.json", "told.json"]
            ran = apart(copy, command)
            if not (copy / "told.json").exists():
                return f"not compared: {ran.stderr.strip().splitlines()[-1:]}"
            told.append(json.loads((copy / "told.json").read_text()))
    compared = 0
    for name, right in told[0].items():
        for number, (a, b) in enumerate(zip(right, told[1].get(name, []), strict=False)):
            if a[1] == "value":
                compared += 1
                if a != b:
                    return f"wrong: call {number} of {name} gives {str(a[2:])[:120]}, patched {str(b[1:])[:120]}"
    return "same" if compared else "not compared: no call returned a value"
