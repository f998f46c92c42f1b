"""Ten questions about an invented country: a model's answers without search, and with the graph `search_judge`.

python bench/fiction_search.py [--model local] [--context 2048] [--questions 10]
"""

from __future__ import annotations

import argparse
import asyncio
import time

from groundwire import Budget, Task
from groundwire.core import Backend, Message, Request, answer_of, wilson
from groundwire.graphs import search_judge, tool_account
from groundwire.models import LocalBackend, ServerOptions, backend_for
from groundwire.tools import Corpus, normalised
from groundwire.tools.environments.worlds._fiction_search import PASSAGES, QUESTIONS, Question


async def direct(backend: Backend, question: Question) -> bool:
    """One call, nothing to look up."""
    asked = f"Answer with the name or number alone.\n\n{question.text}"
    request = Request(messages=(Message(role="user", content=asked),), max_tokens=24, seed=0)
    return is_right((await backend.complete(request)).texts[0], question)


def is_right(text: str, question: Question) -> bool:
    """Exact match, as FictionalHot scores it."""
    return normalised(text) == normalised(question.answer)


def share(right: int, of: int) -> str:
    """`3/10 (.11 to .60)`."""
    low, high = wilson(right, of)
    return f"{right}/{of} ({low:.2f} to {high:.2f})"


async def main() -> None:
    """Runs both and prints one line each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local")
    parser.add_argument("--context", type=int, default=2048, help="tokens of the local model's context")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS), help="the first so many of them")
    asked = parser.parse_args()
    questions = QUESTIONS[: asked.questions]
    small = ServerOptions(slots=1, context_tokens=asked.context, threads=1)
    backend = LocalBackend(options=small) if asked.model == "local" else backend_for(asked.model)
    started = time.monotonic()
    without = [await direct(backend, question) for question in questions]
    print(f"no search: {share(sum(without), len(without))}, {time.monotonic() - started:.0f} s", flush=True)
    started, right, supported, tokens = time.monotonic(), 0, 0, 0
    for question in questions:
        graph = search_judge(backend, Corpus(PASSAGES).tool(k=2), form="schema" if asked.model == "local" else "auto")
        app = graph.compile(budget=Budget(trials=6))
        result = await app.arun(Task(id=question.answer, prompt=question.text))
        given = answer_of(result.best.candidate) if result.best else ""
        account = await tool_account(app.store, result.episode_id)
        passed = result.verdict == "pass"
        supported += passed
        right += passed and is_right(given, question)
        tokens += result.tokens
        print(
            f"  {question.text} {given!r} {result.stop_reason}, accepted {account.accept_rate},"
            f" cuts {len(account.cuts)}",
            flush=True,
        )
    seconds = time.monotonic() - started
    print(
        f"search_judge: {share(right, len(questions))} right, {supported} borne out, {tokens} tokens, {seconds:.0f} s"
    )


if __name__ == "__main__":
    asyncio.run(main())
