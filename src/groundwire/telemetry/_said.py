"""What is said of a model call and of a signal, in the words of the semantic conventions.

They are those of generative AI, version 0.1.0 (github.com/open-telemetry/semantic-conventions-genai); what they have no
name for begins with `groundwire.`. What a model read or wrote, and what a test quotes, is content: it is said only
where it is asked for. Everything goes through a masker.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from groundwire.core._masking import Masker
from groundwire.core._models import Completion, Message, Request, ToolCall
from groundwire.core._prompt_text import printable
from groundwire.core._signals import NoVerdict, Signal, Verdict

PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "cohere_chat": "cohere",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""LiteLLM's names of providers where the conventions have other ones."""
NO_FAULT = frozenset({NoVerdict.GO_ON, NoVerdict.UNDECIDED})
"""Why there is no verdict although the tool did what it had to."""
MOST_CASES = 5
"""Failed cases that an explanation quotes."""
LONGEST = 2000
"""Characters of an explanation."""
FINISHED = "stop"
"""Why a message ends, where nobody says."""
DEEPEST = 50
"""Brackets in a tool call's arguments up to which they are read as JSON; others stay the text that they are."""

Value = str | int | float | bool | Sequence[str]
Attributes = dict[str, Value]


def shown(text: str, masker: Masker) -> str:
    """A text that goes out as it is: without secrets, and without what no file or terminal can take."""
    return printable(masker(text))


def identity(model: str) -> Attributes:
    """Which model this is, and where it is: what spans and metrics of its calls have in common.

    Args:
        model: the id as the user named it, masked.
    """
    said: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_of(model),
        "gen_ai.request.model": name_of(model),
    }
    address = model.partition(":")[2]
    if address.startswith(("http://", "https://")):
        parts = urlsplit(address.partition(",")[0].partition("#")[0])
        said["server.address"] = parts.hostname or ""
        said["server.port"] = _port(parts.netloc) or (443 if parts.scheme == "https" else 80)
    return said


def provider_of(model: str) -> str:
    """`openai/gpt-5` → `openai`; `vllm:PATH` → `vllm`."""
    scheme, colon, _ = model.partition(":")
    provider, slash, _ = model.partition("/")
    if slash and ":" not in provider:
        return PROVIDERS.get(provider, provider)
    return scheme if colon or model == "local" else "unknown"


def name_of(model: str) -> str:
    """The model's own name, without what says who has it: `openai/gpt-5` → `gpt-5`, `vllm:Qwen/Qwen3-8B?x=1` →
    `Qwen/Qwen3-8B`; an address that names no model stays as it is."""
    first = model.partition(",")[0]
    provider, slash, name = first.partition("/")
    if slash and ":" not in provider:
        return name
    where, _, named = model.partition("#")
    if named:
        return named.partition("?")[0]
    name = where.partition(":")[2].partition("?")[0]
    return name if name and not name.startswith(("http://", "https://")) else model


def _port(netloc: str) -> int:
    port = netloc.rpartition(":")[2]
    return int(port) if port.isascii() and port.isdigit() else 0


def asked(request: Request, masker: Masker) -> Attributes:
    """What a request asks for, without what it says."""
    said: Attributes = {
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.output.type": "json" if request.json_schema is not None else "text",
        "groundwire.purpose": request.purpose,
    }
    if request.n != 1:
        said["gen_ai.request.choice.count"] = request.n
    if request.seed is not None:
        said["gen_ai.request.seed"] = request.seed
    if request.stop:
        said["gen_ai.request.stop_sequences"] = tuple(shown(mark, masker) for mark in request.stop)
    return said


def answered(completion: Completion, masker: Masker) -> Attributes:
    """What came of a request, without what it says."""
    said: Attributes = {
        "gen_ai.response.model": shown(completion.model, masker),
        "gen_ai.response.finish_reasons": completion.finish_reasons,
        "gen_ai.usage.input_tokens": completion.prompt_tokens,
        "gen_ai.usage.output_tokens": completion.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": completion.cached_prompt_tokens,
        "groundwire.attempts": completion.attempts,
    }
    if completion.response_id:
        said["gen_ai.response.id"] = shown(completion.response_id, masker)
    if completion.usd is not None:
        said["groundwire.usd"] = completion.usd
    if completion.first_token_s is not None:
        said["gen_ai.request.stream"] = True
        said["gen_ai.response.time_to_first_chunk"] = completion.first_token_s
    return said


def read(request: Request, masker: Masker) -> Attributes:
    """What a model is shown."""
    instructions = [m.content for m in request.messages if m.role == "system"]
    messages = [_message(m.role, _parts(m, masker)) for m in request.messages if m.role != "system"]
    said: Attributes = {"gen_ai.input.messages": json.dumps(messages)}
    if instructions:
        said["gen_ai.system_instructions"] = json.dumps([_text(masker(one)) for one in instructions])
    if request.tools:
        tools = [{"type": "function", **tool.model_dump(mode="json")} for tool in request.tools]
        said["gen_ai.tool.definitions"] = masker(json.dumps(tools))
    return said


def wrote(completion: Completion, masker: Masker) -> Attributes:
    """What a model wrote: a message each sample."""
    messages: list[object] = []
    for i, text in enumerate(completion.texts):
        parts: list[object] = []
        if i < len(completion.thinking) and completion.thinking[i]:
            parts.append({"type": "reasoning", "content": masker(completion.thinking[i])})
        calls = completion.tool_calls[i] if i < len(completion.tool_calls) else ()
        if text or not calls:
            parts.append(_text(masker(text)))
        parts += (_call(call, masker) for call in calls)
        # deprecated in the message, and yet viewers leave a message out that lacks it
        why = completion.finish_reasons[i] if i < len(completion.finish_reasons) else ""
        messages.append(_message("assistant", parts) | {"finish_reason": why or FINISHED})
    return {"gen_ai.output.messages": json.dumps(messages)}


def task_of(prompt: str, masker: Masker) -> Attributes:
    """What an agent was given to do."""
    return {"gen_ai.input.messages": json.dumps([_message("user", [_text(masker(prompt))])])}


def result_of(answer: str, masker: Masker) -> Attributes:
    """What an agent handed out."""
    message = _message("assistant", [_text(masker(answer))]) | {"finish_reason": FINISHED}
    return {"gen_ai.output.messages": json.dumps([message])}


def _message(role: str, parts: Sequence[object]) -> dict[str, object]:
    return {"role": role, "parts": parts}


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "content": text}


def _parts(message: Message, masker: Masker) -> list[object]:
    content = masker(message.content)
    if message.answers:
        return [{"type": "tool_call_response", "id": message.answers, "response": content}]
    calls = [_call(call, masker) for call in message.tool_calls]
    return [_text(content), *calls] if content or not calls else [*calls]


def _call(call: ToolCall, masker: Masker) -> dict[str, object]:
    text = masker(call.arguments)
    arguments: object = text
    if text.count("{") + text.count("[") <= DEEPEST:
        with suppress(ValueError):  # a model wrote it
            arguments = json.loads(text)
    return {"type": "tool_call", "id": call.id, "name": masker(call.name), "arguments": arguments}


def evaluated(signal: Signal, masker: Masker, *, response_id: str, with_content: bool) -> Attributes:
    """A signal as the result of an evaluation.

    Args:
        signal: a sealed one.
        masker: takes out secrets.
        response_id: of the model's answer that was judged; empty where it is none, or not one alone.
        with_content: True: the explanation may quote the tests and what the candidate did.
    """
    said: Attributes = {
        "gen_ai.evaluation.name": shown(signal.issuer, masker),
        "gen_ai.evaluation.score.label": signal.verdict.value,
        "gen_ai.evaluation.explanation": shown(_explained(signal, with_content=with_content), masker)[:LONGEST],
        "groundwire.signal_id": signal.id,
        "groundwire.issuer": shown(signal.issuer, masker),
        "groundwire.origin": signal.origin.value,
        "groundwire.verdict": signal.verdict.value,
        "groundwire.candidate": signal.candidate_digest,
        "groundwire.trial": signal.trial,
        "groundwire.isolation": signal.isolation.value,
        "groundwire.oracle": signal.oracle,
    }
    if signal.verdict is not Verdict.NONE:
        said["gen_ai.evaluation.score.value"] = 1.0 if signal.verdict is Verdict.PASS else 0.0
    if signal.reason is not None:
        said["groundwire.reason"] = signal.reason.value
        if signal.reason not in NO_FAULT:
            said["error.type"] = signal.reason.value
    if response_id:
        said["gen_ai.response.id"] = shown(response_id, masker)
    if signal.taken_from:
        said["groundwire.taken_from"] = signal.taken_from
    return said


def _explained(signal: Signal, *, with_content: bool) -> str:
    evidence = signal.evidence
    failed = evidence.failed()
    counts = f"{len(evidence.cases) - len(failed)} of {len(evidence.cases)} cases hold" if evidence.cases else ""
    plain = "; ".join(filter(None, (counts, signal.reason.value if signal.reason else "")))
    if not with_content:
        return plain or signal.verdict.value
    quoted = [f"{case.id}: {case.message}" if case.message else case.id for case in failed[:MOST_CASES]]
    return "\n".join([evidence.detail or plain or signal.verdict.value, *quoted])
