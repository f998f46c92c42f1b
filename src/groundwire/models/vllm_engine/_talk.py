"""Between our words and vLLM's: a request as prompt and sampling parameters, its output as a completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from groundwire.core._errors import ModelRejected, ModelReplyInvalid, ModelRetryable, Usage
from groundwire.core._models import Completion, Message, Request
from groundwire.core._prompt_text import plain
from groundwire.models._chat import reasoning_and_answer, valid_samples
from groundwire.models._openai_compatible import KILLED, GoesOn
from groundwire.models._switches import extra_of

ENDED_BY_THE_ENGINE = frozenset({"abort", "error"})


def prompt_text(tokenizer: Any, messages: Sequence[Message], *, model: str) -> str:
    """The chat as the model's own template writes it; a last message of the assistant is gone on with.

    Raises:
        ModelRejected: the model has no template, or its template refuses such a chat.
    """
    begun = bool(messages) and messages[-1].role == "assistant"
    chat = [{"role": m.role, "content": m.content} for m in messages]
    if not getattr(tokenizer, "chat_template", None):
        raise ModelRejected(
            f"{model} has no chat template, so it can't be asked by messages.",
            do="Use a model that is tuned for instructions, or put a chat_template.jinja into its folder.",
        )
    try:
        return str(
            tokenizer.apply_chat_template(
                chat, tokenize=False, add_generation_prompt=not begun, continue_final_message=begun
            )
        )
    except Exception as error:  # a template is the model's own program, and raises what it likes
        raise ModelRejected(
            f"The chat template of {model} refused the messages: {plain(str(error), 300)}",
            do="Some templates know no system message, or want user and assistant to alternate.",
        ) from error


def sampling_arguments(request: Request, *, room: int, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of vLLM's `SamplingParams`, its schema left out.

    Args:
        request: what is asked for.
        room: tokens that the context has left for an answer; neither the least nor the most of one is above it.
        fixed: arguments that win over the request's.
    """
    # vLLM refuses several greedy samples of one prompt, which would all be the same
    arguments: dict[str, Any] = {
        "n": 1 if request.temperature == 0 else request.n,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    if request.stop:
        arguments["stop"] = list(request.stop)
    if request.seed is not None:
        arguments["seed"] = request.seed
    if request.logprobs:
        arguments["logprobs"] = request.top_logprobs  # 0: of the sampled token alone
    if told := extra_of(request):
        arguments["extra_args"] = told
    arguments |= fixed
    for name in ("max_tokens", "min_tokens"):
        # vLLM before its pull request 51299 (0.23, say) never ends an answer that the context has no room to finish
        if arguments.get(name) is not None:
            arguments[name] = min(arguments[name], room)
    return arguments


class Watching:
    """Looks at a sample while it is written, and says when it is not worth going on with.

    Args:
        goes_on: told of each token's likeliest log probabilities, highest first.
        most: of these, how many.
    """

    def __init__(self, goes_on: GoesOn, most: int) -> None:
        self._goes_on = goes_on
        self._most = most
        self._seen = 0

    def ends(self, output: Any) -> bool:
        """True where the answer is to be aborted; the output then says `killed`.

        Args:
            output: vLLM's `RequestOutput` of one sample, all that is written so far.
        """
        (sample,) = output.outputs
        newest: list[Any] = list(sample.logprobs or ())[self._seen :]
        self._seen += len(newest)
        if all(self._goes_on(_likeliest(at, self._most)) for at in newest) or output.finished:
            return False
        sample.finish_reason = KILLED
        return True


def completion_of(output: Any, request: Request, *, model: str, name: str) -> Completion:
    """The answer to `request`.

    Args:
        output: vLLM's `RequestOutput`, finished.
        request: what was asked.
        model: the id as the user named it.
        name: the model's own name.

    Raises:
        ModelRetryable: the engine ended the request.
        ModelReplyInvalid: no sample holds any text, or none holds to the schema.
    """
    samples: list[Any] = sorted(output.outputs, key=lambda sample: sample.index)
    reasons = [str(sample.finish_reason or "") for sample in samples]
    if ENDED_BY_THE_ENGINE & set(reasons):
        raise ModelRetryable(f"The engine of {model} ended the request before its answer.", do="Try again.")
    said = [reasoning_and_answer(str(sample.text), request) for sample in samples]
    texts, thinking = [text for _, text in said], [thought for thought, _ in said]
    used = Usage(len(output.prompt_token_ids or ()), sum(len(sample.token_ids) for sample in samples), 0.0)
    try:
        if not any(text.strip() for text in texts) and KILLED not in reasons:
            raise ModelReplyInvalid(f"{model} gave an empty reply.", do="Try another model or temperature.")
        kept = valid_samples(texts, request.json_schema, model=model)
    except ModelReplyInvalid as error:
        error.used = used
        raise
    copies = request.n if len(samples) == 1 else 1
    return Completion(
        texts=tuple(kept.values()) * copies,
        model=name,
        **asdict(used),
        finish_reasons=tuple(reasons[i] for i in kept) * copies,
        logprobs=tuple(_logprobs(samples[i]) for i in kept) * copies if request.logprobs else None,
        top_logprobs=tuple(_top(samples[i], request.top_logprobs) for i in kept) * copies
        if request.logprobs and request.top_logprobs
        else None,
        thinking=tuple(thinking[i] for i in kept) * copies if any(thinking[i] for i in kept) else (),
    )


def _logprobs(sample: Any) -> tuple[float, ...]:
    """Of each token that was sampled: vLLM gives a mapping from token to log probability at each position."""
    found: list[Any] = list(sample.logprobs or ())
    return tuple(float(at[token].logprob) for at, token in zip(found, sample.token_ids, strict=False))


def _top(sample: Any, most: int) -> tuple[tuple[float, ...], ...]:
    """At each position, of the likeliest tokens; the sampled one is among vLLM's even where it is none of them."""
    found: list[Any] = list(sample.logprobs or ())
    return tuple(_likeliest(at, most) for at in found)


def _likeliest(at: Mapping[int, Any], most: int) -> tuple[float, ...]:
    return tuple(sorted((float(one.logprob) for one in at.values()), reverse=True)[:most])
