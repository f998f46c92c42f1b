"""What a call gives, by what is called; of a library, by its dotted name."""

from __future__ import annotations

import ast
import re

from groundwire_audit.reading._builtin_calls import call_builtin
from groundwire_audit.reading._conditions import Taint, TaintKind, Taints, drawn, reason, world
from groundwire_audit.reading._frames import Arguments, Effect, Frame, deep, merge, text_of
from groundwire_audit.reading._frameworks import call_framework
from groundwire_audit.reading._functions import call_function, create_instance, instance_method
from groundwire_audit.reading._graph import GraphValue
from groundwire_audit.reading._graph_methods import graph_method
from groundwire_audit.reading._knowledge import FAMILIES, KnownCall, class_name, describe, words
from groundwire_audit.reading._langgraph_calls import call_langgraph, handoff
from groundwire_audit.reading._methods import data_method, of_text, state_method
from groundwire_audit.reading._models import ask_provided, call_model, model_method, model_reply, tools_given
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    NONE,
    Bound,
    ChainValue,
    Choice,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Handle,
    Instance,
    Items,
    ModelValue,
    Partial,
    StateValue,
    Table,
    ToolNodeValue,
    ToolValue,
    Value,
    data,
    external,
    unknown,
)

# Calls of libraries: those of LangGraph and a few others by name, the rest by what is known about them.

FORM = frozenset({Taint(TaintKind.FORM, what="parsing")})
MODEL_MAKERS = words(
    """
    init_chat_model load_chat_model get_chat_model pipeline from_pretrained from_openai from_litellm start_chat
    configure patch bind apatch
    """
)
READY_MADE = ("langgraph.prebuilt", "langchain.agents", "langgraph_supervisor", "langgraph_swarm", "deepagents")
OBJECT_PARTS = words(
    """
    close commit rollback cursor begin __enter__ __exit__ aclose connect Client session
    """
)
HELPERS = (
    *("builtins.", "functools.", "itertools.", "contextlib.", "dataclasses.", "typing.", "copy.", "re."),
    *("asyncio.", "concurrent."),
)
ALWAYS_CALLED = frozenset({"acompletion", "completion"})


def call_external(reader: Reader, path: str, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Follows a call of a library."""
    if "<locals>" in path and path.startswith(READY_MADE):
        # the node of a ready-made agent that asks the model
        return model_reply("model", structured=False, node=node, frame=frame)
    named = call_langgraph(reader, path, given, node, frame)
    if named is None:
        named = call_framework(reader, path, given, node, frame)
    if named is not None:
        return named
    if _is_of_text(path):
        return of_text(path.rsplit(".", 1)[-1], callee.taints, given, node)
    if path in STARTS:
        _start(reader, given, node, frame)
        return external(f"{path}()")
    if QUEUE_READS.match(path):
        return _from_queue(path, node, frame)
    if path.startswith(HELPERS):
        plain = call_builtin(reader, path, given, node, frame)
        if plain is not None:
            return plain
    return _by_knowledge(reader, path, callee, given, node, frame)


OF_TEXT = words(
    """
    strip lstrip rstrip lower upper casefold title capitalize split rsplit splitlines partition rpartition startswith
    endswith removeprefix removesuffix isdigit isnumeric isalpha isalnum zfill
    """
)


def _is_of_text(path: str) -> bool:
    """`input().strip()`, `reply().content.lower()`: a method that every text has, of what a library gave."""
    owner, _, last = path.rpartition(".")
    return last in OF_TEXT and "()" in owner


STARTS = frozenset({"threading.Thread", "threading.Timer", "multiprocessing.Process"})
QUEUE_READS = re.compile(r"(queue|asyncio|multiprocessing)\.\w*Queue\(\)\.(get|get_nowait)$")


def _start(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> None:
    """`Thread(target=f, args=(…))`: what runs there is asked here."""
    target, arguments = given.get(1, "target", "function"), given.get(-1, "args")
    if target is not None and isinstance(target.thing, FunctionValue):
        held = arguments.thing.items if arguments is not None and isinstance(arguments.thing, Items) else []
        named = given.get(-1, "kwargs")
        entries = named.thing.entries if named is not None and isinstance(named.thing, Table) else {}
        reader.call(target, Arguments(list(held), {str(k): v for k, v in entries.items()}), node, frame)


def _from_queue(path: str, node: ast.AST, frame: Frame) -> Value:
    """What comes out of a queue: of one that this function made, what was asked in it; else it can't be told."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if frame.name and name in frame.scope.names:
            asked = [e for e in frame.effects if e.kind is not TaintKind.HUMAN]
            if asked and not any(e.kind is TaintKind.UNKNOWN for e in asked):
                return external(f"{path}()", frozenset(Taint(e.kind, e.detail, e.what) for e in asked))
        case _:
            pass
    return _unknown_name(path, node, frame)


def _by_knowledge(reader: Reader, path: str, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    known = describe(path)
    place = frame.module.place(node)
    taints = callee.taints | given.taints()
    match known.kind:
        case "world":
            return _asked(path, known, callee, given, node, frame)
        case "human":
            frame.add(Effect(TaintKind.HUMAN, "", path, place))
            return external(f"{path}()", frozenset({Taint(TaintKind.HUMAN, what=path)}))
        case "model":
            return _model(path, callee, given, node, frame)
        case "form":
            frame.risks.add(FORM)
            return external(f"{path}()", _as_fields(taints))
        case "check":
            return data(frozenset({Taint(TaintKind.CHECK, what=path)}))
        case "parser":
            return _parser(path, taints, frame)
        case "inert":
            _let_callbacks_run(reader, given, node, frame)
            return NONE
        case "chance":
            return data(frozenset({Taint(TaintKind.CHANCE)}))
        case "fixed":
            return external(f"{path}()", frozenset({Taint(TaintKind.FIXED)}))
        case "handoff":
            return handoff(given.get(-1, "agent_name"))
        case "pure":
            _let_callbacks_run(reader, given, node, frame)
            return external(f"{path}()", drawn(taints))
        case _ if not _is_prompted(node) and _is_of_its_model(path, given.taints()):
            return data(given.taints())
        case _:
            return _unknown_name(path, node, frame)


def _is_of_its_model(path: str, taints: Taints) -> bool:
    """`Api.first_text(reply)`, where `Api.call(prompt=…)` gave the reply: it takes it out."""
    parent = path.replace("()", "").rpartition(".")[0].removeprefix("missing:")
    asked = [t.what.removeprefix("missing:") for t in taints if t.kind is TaintKind.MODEL]
    return bool(parent) and any(a.startswith(f"{parent}.") for a in asked)


def _let_callbacks_run(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> None:
    """A function that is handed to a helper is most likely called by it."""
    for value in given.all():
        if isinstance(value.thing, FunctionValue) and frame.depth < 8:
            reader.call(value, Arguments(), node, frame)


def _asked(path: str, known: KnownCall, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Something outside is asked, unless only an object is made that could."""
    last = path.rsplit(".", 1)[-1]
    answer = world(known.detail, path)
    if last.replace("()", "") in OBJECT_PARTS:
        return external(f"{path}()", callee.taints | answer)
    if known.detail == "http" and _is_model_endpoint(given, node):
        return _model_over_http(answer, node, frame)
    prepared = given.get(0, "url")
    if last == "urlopen" and prepared is not None and isinstance(prepared.thing, Handle):
        return prepared  # a `Request` to such an address
    if any(t.kind is TaintKind.ASK for t in callee.taints):
        answer = world("tool", path)  # it was chosen by what the model asked for
    detail = next(t.detail for t in answer)
    makes_object = last[:1].isupper() and not path.endswith("()")
    if not makes_object:
        frame.add(Effect(TaintKind.WORLD, detail, path.replace("()", ""), frame.module.place(node)))
        frame.risks.add(answer)
    return external(f"{path}()", answer)


MODEL_URL = re.compile(
    r"""(?x) /(chat/)?completions | /api/(generate|chat)\b | :11434 | :generateContent | /v1/messages | /invocations\b
    | api\.(openai|anthropic|groq|mistral|together|deepseek|cohere|x)\.(com|ai|xyz) | openrouter\.ai
    | generativelanguage\.googleapis | api-inference\.huggingface | dashscope | bedrock-runtime"""
)
PROMPTS = frozenset({"messages", "prompt", "contents"})


def _is_model_endpoint(given: Arguments, node: ast.AST) -> bool:
    """`requests.post(".../chat/completions", json={"model": …, "messages": …})`: by the address, or by what is sent."""
    addresses = [v.thing.value for v in given.all() if isinstance(v.thing, Const) and isinstance(v.thing.value, str)]
    addresses += (
        [text_of(a) for a in (*node.args, *(k.value for k in node.keywords))] if isinstance(node, ast.Call) else []
    )
    if any(MODEL_URL.search(a) for a in addresses):
        return True
    sent = [v.thing.entries for v in given.all() if isinstance(v.thing, Table)]
    return any(not PROMPTS.isdisjoint(e) and ("model" in e or "contents" in e) for e in sent)


def _model_over_http(answer: Taints, node: ast.AST, frame: Frame) -> Value:
    """The reply of a model's server: whether it came is a fact, what it says is a model's word."""
    reply = model_reply("a model's server", structured=False, node=node, frame=frame)
    frame.risks.add(answer)

    def method(name: str, more: Arguments, at: ast.AST, inner: Frame) -> Value:
        return NONE if name == "raise_for_status" else reply

    there = dict.fromkeys(("status_code", "status", "ok", "is_success", "headers"), data(answer))
    return Value(Handle({**there, "text": reply, "content": reply}, method), reply.taints)


def _model(path: str, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A model of a family of classes is an object; other libraries make a client, and its methods ask."""
    name, last = class_name(path), path.replace("()", "").rsplit(".", 1)[-1]
    if FAMILIES.match(path) and not path.endswith("()") and (last == name or last in MODEL_MAKERS):
        return Value(ModelValue(name))
    if last not in ALWAYS_CALLED and (last[:1].isupper() or last in MODEL_MAKERS) and not path.endswith("()"):
        return external(f"{path}()")
    structured = "response_model" in given.named or "response_format" in given.named or last == "parse"
    reply = model_reply(name if name != last else path.split(".")[0], structured=structured, node=node, frame=frame)
    ask_provided(tools_given(given), node, frame)
    return external(f"{path}()", reply.taints) if FAMILIES.match(path) is None else reply


def _parser(path: str, taints: Taints, frame: Frame) -> Value:
    last = path.replace("()", "").rsplit(".", 1)[-1]
    if last[:1].isupper():
        return external(f"{path}()")
    if last.startswith("get_format"):
        return data()
    frame.risks.add(FORM)
    return data(_as_fields(taints))


def _as_fields(taints: Taints) -> Taints:
    return frozenset(Taint(TaintKind.MODEL, "fields", t.what) if t.kind is TaintKind.MODEL else t for t in taints)


def _unknown_name(path: str, node: ast.AST, frame: Frame) -> Value:
    shown = path.replace("()", "")
    if shown.startswith("missing:"):
        why = f"the source of {shown.removeprefix('missing:')} is not at hand"
    else:
        why = f"what {shown} does is not known"
    if shown.rsplit(".", 1)[-1][:1].isupper() and not path.endswith("()"):
        return external(f"{path}()", frozenset({Taint(TaintKind.UNKNOWN, why)}))
    if _is_prompted(node):
        return model_reply(shown, structured=False, node=node, frame=frame, inferred=True)
    frame.add(Effect(TaintKind.UNKNOWN, why, shown, frame.module.place(node)))
    return Value(External(f"{path}()"), unknown(why).taints)


SETTINGS = words("max_tokens max_new_tokens temperature top_p engine model model_name stop stop_token")


def _is_prompted(node: ast.AST) -> bool:
    """A call with a prompt and a setting that only models have: `backend.call(prompt=p, max_tokens=300)`."""
    named = {k.arg for k in node.keywords if k.arg} if isinstance(node, ast.Call) else set[str]()
    return bool(named & {"prompt", "messages", "system_prompt", "user_prompt"}) and bool(named & SETTINGS)


# What a call gives, by what is called.


def call_value(reader: Reader, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Follows a call."""
    match callee.thing:
        case FunctionValue():
            return call_function(reader, callee.thing, given, frame)
        case Partial(function=function, arguments=first, named=named):
            both = Arguments([*first, *given.positional], {**dict(named), **given.named}, given.more)
            return reader.call(function, both, node, frame)
        case ClassValue():
            return create_instance(reader, callee, given, node, frame)
        case Instance():
            return reader.call(reader.attribute(callee, "__call__", frame), given, node, frame)
        case External(path=path):
            return call_external(reader, path, callee, given, node, frame)
        case Bound():
            return _bound(reader, callee.thing, given, node, frame)
        case ModelValue() | ChainValue() | ToolValue() | ToolNodeValue():
            return call_model(reader, callee, given, node, frame)
        case Handle(method=method):
            return method("__call__", given, node, frame)
        case Choice(options=choices):
            callable_ones = [(v, f) for v, f in choices if not isinstance(v.thing, Const)]
            return merge([(reader.call(v, given, node, frame), f) for v, f in callable_ones])
        case _:
            return _unknown(callee, node, frame)


def _bound(reader: Reader, bound: Bound, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    owner, name = bound.owner, bound.name
    match owner.thing:
        case GraphValue():
            return graph_method(reader, owner, name, given, node, frame)
        case ModelValue() | ChainValue() | ToolValue() | ToolNodeValue() | FunctionValue() | Partial():
            return model_method(reader, owner, name, given, node, frame)
        case Instance() | ClassValue():
            return instance_method(reader, owner, name, given, node, frame)
        case Handle():
            return owner.thing.method(name, given, node, frame)
        case StateValue():
            return state_method(owner, name, given, frame)
        case _:
            return data_method(reader, owner, name, given, node, frame)


def _unknown(callee: Value, node: ast.AST, frame: Frame) -> Value:
    name = text_of(node.func) if isinstance(node, ast.Call) else frame.name or "what is called"
    why = reason(deep(callee)) or f"{name} is handed in"
    if _is_prompted(node):
        return model_reply(name, structured=False, node=node, frame=frame, inferred=True)
    frame.add(Effect(TaintKind.UNKNOWN, why, name, frame.module.place(node)))
    return unknown(why)
