# pyright: basic, reportMissingImports=false
"""Agents of other frameworks behind the gate: a program that their Python runs; prints what came of each as JSON.

gated_runs.py FOLDER: each agent has a model that plays texts; the ledger is FOLDER/l.db.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

from agents import Agent as SdkAgent  # noqa: TID251  the SDK
from agents import Model as SdkModel  # noqa: TID251  the SDK
from agents import OutputGuardrailTripwireTriggered, RunConfig, Runner, SQLiteSession  # noqa: TID251  the SDK
from agents.items import ModelResponse as SdkResponse  # noqa: TID251  the SDK
from agents.usage import Usage  # noqa: TID251  the SDK
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from pydantic import BaseModel, Field, ValidationError
from pydantic_ai import Agent, UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from groundwire import NoVerdict, Observation, Origin, Task, Verdict
from groundwire.integrations.gated import (
    GroundedMiddleware,
    GroundedOutput,
    OutputGate,
    OutputRuling,
    langchain_tools,
    run_grounded,
    sealed_guardrail,
    tools_from_langchain,
)
from groundwire.tools import Pytest, Toolbox

PROMPT = "Say hello loudly."
TEST = "from slug import slug\n\ndef test_slug():\n    assert slug('A b') == 'a-b'\n"
Told = dict[str, object]


class Booking(BaseModel):
    guests: int


class Positive(BaseModel):
    guests: int = Field(gt=0)


def loud(candidate) -> bool | str:
    return candidate.text.isupper() or "not in capitals"


def nobody_knows(candidate) -> Observation:
    return Observation(verdict=Verdict.NONE, origin=Origin.VERIFIER, reason=NoVerdict.RUNNER_CRASHED)


def broken(candidate) -> bool:
    raise RuntimeError("the check is broken")


def slug_task(prompt: str) -> Task:
    return Task.of(prompt, files={"test_slug.py": TEST}, answer="slug.py", test="pytest -q")


def playing(*texts: str) -> FunctionModel:
    left = iter(texts)

    def reply(messages, info):
        text = next(left)
        if info.output_tools:
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, text)])
        return ModelResponse(parts=[TextPart(text)])

    async def streamed(messages, info):
        text = next(left)
        yield text[:1]
        yield text[1:]

    return FunctionModel(reply, stream_function=streamed)


class Played(SdkModel):
    def __init__(self, *texts: str) -> None:
        self.left, self.asked = iter(texts), []

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.asked.append(input)
        text = ResponseOutputText(text=next(self.left), type="output_text", annotations=[])
        said = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return SdkResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


def chat(*replies: str | AIMessage) -> GenericFakeChatModel:
    class Chat(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    return Chat(messages=iter([one if isinstance(one, AIMessage) else AIMessage(one) for one in replies]))


def asked_of(message: str) -> dict[str, list[dict[str, str]]]:
    return {"messages": [{"role": "user", "content": message}]}


class Runs:
    def __init__(self, folder: Path) -> None:
        self.db, self.seen = f"sqlite:///{folder / 'l.db'}", []
        self.folder = folder

    def gate(self, check=loud, **options) -> OutputGate:
        return OutputGate(check, db=self.db, told=self.seen.append, **options)

    async def told(self, name: str, run: Callable) -> None:
        self.seen.clear()
        came: Told = {"output": None, "error": ""}
        try:
            came["output"] = await run()
        except Exception as error:
            came["error"] = f"{type(error).__name__}: {error}"
        rulings: list[OutputRuling] = self.seen
        came["verdicts"] = [str(ruling.verdict) for ruling in rulings]
        came["again"] = [ruling.again for ruling in rulings]
        came["episodes"] = len({ruling.episode for ruling in rulings})
        came["run"] = rulings[-1].episode.partition("/")[0] if rulings else ""
        print(json.dumps({"name": name, **came}, default=str))

    # Pydantic AI

    def agent(self, *texts: str, check=loud, output_type: type = str, retries=3, **options) -> Agent:
        gate = self.gate(check, **options)
        return Agent(playing(*texts), output_type=output_type, retries=retries, capabilities=[GroundedOutput(gate)])

    async def pydantic_ai(self) -> None:
        def text(*texts, **options):
            async def run():
                return (await self.agent(*texts, **options).run(PROMPT)).output

            return run

        async def booking():
            check = {"check": lambda c: Positive.model_validate_json(c.text), "fails_on": ValidationError}
            agent = self.agent('{"guests": 0}', '{"guests": 2}', output_type=Booking, **check)
            return (await agent.run("A table.")).output.guests

        async def streamed():
            async with self.agent("HELLO").run_stream(PROMPT) as stream:
                return [part async for part in stream.stream_text()][-1]

        async def twice():
            agent = self.agent("a", "A", "b", "B")
            return [result.output for result in await asyncio.gather(agent.run("one"), agent.run("two"))]

        async def few():
            try:
                await self.agent("a", "b", "C", retries=1).run(PROMPT)
            except UnexpectedModelBehavior as error:
                return str(error)[:40]

        await self.told("pydantic_ai", text("hello", "HELLO"))
        await self.told("pydantic_ai_never", text("a", "b", "c", "D", tries=3))
        await self.told("pydantic_ai_same", text(*["a"] * 9, retries=9))
        await self.told("pydantic_ai_unknown", text("A", "B", check=nobody_knows))
        await self.told("pydantic_ai_broken", text("A", "B", check=broken))
        await self.told("pydantic_ai_typed", booking)
        await self.told("pydantic_ai_stream", streamed)
        await self.told("pydantic_ai_two_runs", twice)
        await self.told("pydantic_ai_few_retries", few)

    # OpenAI Agents SDK

    async def openai_agents(self) -> None:
        config = RunConfig(tracing_disabled=True)
        model = Played("hello", "HELLO")

        def run(*texts, check=loud, **options):
            async def once():
                agent = SdkAgent("writer", model=Played(*texts))
                result, _ = await run_grounded(agent, PROMPT, self.gate(check), run_config=config, **options)
                return result.final_output

            return once

        async def watched():
            result, ruling = await run_grounded(SdkAgent("w", model=model), PROMPT, self.gate(), run_config=config)
            last = model.asked[-1]
            return [result.final_output, str(ruling.verdict), len(last), "not in capitals" in last[-1]["content"]]

        async def session():
            held = SQLiteSession("one", self.folder / "session.db")
            said = await run("hello", "HELLO", session=held)()
            texts = [item.get("role") for item in await held.get_items()]
            held.close()
            return [said, texts]

        def guarded(text, check=loud):
            async def once():
                guard = sealed_guardrail(self.gate(check))
                agent = SdkAgent("writer", model=Played(text), output_guardrails=[guard])
                try:
                    return (await Runner.run(agent, PROMPT, run_config=config)).final_output
                except OutputGuardrailTripwireTriggered as tripped:
                    ruling = tripped.guardrail_result.output.output_info
                    return f"tripped on {ruling.signal.verdict}"

            return once

        await self.told("openai_agents", watched)
        await self.told("openai_agents_never", run("a", "b", "c", "D"))
        await self.told("openai_agents_unknown", run("A", "B", check=nobody_knows))
        await self.told("openai_agents_session", session)
        await self.told("guardrail_pass", guarded("HELLO"))
        await self.told("guardrail_fail", guarded("hello"))
        await self.told("guardrail_unknown", guarded("hello", check=nobody_knows))

    # LangChain and Deep Agents

    async def langchain(self) -> None:
        def agent(*texts, check=loud, saver=None, **options):
            middleware = [GroundedMiddleware(self.gate(check, **options))]
            return create_agent(chat(*texts), [], middleware=middleware, checkpointer=saver)

        def last(state) -> str:
            return state["messages"][-1].text

        async def plain():
            return last(await agent("hello", "HELLO").ainvoke(asked_of(PROMPT)))

        async def in_a_thread():
            return last(await asyncio.to_thread(agent("hello", "HELLO").invoke, asked_of(PROMPT)))

        async def never():
            return last(await agent("a", "b", "c", "D").ainvoke(asked_of(PROMPT)))

        async def unknown():
            return last(await agent("A", check=nobody_knows).ainvoke(asked_of(PROMPT)))

        async def thread():
            graph = agent("hello", "HELLO", "bye", "BYE", saver=InMemorySaver())
            config = {"configurable": {"thread_id": "1"}}
            first = last(await graph.ainvoke(asked_of(PROMPT), config))
            state = await graph.ainvoke(asked_of("Say bye loudly."), config)
            return [first, last(state), "groundwire_gate" in state]

        async def deep():
            def write(number, code):
                arguments = {"file_path": "/slug.py", "content": code}
                name = "write_file"
                if number > 1:
                    old = "    return x\n"
                    arguments = {"file_path": "/slug.py", "old_string": old, "new_string": code}
                    name = "edit_file"
                return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": str(number)}])

            gate = self.gate(Pytest(), task=slug_task)
            graph = create_deep_agent(
                chat(
                    write(1, "def slug(x):\n    return x\n"),
                    "All done, every test passes.",
                    write(2, "    return x.lower().replace(' ', '-')\n"),
                    "Done.",
                ),
                middleware=[GroundedMiddleware(gate, output="/slug.py")],
            )
            return last(await graph.ainvoke(asked_of("Write slug() to /slug.py.")))

        await self.told("langchain", plain)
        await self.told("langchain_sync", in_a_thread)
        await self.told("langchain_never", never)
        await self.told("langchain_unknown", unknown)
        await self.told("langchain_thread", thread)
        await self.told("deepagents", deep)

    async def tools(self) -> None:
        @langchain_tool
        def stock(item: str) -> int:
            """How many of an item there are."""
            return {"cup": 12}[item]

        def double(number: int) -> int:
            """Twice the number."""
            return 2 * number

        async def into():
            (ours,) = tools_from_langchain(stock, once=["stock"])
            found, lost = await ours.call({"item": "cup"}), await ours.call({"item": "jug"})
            wrong = ours.problem({"item": 3}), ours.problem({"item": "cup"})
            return [Toolbox(ours).specs[0].name, found.text, lost.ok, lost.text, *wrong, ours.once]

        async def out():
            (theirs,) = langchain_tools(double)
            call = {"type": "tool_call", "name": "double", "id": "1"}
            refused = await theirs.ainvoke({**call, "args": {"number": "x"}})
            return [await theirs.ainvoke({"number": 21}), theirs.args, refused.status, refused.content]

        async def named():
            tools_from_langchain(stock, once=["stick"])

        await self.told("tools_in", into)
        await self.told("tools_out", out)
        await self.told("tools_named", named)


async def main(folder: Path) -> None:
    runs = Runs(folder)
    for part in (runs.pydantic_ai, runs.openai_agents, runs.langchain, runs.tools):
        await part()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
